#include "bench.hpp"
#include "engine/gram.hpp"

using namespace testing;

namespace {

// sum_i h_i (a_ik - mean_k)(a_il - mean_l) inv_scale_k inv_scale_l
template <Columns C>
double product(const Bench<C>& bench, std::int64_t k, std::int64_t l) {
  const Example& e = bench.e;
  const Coordinate &a = bench.coordinates[at(k)], &b = bench.coordinates[at(l)];
  double sum = 0;
  for (std::int64_t i = 0; i < e.A.n; ++i)
    sum += e.weight(i) * (e.A(i, k) - a.mean) * (e.A(i, l) - b.mean);
  return sum * a.inv_scale * b.inv_scale;
}

template <Columns C>
std::vector<Doubles> gram_of(Bench<C>& bench, const std::vector<std::int64_t>& which,
                             std::int64_t old, int threads) {
  std::vector<Doubles> rows;
  for (std::size_t s = 0; s < which.size(); ++s) rows.emplace_back(s + 1);
  const auto row_of = [&](std::int64_t s) { return rows[at(s)].data(); };
  const std::span<const std::int64_t> all(which);
  CHECK(fill_gram(*bench.model, all.first(at(old)), 0, row_of, threads, bench.watch));
  CHECK(fill_gram(*bench.model, all, old, row_of, threads, bench.watch));
  return rows;
}

template <Columns C>
void check_gram(const Example& e, C columns) {
  Bench bench(e, columns);
  const std::vector<std::int64_t> which{7, 2, 30, 3, 11, 0};  // in any order
  const std::vector<Doubles> whole = gram_of(bench, which, 0, 1);
  for (std::size_t s = 0; s < which.size(); ++s)
    for (std::size_t l = 0; l <= s; ++l)
      CHECK(close(whole[s][l], product(bench, which[s], which[l]), 1e-12, 1.0));
  const std::vector<std::int64_t> all = first_columns(columns.count());
  for (int threads : {2, 3}) {
    CHECK(gram_of(bench, all, 0, threads) == gram_of(bench, all, 0, 1));
    CHECK(gram_of(bench, all, 17, threads) == gram_of(bench, all, 0, 1));
  }
}

}  // namespace

TEST_CASE("a Gram matrix has the products of the centred columns, in the same bits in any parts") {
  for (bool intercept : {false, true})
    for (double density : {0.02, 0.6}) {
      Example e = make_example(9000, 40, density, Squared{}, 4);  // several blocks of rows
      e.intercept = intercept;
      Random random(2);
      for (std::int64_t i = 0; i < e.A.n; ++i) e.w.push_back(0.5 + random.uniform());
      check_gram(e, e.A.dense_columns());
      check_gram(e, e.A.sparse_columns());
    }
}

TEST_CASE("rows that are empty, and columns of nothing, are no trouble") {
  Example e{Matrix<double>(6, 3, {0, 0, 2, 0, 0, 0, /**/ 0, 0, 0, 0, 0, 0, /**/ 0, 1, 3, 0, 0, 0}),
            Doubles(6)};
  Bench bench(e, e.A.sparse_columns());
  CHECK(gram_of(bench, first_columns(3), 0, 1) == std::vector<Doubles>{{4}, {0, 0}, {6, 0, 10}});
}

TEST_CASE("where float64 cannot hold a Gram matrix, or the watch stops it, there is none") {
  const Example e{Matrix<double>(2, 1, {1e200, 1}), Doubles(2)};
  Doubles row(1);
  const auto row_of = [&](std::int64_t) { return row.data(); };
  Bench bench(e, e.A.sparse_columns());
  const std::vector<std::int64_t> all = first_columns(1);
  CHECK(!fill_gram(*bench.model, all, 0, row_of, 1, bench.watch));
  const Example small = make_example(500, 8, 0.5, Squared{}, 4);
  const auto stopped = [&](auto columns) {
    Bench other(small, columns);
    Watch late(nullptr, 0.0);
    std::vector<Doubles> rows(8, Doubles(8));
    const auto to = [&](std::int64_t s) { return rows[at(s)].data(); };
    return !fill_gram(*other.model, first_columns(8), 0, to, 1, late);
  };
  CHECK(stopped(small.A.sparse_columns()));
  CHECK(stopped(small.A.dense_columns()));
}

TEST_CASE("a Gram matrix costs the more products the more entries rows have") {
  const Example few = make_example(2000, 40, 0.05, Squared{}, 4),
                many = make_example(2000, 40, 0.9, Squared{}, 4);
  const double cheap = gram_cost(few.A.sparse_columns(), 100),
               dear = gram_cost(many.A.sparse_columns(), 100);
  CHECK(cheap > 3);
  CHECK(cheap < 4);
  CHECK(close(dear, 3 + 0.9 * 40 / 4, 0.1));
  CHECK(gram_cost(many.A.sparse_columns(), 4) > 4);  // without counting
  CHECK(gram_cost(many.A.dense_columns(), 100) == 0.15 * 40);
}
