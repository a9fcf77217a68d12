// The one coordinate step.
#pragma once

#include <cstdint>
#include <span>

#include "problem/penalty.hpp"

namespace shotgun {

// What an engine knows of one packed column besides its entries: the implicit standardised column
// is a~ = (a - mean) * inv_scale, and x~ = x / inv_scale is what the engine moves.
struct alignas(64) Coordinate {  // a cache line
  Penalty penalty;
  double beta = 0;       // sum_i h_i a~_i^2: the curvature along a~ (where h = w, per unit of L's)
  double mean = 0;       // what is subtracted from every entry of a
  double inv_scale = 1;  // and what the difference is multiplied by
  double slope = 0;      // sum_i h_i (a_i - mean): zero when mean is the h-weighted one

  // sum_i h_i a_i
  double sum_h(double total_h) const { return slope + mean * total_h; }
};

inline double penalty_value(std::span<const double> x, std::span<const Coordinate> coordinates) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += coordinates[k].penalty.value(x[k]);
  return sum;
}

// One coordinate's part of an update Delta x: where it is, where it wants to go, and why.
struct Move {
  std::int64_t k = 0;
  double x = 0, delta = 0, gradient = 0;
};

// How much of a move was made, what F gained by it, and whether that could be told from rounding.
struct Step {
  double length = 0, decrease = 0;
  bool seen = true;
};

// The paper's delta x_j (eq. 5) without duplicated features: the exact minimiser over x_j of a
// quadratic with this gradient and curvature (Assumption 2.1's bound where it is beta) plus the
// penalty.
inline double update(const Penalty& penalty, double x, double gradient, double curvature) {
  if (curvature <= 0)  // a zero column: only the penalty speaks
    return (penalty.lam > 0 || penalty.l2 > 0 ? penalty.clamp(0.0) : x) - x;
  return penalty.prox(curvature * x - gradient, curvature) - x;
}

// F(x + delta) - F(x) along one coordinate of that quadratic.
inline double coordinate_change(const Penalty& penalty, double x, double delta, double gradient,
                                double curvature) {
  return delta * (gradient + 0.5 * curvature * delta) + penalty.change(x, delta);
}

// Armijo's rule: the longest of the steps 1, 1/2, 1/4, ... whose change of F is at least a
// hundredth of what the slope promises. value(t) is the part of F that the step changes, `longest`
// the step to begin with. unseen(t) judges a step whose change cannot be told from float64's
// rounding of that part: a Newton step along one direction is taken, being right to second order.
template <class Value, class Unseen = decltype([](double) { return true; })>
Step backtrack(double promised, Value&& value, double longest = 1.0, Unseen&& unseen = {}) {
  if (!(promised < 0)) return {};
  const double before = value(0.0), rounding = 0x1p-49 * std::abs(before);
  for (double t = longest; t > 1e-10 * longest; t *= 0.5) {
    const double gain = before - value(t), wanted = -0.01 * t * promised;
    if (!(gain >= wanted - rounding)) continue;
    if (gain > rounding) return {t, gain, true};
    if (unseen(t)) return {t, wanted, false};
  }
  return {};
}

}  // namespace shotgun
