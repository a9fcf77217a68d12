#include "loop/select.hpp"
#include "support.hpp"

using namespace testing;

TEST_CASE("urgency is the violation per unit of the column, negative where there is none") {
  const Penalty lasso{.lam = 1.0};
  CHECK(urgency(lasso, 0.0, 3.0, 4.0, 1.0) == doctest::Approx(1.0));
  CHECK(urgency(lasso, 0.0, -3.0, 4.0, 1.0) == doctest::Approx(1.0));
  CHECK(urgency(lasso, 0.0, 0.9, 4.0, 1.0) == doctest::Approx(-0.05));
  CHECK(urgency(lasso, 0.0, 0.5, 4.0, 1.0) == -infinity);           // too far from one
  CHECK(urgency(lasso, 0.0, 3.0, 0.0, 1.0) == -infinity);           // moves nothing
  CHECK(urgency(lasso, 0.2, 0.0, 4.0, 1.0) == infinity);            // has moved
  CHECK(urgency({}, 0.0, 0.0, 4.0, 1.0) == infinity);               // nothing holds it
  CHECK(urgency({.lam = 1.0, .lo = 0.0}, 0.0, 3.0, 4.0, 1.0) < 0);  // may not move that way
}

TEST_CASE("what the strong rule expects wants to move, if less than what violates") {
  const Penalty lasso{.lam = 1.0};
  const double expected = urgency(lasso, 0.0, 0.9, 4.0, 0.85);
  CHECK(expected > 0);
  CHECK(expected < urgency(lasso, 0.0, 1.001, 4.0, 0.85));
  CHECK(urgency(lasso, 0.0, 0.8, 4.0, 0.85) < 0);
}

TEST_CASE("the most urgent columns join, as many as there are already") {
  std::vector<Candidate> candidates;
  for (Column j = 0; j < 5000; ++j)
    candidates.push_back({static_cast<double>((j * 7919) % 5000) - 1000.0, j});
  const Choice first = choose_columns(candidates, 0, 1'000'000, false);
  CHECK(first.columns.size() == 500);  // an eighth of those that want to
  CHECK(first.rough);
  CHECK(std::ranges::is_sorted(first.columns));
  for (Column j : first.columns) CHECK(candidates[at(j)].urgency >= 3500);
  CHECK(choose_columns(candidates, 0, 1600, false).columns.size() == 200);  // an eighth of n
  CHECK(choose_columns(candidates, 700, 1600, false).columns.size() == 700);
  const Choice foreseen = choose_columns(candidates, 700, 1600, true);
  CHECK(foreseen.columns.size() == 4000);
  CHECK(choose_columns(candidates, 100'000, 1600, false).columns.size() == 5000);  // close ones too
}

TEST_CASE(
    "weights that have moved join whatever their number, and few newcomers are no reason to "
    "hurry") {
  std::vector<Candidate> candidates;
  for (Column j = 0; j < 300; ++j) candidates.push_back({infinity, j});
  for (Column j = 300; j < 310; ++j) candidates.push_back({1.0, j});
  const Choice choice = choose_columns(candidates, 0, 80, false);
  CHECK(choice.columns.size() == 310);
  CHECK(!choice.rough);
  CHECK(choose_columns({}, 0, 80, false).columns.empty());
}
