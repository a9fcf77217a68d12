// max(0, 1 - yz)^2, y in {-1, +1}: the L1-regularised support vector machine, as LIBLINEAR has it.
#pragma once

#include "problem/loss.hpp"

namespace shotgun {

struct SquaredHinge {
  static constexpr std::string_view name = "squared_hinge";
  static constexpr Targets targets = Targets::classes;
  static constexpr double beta = 2.0;
  static constexpr bool quadratic = false;

  static Curve at(double z, double y) {
    const double lack = std::max(0.0, 1.0 - y * z);
    return {lack * lack, -2.0 * y * lack, lack > 0 ? 2.0 : 0.0};
  }
  static double conjugate(double u, double y) {
    const double p = -y * u;
    return p >= 0 ? p * (0.25 * p - 1.0) : std::numeric_limits<double>::infinity();
  }
  // (lack - p/2)^2, and p times what the margin has to spare.
  static double fenchel_young(double z, double y, double u) {
    const double p = -y * u, lack = 1.0 - y * z, e = std::max(lack, 0.0) - 0.5 * p;
    if (!(p >= 0)) return std::numeric_limits<double>::infinity();
    return e * e - p * std::min(lack, 0.0);
  }
};

}  // namespace shotgun
