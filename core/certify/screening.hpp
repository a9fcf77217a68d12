// Gap-safe screening (Ndiaye, Fercoq, Gramfort, Salmon 2017): columns whose weight the gap decides.
#pragma once

#include <cmath>

#include "problem/penalty.hpp"

namespace shotgun {

// Every f_i is (beta w_i)-smooth, so its conjugate is strongly convex and the dual optimum lies
// within sqrt(2 beta gap) of u in the norm of W^-1.
inline double screening_radius(double beta, double gap) { return std::sqrt(2 * beta * gap); }

// The optimal weight is argmin_x penalty(x) - pull* x, monotone in pull*, and pull* is within
// `reach` of pull: if both ends say the same x, so does the optimum. NaN when they differ, or where
// the pull has left the range.
inline double decided_weight(const Penalty& penalty, double pull, double reach) {
  const double low = penalty.prox(pull - reach, 0.0), high = penalty.prox(pull + reach, 0.0);
  const bool decided = low == high && std::isfinite(low) && std::isfinite(pull);
  return decided ? low : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace shotgun
