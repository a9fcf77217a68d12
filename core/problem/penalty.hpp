// The penalty of one weight: lam |x| + l2/2 x^2 with x in [lo, hi].
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace shotgun {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Penalty {
  double lam = 0, l2 = 0, lo = -infinity, hi = infinity;

  double value(double x) const { return (x == 0 ? 0.0 : lam * std::abs(x)) + 0.5 * l2 * x * x; }
  // value(x + delta) - value(x), to the last digit also where the two are nearly equal.
  double change(double x, double delta) const {
    const double next = x + delta, smooth = l2 * delta * (x + 0.5 * delta);
    if (x >= 0 && next >= 0) return (delta == 0 ? 0.0 : lam * delta) + smooth;
    if (x <= 0 && next <= 0) return (delta == 0 ? 0.0 : -lam * delta) + smooth;
    return lam * (std::abs(next) - std::abs(x)) + smooth;
  }
  double clamp(double x) const { return std::clamp(x, lo, hi); }
  bool excluded() const { return lam == infinity; }

  // argmin over [lo, hi] of 1/2 curvature x^2 - pull x + lam|x| + l2/2 x^2: the soft threshold.
  double prox(double pull, double curvature) const {
    const double rest = std::abs(pull) - lam;
    if (rest <= 0 || excluded()) return clamp(0.0);
    const double total = curvature + l2;
    if (total <= 0) return clamp(std::copysign(infinity, pull));
    return clamp(std::copysign(rest / total, pull));
  }

  // Nothing penalises or bounds it: the dual asks a'theta = 0.
  bool free() const { return unpenalised() && lo == -infinity && hi == infinity; }
  // Bounded on one side only: the dual asks for a sign. Scaling theta repairs neither, so that such
  // weights are held by the projected gradient.
  bool half_free() const { return unpenalised() && (lo == -infinity) != (hi == infinity); }
  bool scalable() const { return !free() && !half_free(); }

  // Its bracket of the gap is zero at x = 0 where |pull| <= lam;
  bool silent_within() const { return (lam > 0) & (lo <= 0) & (hi >= 0); }
  // and whatever the feasible pull.
  bool silent_at_zero() const {
    return (lam > 0) & (l2 == 0) & (lo == -infinity) & (hi == infinity);
  }
  bool unpenalised() const { return lam == 0 && l2 == 0; }

  // The largest v in [0, 1] such that the conjugate is finite at v * pull.
  double feasible_scale(double pull) const {
    const bool bounded = l2 > 0 || (pull > 0 ? hi < infinity : lo > -infinity);
    return bounded || std::abs(pull) <= lam ? 1.0 : lam / std::abs(pull);
  }

  // sup over [lo, hi] of pull x - lam|x| - l2/2 x^2; the caller has scaled pull to be feasible, so
  // an excess over lam where nothing bounds x is rounding.
  double conjugate(double pull) const {
    if (excluded()) return 0.0;
    double x;
    if (l2 > 0 || std::abs(pull) <= lam) {
      x = prox(pull, 0.0);
    } else {
      x = pull > 0 ? hi : lo;
      if (std::abs(x) == infinity) return 0.0;
    }
    return pull * x - value(x);
  }

  // value(x) + conjugate(pull) - pull x.
  double fenchel_young(double x, double pull) const {
    const double bracket = value(x) + conjugate(pull) - pull * x;
    return std::isnan(bracket) ? infinity : std::max(0.0, bracket);  // out of range is no proof
  }

  // How far -gradient is from the subdifferential of the penalty at x: zero at an optimum.
  double violation(double x, double gradient) const {
    if (excluded()) return 0.0;
    const double slope = gradient + l2 * x;
    const double up = x >= 0 ? slope + lam : slope - lam;   // derivative to the right
    const double down = x > 0 ? slope + lam : slope - lam;  // derivative to the left
    if (up < 0 && x < hi) return -up;
    if (down > 0 && x > lo) return down;
    return 0.0;
  }
};

}  // namespace shotgun
