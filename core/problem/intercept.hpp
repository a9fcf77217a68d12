// The unpenalised intercept: F's exact minimiser along the constant column.
#pragma once

#include <cmath>

#include "problem/loss.hpp"
#include "problem/penalty.hpp"
#include "problem/samples.hpp"

namespace shotgun {

// Adds to every z_i the constant b that minimises sum_i w_i L(z_i + b, y_i), and returns b.
// Newton's method in one dimension, kept inside the bracket that the signs of the slope have shown;
// when the minimum is at infinity it ends far out, after a bounded number of steps.
template <Loss L>
double minimise_intercept(int threads, const Samples& samples, std::span<double> z) {
  auto sum = [&](auto derivative, double b) {
    return sum_rows(threads, samples.size(), [&](std::int64_t i) {
      const double w = samples.weight(i);
      return w > 0 ? w * derivative(z[static_cast<std::size_t>(i)] + b, samples.target(i)) : 0.0;
    });
  };
  double b = 0, lo = -infinity, hi = infinity;
  for (int step = 0; step < (L::quadratic ? 2 : 200); ++step) {
    const double slope = sum(L::derivative, b);
    if (slope == 0) break;
    (slope > 0 ? hi : lo) = b;
    double next = b - slope / sum(L::curvature, b);
    if (std::abs(next - b) <= 1e-15 * (1 + std::abs(b))) break;
    if (!L::quadratic && !(next > lo && next < hi && std::abs(next - b) < 10 * (1 + std::abs(b)))) {
      const bool bracketed = lo > -infinity && hi < infinity;
      next = bracketed ? 0.5 * (lo + hi) : b - std::copysign(10 * (1 + std::abs(b)), slope);
    }
    b = next;
  }
  for_rows(threads, samples.size(), [&](std::int64_t i) { z[static_cast<std::size_t>(i)] += b; });
  return b;
}

}  // namespace shotgun
