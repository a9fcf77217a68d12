#include "bench.hpp"
#include "engine/newton.hpp"

using namespace testing;

namespace {

template <Columns C>
void check_step(const Example& e, C columns, int threads) {
  Bench bench(e, columns);
  const std::vector<std::int64_t> which{0, 2, 3, 7, 11};
  Factor<C> factor, none;
  CHECK(factor.empty());
  factor.make(*bench.model, which, threads, bench.watch);
  CHECK(factor.size() == 5);
  CHECK(factor.place(3) == 2);
  CHECK(factor.place(4) == Factor<C>::nowhere);

  std::vector<Handle<C>> handles;
  std::vector<Coordinate> coordinates;
  Doubles gradient;
  for (std::int64_t k : which) {
    handles.push_back(columns.handle(k));
    coordinates.push_back(bench.coordinates[at(k)]);
    gradient.push_back(bench.model->gradient(k));
  }
  NormalMatrix<C> normal(C(columns.rows(), handles), coordinates, bench.h, threads);
  const NewtonStep plain = newton_step(normal, coordinates, gradient, {none, which, coordinates},
                                       100, 1e-13, bench.watch);
  const NewtonStep quick = newton_step(normal, coordinates, gradient, {factor, which, coordinates},
                                       100, 1e-10, bench.watch);
  CHECK(plain.finished);
  CHECK(quick.finished);
  CHECK(quick.products <= 2);
  CHECK(plain.products >= 4);
  for (std::size_t s = 0; s < which.size(); ++s)
    CHECK(close(quick.step[s], plain.step[s], 1e-8, 1e-3));
}

}  // namespace

TEST_CASE("with a factor of the very columns one product finds the Newton step") {
  for (bool intercept : {false, true})
    for (int threads : {1, 3}) {
      Example e = make_example(300, 12, 0.5, Squared{}, 4);
      e.intercept = intercept;
      e.l2 = 0.3;
      Random random(2);
      for (std::int64_t i = 0; i < e.A.n; ++i) e.w.push_back(0.5 + random.uniform());
      check_step(e, e.A.dense_columns(), threads);
      check_step(e, e.A.sparse_columns(), threads);
    }
}

TEST_CASE("a factor of more columns and of other curvatures still serves") {
  Example e = make_example(400, 60, 0.3, Squared{}, 9);
  Bench bench(e, e.A.sparse_columns());
  std::vector<std::int64_t> all = first_columns(60), some;
  Factor<SparseColumns<double>> factor, none;
  factor.make(*bench.model, all, 1, bench.watch);
  for (std::int64_t k = 0; k < 60; k += 1 + k % 2) some.push_back(k);
  std::vector<SparseColumns<double>::Handle> handles;
  std::vector<Coordinate> coordinates;
  Doubles gradient, h(400);
  for (std::size_t i = 0; i < 400; ++i) h[i] = 1 + 0.2 * std::sin(static_cast<double>(i));
  for (std::int64_t k : some) {
    handles.push_back(bench.model->A.handle(k));
    coordinates.push_back(bench.coordinates[at(k)]);
    gradient.push_back(bench.model->gradient(k));
  }
  NormalMatrix<SparseColumns<double>> normal({400, handles}, coordinates, h.data(), 1);
  const NewtonStep found = newton_step(normal, coordinates, gradient, {factor, some, coordinates},
                                       100, 1e-6, bench.watch);
  const NewtonStep plain =
      newton_step(normal, coordinates, gradient, {none, some, coordinates}, 100, 1e-6, bench.watch);
  CHECK(found.finished);
  CHECK(plain.finished);
  for (std::size_t s = 0; s < some.size(); ++s)
    CHECK(close(found.step[s], plain.step[s], 1e-4, 1e-2));
}

TEST_CASE("Newton steps that are factored get to the minimum where columns say one another") {
  // One-hot groups: the columns of each add up to the same.
  const std::int64_t n = 1500, groups = 4, values = 6, d = groups * values;
  Random random(8);
  Doubles dense(at(n * d));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t q = 0; q < groups; ++q) {
      const double u = random.uniform();  // some values are rarer than others
      const auto v = static_cast<std::int64_t>(u * u * values);
      dense[at((q * values + v) * n + i)] = 1;
    }
  Doubles y;
  for (std::int64_t i = 0; i < n; ++i)
    y.push_back(normal(random) + dense[at(i)] - dense[at(n + i)]);
  for (double penalty : {0.0, 0.5, 5.0}) {
    Example e{Matrix<double>(n, d, dense), y};
    e.lam = penalty;
    Bench bench(e, e.A.sparse_columns());
    int products = 480;
    Factor<SparseColumns<double>> factor;
    Newton newton(*bench.model, factor, products, false, 1);
    double before = bench.value();
    for (int epoch = 0; epoch < 30; ++epoch) {
      newton(bench.x, 1, bench.watch);
      CHECK(bench.value() <= before * (1 + 1e-12));
      before = bench.value();
    }
    double worst = 0;
    for (std::int64_t k = 0; k < d; ++k)
      worst = std::max(worst, bench.coordinates[at(k)].penalty.violation(bench.x[at(k)],
                                                                         bench.model->gradient(k)));
    CHECK(worst < 1e-6);
    CHECK(!factor.empty());
  }
}

TEST_CASE("a factor is worth it where samples are many and products would be") {
  const Example few = make_example(300, 12, 0.5, Squared{}, 4),
                many = make_example(1200, 12, 0.5, Squared{}, 4),
                wide = make_example(1200, 400, 0.5, Squared{}, 4);
  for (const Example* e : {&few, &wide}) {
    CHECK(Factor<DenseColumns<double>>::cost(e->A.dense_columns(), 480) == infinity);
    CHECK(Factor<SparseColumns<double>>::cost(e->A.sparse_columns(), 480) == infinity);
  }
  CHECK(Factor<DenseColumns<double>>::cost(many.A.dense_columns(), 480) < 5);
  const double cost = Factor<SparseColumns<double>>::cost(many.A.sparse_columns(), 480);
  CHECK(cost < 10);
  CHECK(Factor<SparseColumns<double>>::cost(many.A.sparse_columns(), 0) <= cost);
}

TEST_CASE("a weight slides to the columns that say it until one is zero, and not for nothing") {
  const auto coordinate = [](double lam, double lo, double hi) {
    Coordinate c;
    c.penalty = {lam, 0.0, lo, hi};
    c.beta = 1;
    return c;
  };
  const Doubles shares{1.0, 1.0};  // a_2 = a_0 + a_1
  const auto slid = [&](double lam, double most) {
    std::vector<Coordinate> coordinates(3, coordinate(lam, -infinity, infinity));
    coordinates[2].penalty.hi = most;
    Doubles here{1.0, 2.0, -0.5};
    slide_along(coordinates, 2, shares, here);
    return here;
  };
  CHECK((slid(1.0, infinity) == Doubles{0.0, 1.0, 0.5}));
  CHECK((slid(1.0, 0.25) == Doubles{0.25, 1.25, 0.25}));
  CHECK((slid(0.0, infinity) == Doubles{1.0, 2.0, -0.5}));
  const std::vector<Coordinate> twice(2, coordinate(1.0, -infinity, infinity));
  Doubles same{1.0, 2.0};  // duplicates: nothing to gain
  slide_along(twice, 1, Doubles{1.0}, same);
  CHECK((same == Doubles{1.0, 2.0}));
  Doubles against{1.0, -3.0};
  slide_along(twice, 1, Doubles{1.0}, against);
  CHECK((against == Doubles{0.0, -2.0}));
}

TEST_CASE("conjugate gradients do not move in a direction without curvature") {
  Doubles twice = random_vector(1000, 3);
  twice.insert(twice.end(), twice.begin(), twice.end());
  const Example e{Matrix<double>(1000, 2, twice), random_vector(1000, 4)};
  Bench bench(e, e.A.dense_columns());
  NormalMatrix<DenseColumns<double>> normal(bench.model->A, bench.coordinates, nullptr, 1);
  const Factor<DenseColumns<double>> none;
  const Doubles apart{1.0, -1.0}, along{1.0, 1.0};
  const NewtonStep lost = newton_step(normal, bench.coordinates, apart,
                                      {none, {}, bench.coordinates}, 10, 1e-6, bench.watch);
  CHECK(lost.finished);
  CHECK(lost.step == Doubles(2));
  const NewtonStep found = newton_step(normal, bench.coordinates, along,
                                       {none, {}, bench.coordinates}, 10, 1e-6, bench.watch);
  CHECK(found.finished);
  CHECK(found.step[0] < 0);
}
