#include <set>

#include "study/sgd.hpp"
#include "support.hpp"

using namespace testing;
using namespace shotgun::study;

namespace {

// A' of a random problem, a column per sample, with classes from a few of its features.
struct Classes {
  Classes(std::int64_t n, std::int64_t d, double density, std::uint64_t seed)
      : rows(random_matrix(d, n, density, seed)) {
    for (std::int64_t i = 0; i < n; ++i) y.push_back(rows(0, i) - rows(1, i) > 0 ? 1.0 : -1.0);
  }
  Schedule schedule(double rate, bool decays, std::uint64_t seed) const {
    return {Passes(first_columns(rows.d), seed), Rate(rate, decays), 0.02};
  }
  Sgd start(double rate = 0.1, bool decays = false, std::uint64_t seed = 5) const {
    return {Doubles(at(rows.n)), schedule(rate, decays, seed)};
  }
  Matrix<double> rows;
  Doubles y;
};

Doubles after(Sgd sgd, const Classes& c, std::int64_t steps) {
  Watch watch(nullptr, infinity);
  sgd.run(c.rows.sparse_columns(), c.y, steps, watch);
  return sgd.x();
}

// Every weight shrinks at every step.
void eager_step(const Classes& c, std::int64_t i, double rate, double lam, Doubles& x) {
  double z = 0;
  for (std::int64_t j = 0; j < c.rows.n; ++j) z += c.rows(j, i) * x[at(j)];
  const double slope = -c.y[at(i)] / (1 + std::exp(c.y[at(i)] * z));
  for (std::int64_t j = 0; j < c.rows.n; ++j)
    x[at(j)] = shrunk(x[at(j)] - rate * slope * c.rows(j, i), rate * lam);
}

}  // namespace

TEST_CASE("shrinkage paid late leads where shrinkage paid at once does, step by step") {
  const Classes c(40, 30, 0.1, 3);
  Watch watch(nullptr, infinity);
  for (bool decays : {false, true}) {
    Sgd sparse = c.start(0.3, decays), dense = sparse;
    Schedule schedule = c.schedule(0.3, decays, 5);
    Doubles x(30);
    int zeros = 0;
    for (int t = 0; t < 200; ++t) {
      const std::int64_t i = schedule.passes.next();
      eager_step(c, i, schedule.rate.next(), schedule.lam, x);
      sparse.run(c.rows.sparse_columns(), c.y, 1, watch);
      dense.run(c.rows.dense_columns(), c.y, 1, watch);
      const Doubles lazy = sparse.x(), all = dense.x();
      for (std::size_t j = 0; j < x.size(); ++j) {
        CHECK(close(lazy[j], x[j], 1e-10, 1e-3));
        CHECK(close(all[j], x[j], 1e-10, 1e-3));
        zeros += x[j] == 0 && lazy[j] == 0;
      }
    }
    CHECK(zeros > 0);
  }
}

TEST_CASE("the same seed gives the same bits, however often one looks") {
  const Classes c(40, 30, 0.3, 4);
  const Doubles once = after(c.start(), c, 100);
  Sgd cut = c.start();
  Watch watch(nullptr, infinity);
  for (std::int64_t steps : {1, 9, 50, 40}) {
    cut.run(c.rows.sparse_columns(), c.y, steps, watch);
    CHECK((cut.x() == once) == (steps == 40));
  }
  CHECK(after(c.start(0.1, false, 6), c, 100) != once);
}

TEST_CASE("a pass visits each sample once, in an order of its own") {
  Passes passes({3, 5, 7, 11, 13, 17, 19, 23}, 1);
  std::set<std::vector<std::int64_t>> orders;
  for (int pass = 0; pass < 5; ++pass) {
    std::vector<std::int64_t> order(8);
    for (std::int64_t& i : order) i = passes.next();
    orders.insert(order);
    CHECK(std::set(order.begin(), order.end()) ==
          std::set<std::int64_t>{3, 5, 7, 11, 13, 17, 19, 23});
  }
  CHECK(orders.size() == 5);
}

TEST_CASE("a decaying rate is the first one over the square root of the step") {
  Rate constant(0.5, false), decaying(0.5, true);
  for (int t = 1; t < 10; ++t) {
    CHECK(constant.next() == 0.5);
    CHECK(decaying.next() == 0.5 / std::sqrt(t));
  }
}

TEST_CASE("a heavy penalty leaves no weight") {
  const Classes c(40, 30, 0.3, 4);
  Watch watch(nullptr, infinity);
  Sgd sgd(Doubles(30, 1.0), {Passes(first_columns(40), 1), Rate(0.1, false), 1e3});
  sgd.run(c.rows.sparse_columns(), c.y, 40, watch);
  for (double x : sgd.x()) CHECK(x == 0);
}
