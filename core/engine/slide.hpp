// Slide: along directions in which the columns of a support cancel, the loss stays, and the penalty
// alone decides.
#pragma once

#include <algorithm>
#include <cmath>

#include "engine/factor.hpp"
#include "engine/joint.hpp"

namespace shotgun {

// Moves the weight of a column that others say, by `shares` of them, to those: as far as pays, up
// or down, which is until some weight is zero or at a bound. `here` are the weights. What pays no
// more than rounding is not done.
inline void slide_along(std::span<const Coordinate> coordinates, std::int64_t said,
                        std::span<const double> shares, std::vector<double>& here) {
  const auto count = static_cast<std::size_t>(said) + 1;
  const auto by = [&](std::size_t s) {
    if (static_cast<std::int64_t>(s) == said) return 1.0;
    const double part = std::sqrt(coordinates[s].beta) * std::abs(shares[s]);
    return part > 1e-10 * std::sqrt(coordinates[count - 1].beta) ? -shares[s] : 0.0;  // rounding
  };
  double farthest = 0;  // that is where the last weight is zero
  for (std::size_t s = 0; s < count; ++s)
    if (by(s) != 0) farthest = std::max(farthest, std::abs(here[s] / by(s)));
  for (const double length : {farthest, -farthest}) {
    std::vector<Move> along;
    double reach = 1, unseen = 0;
    for (std::size_t s = 0; s < count; ++s) {
      const Penalty& p = coordinates[s].penalty;
      const double delta = length * by(s), goal = here[s] + delta;
      along.push_back({static_cast<std::int64_t>(s), here[s], delta, 0.0});
      unseen += 1e-10 * p.lam * std::abs(delta);
      if (goal > p.hi) reach = std::min(reach, (p.hi - here[s]) / delta);
      if (goal < p.lo) reach = std::min(reach, (p.lo - here[s]) / delta);
    }
    const double t = std::min(reach, exact_step(along, coordinates, unseen, 0.0));
    if (!(t > 0)) continue;
    for (std::size_t s = 0; s < count; ++s) {
      here[s] += t * along[s].delta;
      if (std::abs(here[s]) <= 1e-12 * std::abs(along[s].x)) here[s] = 0;
    }
    return;
  }
}

// How the weights of a face slide that a factor was just made of.
template <Columns C>
std::vector<double> slide_step(const Factor<C>& factor, std::span<const Coordinate> coordinates,
                               std::span<const Move> moves, Watch& watch) {
  std::vector<double> here;
  for (const Move& m : moves) here.push_back(m.x);
  for (std::int64_t s = 0; s < factor.size() && !watch.stopped(); ++s) {
    if (factor.said(s)) slide_along(coordinates, s, factor.combination(s), here);
    watch.poll();
  }
  for (std::size_t s = 0; s < here.size(); ++s) here[s] -= moves[s].x;
  return here;
}

}  // namespace shotgun
