#include "fit.hpp"
#include "loop/candidates.hpp"

using namespace testing;

TEST_CASE("candidates are active, outside W, and not far from wanting to move") {
  Example e = make_example(80, 30, 0.7, Squared{}, 5);
  e.lam = 60;
  Fit fit(e);
  fit.certify();
  fit.pack.extend(fit.active.columns(), {4, 9}, false);
  const Candidates<Cols, Squared> outside(fit.features, fit.scan, fit.point, fit.active, fit.pack,
                                          2);
  CHECK(outside.everyone().size() == 28);
  const std::vector<Candidate> known = outside.known();
  std::size_t near = 0;
  for (Column j = 0; j < 30; ++j) near += j != 4 && j != 9 && std::abs(fit.scan.c(j)) >= 0.7 * 60;
  CHECK(known.size() == near);
  CHECK(near > 2);
  CHECK(near < 28);
  for (const Candidate& c : known) {
    const double g = fit.scan.c(c.j), norm2 = fit.features.norm2(c.j);
    CHECK(!fit.pack.holds(c.j));
    CHECK(c.urgency == urgency(fit.features.penalty(c.j), 0.0, g, norm2, 1.0));
  }
  const std::vector<Candidate> foreseen = outside.foreseen(0.8);
  CHECK(foreseen.size() == known.size());
  for (std::size_t k = 0; k < known.size(); ++k) CHECK(foreseen[k].urgency >= known[k].urgency);
}

TEST_CASE("what screening has dropped is no candidate") {
  Example e = make_example(80, 30, 0.7, Squared{}, 5);
  e.lam = 60;
  Fit fit(e);
  fit.certify();
  fit.active.screen(1.0, 0.0);
  const Candidates<Cols, Squared> outside(fit.features, fit.scan, fit.point, fit.active, fit.pack,
                                          1);
  CHECK(outside.everyone().size() == static_cast<std::size_t>(fit.active.size()));
  for (const Candidate& c : outside.known()) CHECK(fit.active.holds(c.j));
}
