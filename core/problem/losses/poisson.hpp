// exp(z) - yz, y >= 0: counts with a log link, in deviance form, that is, less its least value.
#pragma once

#include "problem/loss.hpp"

namespace shotgun {

struct Poisson {
  static constexpr std::string_view name = "poisson";
  static constexpr Targets targets = Targets::counts;
  static constexpr double beta = std::numeric_limits<double>::infinity();
  static constexpr bool quadratic = false;

  static Curve at(double z, double y) {
    const double rate = std::exp(z);
    return {divergence(y, rate, [=] { return z; }), rate - y, rate};
  }
  static double conjugate(double u, double y) {
    const double p = u + y;
    if (!(p >= 0)) return std::numeric_limits<double>::infinity();
    return entropy_term(p) - p - (entropy_term(y) - y);
  }
  static double fenchel_young(double z, double y, double u) {
    const double p = u + y;
    if (!(p >= -domain_slack * y)) return std::numeric_limits<double>::infinity();
    return divergence(p, std::exp(z), [=] { return z; });
  }

 private:
  static double entropy_term(double p) { return p > 0 ? p * std::log(p) : 0.0; }
};

}  // namespace shotgun
