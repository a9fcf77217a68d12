// The samples' side of F: targets, weights, offsets, and the loss of each.
#pragma once

#include <cstdint>
#include <span>

#include "parallel/threads.hpp"
#include "problem/loss.hpp"

namespace shotgun {

// Empty w means 1, empty offset means 0. A row of weight 0 is as good as absent.
struct Samples {
  std::span<const double> y, w, offset;

  std::int64_t size() const { return static_cast<std::int64_t>(y.size()); }
  double target(std::int64_t i) const { return y[static_cast<std::size_t>(i)]; }
  double weight(std::int64_t i) const { return w.empty() ? 1.0 : w[static_cast<std::size_t>(i)]; }
  double shift(std::int64_t i) const {
    return offset.empty() ? 0.0 : offset[static_cast<std::size_t>(i)];
  }
  const double* weights() const { return w.empty() ? nullptr : w.data(); }
  Samples head(std::int64_t rows) const {
    const auto few = [&](std::span<const double> v) {
      return v.first(std::min(v.size(), static_cast<std::size_t>(rows)));
    };
    return {few(y), few(w), few(offset)};
  }
  double total_weight() const {
    return sum_rows(1, size(), [&](std::int64_t i) { return weight(i); });
  }
};

// f_i(z) = w_i L(z, y_i): F's rows.
template <Loss L>
struct Observed : Samples {
  L loss;

  Curve at(std::int64_t i, double z) const {
    const double w = weight(i);
    if (!(w > 0)) return {};
    if constexpr (Weighed<L>) {
      return loss.at(z, target(i), w);
    } else {
      const Curve c = loss.at(z, target(i));
      return {w * c.value, w * c.derivative, w * c.curvature};
    }
  }
  double value(std::int64_t i, double z) const { return at(i, z).value; }
  double derivative(std::int64_t i, double z) const { return at(i, z).derivative; }
  double curvature(std::int64_t i, double z) const { return at(i, z).curvature; }
  // Those of the rows [first, first + n), at z[0], ..., z[n - 1].
  void curves(std::int64_t first, std::int64_t n, const double* z, Curves out) const {
    if constexpr (Vectorised<L>) {
      loss.curves(n, z, y.data() + first, out);
      if (w.empty()) return;
      for (double* c : {out.value, out.derivative, out.curvature})
        for (std::int64_t i = 0; c && i < n; ++i)
          c[i] = weight(first + i) > 0 ? weight(first + i) * c[i] : 0.0;
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        const Curve c = at(first + i, z[i]);
        if (out.value) out.value[i] = c.value;
        if (out.derivative) out.derivative[i] = c.derivative;
        if (out.curvature) out.curvature[i] = c.curvature;
      }
    }
  }
  // sum_i f_i(z_i) over rows; z_of(i) says where.
  template <class Z>
  double total(int threads, Z&& z_of) const {
    return sum_blocks(threads, size(), [&](Range rows) {
      double z[row_block], value[row_block], sum = 0;
      for (auto i = rows.begin; i < rows.end; ++i) z[i - rows.begin] = z_of(i);
      curves(rows.begin, rows.size(), z, {.value = value});
      for (std::int64_t i = 0; i < rows.size(); ++i) sum += value[i];
      return sum;
    });
  }
  // f_i(z) + f_i*(u) - uz
  double fenchel_young(std::int64_t i, double z, double u) const {
    const double w = weight(i);
    if (!(w > 0)) return 0.0;
    if constexpr (Weighed<L>)
      return loss.fenchel_young(z, target(i), u / w, w);
    else
      return w * loss.fenchel_young(z, target(i), u / w);
  }
};

}  // namespace shotgun
