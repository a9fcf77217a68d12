#include "fit.hpp"

using namespace testing;

namespace {

Example example() {
  Example e = make_example(80, 30, 0.7, Squared{}, 5);
  e.lam = 20;
  return e;
}

}  // namespace

TEST_CASE("the gap covers the distance to the minimum, wherever the point is") {
  Fit fit(example());
  const double best = reference(fit.e, 20'000).objective;
  for (double x : {0.0, 0.5, -3.0, 1.5}) {
    fit.move(0, x);
    const double gap = fit.certify(), distance = fit.point.objective() - best;
    CHECK(gap >= distance);
    CHECK(fit.certificate.here() >= gap);
    CHECK(fit.certificate.lower() <= best);
    CHECK(fit.certificate.by_gap());
  }
}

TEST_CASE("the best dual point so far counts, until F is another one") {
  Fit fit(example());
  const double gap = fit.certify(), objective = fit.point.objective();
  fit.move(0, -50.0);
  const double worse = fit.certify();
  CHECK(worse == doctest::Approx(gap + fit.point.objective() - objective));
  CHECK(worse < fit.certificate.here());
  fit.move(0, 0.0);
  fit.certificate.tighten();  // F is lower again, and nothing was certified since
  CHECK(fit.certificate.gap() == doctest::Approx(gap));
  fit.certificate.restart(objective - 1);
  CHECK(fit.certificate.gap() == infinity);
  CHECK(fit.certify() <= 1 + 1e-9 * objective);
}

TEST_CASE("no gap where a weight has no penalty on some side") {
  Example e = example();
  e.factor = Doubles(30, 1.0);
  e.factor[4] = 0;
  e.lo = Doubles(30, -9.0);
  Fit fit(e);
  fit.certify();
  CHECK(!fit.certificate.by_gap());
  CHECK(fit.certificate.lower() == 0);
}
