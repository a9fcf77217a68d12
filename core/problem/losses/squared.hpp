// 1/2 (z - y)^2: the Lasso, eq. (2).
#pragma once

#include "problem/loss.hpp"

namespace shotgun {

struct Squared {
  static constexpr std::string_view name = "squared";
  static constexpr Targets targets = Targets::numbers;
  static constexpr double beta = 1.0;
  static constexpr bool quadratic = true;

  static Curve at(double z, double y, double w = 1) {
    const double r = z - y;
    return {weighed(w, 0.5 * r, r), w * r, w};
  }
  static double conjugate(double u, double y) { return u * (0.5 * u + y); }
  static double fenchel_young(double z, double y, double u, double w = 1) {
    const double e = z - y - u;
    return weighed(w, 0.5 * e, e);
  }
};

}  // namespace shotgun
