#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "engine/update.hpp"

using namespace shotgun;

TEST_CASE("an update ends at the minimiser of the quadratic plus the penalty") {
  for (const Penalty& p : {Penalty{.lam = 0.5}, Penalty{.lam = 0.5, .l2 = 2.0},
                           Penalty{.lam = 0.25, .lo = -0.5, .hi = 0.75}})
    for (double x : {-0.5, 0.0, 0.3})
      for (double gradient : {-4.0, -0.4, 0.0, 0.4, 4.0}) {
        const double curvature = 1.5, delta = update(p, x, gradient, curvature);
        CHECK(x + delta >= p.lo);
        CHECK(x + delta <= p.hi);
        const double best = coordinate_change(p, x, delta, gradient, curvature);
        CHECK(best <= 0);
        for (double away : {-0.01, 0.01})
          if (const double other = p.clamp(x + delta + away) - x; other != delta)
            CHECK(coordinate_change(p, x, other, gradient, curvature) > best);
      }
}

TEST_CASE("an update has the values that its formula has") {
  CHECK(update({.lam = 1.0}, 0.0, -3.0, 2.0) == 1.0);               // (3 - 1) / 2
  CHECK(update({.lam = 1.0}, 0.0, -3.0, 0.25) == 8.0);              // (3 - 1) / 0.25
  CHECK(update({.lam = 1.0}, 0.5, -3.0, 2.0) == 1.0);               // (1 + 3 - 1) / 2 - 0.5
  CHECK(update({.lam = 1.0, .l2 = 2.0}, 0.0, -3.0, 2.0) == 0.5);    // (3 - 1) / (2 + 2)
  CHECK(update({.lam = 1.0, .l2 = 2.0}, 0.5, 0.0, 0.0) == -0.5);    // only the penalty pulls
  CHECK(update({.lam = 1.0, .hi = 0.75}, 0.5, -3.0, 2.0) == 0.25);  // as far as the bound
}

TEST_CASE("the weight of a zero column goes where the penalty wants it, or stays") {
  CHECK(update({.lam = 1.0}, 2.0, 0.0, 0.0) == -2.0);
  CHECK(update({.lam = 0.0}, 2.0, 0.0, 0.0) == 0.0);
  CHECK(update({.lam = 1.0, .lo = 0.5}, 2.0, 0.0, 0.0) == -1.5);
  CHECK(update({.lam = 0.0, .l2 = 1.0}, 2.0, 0.0, 0.0) == -2.0);
}

TEST_CASE("the change along a coordinate is the difference of the two values") {
  for (const Penalty& p : {Penalty{.lam = 0.7}, Penalty{.lam = 0.7, .l2 = 0.4}})
    for (double x : {-1.0, 0.0, 0.5})
      for (double delta : {-2.0, -0.25, 0.0, 0.25, 2.0}) {
        auto F = [&](double at) { return 0.3 * at + 0.5 * 1.5 * at * at + p.value(at); };
        const double gradient = 0.3 + 1.5 * x;
        CHECK(coordinate_change(p, x, delta, gradient, 1.5) ==
              doctest::Approx(F(x + delta) - F(x)).epsilon(1e-12).scale(1.0));
      }
}

TEST_CASE("the penalty of many weights is the sum over them") {
  const std::vector<Coordinate> coordinates{{.penalty = {.lam = 1.0}},
                                            {.penalty = {.lam = 2.0, .l2 = 1.0}},
                                            {.penalty = {.lam = infinity}}};
  CHECK(penalty_value(std::vector{-3.0, 2.0, 0.0}, coordinates) == 3.0 + 4.0 + 2.0);
}

TEST_CASE("what a column and h sum to does not depend on how it is centred") {
  const Coordinate c{.mean = 2.0, .slope = 0.5};
  CHECK(c.sum_h(3.0) == 6.5);
  CHECK(Coordinate{}.inv_scale == 1.0);
  CHECK(Coordinate{}.beta == 0.0);
  CHECK(Coordinate{}.sum_h(3.0) == 0.0);
  CHECK(sizeof(Coordinate) == 64);
  CHECK(alignof(Coordinate) == 64);  // one cache line each
}

TEST_CASE("a move is none until it is told") {
  const Move none;
  CHECK(none.k == 0);
  CHECK(none.x == 0);
  CHECK(none.delta == 0);
  CHECK(none.gradient == 0);
}

TEST_CASE("a step that keeps its promise is made whole") {
  const Step step = backtrack(-1.0, [](double t) { return 5.0 - t; });
  CHECK(step.length == 1.0);
  CHECK(step.decrease == 1.0);
  CHECK(step.seen);
  CHECK(backtrack(-1.0, [](double t) { return 5.0 - t; }, 0.25).length == 0.25);
}

TEST_CASE("a step is halved until it gains a hundredth of what its slope promises") {
  // 1 - t + k t^2: the slope at 0 is -1, and the gain t - k t^2 is enough up to t = 0.99 / k.
  auto parabola = [](double k) { return [k](double t) { return 1.0 - t + k * t * t; }; };
  CHECK(backtrack(-1.0, parabola(0.98)).length == 1.0);
  CHECK(backtrack(-1.0, parabola(1.0)).length == 0.5);
  CHECK(backtrack(-1.0, parabola(7.0)).length == 0.125);
  CHECK(backtrack(-1.0, parabola(7.0)).decrease == doctest::Approx(0.125 - 7.0 / 64));
  CHECK(backtrack(-2.0, [](double t) { return 1.0 - 0.019 * t; }).length == 0.0);
  CHECK(backtrack(-2.0, [](double t) { return 1.0 - 0.021 * t; }).length == 1.0);
}

TEST_CASE("a step whose gain is lost in rounding is made whole, unless it is judged otherwise") {
  auto flat = [](double t) { return 1.0 - 1e-18 * t; };
  const Step taken = backtrack(-1e-18, flat);
  CHECK(taken.length == 1.0);
  CHECK(taken.decrease == 0.01 * 1e-18);
  CHECK(!taken.seen);
  const Step judged = backtrack(-1e-18, flat, 1.0, [](double t) { return t < 0.3; });
  CHECK(judged.length == 0.25);
  CHECK(judged.decrease == 0.25 * (0.01 * 1e-18));
  CHECK(!judged.seen);
  CHECK(backtrack(-1e-18, flat, 1.0, [](double) { return false; }).length == 0.0);
  CHECK(backtrack(-1e-18, [](double t) { return -1.0 - 1e-18 * t; }).length == 1.0);
}

TEST_CASE("without a promise, or where nothing keeps it, no step is made") {
  auto rising = [](double t) { return 1.0 + t; };
  for (double promised : {0.0, 1.0, std::nan("")}) {
    const Step step = backtrack(promised, [](double t) { return 1.0 - t; });
    CHECK(step.length == 0.0);
    CHECK(step.decrease == 0.0);
  }
  CHECK(backtrack(-1.0, rising).length == 0.0);
  CHECK(backtrack(-1.0, rising).decrease == 0.0);
  int tried = 0;
  backtrack(-1.0, [&](double t) { return ++tried, 1.0 + t; });
  CHECK(tried == 35);  // at 0, and 2^-k down to 1e-10
  tried = 0;
  backtrack(-1.0, [&](double t) { return ++tried, 1.0 + t; }, 0.125);
  CHECK(tried == 35);
}

TEST_CASE("a gain that rounding hides counts as what was promised, and as unseen") {
  auto flat = [](double) { return 1e20; };
  const Step step = backtrack(-1.0, flat);
  CHECK(step.length == 1.0);
  CHECK(step.decrease == doctest::Approx(0.01));
  CHECK_FALSE(step.seen);
  auto a_little_up = [](double t) { return t == 0 ? 1.0 : 1.0 + 0x1p-50; };
  CHECK(backtrack(-1e-6, a_little_up).length == 0x1p-24);  // 0.01 t 1e-6 <= 2^-49 - 2^-50
  CHECK_FALSE(backtrack(-1e-6, a_little_up).seen);
  CHECK(backtrack(-1e-6, a_little_up).decrease == 0.01 * 0x1p-24 * 1e-6);
  CHECK(Step{}.seen);
}
