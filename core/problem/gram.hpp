// A'HA of dense columns: what n samples say about d features, where n is far larger.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "problem/dense.hpp"

namespace shotgun {

// Row by row, h = 1 where absent. A few rows of all columns at a time, so that the cache has them.
template <class T>
std::vector<double> gram(const DenseColumns<T>& A, const double* h) {
  const std::int64_t d = A.count();
  std::vector<std::int64_t> all(static_cast<std::size_t>(d));
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> out(static_cast<std::size_t>(d * d)),
      weighted(static_cast<std::size_t>(A.rows()));
  const std::int64_t step =
      std::clamp<std::int64_t>(50'000 / std::max<std::int64_t>(1, d), 64, 1024);
  for (std::int64_t i = 0; i < A.rows(); i += step) {
    const Range rows{i, std::min(A.rows(), i + step)};
    for (std::int64_t k = 0; k < d; ++k) {
      A.visit(k, rows,
              [&](Row r, double a) { weighted[static_cast<std::size_t>(r)] = h ? h[r] * a : a; });
      A.add_dots(std::span(all).first(static_cast<std::size_t>(k + 1)), weighted.data(),
                 out.data() + k * d, rows);
    }
  }
  for (std::int64_t k = 0; k < d; ++k)
    for (std::int64_t l = 0; l < k; ++l)
      out[static_cast<std::size_t>(l * d + k)] = out[static_cast<std::size_t>(k * d + l)];
  return out;
}

}  // namespace shotgun
