#include "bench.hpp"
#include "loop/shoot.hpp"

using namespace testing;

namespace {

// A problem and its compression, at the same weights.
template <Columns C>
struct Both {
  Both(const Example& e, C columns, int threads = 1) : bench(e, columns) {
    REQUIRE(compressed.take(*bench.model, threads, bench.watch));
    small.emplace(compressed.model());
  }
  Bench<C> bench;
  Compressed<C> compressed;
  std::optional<Quadratic<DenseColumns<double>>> small;
};

template <Columns C>
void check_same(const Example& e, C columns) {
  Both both(e, columns);
  auto &large = *both.bench.model, &small = *both.small;
  CHECK(small.A.rows() == e.A.d + 1);
  CHECK(close(small.rows_value(1), large.rows_value(1), 1e-12));
  CHECK(close(packed_gap(small, both.bench.x, 1), packed_gap(large, both.bench.x, 1), 1e-10));
  for (int turn = 0; turn < 3; ++turn)
    for (std::int64_t k = 0; k < e.A.d; ++k) {
      const double delta = std::sin(static_cast<double>(turn + 5 * k));
      CHECK(close(small.gradient(k), large.gradient(k), 1e-9, 1.0));
      small.move(k, delta);
      large.move(k, delta);
      both.bench.x[at(k)] += delta;
    }
  CHECK(close(small.rows_value(1), large.rows_value(1), 1e-10));
  CHECK(close(packed_gap(small, both.bench.x, 1), packed_gap(large, both.bench.x, 1), 1e-10));
}

}  // namespace

TEST_CASE("a compressed problem has the same gradients, values and gaps wherever the weights go") {
  for (bool intercept : {false, true})
    for (bool weighted : {false, true}) {
      Example e = make_example(400, 12, 0.4, Squared{}, 4);
      e.intercept = intercept;
      e.l2 = 0.3;
      e.lam = 20;
      Random random(2);
      for (std::int64_t i = 0; weighted && i < e.A.n; ++i) e.w.push_back(random.uniform());
      check_same(e, e.A.dense_columns());
      check_same(e, e.A.sparse_columns());
    }
}

TEST_CASE("columns that others say have the same gradients, too") {
  Example one = make_example(300, 6, 0.5, Squared{}, 4);
  Doubles values = one.A.dense;
  values.insert(values.end(), one.A.dense.begin(), one.A.dense.end());  // each twice
  for (std::int64_t i = 0; i < 300; ++i) values.push_back(values[at(i)] - values[at(300 + i)]);
  Example e{Matrix<double>(300, 13, values), one.y};
  e.lam = 20;
  check_same(e, e.A.sparse_columns());
}

TEST_CASE("columns that come later are taken in beside those that are there") {
  const Example all = make_example(1200, 20, 0.3, Squared{}, 6);
  const Example first{Matrix<double>(1200, 12, {all.A.dense.begin(), all.A.dense.begin() + 14400}),
                      all.y};
  Both both(first, first.A.sparse_columns()), whole(all, all.A.sparse_columns());
  CHECK(both.compressed.cost(first.A.sparse_columns(), 100) == 0);
  Bench bench(all, all.A.sparse_columns());
  const double more = both.compressed.cost(bench.model->A, 100);
  CHECK(more > 0);
  CHECK(more < Compressed<SparseColumns<double>>().cost(bench.model->A, 100));
  REQUIRE(both.compressed.take(*bench.model, 1, bench.watch));
  const auto grown = both.compressed.model();
  for (std::int64_t k = 0; k < 20; ++k) CHECK(grown.gradient(k) == whole.small->gradient(k));
}

TEST_CASE("where columns are not few, or samples are, it does not pay") {
  for (const Example& e :
       {make_example(1000, 600, 0.5, Squared{}, 4), make_example(900, 2, 0.5, Squared{}, 4)}) {
    CHECK(Compressed<SparseColumns<double>>().cost(e.A.sparse_columns(), 1e9) == infinity);
    CHECK(Compressed<DenseColumns<double>>().cost(e.A.dense_columns(), 1e9) == infinity);
  }
}

TEST_CASE("a fit by compression ends at the same minimum, with the same bits for all threads") {
  for (bool intercept : {false, true}) {
    Example e = make_example(3000, 30, 0.2, Squared{}, 5);
    e.intercept = intercept;
    e.lam = 60;
    for (bool dense : {false, true}) {
      Options options;
      options.tol = 1e-9;
      const Solution few = solve_example(e, options, dense);
      options.threads = 3;
      const Solution more = solve_example(e, options, dense);
      CHECK(few.status == Status::converged);
      CHECK(few.weights == more.weights);
      options.engine = Engine::newton;  // never compressed
      const Solution plain = solve_example(e, options, dense);
      CHECK(close(few.objective, plain.objective, 1e-9));
      CHECK(few.trace.back().passes < plain.trace.back().passes);
    }
  }
}
