// The samples' side of F: targets, weights, offsets.
#pragma once

#include <cstdint>
#include <span>

#include "parallel/threads.hpp"

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
  double total_weight() const {
    return sum_rows(1, size(), [&](std::int64_t i) { return weight(i); });
  }
};

}  // namespace shotgun
