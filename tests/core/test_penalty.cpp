#include <doctest/doctest.h>

#include <vector>

#include "problem/penalty.hpp"

using namespace shotgun;

namespace {

const std::vector<Penalty> penalties{
    {.lam = 1.0},
    {.lam = 0.0},
    {.lam = 0.7, .l2 = 0.5},
    {.lam = 0.0, .l2 = 2.0},
    {.lam = 1.0, .lo = 0.0},
    {.lam = 0.5, .hi = 1.5},
    {.lam = 0.5, .lo = -0.25, .hi = 0.75},
    {.lam = 0.5, .l2 = 0.1, .lo = 0.5, .hi = 2.0},
    {.lam = 2.0, .lo = -3.0, .hi = -1.0},
    {.lam = 0.0, .lo = -1.0, .hi = 1.0},
    {.lam = 0.0, .lo = 0.0},
};
const std::vector<double> pulls{-7, -2.5, -1, -0.7, -0.2, 0, 0.1, 0.5, 0.69, 1, 1.5, 3, 8};

// The minimiser of a convex function over [lo, hi], or over [-1000, 1000] where that is open.
template <class F>
double argmin(const Penalty& p, F&& f) {
  double lo = std::max(p.lo, -1000.0), hi = std::min(p.hi, 1000.0);
  for (int step = 0; step < 300; ++step) {
    const double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
    if (f(a) <= f(b))
      hi = b;
    else
      lo = a;
  }
  return 0.5 * (lo + hi);
}

}  // namespace

TEST_CASE("prox minimises the quadratic plus the penalty within the bounds") {
  for (const Penalty& p : penalties)
    for (double curvature : {0.3, 1.0, 5.0})
      for (double pull : pulls) {
        auto cost = [&](double x) { return (0.5 * curvature * x - pull) * x + p.value(x); };
        const double x = p.prox(pull, curvature), brute = argmin(p, cost);
        CAPTURE(p.lam);
        CAPTURE(p.l2);
        CAPTURE(p.lo);
        CAPTURE(p.hi);
        CAPTURE(pull);
        CHECK(x >= p.lo);
        CHECK(x <= p.hi);
        CHECK(cost(x) <= cost(brute) + 1e-12);
        CHECK(x == doctest::Approx(brute).epsilon(1e-6).scale(1.0));
      }
}

TEST_CASE("prox without curvature goes as far as the bounds allow") {
  const Penalty p{.lam = 1.0, .lo = -2.0, .hi = 3.0};
  CHECK(p.prox(0.5, 0.0) == 0.0);
  CHECK(p.prox(1.5, 0.0) == 3.0);
  CHECK(p.prox(-1.5, 0.0) == -2.0);
}

TEST_CASE("conjugate is the supremum over the bounds") {
  for (const Penalty& p : penalties)
    for (double raw : pulls) {
      const double pull = raw * p.feasible_scale(raw);
      auto cost = [&](double x) { return p.value(x) - pull * x; };
      CAPTURE(p.lam);
      CAPTURE(p.l2);
      CAPTURE(p.lo);
      CAPTURE(p.hi);
      CAPTURE(pull);
      CHECK(p.conjugate(pull) == doctest::Approx(-cost(argmin(p, cost))).epsilon(1e-9).scale(1.0));
    }
}

TEST_CASE("feasible_scale is the largest scale that keeps the conjugate finite") {
  for (const Penalty& p : penalties)
    for (double pull : pulls) {
      const double scale = p.feasible_scale(pull);
      CHECK(scale >= 0);
      CHECK(scale <= 1);
      const bool unbounded_side = pull > 0 ? p.hi == infinity : p.lo == -infinity;
      if (scale < 1) {
        CHECK(unbounded_side);
        CHECK(p.l2 == 0);
        CHECK(scale * std::abs(pull) == doctest::Approx(p.lam));
      } else if (unbounded_side && p.l2 == 0) {
        CHECK(std::abs(pull) <= p.lam);
      }
    }
}

TEST_CASE("a bracket that leaves the range of double is infinite, not nothing") {
  const Penalty p{.lam = 5e99, .l2 = 1e-292};
  CHECK(p.fenchel_young(0.0, 1e100) == infinity);
  CHECK(p.fenchel_young(1e300, 1e100) == infinity);
}

TEST_CASE("fenchel_young of a penalty is value + conjugate - pull x, never negative") {
  for (const Penalty& p : penalties)
    for (double raw : pulls)
      for (double at : {-2.0, -0.5, 0.0, 0.1, 1.0, 4.0}) {
        const double x = p.clamp(at), pull = raw * p.feasible_scale(raw);
        const double direct = p.value(x) + p.conjugate(pull) - pull * x;
        CHECK(p.fenchel_young(x, pull) >= 0);
        CHECK(p.fenchel_young(x, pull) == doctest::Approx(direct).epsilon(1e-12).scale(10.0));
      }
}

TEST_CASE("violation is zero exactly at the minimiser") {
  for (const Penalty& p : penalties)
    for (double pull : pulls) {
      const double curvature = 1.5, x = p.prox(pull, curvature);
      auto gradient = [&](double at) { return curvature * at - pull; };
      CAPTURE(p.lam);
      CAPTURE(p.l2);
      CAPTURE(p.lo);
      CAPTURE(p.hi);
      CAPTURE(pull);
      CAPTURE(x);
      CHECK(p.violation(x, gradient(x)) <= 1e-14);
      for (double away : {-0.5, -0.1, 0.1, 0.5})
        if (const double other = p.clamp(x + away); std::abs(other - x) > 0.05)
          CHECK(p.violation(other, gradient(other)) > 0.01);
    }
}

TEST_CASE("an excluded weight stays at zero and has no say in the certificate") {
  const Penalty p{.lam = infinity};
  CHECK(p.excluded());
  CHECK(p.prox(1e300, 1.0) == 0);
  CHECK(p.value(0.0) == 0);
  CHECK(p.conjugate(5.0) == 0);
  CHECK(p.fenchel_young(0.0, 5.0) == 0);
  CHECK(p.violation(0.0, 5.0) == 0);
}

TEST_CASE("free means that neither lam, l2 nor a bound holds the weight") {
  CHECK(Penalty{}.free());
  CHECK_FALSE(Penalty{.lam = 1}.free());
  CHECK_FALSE(Penalty{.l2 = 1}.free());
  CHECK_FALSE(Penalty{.lo = 0}.free());
  CHECK(Penalty{.lo = 0}.half_free());
  CHECK_FALSE(Penalty{.lo = 0, .hi = 1}.half_free());
}

TEST_CASE("a penalty has the values that its formula has") {
  const Penalty p{.lam = 0.7, .l2 = 0.5};
  CHECK(p.value(-2.0) == doctest::Approx(1.4 + 1.0));
  CHECK(p.value(0.5) == doctest::Approx(0.35 + 0.0625));
  CHECK(Penalty{}.value(7.0) == 0);
  CHECK(Penalty{}.lo == -infinity);
  CHECK(Penalty{}.hi == infinity);
  CHECK(p.clamp(9.0) == 9.0);
}

TEST_CASE("change is the difference of two values, exact also where they are nearly equal") {
  const Penalty p{.lam = 0.7, .l2 = 0.5};
  for (double x : {-2.0, -1.0, 0.0, 1.0, 2.0})
    for (double delta : {-3.0, -2.0, -0.5, 0.0, 0.5, 2.0, 3.0})
      CHECK(p.change(x, delta) ==
            doctest::Approx(p.value(x + delta) - p.value(x)).epsilon(1e-12).scale(1.0));
  CHECK(Penalty{.lam = 0.7}.change(1e8, 0x1p-26) == 0.7 * 0x1p-26);
  CHECK(Penalty{.lam = 0.7}.change(-1e8, 0x1p-26) == -0.7 * 0x1p-26);
  CHECK(Penalty{.lam = 0.7}.change(0.5, 0x1p-60) == 0.7 * 0x1p-60);
  CHECK(Penalty{.lam = 0.7}.change(-0.5, 0x1p-60) == -0.7 * 0x1p-60);
  CHECK(Penalty{.lam = infinity}.change(0.0, 0.0) == 0);
  CHECK(Penalty{.lam = infinity}.change(-1.0, 0.0) == 0);
  CHECK(Penalty{.lam = infinity}.change(0.0, 1.0) == infinity);
}

TEST_CASE("a pull of exactly lam moves nothing, even where nothing would stop it") {
  const Penalty p{.lam = 1.0, .lo = -2.0, .hi = 3.0};
  CHECK(p.prox(1.0, 0.0) == 0);
  CHECK(p.prox(-1.0, 0.0) == 0);
  CHECK(Penalty{.lam = infinity}.prox(infinity, 0.0) == 0);
}

TEST_CASE("free, half free and silent weights are told apart") {
  const Penalty plain{.lam = 1.0}, ridge{.lam = 1.0, .l2 = 1.0}, below{.lam = 1.0, .hi = 1.0},
      above{.lam = 1.0, .lo = -1.0};
  CHECK(plain.silent_at_zero());
  for (const Penalty& p : {ridge, below, above, Penalty{}}) CHECK_FALSE(p.silent_at_zero());
  for (const Penalty& p : {plain, ridge, Penalty{1.0, 0.5, 0.0, 2.0}}) {
    CHECK(p.silent_within());
    for (double pull : {-1.0, -0.3, 0.0, 0.9, 1.0})
      CHECK(p.fenchel_young(0.0, p.lam * pull) == 0.0);
  }
  for (const Penalty& p : {Penalty{}, Penalty{1.0, 0.0, 0.5, 2.0}, Penalty{1.0, 0.0, -2.0, -0.5}})
    CHECK_FALSE(p.silent_within());
  CHECK_FALSE(Penalty{.lo = -1.0, .hi = infinity}.free());
  CHECK_FALSE(Penalty{.hi = 1.0}.free());
  CHECK(Penalty{.hi = 1.0}.half_free());
  CHECK_FALSE(Penalty{}.half_free());
  CHECK_FALSE(above.half_free());
  CHECK_FALSE(Penalty{.l2 = 1.0, .lo = 0.0}.half_free());
  CHECK_FALSE(Penalty{}.scalable());
  CHECK_FALSE(Penalty{.hi = 1.0}.scalable());
  CHECK(plain.scalable());
  CHECK(Penalty{.lo = -1.0, .hi = 1.0}.scalable());
}

TEST_CASE("how far a pull may be scaled has the values that its formula has") {
  const Penalty plain{.lam = 1.0};
  CHECK(plain.feasible_scale(4.0) == 0.25);
  CHECK(plain.feasible_scale(-4.0) == 0.25);
  CHECK(plain.feasible_scale(1.0) == 1.0);
  CHECK(Penalty{.lam = 1.0, .hi = 2.0}.feasible_scale(4.0) == 1.0);
  CHECK(Penalty{.lam = 1.0, .hi = 2.0}.feasible_scale(-4.0) == 0.25);
  CHECK(Penalty{.lam = 1.0, .lo = -2.0}.feasible_scale(-4.0) == 1.0);
  CHECK(Penalty{.lam = 1.0, .lo = -2.0}.feasible_scale(4.0) == 0.25);
  CHECK(Penalty{.lam = 1.0, .l2 = 0.1}.feasible_scale(4.0) == 1.0);
  CHECK(Penalty{.lo = -2.0}.feasible_scale(0.0) == 1.0);
}

TEST_CASE("an excess over lam where nothing bounds the weight is rounding") {
  CHECK(Penalty{.lam = 1.0}.conjugate(1.0 + 0x1p-50) == 0);
  CHECK(Penalty{.lam = 1.0}.conjugate(-1.0 - 0x1p-50) == 0);
  CHECK(Penalty{.lam = 1.0, .lo = -1.0}.conjugate(1.0 + 0x1p-50) == 0);
  CHECK(Penalty{.lam = 1.0}.fenchel_young(2.0, 1.0 + 0x1p-50) == 0);
  CHECK(Penalty{.lam = 1.0, .lo = -1.0, .hi = 3.0}.conjugate(2.0) == 3.0);
  CHECK(Penalty{.lam = 1.0, .lo = -1.0, .hi = 3.0}.conjugate(-2.0) == 1.0);
  CHECK(Penalty{.lam = 1.0}.fenchel_young(2.0, 0.25) == 1.5);
  CHECK(Penalty{.lam = 1.0, .l2 = 2.0}.fenchel_young(2.0, 0.25) == 2.0 + 4.0 - 0.5);
  CHECK(Penalty{.lam = 1.0, .l2 = 1.0}.fenchel_young(2.0, 0.25) == 2.0 + 2.0 - 0.5);
  CHECK(Penalty{.lam = 1.0, .lo = -1.0}.fenchel_young(2.0, -5.0) == 2.0 + 4.0 + 10.0);
  CHECK(Penalty{.lam = 1.0, .hi = 1.0}.fenchel_young(-2.0, 5.0) == 2.0 + 4.0 + 10.0);
}

TEST_CASE("violation is the distance to the subdifferential") {
  const Penalty p{.lam = 1.0, .l2 = 0.5, .lo = -2.0, .hi = 2.0};
  CHECK(p.violation(0.0, 0.75) == 0);
  CHECK(p.violation(0.0, 3.0) == 2.0);
  CHECK(p.violation(0.0, -3.0) == 2.0);
  CHECK(p.violation(1.0, -3.0) == 1.5);   // -3 + 0.5 + 1 rises to the right
  CHECK(p.violation(1.0, 3.0) == 4.5);    // 3 + 0.5 + 1
  CHECK(p.violation(-1.0, 3.0) == 1.5);   // 3 - 0.5 - 1
  CHECK(p.violation(-1.0, -3.0) == 4.5);  // -3 - 0.5 - 1
  CHECK(p.violation(2.0, -9.0) == 0);     // the bound holds it
  CHECK(p.violation(-2.0, 9.0) == 0);
  CHECK(p.violation(2.0, 9.0) == 11.0);
  CHECK(p.violation(-2.0, -9.0) == 11.0);
}
