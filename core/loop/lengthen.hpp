// lengthen: as lam falls weights grow, most of them together, and one variable is soon found.
#pragma once

#include "loop/point.hpp"

namespace shotgun {

// The t for which F is least at (1 + t) x, where the intercept makes up for the mean of what that
// adds to z: Newton's method upwards from 0, to a hundredth.
template <Columns C, Loss L>
double best_growth(const Point<C, L>& point, int threads) {
  const Observed<L>& samples = point.samples();
  const bool intercept = point.features().intercept();
  std::vector<double> dz(point.z().begin(), point.z().end());
  double mean = 0, slope = 0, squares = 0;
  for (std::size_t i = 0; i < dz.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    dz[i] -= samples.shift(row) + (intercept ? point.constant() : 0.0);
    mean += samples.weight(row) / point.features().total_weight() * dz[i];
  }
  if (intercept)
    for (double& v : dz) v -= mean;
  for (Column j : point.support()) {
    const Penalty penalty = point.features().penalty(j);
    slope += penalty.lam * std::abs(point.x(j));
    squares += penalty.l2 * point.x(j) * point.x(j);
  }
  double t = 0;
  for (int step = 0; step < 20; ++step) {
    const auto total = [&](auto&& term) {
      return sum_rows(threads, point.rows(), [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        return term(i, point.z()[at] + t * dz[at], dz[at]);
      });
    };
    const double first = total(
        [&](std::int64_t i, double z, double along) { return samples.derivative(i, z) * along; });
    const double second = total([&](std::int64_t i, double z, double along) {
      return samples.curvature(i, z) * along * along;
    });
    const double move = -(first + slope + (1 + t) * squares) / (second + squares);
    if (!(move > 0.01 * (1 + t))) break;
    t += std::min(move, 1 + t);  // twice as long at most: further away the curvature is another
  }
  return t;
}

// To that multiple of x, if it is so much longer that it pays, and F, bounds and all, is lower.
template <Columns C, Loss L>
void lengthen(Point<C, L>& point, int threads) {
  const double growth = best_growth(point, threads), objective = point.objective();
  if (!(growth > 0.1)) return;
  const std::vector<Column> support(point.support().begin(), point.support().end());
  std::vector<double> before, longer;
  for (Column j : support) {
    before.push_back(point.x(j));
    longer.push_back(point.features().penalty(j).clamp((1 + growth) * before.back()));
  }
  const auto move_to = [&](std::span<const double> x) {
    point.store(support, x);
    point.refresh();
  };
  move_to(longer);
  if (!(point.objective() <= objective)) move_to(before);
}

}  // namespace shotgun
