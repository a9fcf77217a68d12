#include "problem/intercept.hpp"
#include "support.hpp"

using namespace testing;

namespace {

template <class L>
double slope(const Samples& samples, const Doubles& z) {
  double sum = 0;
  for (std::int64_t i = 0; i < samples.size(); ++i)
    sum += samples.weight(i) * L::derivative(z[at(i)], samples.target(i));
  return sum;
}

}  // namespace

TEST_CASE("the squared loss puts the intercept at the weighted mean of the residuals") {
  const Doubles y = random_vector(500, 1), w(500, 0.25);
  Doubles z = random_vector(500, 2);
  double mean = 0;
  for (std::size_t i = 0; i < 500; ++i) mean += (y[i] - z[i]) / 500;
  const Samples samples{y, w, {}};
  CHECK(minimise_intercept<Squared>(1, samples, z) == doctest::Approx(mean).epsilon(1e-12));
  CHECK(std::abs(slope<Squared>(samples, z)) <= 1e-11);
}

TEST_CASE("the logistic slope vanishes at the intercept, from near and from far") {
  for (double spread : {1.0, 30.0, 1e4})
    for (double start : {0.0, 50.0, -1e4}) {
      Doubles y = random_vector(301, 3), z = random_vector(301, 4), w = random_vector(301, 5);
      for (double& v : y) v = v > -0.5 ? 1 : -1;
      for (double& v : z) v = spread * v + start;
      for (double& v : w) v = std::max(0.0, v);
      const Samples samples{y, w, {}};
      const Doubles before = z;
      const double b = minimise_intercept<Logistic>(1, samples, z);
      CAPTURE(spread);
      CAPTURE(start);
      for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i] == before[i] + b);
      // Zero, or as near as the spacing of doubles around b allows.
      Doubles left = before, right = before;
      const double e = 1e-12 * (1 + std::abs(b));
      for (double& v : left) v += b - e;
      for (double& v : right) v += b + e;
      const bool crosses =
          slope<Logistic>(samples, left) <= 0 && slope<Logistic>(samples, right) >= 0;
      CHECK((crosses || std::abs(slope<Logistic>(samples, z)) <= 1e-10));
    }
}

TEST_CASE("an intercept whose minimum is at infinity ends at a finite place") {
  const Doubles y(50, 1.0);
  Doubles z(50);
  const double b = minimise_intercept<Logistic>(1, {y, {}, {}}, z);
  CHECK(std::isfinite(b));
  CHECK(Logistic::value(z[0], 1.0) <= 1e-10);
}
