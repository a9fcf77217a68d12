// log(1 + exp(-yz)), y in {-1, +1}: sparse logistic regression, eq. (3).
#pragma once

#include "kernels/kernels.hpp"
#include "problem/loss.hpp"

namespace shotgun {

// Only z is ever kept, never exp(z), so nothing overflows however large |z| is.
struct Logistic {
  static constexpr std::string_view name = "logistic";
  static constexpr Targets targets = Targets::classes;
  static constexpr double beta = 0.25;
  static constexpr bool quadratic = false;

  static Curve at(double z, double y) {
    const double margin = y * z, e = std::exp(-std::abs(margin)), t = 1.0 + e;
    const double wrong = (margin > 0 ? e : 1.0) / t;  // probability of the wrong class
    return {std::log1p(e) - std::min(margin, 0.0), -y * wrong, e / (t * t)};
  }
  static void curves(std::int64_t n, const double* z, const double* y, Curves out) {
    kernels::active().logistic(n, z, y, out.value, out.derivative, out.curvature);
  }
  static double conjugate(double u, double y) {
    const double p = -y * u;
    if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::infinity();
    return entropy_term(p) + entropy_term(1 - p);
  }
  // The Kullback-Leibler divergence of p = -yu from the probability of the wrong class.
  static double fenchel_young(double z, double y, double u) {
    const double p = -y * u, margin = y * z;
    if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::infinity();
    const double e = std::exp(-std::abs(margin)), t = 1.0 + e;
    return divergence(p, (margin > 0 ? e : 1.0) / t,
                      [&] { return -std::max(margin, 0.0) - std::log1p(e); }) +
           divergence(1 - p, (margin > 0 ? 1.0 : e) / t,
                      [&] { return std::min(margin, 0.0) - std::log1p(e); });
  }

 private:
  static double entropy_term(double p) { return p > 0 ? p * std::log(p) : 0.0; }
};

}  // namespace shotgun
