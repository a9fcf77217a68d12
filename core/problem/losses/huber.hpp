// The squared loss up to |z - y| = delta, linear beyond: one bad target pulls no harder than delta.
#pragma once

#include "problem/loss.hpp"

namespace shotgun {

struct Huber {
  static constexpr std::string_view name = "huber";
  static constexpr Targets targets = Targets::numbers;
  static constexpr double beta = 1.0;
  static constexpr bool quadratic = false;

  double delta = 1.35;

  Curve at(double z, double y, double w = 1) const {
    const double r = z - y, inside = std::clamp(r, -delta, delta);
    return {weighed(w, inside, r - 0.5 * inside), w * inside, std::abs(r) <= delta ? w : 0.0};
  }
  double conjugate(double u, double y) const {
    return std::abs(u) <= delta ? u * (0.5 * u + y) : std::numeric_limits<double>::infinity();
  }
  // (inside - u)^2 / 2, and what is beyond delta times what u lacks of it.
  double fenchel_young(double z, double y, double u, double w = 1) const {
    if (!(std::abs(u) <= delta * (1 + domain_slack)))
      return std::numeric_limits<double>::infinity();
    const double r = z - y, inside = std::clamp(r, -delta, delta);
    const double e = inside - std::clamp(u, -delta, delta);
    return weighed(w, e, 0.5 * e + (r - inside));
  }
};

}  // namespace shotgun
