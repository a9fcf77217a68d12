// select: which columns join the working set.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "problem/design.hpp"
#include "problem/penalty.hpp"

namespace shotgun {

// A weight at zero lacks too much to move for it to matter.
inline bool too_far(double gradient, double lam) { return gradient < 0.7 * lam; }

// How much a weight outside W wants to move: infinitely if it has moved already or nothing holds
// it, else by its violation, or (negative) by what it lacks for one, per unit of the column; minus
// infinity if it lacks too much to matter. Where |gradient| is at least `expectation` of lam, the
// weight is expected to move though nothing violates yet (the strong rule).
inline double urgency(const Penalty& penalty, double x, double gradient, double norm2,
                      double expectation) {
  if (x != 0 || !penalty.scalable()) return infinity;
  const double excess = std::abs(gradient) - penalty.lam;
  if (too_far(std::abs(gradient), penalty.lam) || norm2 <= 0) return -infinity;
  const double violation = penalty.violation(penalty.clamp(0.0), gradient);
  const bool expected = excess >= (expectation - 1) * penalty.lam;
  if (expected && expectation < 1 && violation == 0) return 1e-300;
  return (violation > 0 ? violation : std::min(excess, -1e-300)) / std::sqrt(norm2);
}

struct Candidate {
  double urgency;
  Column j;
};
struct Choice {
  std::vector<Column> columns;  // ascending
  bool rough = false;  // many more want to join: nothing is worth doing well with these alone
};

// Those that want to move most, as many as W, of `size` columns, has already (at first a number
// that the data suggest), or all that the strong rule foresees; and when few are left that want to,
// some that are close to it, which the next shot will turn.
inline Choice choose_columns(std::vector<Candidate> candidates, std::size_t size, std::int64_t rows,
                             bool foreseen) {
  const auto count = [&](double least) {
    return static_cast<std::size_t>(
        std::ranges::count_if(candidates, [&](const Candidate& c) { return c.urgency >= least; }));
  };
  const std::size_t moved = count(infinity), wanting = count(0.0) - moved;
  size += moved;  // those are of W already
  const std::size_t suggested = std::min(wanting, static_cast<std::size_t>(rows)) / 8;
  const std::size_t some = std::max({std::size_t{100}, suggested, size});
  const std::size_t room = std::min(foreseen ? wanting : some, std::max(wanting, size / 8));
  const std::size_t most = moved + room;
  if (candidates.size() > most) {
    std::ranges::nth_element(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(most),
                             std::greater{}, &Candidate::urgency);
    candidates.resize(most);
  }
  Choice choice{{}, wanting > room || 20 * wanting > size};
  for (const Candidate& candidate : candidates) choice.columns.push_back(candidate.j);
  std::ranges::sort(choice.columns);
  return choice;
}

}  // namespace shotgun
