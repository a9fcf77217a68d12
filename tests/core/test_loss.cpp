#include <doctest/doctest.h>

#include <vector>

#include "problem/loss.hpp"

using namespace shotgun;

namespace {

const std::vector<double> margins{-30, -7.5, -2, -0.4, -1e-3, 0, 1e-3, 0.3, 1, 4.2, 11, 25};

template <class L>
std::vector<double> targets() {
  if constexpr (L::quadratic)
    return {-3.5, 0, 1.25};
  else
    return {-1, 1};
}
// Points of the conjugate's domain: all numbers for the squared loss, -yu in [0, 1] for logistic.
template <class L>
std::vector<double> slopes(double y) {
  if constexpr (L::quadratic)
    return {-6, -0.5, 0, 0.25, 3};
  else
    return {-y * 1.0, -y * 0.999, -y * 0.5, -y * 0.01, -y * 1e-9, 0.0};
}

template <class L>
double supremum(double u, double y) {
  double lo = -60, hi = 60;  // uz - L(z, y) is concave in z: ternary search
  auto gain = [&](double z) { return u * z - L::value(z, y); };
  for (int step = 0; step < 300; ++step) {
    const double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
    (gain(a) < gain(b) ? lo : hi) = gain(a) < gain(b) ? a : b;
  }
  return gain(0.5 * (lo + hi));
}

}  // namespace

TEST_CASE_TEMPLATE("derivative is the slope of value", L, Squared, Logistic) {
  const double e = 1e-6;
  for (double y : targets<L>())
    for (double z : margins) {
      const double slope = (L::value(z + e, y) - L::value(z - e, y)) / (2 * e);
      CHECK(L::derivative(z, y) == doctest::Approx(slope).epsilon(1e-6).scale(1.0));
    }
}

TEST_CASE_TEMPLATE("curvature is the slope of derivative", L, Squared, Logistic) {
  const double e = 1e-5;
  for (double y : targets<L>())
    for (double z : margins) {
      const double slope = (L::derivative(z + e, y) - L::derivative(z - e, y)) / (2 * e);
      CHECK(L::curvature(z, y) == doctest::Approx(slope).epsilon(1e-7).scale(1.0));
    }
}

TEST_CASE_TEMPLATE("beta is the largest curvature", L, Squared, Logistic) {
  for (double y : targets<L>()) {
    CHECK(L::curvature(0, y) == L::beta);
    for (double z : margins) CHECK(L::curvature(z, y) <= L::beta);
  }
}

TEST_CASE_TEMPLATE("conjugate is the supremum of uz - L(z)", L, Squared, Logistic) {
  for (double y : targets<L>())
    for (double u : slopes<L>(y))
      CHECK(L::conjugate(u, y) == doctest::Approx(supremum<L>(u, y)).epsilon(1e-9).scale(1.0));
}

TEST_CASE("the logistic conjugate is infinite outside its domain") {
  for (double y : {-1.0, 1.0}) {
    CHECK(std::isinf(Logistic::conjugate(y * 1e-9, y)));
    CHECK(std::isinf(Logistic::conjugate(-y * (1 + 1e-9), y)));
    CHECK(std::isinf(Logistic::fenchel_young(0.5, y, y * 0.1)));
  }
}

TEST_CASE_TEMPLATE("fenchel_young is value + conjugate - uz, never negative", L, Squared,
                   Logistic) {
  for (double y : targets<L>())
    for (double z : margins)
      for (double u : slopes<L>(y)) {
        const double direct = L::value(z, y) + L::conjugate(u, y) - u * z;
        CHECK(L::fenchel_young(z, y, u) >= 0);
        CHECK(L::fenchel_young(z, y, u) == doctest::Approx(direct).epsilon(1e-11).scale(50.0));
      }
}

TEST_CASE_TEMPLATE("fenchel_young vanishes at the gradient and is quadratic around it", L, Squared,
                   Logistic) {
  for (double y : targets<L>())
    for (double z : {-2.0, -0.4, 0.0, 0.3, 1.0}) {
      const double u = L::derivative(z, y), e = 1e-9;
      CHECK(L::fenchel_young(z, y, u) <= 1e-30);
      const double expected = 0.5 * e * e / L::curvature(z, y);  // no digit lost to cancellation
      CHECK(L::fenchel_young(z, y, u + e) == doctest::Approx(expected).epsilon(1e-5));
    }
}

TEST_CASE("logistic loss keeps its digits at margins of ten thousand") {
  for (double y : {-1.0, 1.0}) {
    const double right = y * 1e4, wrong = -y * 1e4;
    CHECK(Logistic::value(right, y) == 0);
    CHECK(Logistic::value(wrong, y) == 1e4);
    CHECK(Logistic::derivative(right, y) == 0);
    CHECK(Logistic::derivative(wrong, y) == -y);
    CHECK(Logistic::curvature(right, y) == 0);
    CHECK(Logistic::curvature(wrong, y) == 0);
    for (double z : {right, wrong}) {
      CHECK(Logistic::fenchel_young(z, y, Logistic::derivative(z, y)) == 0);
      CHECK(Logistic::fenchel_young(z, y, 0.0) ==
            doctest::Approx(Logistic::value(z, y)).epsilon(1e-12).scale(1.0));
    }
  }
}

TEST_CASE("logistic brackets are finite wherever value and conjugate are") {
  for (double y : {-1.0, 1.0})
    for (double margin : {-1e4, -800.0, 800.0, 1e4})
      for (double p : {1.0, 0.999, 0.5, 1e-3}) {
        const double z = y * margin, u = -y * p;
        const double direct = Logistic::value(z, y) + Logistic::conjugate(u, y) - u * z;
        CHECK(Logistic::fenchel_young(z, y, u) == doctest::Approx(direct).epsilon(1e-9).scale(1.0));
      }
}
