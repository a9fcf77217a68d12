// The joint step: how far to go along the collective update of several coordinates.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "engine/update.hpp"

namespace shotgun {

inline double penalty_change(std::span<const Move> moves, std::span<const Coordinate> coordinates,
                             double step) {
  double change = 0;
  for (const Move& m : moves) {
    const Penalty& p = coordinates[static_cast<std::size_t>(m.k)].penalty;
    change += p.change(m.x, step * m.delta);
  }
  return change;
}

inline double slope_of(std::span<const Move> moves) {
  double slope = 0;
  for (const Move& m : moves) slope += m.delta * m.gradient;
  return slope;
}

// The t in [0, 1] that minimises slope t + curvature t^2/2 + penalty(x + t Delta): piecewise
// quadratic, with a kink where a weight passes zero. Theorem 3.1 says when t = 1 may not do: the
// interference term is `curvature` less the sum of beta_j delta_j^2.
inline double exact_step(std::span<const Move> moves, std::span<const Coordinate> coordinates,
                         double slope, double curvature) {
  std::vector<std::pair<double, double>> kinks;  // (t, jump of the derivative)
  for (const Move& m : moves) {
    const Penalty& p = coordinates[static_cast<std::size_t>(m.k)].penalty;
    slope += p.l2 * m.x * m.delta;
    curvature += p.l2 * m.delta * m.delta;
    if (m.delta == 0 || p.lam == 0) continue;
    const bool away = m.x == 0 || (m.x > 0) == (m.delta > 0);
    slope += (away ? 1 : -1) * p.lam * std::abs(m.delta);
    if (!away) kinks.emplace_back(-m.x / m.delta, 2 * p.lam * std::abs(m.delta));
  }
  std::sort(kinks.begin(), kinks.end());
  double t = 0;  // derivative at t is `slope`; walk to where it becomes non-negative
  for (const auto& [kink, jump] : kinks) {
    if (kink >= 1 || slope + curvature * (kink - t) >= 0) break;
    slope += curvature * (kink - t) + jump;
    t = kink;
    if (slope >= 0) return t;
  }
  if (slope >= 0) return t;
  return curvature > 0 ? std::min(1.0, t - slope / curvature) : 1.0;
}

}  // namespace shotgun
