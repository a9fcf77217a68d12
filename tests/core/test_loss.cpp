#include <doctest/doctest.h>

#include <vector>

#include "problem/losses/losses.hpp"

using namespace shotgun;

constexpr double infinity = std::numeric_limits<double>::infinity();

#define EVERY_LOSS Squared, Logistic, SquaredHinge, Huber, Poisson
static_assert(std::is_same_v<AnyLoss, AnyLossOf<EVERY_LOSS>>, "every loss there is");

namespace {

// No loss has a kink at any of these, nor at a target.
const std::vector<double> margins{-30, -7.5, -2, -0.4, -1e-3, 0, 1e-3, 0.3, 1.1, 4.2, 11, 25};

template <class L>
std::vector<double> targets() {
  if (L::targets == Targets::classes) return {-1, 1};
  if (L::targets == Targets::counts) return {0, 1, 3.5};
  return {-3.5, 0, 1.25};
}
// Of every loss: slopes within the conjugate's domain (its ends too, where a z within 60 reaches
// the supremum), and steep ones just outside.
template <class L>
struct Points;

template <>
struct Points<Squared> {
  static std::vector<double> slopes(double) { return {-6, -0.5, 0, 0.25, 3}; }
  static std::vector<double> steep(double) { return {}; }
};
template <>
struct Points<Logistic> {
  static std::vector<double> slopes(double y) {
    return {-y * 1.0, -y * 0.999, -y * 0.5, -y * 0.01, -y * 1e-9, 0.0};
  }
  static std::vector<double> steep(double y) { return {y * 1e-9, -y * (1 + 1e-9)}; }
};
template <>
struct Points<SquaredHinge> {
  static std::vector<double> slopes(double y) {
    return {-y * 30.0, -y * 2.0, -y * 0.5, -y * 1e-9, 0.0};
  }
  static std::vector<double> steep(double y) { return {y * 1e-9, y * 3}; }
};
template <>
struct Points<Huber> {
  static std::vector<double> slopes(double) { return {-1.35, -0.5, 0, 0.25, 1.35}; }
  static std::vector<double> steep(double) { return {1.35 * (1 + 1e-9), -1.35 * (1 + 1e-9)}; }
};
template <>
struct Points<Poisson> {
  static std::vector<double> slopes(double y) { return {-y, -0.5 * y, 0, 0.25, 3}; }
  static std::vector<double> steep(double y) { return {-y - 1e-9, -y - 2}; }
};

template <class L>
double supremum(double u, double y) {
  double lo = -60, hi = 60;  // uz - L(z, y) is concave in z: ternary search
  auto gain = [&](double z) { return u * z - L{}.at(z, y).value; };
  for (int step = 0; step < 300; ++step) {
    const double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
    (gain(a) < gain(b) ? lo : hi) = gain(a) < gain(b) ? a : b;
  }
  return gain(0.5 * (lo + hi));
}

// check(z, y) at every margin and target.
template <class L, class Check>
void everywhere(Check&& check) {
  for (double y : targets<L>())
    for (double z : margins) {
      CAPTURE(L::name);
      CAPTURE(z);
      CAPTURE(y);
      check(z, y);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("derivative is the slope of value", L, EVERY_LOSS) {
  everywhere<L>([loss = L{}, e = 1e-6](double z, double y) {
    const double slope = (loss.at(z + e, y).value - loss.at(z - e, y).value) / (2 * e);
    CHECK(loss.at(z, y).derivative == doctest::Approx(slope).epsilon(1e-6).scale(1.0));
  });
}

TEST_CASE_TEMPLATE("curvature is the slope of derivative, away from kinks", L, EVERY_LOSS) {
  everywhere<L>([loss = L{}, e = 1e-5](double z, double y) {
    const double slope = (loss.at(z + e, y).derivative - loss.at(z - e, y).derivative) / (2 * e);
    CHECK(loss.at(z, y).curvature == doctest::Approx(slope).epsilon(1e-7).scale(1.0));
  });
}

TEST_CASE_TEMPLATE("beta is the largest curvature", L, EVERY_LOSS) {
  if (!std::isfinite(L::beta)) return;
  double largest = 0;
  everywhere<L>([&](double z, double y) {
    largest = std::max({largest, L{}.at(z, y).curvature, L{}.at(y, y).curvature});
  });
  CHECK(largest == L::beta);
}

TEST_CASE_TEMPLATE("only a quadratic loss has curvature 1 everywhere", L, EVERY_LOSS) {
  bool always = true;
  everywhere<L>([&](double z, double y) { always = always && L{}.at(z, y).curvature == 1; });
  CHECK(always == L::quadratic);
}

TEST_CASE_TEMPLATE("no loss is negative, and each is zero somewhere or tends to it", L,
                   EVERY_LOSS) {
  for (double y : targets<L>()) {
    double least = infinity;
    for (double z = -60; z <= 60; z += 0.25) {
      CHECK(L{}.at(z, y).value >= 0);
      least = std::min(least, L{}.at(z, y).value);
    }
    const double best = L::targets == Targets::counts ? std::log(std::max(y, 1e-30)) : y;
    CHECK(std::min(least, L{}.at(best, y).value) <= 1e-15);
  }
}

TEST_CASE_TEMPLATE("conjugate is the supremum of uz - L(z)", L, EVERY_LOSS) {
  for (double y : targets<L>())
    for (double u : Points<L>::slopes(y))
      CHECK(L{}.conjugate(u, y) == doctest::Approx(supremum<L>(u, y)).epsilon(1e-9).scale(1.0));
}

TEST_CASE_TEMPLATE("conjugate and fenchel_young are infinite outside the domain", L, EVERY_LOSS) {
  for (double y : targets<L>())
    for (double u : Points<L>::steep(y)) {
      CHECK(L{}.conjugate(u, y) == infinity);
      CHECK(L{}.fenchel_young(0.5, y, u) == infinity);
    }
}

TEST_CASE_TEMPLATE("fenchel_young is value + conjugate - uz, never negative", L, EVERY_LOSS) {
  everywhere<L>([loss = L{}](double z, double y) {
    for (double u : Points<L>::slopes(y)) {
      const double direct = loss.at(z, y).value + loss.conjugate(u, y) - u * z;
      CHECK(loss.fenchel_young(z, y, u) >= 0);
      CHECK(loss.fenchel_young(z, y, u) == doctest::Approx(direct).epsilon(1e-11).scale(50.0));
    }
  });
}

TEST_CASE_TEMPLATE("fenchel_young vanishes at the gradient and is quadratic around it", L,
                   EVERY_LOSS) {
  for (double y : targets<L>())
    for (double z : {-2.0, -0.4, 0.0, 0.3, 1.0}) {
      const Curve c = L{}.at(z, y);
      const double e = 1e-9;
      CHECK(L{}.fenchel_young(z, y, c.derivative) <= 1e-30);
      if (c.curvature == 0) continue;
      const double expected = 0.5 * e * e / c.curvature;  // no digit lost to cancellation
      CHECK(L{}.fenchel_young(z, y, c.derivative + e) == doctest::Approx(expected).epsilon(1e-5));
    }
}

TEST_CASE("the logistic loss keeps its digits at margins of ten thousand") {
  const Logistic loss;
  for (double y : {-1.0, 1.0}) {
    const double right = y * 1e4, wrong = -y * 1e4;
    CHECK(loss.at(right, y).value == 0);
    CHECK(loss.at(wrong, y).value == 1e4);
    CHECK(loss.at(right, y).derivative == 0);
    CHECK(loss.at(wrong, y).derivative == -y);
    CHECK(loss.at(right, y).curvature == 0);
    CHECK(loss.at(wrong, y).curvature == 0);
    for (double z : {right, wrong}) {
      CHECK(loss.fenchel_young(z, y, loss.at(z, y).derivative) == 0);
      CHECK(loss.fenchel_young(z, y, 0.0) ==
            doctest::Approx(loss.at(z, y).value).epsilon(1e-12).scale(1.0));
    }
  }
}

TEST_CASE("logistic brackets are finite wherever value and conjugate are") {
  const Logistic loss;
  for (double y : {-1.0, 1.0})
    for (double margin : {-1e4, -800.0, 800.0, 1e4})
      for (double p : {1.0, 0.999, 0.5, 1e-3}) {
        const double z = y * margin, u = -y * p;
        const double direct = loss.at(z, y).value + loss.conjugate(u, y) - u * z;
        CHECK(loss.fenchel_young(z, y, u) == doctest::Approx(direct).epsilon(1e-9).scale(1.0));
      }
}

TEST_CASE("the Huber loss is the squared one up to delta, of slope delta beyond") {
  for (double delta : {0.1, 1.35, 1e6})
    for (double y : {-2.0, 0.0, 7.0})
      for (double part : {-50.0, -1.0, -0.3, 0.0, 0.9, 1.0, 3.0}) {
        const double r = part * delta, z = y + r;
        const Curve c = Huber{delta}.at(z, y), squared = Squared{}.at(z, y);
        CHECK(c.value <= squared.value);
        if (std::abs(part) < 1) {
          CHECK(c.value == doctest::Approx(squared.value).epsilon(1e-12));
          CHECK(c.derivative == squared.derivative);
        } else {
          CHECK(c.value == doctest::Approx(delta * (std::abs(r) - 0.5 * delta)).epsilon(1e-12));
          CHECK(std::abs(c.derivative) == doctest::Approx(delta).epsilon(1e-12));
        }
      }
}

TEST_CASE("the Poisson loss is half the deviance: zero at log y, exp(z) for a count of zero") {
  const Poisson loss;
  for (double y : {1e-6, 0.5, 1.0, 3.0, 1e6}) {
    CHECK(loss.at(std::log(y), y).value <= 1e-12 * y);
    for (double e : {1e-9, 1e-6, 1e-3, 1e-2}) {  // y (exp(e) - 1 - e), to most of its digits
      const double expected = y * e * e * (0.5 + e * (1.0 / 6 + e * (1.0 / 24 + e / 120)));
      CHECK(loss.at(std::log(y) + e, y).value ==
            doctest::Approx(expected).epsilon(1e-15 / (e * e) + 1e-9));
    }
  }
  for (double z : {-1e4, -30.0, 0.0, 5.0}) {
    CHECK(loss.at(z, 0).value == std::exp(z));
    CHECK(loss.at(z, 0).derivative == std::exp(z));
    CHECK(loss.fenchel_young(z, 0, 0) == std::exp(z));
  }
}

TEST_CASE("rates beyond the range of double are infinite or zero, never NaN") {
  const Poisson loss;
  for (double y : {0.0, 2.0, 1e6}) {
    CHECK(loss.at(1e4, y).value == infinity);
    CHECK(loss.at(1e4, y).derivative == infinity);
    CHECK(loss.at(-1e4, y).derivative == -y);
    CHECK(loss.at(-1e4, y).curvature == 0);
    CHECK(loss.at(-1e4, y).value ==
          doctest::Approx(y > 0 ? y * (std::log(y) + 1e4 - 1) : 0.0).epsilon(1e-14));
  }
}
