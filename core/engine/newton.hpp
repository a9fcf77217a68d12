// Newton's step on a few columns, by conjugate gradients.
#pragma once

#include <cmath>

#include "engine/normal.hpp"

namespace shotgun {

// Solves (A~'HA~ + diag(l2)) step = -gradient, preconditioned by its diagonal. Stops when the
// residual is at rounding level or after `most` products; every iterate is a descent direction.
template <Columns C>
std::vector<double> newton_step(NormalMatrix<C>& normal, std::span<const Coordinate> coordinates,
                                std::span<const double> gradient, int most) {
  const std::size_t size = gradient.size();
  std::vector<double> step(size), residual(size), search(size), product(size), inverse(size);
  double rho = 0;
  for (std::size_t k = 0; k < size; ++k) {
    const double diagonal = coordinates[k].beta + coordinates[k].penalty.l2;
    inverse[k] = diagonal > 0 ? 1 / diagonal : 0.0;
    residual[k] = inverse[k] > 0 ? -gradient[k] : 0.0;
    search[k] = inverse[k] * residual[k];
    rho += residual[k] * search[k];
  }
  const double target = 1e-30 * rho;
  for (int iteration = 0; iteration < most && rho > target; ++iteration) {
    normal.apply(search, product);
    double curvature = 0;
    for (std::size_t k = 0; k < size; ++k) {
      product[k] = inverse[k] > 0 ? product[k] + coordinates[k].penalty.l2 * search[k] : 0.0;
      curvature += search[k] * product[k];
    }
    if (!(curvature > 0)) break;
    const double length = rho / curvature;
    double next = 0;
    for (std::size_t k = 0; k < size; ++k) {
      step[k] += length * search[k];
      residual[k] -= length * product[k];
      next += residual[k] * residual[k] * inverse[k];
    }
    for (std::size_t k = 0; k < size; ++k)
      search[k] = inverse[k] * residual[k] + next / rho * search[k];
    rho = next;
  }
  return step;
}

}  // namespace shotgun
