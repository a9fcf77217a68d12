#include "problem/samples.hpp"
#include "support.hpp"

using namespace testing;

TEST_CASE_TEMPLATE("a row's bracket vanishes at its own gradient, whatever its weight", L, Squared,
                   Logistic, SquaredHinge, Huber, Poisson) {
  const Doubles w = random_vector(400, 1), score = random_vector(400, 2);
  Doubles weight, y;
  for (double v : w) weight.push_back(std::abs(v));
  for (double v : score) y.push_back(target(L::targets, 2 * v));
  const Observed<L> rows{{y, weight, {}}, {}};
  for (std::int64_t i = 0; i < rows.size(); ++i)
    for (double z : {-800.0, -5.0, 0.1, 5.0}) {  // rounding must not leave the conjugate's domain
      const Curve c = rows.at(i, z);
      CHECK(rows.fenchel_young(i, z, c.derivative) <= 1e-15 * (1 + c.value));
      CHECK(rows.fenchel_young(i, z, 0.5 * c.derivative) <= c.value * (1 + 1e-12));
    }
}

TEST_CASE_TEMPLATE("a row of weight 0 has no value, no slope and no bracket", L, Squared, Logistic,
                   SquaredHinge, Huber, Poisson) {
  const Doubles y{1.0}, w{0.0};
  const Observed<L> rows{{y, w, {}}, {}};
  for (double z : {-1e300, 0.0, 1e300}) {  // not even where the loss itself overflows
    const Curve c = rows.at(0, z);
    CHECK(c.value == 0);
    CHECK(c.derivative == 0);
    CHECK(c.curvature == 0);
    CHECK(rows.fenchel_young(0, z, 0.0) == 0);
  }
}

TEST_CASE_TEMPLATE("the curves of many rows are those of each, weights and all", L, Squared,
                   Logistic, SquaredHinge, Huber, Poisson) {
  const Doubles z = random_vector(50, 3), score = random_vector(50, 4);
  Doubles weight, y;
  for (std::size_t i = 0; i < z.size(); ++i) {
    weight.push_back(i % 5 == 0 ? 0.0 : 0.1 * static_cast<double>(i));
    y.push_back(target(L::targets, 2 * score[i]));
  }
  for (const Samples& samples : {Samples{y, {}, {}}, Samples{y, weight, {}}}) {
    const Observed<L> rows{samples, {}};
    const std::int64_t first = 7, n = 42;
    Doubles value(42), derivative(42), curvature(42);
    rows.curves(first, n, z.data() + first, {value.data(), derivative.data(), curvature.data()});
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Curve c = rows.at(first + i, z[at(first + i)]);
      CHECK(close(value[at(i)], c.value, 1e-15, 1 + c.value));
      CHECK(close(derivative[at(i)], c.derivative, 1e-15, 1 + std::abs(c.derivative)));
      CHECK(close(curvature[at(i)], c.curvature, 1e-15, 1 + c.curvature));
    }
    for (std::int64_t i = 0; i < rows.size(); ++i) sum += rows.value(i, z[at(i)]);
    CHECK(close(rows.total(2, [&](std::int64_t i) { return z[at(i)]; }), sum, 1e-14, 1 + sum));
  }
}

TEST_CASE_TEMPLATE("squares that leave the range are weighed before", L, Squared, Huber) {
  const std::tuple<double, double> cases[] = {{1e-160, 1e100}, {1e160, 1e-100}};
  for (const auto& [r, weight] : cases) {
    const Doubles y{0.0}, w{weight};
    Observed<L> rows{{y, w, {}}, {}};
    if constexpr (requires { rows.loss.delta; }) rows.loss.delta = 2 * r;
    CHECK(close(rows.value(0, r), 0.5 * (weight * r) * r, 1e-15));
    CHECK(close(rows.fenchel_young(0, r, 0.0), 0.5 * (weight * r) * r, 1e-15));
  }
}

TEST_CASE("Huber's loss beyond delta is in range wherever its product is") {
  const Doubles y{0.0};
  for (double weight : {1e-150, 1e150}) {
    const Doubles w{weight};
    const Observed<Huber> rows{{y, w, {}}, {.delta = 1e-170}};
    const double r = weight < 1 ? 1e290 : 1e-150;
    CHECK(close(rows.value(0, r), (weight < 1 ? 1e140 : 1.0) * 1e-170, 1e-12));
    CHECK(close(rows.fenchel_young(0, r, 0.0), rows.value(0, r), 1e-12));
  }
}
