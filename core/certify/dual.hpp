// The certificate: a feasible dual point and the duality gap it proves.
//
// Primal: sum_i f_i(z_i) + sum_j phi_j(x_j) with z = A~x + b + offset, f_i = w_i L(., y_i), phi_j
// the penalty with its bounds. For any u with 1'u = 0 (if there is an intercept) weak duality gives
//   F(x) - F* <= sum_i [f_i(z_i) + f_i*(u_i) - u_i z_i] + sum_j [phi_j(x_j) + phi_j*(-a~_j'u) + x_j
//   a~_j'u],
// every bracket being non-negative (Fenchel-Young). We take u = scale * gradient with the largest
// scale that keeps every phi_j* finite. Summing brackets instead of subtracting the dual value from
// the primal one never gives a negative gap: each bracket is small by itself near the optimum.
#pragma once

#include <cmath>
#include <vector>

#include "parallel/threads.hpp"
#include "problem/penalty.hpp"

namespace shotgun {

// One column's say in the certificate: its penalty, weight and gradient a~'g.
struct DualTerm {
  Penalty penalty;
  double x, gradient, beta;
};

// The largest scale in [0, 1] for which scale * gradient is feasible for this column.
inline double feasible_scale(const DualTerm& t) {
  if (t.penalty.excluded() || !t.penalty.scalable()) return 1.0;
  return t.penalty.feasible_scale(-t.gradient);
}

// Its bracket. An unpenalised weight has none (its phi* is infinite off zero): its gradient has
// been projected to rounding level, and what is left is charged by the decrease that it promises.
inline double column_gap(const DualTerm& t, double scale) {
  if (!std::isfinite(t.gradient)) return infinity;  // it has left the range, and proves nothing
  if (!t.penalty.scalable()) {
    const double v = t.penalty.violation(t.x, t.gradient);
    return v * std::abs(t.x) + (t.beta > 0 ? 0.5 * v * (v / t.beta) : 0.0);
  }
  return t.penalty.fenchel_young(t.x, -scale * t.gradient);
}

struct Columnwise {
  double scale = 1, gap = 0;
};

// term(p) gives the p-th of `count` DualTerms. Only those that can have a part in the gap are kept
// for the sum, which needs the scale of all: few weights at zero have any.
template <class Term>
Columnwise columnwise_gap(int threads, std::int64_t count, double work, Term&& term) {
  constexpr std::int64_t block = 1024;
  struct Part {
    double scale = 1;
    std::vector<DualTerm> terms;
  };
  std::vector<Part> parts(static_cast<std::size_t>((count + block - 1) / block));
  parallel_for(
      worthwhile_threads(threads, work), static_cast<std::int64_t>(parts.size()),
      [&](std::int64_t b) {
        Part& part = parts[static_cast<std::size_t>(b)];
        for (auto p = b * block; p < std::min(count, (b + 1) * block); ++p) {
          const DualTerm t = term(p);
          if (t.x == 0 && std::abs(t.gradient) <= t.penalty.lam && t.penalty.silent_within())
            continue;
          part.scale = std::min(part.scale, feasible_scale(t));
          if (t.x != 0 || !t.penalty.silent_at_zero() || !std::isfinite(t.gradient))
            part.terms.push_back(t);
        }
      });
  Columnwise result;
  for (const Part& part : parts) result.scale = std::min(result.scale, part.scale);
  for (const Part& part : parts)
    for (const DualTerm& t : part.terms) result.gap += column_gap(t, result.scale);
  return result;
}

// How far rounding may have moved a sum of `terms` products: their errors add like a random walk,
// taken at four standard deviations, plus a few for the operations around it.
inline double rounding_unit(std::int64_t terms) {
  return 0x1p-53 * (16 + 4 * std::sqrt(static_cast<double>(terms)));
}

}  // namespace shotgun
