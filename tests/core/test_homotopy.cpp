#include "bench.hpp"
#include "engine/homotopy.hpp"

using namespace testing;

namespace {

// A symmetric positive definite matrix and the inverse of some of its rows.
struct Rows {
  explicit Rows(std::int64_t size) : size(size), values(at(size * size)) {
    Random random(3);
    Doubles factor(at(size * size));
    for (double& v : factor) v = normal(random);
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) {
        for (std::int64_t k = 0; k < size; ++k)
          values[at(i * size + j)] += factor[at(i * size + k)] * factor[at(j * size + k)];
        values[at(i * size + j)] += i == j ? 1.0 : 0.0;
      }
    slot.assign(at(size), -1);
  }
  double entry(std::int64_t i, std::int64_t j) const { return values[at(i * size + j)]; }
  Doubles by_slot(const Doubles& v) const {
    Doubles out(at(inverse.slots()));
    for (std::int64_t i = 0; i < size; ++i)
      if (slot[at(i)] >= 0) out[at(slot[at(i)])] = v[at(i)];
    return out;
  }
  void insert(std::int64_t i, int threads) {
    Doubles row(at(size));
    for (std::int64_t j = 0; j < size; ++j) row[at(j)] = entry(i, j);
    const auto term = inverse.insert(by_slot(row), entry(i, i), threads);
    REQUIRE(term);
    slot[at(i)] = term->slot;
  }
  void erase(std::int64_t i, int threads) {
    inverse.erase(slot[at(i)], threads);
    slot[at(i)] = -1;
  }
  // The largest error of M H v = v over the rows that are there.
  double error(int threads) const {
    Doubles v(at(size));
    for (std::int64_t i = 0; i < size; ++i) v[at(i)] = std::cos(static_cast<double>(i));
    const Doubles h = inverse.times(by_slot(v), threads);
    double worst = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      if (slot[at(i)] < 0) continue;
      double sum = 0;
      for (std::int64_t j = 0; j < size; ++j)
        if (slot[at(j)] >= 0) sum += entry(i, j) * h[at(slot[at(j)])];
      worst = std::max(worst, std::abs(sum - v[at(i)]));
    }
    return worst;
  }

  std::int64_t size;
  Doubles values;
  std::vector<std::int64_t> slot;
  Inverse inverse;
};

using Dense = DenseColumns<double>;

// One call, after which the model's gradient is again that of x.
bool follow(Homotopy<Dense>& homotopy, Bench<Dense>& bench, double ratio, int threads) {
  const Doubles from = bench.x;
  if (!homotopy(*bench.model, bench.x, ratio, threads, bench.watch)) return false;
  for (std::int64_t k = 0; k < bench.e.A.d; ++k) bench.model->move(k, bench.x[at(k)] - from[at(k)]);
  return true;
}

double violation(const Bench<Dense>& bench) {
  double worst = 0;
  for (std::int64_t k = 0; k < bench.e.A.d; ++k)
    worst = std::max(worst, bench.coordinates[at(k)].penalty.violation(bench.x[at(k)],
                                                                       bench.model->gradient(k)));
  return worst;
}

}  // namespace

TEST_CASE("the inverse stays one while rows come and go") {
  Rows rows(150);
  for (std::int64_t i = 0; i < 150; ++i) rows.insert(i, 1);
  CHECK(rows.error(1) < 1e-8);
  for (std::int64_t i = 0; i < 150; i += 2) rows.erase(i, 2);
  CHECK(rows.error(2) < 1e-8);
  for (std::int64_t i = 0; i < 150; i += 4) rows.insert(i, 1);
  CHECK(rows.error(1) < 1e-8);
  CHECK(rows.inverse.slots() < 190);  // slots are used again
}

TEST_CASE("a row that others already say is not taken") {
  Inverse inverse;
  REQUIRE(inverse.insert({}, 2.0, 1));
  CHECK_FALSE(inverse.insert(Doubles{2.0}, 2.0, 1));
  CHECK(inverse.slots() == 1);
}

TEST_CASE("the homotopy ends in the minimum, from zero and from lam to lam") {
  for (const bool intercept : {false, true})
    for (const bool weighted : {false, true})
      for (const double l2 : {0.0, 0.5}) {
        CAPTURE(intercept);
        CAPTURE(weighted);
        CAPTURE(l2);
        Example e = make_example(40, 90, 1.0, Squared{}, 11);
        e.lam = 30;
        e.intercept = intercept;
        e.l2 = l2;
        if (weighted)
          for (std::int64_t i = 0; i < 40; ++i) e.w.push_back(static_cast<double>(i % 5));
        Bench<Dense> bench(e, e.A.dense_columns());
        Homotopy<Dense> homotopy;
        double ratio = 1;
        for (int step = 0; step < 12; ++step) {
          // Columns that the strong rule leaves out join in the second call.
          for (int again = 0; again < 3; ++again) {
            REQUIRE(follow(homotopy, bench, ratio, 1 + step % 2));
            ratio = 1;
          }
          CHECK(violation(bench) < 1e-8 * e.lam);
          ratio = 1 / 0.7;
          for (Coordinate& c : bench.coordinates) c.penalty.lam *= 0.7;
        }
        CHECK(std::ranges::count_if(bench.x, [](double v) { return v != 0; }) > 20);
      }
}

TEST_CASE("the homotopy repairs any start, and has the same bits for any number of threads") {
  Example e = make_example(60, 80, 1.0, Squared{}, 5);
  e.lam = 4;
  Doubles first;
  for (const int threads : {1, 2, 5}) {
    Bench<Dense> bench(e, e.A.dense_columns());
    Random random(9);
    for (std::int64_t k = 0; k < 80; k += 3) {
      bench.x[at(k)] = normal(random);
      bench.model->move(k, bench.x[at(k)]);
    }
    Homotopy<Dense> homotopy;
    for (int again = 0; again < 4; ++again) REQUIRE(follow(homotopy, bench, 1.0, threads));
    CHECK(violation(bench) < 1e-8 * e.lam);
    if (first.empty()) first = bench.x;
    CHECK(bench.x == first);
  }
}

TEST_CASE("columns that repeat each other, or others together, do not stop the homotopy") {
  Example e = make_example(30, 12, 1.0, Squared{}, 5);
  for (std::int64_t i = 0; i < 30; ++i) {
    e.A.dense[at(30 + i)] = e.A.dense[at(i)];
    e.A.dense[at(60 + i)] = e.A.dense[at(i)] + e.A.dense[at(90 + i)];
  }
  e.lam = 20;
  Bench<Dense> bench(e, e.A.dense_columns());
  bench.x[0] = bench.x[1] = 0.5;
  bench.model->move(0, 0.5);
  bench.model->move(1, 0.5);
  Homotopy<Dense> homotopy;
  double ratio = 1;
  for (int step = 0; step < 6; ++step) {
    for (int again = 0; again < 3; ++again, ratio = 1) REQUIRE(follow(homotopy, bench, ratio, 1));
    CHECK(violation(bench) < 1e-6 * e.lam);
    ratio = 2;
    for (Coordinate& c : bench.coordinates) c.penalty.lam /= 2;
  }
}
