// Losses L(z, y): convex and smooth in z. Adding one is adding a struct that models Loss.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

namespace shotgun {

template <class L>
concept Loss = requires(double z, double y, double u) {
  { L::value(z, y) } -> std::same_as<double>;       // L
  { L::derivative(z, y) } -> std::same_as<double>;  // dL/dz
  { L::curvature(z, y) } -> std::same_as<double>;   // d2L/dz2
  { L::conjugate(u, y) } -> std::same_as<double>;   // sup_z uz - L(z, y); +inf outside its domain
  {
    L::fenchel_young(z, y, u)
  } -> std::same_as<double>;                      // L + conjugate - uz >= 0, without cancellation
  { L::beta } -> std::convertible_to<double>;     // largest curvature (eq. 6 of the paper)
  { L::quadratic } -> std::convertible_to<bool>;  // curvature is 1 everywhere
};

// 1/2 (z - y)^2: the Lasso, eq. (2).
struct Squared {
  static constexpr double beta = 1.0;
  static constexpr bool quadratic = true;
  static double value(double z, double y) { return 0.5 * (z - y) * (z - y); }
  static double derivative(double z, double y) { return z - y; }
  static double curvature(double, double) { return 1.0; }
  static double conjugate(double u, double y) { return u * (0.5 * u + y); }
  static double fenchel_young(double z, double y, double u) {
    const double e = z - y - u;
    return 0.5 * e * e;
  }
};

// log(1 + exp(-yz)), y in {-1, +1}: sparse logistic regression, eq. (3). Only z is ever kept, never
// exp(z), so nothing overflows however large |z| is.
struct Logistic {
  static constexpr double beta = 0.25;
  static constexpr bool quadratic = false;
  static double value(double z, double y) {
    const double margin = y * z;
    return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
  }
  // The probability of the wrong class, 1 / (1 + exp(margin)).
  static double error(double margin) {
    const double e = std::exp(-std::abs(margin));
    return (margin > 0 ? e : 1.0) / (1.0 + e);
  }
  static double derivative(double z, double y) { return -y * error(y * z); }
  static double curvature(double z, double y) {
    const double e = std::exp(-std::abs(y * z)), t = 1.0 + e;
    return e / (t * t);
  }
  static double conjugate(double u, double y) {
    const double p = -y * u;
    if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::infinity();
    return entropy_term(p) + entropy_term(1 - p);
  }
  // The Kullback-Leibler divergence of p = -yu from q = error(yz).
  static double fenchel_young(double z, double y, double u) {
    const double p = -y * u, margin = y * z;
    if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::infinity();
    return relative(p, margin) + relative(1 - p, -margin);
  }

 private:
  static double entropy_term(double p) { return p > 0 ? p * std::log(p) : 0.0; }
  // p log(p/q) - p + q >= 0 for q = error(margin): the two halves of the divergence, each
  // non-negative. log q is taken from the margin, since q itself may underflow.
  static double relative(double p, double margin) {
    const double q = error(margin);
    if (p <= 0) return q;
    const double t = q > 0 ? (p - q) / q : std::numeric_limits<double>::infinity();
    if (std::abs(t) < 1e-4) return q * t * t * (0.5 - t * (1.0 / 6 - t / 12));
    return std::max(0.0, p * (std::log(p) + value(-margin, 1.0)) - (p - q));
  }
};

static_assert(Loss<Squared> && Loss<Logistic>);

}  // namespace shotgun
