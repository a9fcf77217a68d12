// The unpenalised intercept: F's exact minimiser along the constant column.
#pragma once

#include <cmath>

#include "problem/penalty.hpp"
#include "problem/samples.hpp"

namespace shotgun {

// Adds to every z_i the constant b that minimises sum_i w_i L(z_i + b, y_i), and returns b.
// Newton's method in one dimension, inside the bracket that the signs of the slope have shown: a
// step that leaves it, or is not half of the last one, gives way to the bracket's middle (or goes
// far out while there is none). When the minimum is at infinity it ends after a bounded number of
// steps.
template <Loss L>
double minimise_intercept(int threads, const Observed<L>& samples, std::span<double> z) {
  auto sum = [&](double Curve::* part, double b) {
    return sum_rows(threads, samples.size(), [&](std::int64_t i) {
      return samples.at(i, z[static_cast<std::size_t>(i)] + b).*part;
    });
  };
  double b = 0, lo = -infinity, hi = infinity, last = infinity;
  for (int step = 0; step < (L::quadratic ? 2 : 200); ++step) {
    const double slope = sum(&Curve::derivative, b);
    if (slope == 0) break;
    (slope > 0 ? hi : lo) = b;
    double move = -slope / sum(&Curve::curvature, b);
    if (std::abs(move) <= 1e-15 * (1 + std::abs(b))) break;
    const double far = 10 * (1 + std::abs(b)), size = std::abs(move);
    if (!L::quadratic && !(b + move > lo && b + move < hi && size < far && size <= 0.5 * last)) {
      const bool bracketed = lo > -infinity && hi < infinity;
      move = bracketed ? 0.5 * (lo + hi) - b : -std::copysign(far, slope);
    }
    last = std::abs(move);
    b += move;
  }
  for_rows(threads, samples.size(), [&](std::int64_t i) { z[static_cast<std::size_t>(i)] += b; });
  return b;
}

}  // namespace shotgun
