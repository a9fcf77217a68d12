#include "fit.hpp"
#include "loop/lengthen.hpp"

using namespace testing;

namespace {

Example example(double l2) {
  Example e = make_example(80, 6, 0.9, Squared{}, 5);
  e.lam = 1;
  e.l2 = l2;
  return e;
}

}  // namespace

TEST_CASE("weights that are too short become the best multiple of themselves") {
  for (double l2 : {0.0, 30.0}) {
    Fit fit(example(l2));
    const double towards = fit.scan.c(2) < 0 ? 1.0 : -1.0;
    fit.move(2, 1e-3 * towards);
    lengthen(fit.point, 1);
    const double x = fit.point.x(2), found = fit.point.objective();
    CHECK(std::abs(x) > 1e-2);
    for (double other : {0.9 * x, 1.1 * x}) {
      fit.move(2, other);
      CHECK(found < fit.point.objective());
    }
  }
}

TEST_CASE("weights that are long enough, too long, or at their bounds stay") {
  Fit fit(example(0.0));
  const double towards = fit.scan.c(2) < 0 ? 1.0 : -1.0;
  for (double length : {0.97, 1.0, 4.0}) {
    fit.move(2, 1e-3 * towards);
    lengthen(fit.point, 1);
    const double x = length * fit.point.x(2);
    fit.move(2, x);
    lengthen(fit.point, 1);
    CHECK(fit.point.x(2) == x);
  }
  Example bounded = example(0.0);
  bounded.lo = Doubles(6, -1e-3);
  bounded.hi = Doubles(6, 1e-3);
  Fit held(bounded);
  held.move(2, 1e-3 * towards);
  const double before = held.point.objective();
  lengthen(held.point, 1);
  CHECK(std::abs(held.point.x(2)) == 1e-3);
  CHECK(held.point.objective() <= before);
}
