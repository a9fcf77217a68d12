// 1/2 (z - y)^2: the Lasso, eq. (2).
#pragma once

#include "problem/loss.hpp"

namespace shotgun {

struct Squared {
  static constexpr std::string_view name = "squared";
  static constexpr Targets targets = Targets::numbers;
  static constexpr double beta = 1.0;
  static constexpr bool quadratic = true;

  static Curve at(double z, double y) { return {0.5 * (z - y) * (z - y), z - y, 1.0}; }
  static double conjugate(double u, double y) { return u * (0.5 * u + y); }
  static double fenchel_young(double z, double y, double u) {
    const double e = z - y - u;
    return 0.5 * e * e;
  }
};

}  // namespace shotgun
