#include "problem/intercept.hpp"
#include "support.hpp"

using namespace testing;

namespace {

template <Loss L>
double slope(const Observed<L>& samples, const Doubles& z, double b) {
  double sum = 0;
  for (std::int64_t i = 0; i < samples.size(); ++i) sum += samples.derivative(i, z[at(i)] + b);
  return sum;
}

}  // namespace

TEST_CASE("the squared loss puts the intercept at the weighted mean of the residuals") {
  const Doubles y = random_vector(500, 1), w(500, 0.25);
  Doubles z = random_vector(500, 2);
  double mean = 0;
  for (std::size_t i = 0; i < 500; ++i) mean += (y[i] - z[i]) / 500;
  const Observed<Squared> samples{{y, w, {}}, {}};
  CHECK(minimise_intercept(1, samples, z) == doctest::Approx(mean).epsilon(1e-12));
  CHECK(std::abs(slope(samples, z, 0)) <= 1e-11);
}

TEST_CASE("the Poisson loss puts it where the rates sum to the counts") {
  const Doubles y{0, 3, 1, 0, 7}, w{1, 2, 0, 1, 0.5};
  Doubles z = random_vector(5, 6);
  double rates = 0;
  for (std::size_t i = 0; i < 5; ++i) rates += w[i] * std::exp(z[i]);
  const Observed<Poisson> samples{{y, w, {}}, {}};
  CHECK(minimise_intercept(1, samples, z) ==
        doctest::Approx(std::log((2 * 3 + 0.5 * 7) / rates)).epsilon(1e-12));
}

TEST_CASE_TEMPLATE("the slope vanishes at the intercept, from near and from far", L, Squared,
                   Logistic, SquaredHinge, Huber, Poisson) {
  for (double spread : {1.0, 30.0, 1e4})
    for (double start : {0.0, 50.0, -1e4}) {
      Doubles y = random_vector(301, 3), z = random_vector(301, 4), w = random_vector(301, 5);
      for (double& v : y) v = target(L::targets, v + 0.5);
      for (double& v : z) v = spread * v + start;
      for (double& v : w) v = std::max(0.0, v);
      const Observed<L> samples{{y, w, {}}, {}};
      const Doubles before = z;
      const double b = minimise_intercept(1, samples, z);
      CAPTURE(spread);
      CAPTURE(start);
      for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i] == before[i] + b);
      // Zero, or as near as the spacing of doubles around b allows.
      const double e = 1e-12 * (1 + std::abs(b));
      const bool crosses = slope(samples, before, b - e) <= 0 && slope(samples, before, b + e) >= 0;
      CHECK((crosses || std::abs(slope(samples, z, 0)) <= 1e-10));
    }
}

TEST_CASE_TEMPLATE("an intercept whose minimum is at infinity ends at a finite place", L, Logistic,
                   Poisson) {
  const Doubles y(50, L::targets == Targets::classes ? 1.0 : 0.0);
  Doubles z(50);
  const double b = minimise_intercept(1, Observed<L>{{y, {}, {}}, {}}, z);
  CHECK(std::isfinite(b));
  CHECK(L{}.at(z[0], y[0]).value <= 1e-10);
}
