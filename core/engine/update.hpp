// The one coordinate step.
#pragma once

#include <cstdint>

#include "problem/penalty.hpp"

namespace shotgun {

// What an engine knows of one packed column besides its entries: the implicit standardised column
// is a~ = (a - mean) * inv_scale, and x~ = x / inv_scale is what the engine moves.
struct Coordinate {
  Penalty penalty;
  double beta = 0;       // bound on (for quadratics: value of) the curvature along a~
  double mean = 0;       // what is subtracted from every entry of a
  double inv_scale = 1;  // and what the difference is multiplied by
  double sum_h = 0;      // sum_i h_i a_i
  double slope = 0;      // sum_i h_i (a_i - mean): zero when mean is the h-weighted one
};

// The paper's delta x_j (eq. 5) without duplicated features: the exact minimiser over x_j of the
// quadratic upper bound of Assumption 2.1 plus the penalty.
inline double update(const Coordinate& c, double x, double gradient) {
  if (c.beta <= 0 && c.penalty.l2 <= 0)  // a zero column: only the penalty speaks
    return (c.penalty.lam > 0 ? c.penalty.clamp(0.0) : x) - x;
  return c.penalty.prox(c.beta * x - gradient, c.beta) - x;
}

}  // namespace shotgun
