#include "fit.hpp"

using namespace testing;

namespace {

// All columns alike, or each with a penalty of its own.
Example example(bool alike) {
  Example e = make_example(80, 30, 0.7, Squared{}, 5);
  if (!alike) e.factor = Doubles(30, 1.0), e.factor[7] = 1.5, e.lo = Doubles(30, -9.0);
  e.lam = 60;
  return e;
}

}  // namespace

TEST_CASE("screening drops the columns that the gap decides, and no other") {
  for (bool alike : {true, false}) {
    Fit fit(example(alike));
    CHECK(fit.active.size() == 30);
    for (double radius : {3.0, 0.0}) {
      fit.active.screen(1.0, radius);
      for (Column j = 0; j < 30; ++j) {
        const double reach = std::abs(fit.scan.c(j)) + radius * std::sqrt(fit.features.norm2(j));
        CHECK(fit.active.holds(j) == (reach > fit.features.penalty(j).lam));
      }
      CHECK(fit.active.screened() == 30 - fit.active.size());
    }
    CHECK(fit.active.screened() > 5);
    CHECK(fit.active.size() > 2);
    fit.active.awaken();
    CHECK(fit.active.size() == 30);
    CHECK(fit.active.screened() == 0);
  }
}

TEST_CASE("of a column that was not looked at the sign is not known, and a bound may not decide") {
  Example e = example(true);
  e.lo = Doubles(30, 0.0);  // a weight whose gradient is positive stays at its bound
  Fit fit(e);
  Column known = 0, unknown = 0;
  for (Column j = 0; j < 30; ++j)
    if (fit.scan.c(j) > fit.scan.c(known)) known = unknown = j;
  CHECK(fit.scan.c(known) > e.lam);
  fit.active.screen(1.0, 0.1);
  CHECK(!fit.active.holds(known));  // well inside: it will never leave zero
  fit.active.awaken();
  std::vector<Column> others;
  for (Column j = 0; j < 30; ++j)
    if (j != unknown) others.push_back(j);
  fit.point.set_all([](Column) { return 1e-3; });
  fit.point.refresh();
  fit.scan.move_to(fit.point.dual_candidate());
  fit.point.set_all([](Column) { return 0.0; });
  fit.scan.refresh(others);
  CHECK(!fit.scan.knows(unknown));
  fit.active.screen(1.0, 0.1);
  CHECK(fit.active.holds(unknown));
}

TEST_CASE("of many columns a sample is asked first, and what it says is done to all") {
  const std::int64_t d = 5000;
  Example e = make_example(20, d, 0.7, Squared{}, 5);
  e.lam = 20;
  Fit fit(e);
  const std::int64_t all = fit.active.size();
  fit.active.screen(1.0, 1e3);
  CHECK(fit.active.size() == all);
  fit.active.screen(1.0, 0.5);
  std::int64_t stay = 0;
  for (Column j = 0; j < d; ++j) {
    const double reach = std::abs(fit.scan.c(j)) + 0.5 * std::sqrt(fit.features.norm2(j));
    stay += reach > e.lam;
    CHECK(fit.active.holds(j) == (reach > e.lam));
  }
  CHECK(stay > 10);
  CHECK(stay < all - 10);
}

TEST_CASE("a column that was dropped, is packed still and has moved is active again") {
  for (bool alike : {true, false}) {
    Fit fit(example(alike));
    fit.active.screen(1.0, 0.0);
    Column k = 0;
    while (fit.active.holds(k)) ++k;
    const std::int64_t before = fit.active.size(), screened = fit.active.screened();
    fit.move(k, 0.5);
    fit.active.reawaken([](Column) { return false; });
    CHECK(!fit.active.holds(k));
    fit.active.reawaken([&](Column j) { return j == k; });
    CHECK(fit.active.holds(k));
    CHECK(fit.active.size() == before + 1);
    CHECK(fit.active.screened() == screened - 1);
    CHECK(std::ranges::is_sorted(fit.active.columns()));
    fit.active.screen(1.0, 0.0);  // it is not where it was decided to be
    CHECK(fit.active.holds(k));
  }
}

TEST_CASE("columns of nothing and excluded ones are never active, unless nothing is screened") {
  Example e = example(false);
  for (std::int64_t i = 0; i < e.A.n; ++i) e.A.dense[at(3 * e.A.n + i)] = 0;
  e.factor[5] = infinity;
  e.lo.clear();
  Fit fit(e);
  CHECK(!fit.active.holds(3));
  CHECK(fit.active.at_rest(3));
  CHECK(!fit.active.holds(5));
  CHECK(!fit.active.at_rest(5));
  CHECK(fit.active.screened() == 1);
  const Active<Cols, Squared> all(fit.features, fit.scan, fit.point, false, 1, fit.watch);
  CHECK(all.holds(3));
  CHECK(!all.holds(5));
}

TEST_CASE("a gap tells nothing where weights have no penalty on some side") {
  Example e = example(false);
  CHECK(Fit(e).active.certifiable());
  e.factor[4] = 0;
  CHECK(!Fit(e).active.certifiable());  // bounded below alone
  e.lo[4] = -infinity;
  CHECK(Fit(e).active.certifiable());  // free: the dual point is made orthogonal to it
  e.lam = 0;
  CHECK(!Fit(e).active.certifiable());
}
