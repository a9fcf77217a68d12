// The unpenalised intercept: F's exact minimiser along the constant column.
#pragma once

#include <cmath>

#include "problem/penalty.hpp"
#include "problem/samples.hpp"

namespace shotgun {

// The first two derivatives along the constant column, and what the first is a sum of.
struct ConstantSlope {
  double slope = 0, curvature = 0, size = 0;
  ConstantSlope& operator+=(const ConstantSlope& other) {
    slope += other.slope;
    curvature += other.curvature;
    size += other.size;
    return *this;
  }
};

// Adds to every z_i the constant b that minimises sum_i w_i L(z_i + b, y_i), and returns b.
// Newton's method in one dimension, inside the bracket that the signs of the slope have shown: a
// step that leaves it, or is not half of the last one, gives way to the bracket's middle (or goes
// far out while there is none). It ends where the slope is nothing but rounding; when the minimum
// is at infinity, after a bounded number of steps.
template <Loss L>
double minimise_intercept(int threads, const Observed<L>& samples, std::span<double> z) {
  constexpr bool numbers = L::targets == Targets::numbers;
  double b = 0, lo = -infinity, hi = infinity, last = infinity;
  double unit = 1;  // of scores: about 1 for classes and counts, how far targets are for numbers
  if constexpr (numbers && !L::quadratic) {
    unit = 0;
    for (std::int64_t i = 0; i < samples.size(); ++i)
      if (samples.weight(i) > 0)
        unit = std::max(unit, std::abs(samples.target(i) - z[static_cast<std::size_t>(i)]));
  }
  for (int step = 0; step < (L::quadratic ? 2 : 200); ++step) {
    const auto [slope, curvature, size] = sum_blocks(threads, samples.size(), [&](Range rows) {
      double moved[row_block], derivative[row_block], bend[row_block];
      for (auto i = rows.begin; i < rows.end; ++i)
        moved[i - rows.begin] = z[static_cast<std::size_t>(i)] + b;
      samples.curves(rows.begin, rows.size(), moved, {.derivative = derivative, .curvature = bend});
      ConstantSlope sum;
      for (std::int64_t i = 0; i < rows.size(); ++i)
        sum += {derivative[i], bend[i], std::abs(derivative[i])};
      return sum;
    });
    if (!L::quadratic && std::abs(slope) <= 0x1p-51 * size && size < infinity) break;
    (slope > 0 ? hi : lo) = b;
    double move = -slope / curvature;
    if (numbers ? std::abs(slope) <= 1e-15 * (size + curvature * std::abs(b))
                : std::abs(move) <= 1e-15 * (unit + std::abs(b)))
      break;
    const double far = 10 * (unit + std::abs(b)), reach = std::abs(move);
    if (!L::quadratic && !(b + move > lo && b + move < hi && reach < far && reach <= 0.5 * last)) {
      const bool bracketed = lo > -infinity && hi < infinity;
      move = bracketed ? 0.5 * (lo + hi) - b : -std::copysign(far, slope);
    }
    last = std::abs(move);
    if (b + move == b) break;
    b += move;
  }
  for_rows(threads, samples.size(), [&](std::int64_t i) { z[static_cast<std::size_t>(i)] += b; });
  return b;
}

}  // namespace shotgun
