// Losses L(z, y): convex and smooth in z. Adding one is a file in losses/ that models Loss, and its
// name in losses.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

namespace shotgun {

// L, dL/dz and d2L/dz2 at one z: what they share (an exponential, say) is computed once, and what
// is not asked for not at all.
struct Curve {
  double value = 0, derivative = 0, curvature = 0;
};

// The same for many z at once; what is null is not wanted.
struct Curves {
  double *value = nullptr, *derivative = nullptr, *curvature = nullptr;
};

enum class Targets { numbers, classes, counts };  // what y may be; classes are -1 and +1

template <class L>
concept Loss = requires(const L& loss, double z, double y, double u) {
  { L::name } -> std::convertible_to<std::string_view>;
  { L::targets } -> std::convertible_to<Targets>;
  { L::beta } -> std::convertible_to<double>;  // largest curvature (eq. 6); +inf if there is none
  { L::quadratic } -> std::convertible_to<bool>;  // curvature is 1 everywhere
  { loss.at(z, y) } -> std::same_as<Curve>;
  { loss.conjugate(u, y) } -> std::same_as<double>;  // sup_z uz - L(z, y); +inf outside its domain
  {
    loss.fenchel_young(z, y, u)
  } -> std::same_as<double>;  // L + conjugate - uz >= 0, without cancellation
};

// A loss may besides compute many curves at once, faster than one by one.
template <class L>
concept Vectorised = requires(const L& loss, std::int64_t n, const double* z, Curves out) {
  loss.curves(n, z, z, out);
};

// A loss of products may besides weigh them itself, between the factors: a product alone may leave
// the range where w times it does not.
template <class L>
concept Weighed = requires(const L& loss, double z, double y, double u, double w) {
  { loss.at(z, y, w) } -> std::same_as<Curve>;
  { loss.fenchel_young(z, y, u, w) } -> std::same_as<double>;
};
// w ab, where a is not the larger factor by far.
inline double weighed(double w, double a, double b) { return w < 1 ? a * (w * b) : (w * a) * b; }

// How far rounding may take a derivative, multiplied by a weight and divided by it again, out of
// the conjugate's domain.
inline constexpr double domain_slack = 0x1p-50;

// p log(p/q) - p + q >= 0, the divergence of p from q = exp(log_q()), which may underflow.
template <class LogQ>
double divergence(double p, double q, LogQ&& log_q) {
  if (p <= 0) return q;
  const double t = q > 0 ? (p - q) / q : std::numeric_limits<double>::infinity();
  if (std::abs(t) < 1e-4) return q * t * t * (0.5 - t * (1.0 / 6 - t / 12));
  const double ratio = std::abs(t) < 0.5 ? std::log1p(t) : std::log(p) - log_q();  // log(p/q)
  return std::max(0.0, p * ratio - (p - q));
}

}  // namespace shotgun
