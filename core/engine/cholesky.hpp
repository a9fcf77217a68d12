// Cholesky: a symmetric positive semidefinite matrix as LL'.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"
#include "parallel/threads.hpp"
#include "parallel/watch.hpp"

namespace shotgun {

// The lower half, row by row; factor() puts L in its place, tile by tile of columns. Rows of L are
// contiguous, so that all of it is dot products. A column that those before it say already, but for
// rounding, is left out: the inverse is that of the others, and zero there.
class Cholesky {
 public:
  Cholesky() = default;
  // A column is left out where those before it leave no more than the part `own` of it.
  explicit Cholesky(std::int64_t size, double own = 1e-8)
      : size_(size), own_(own), lower_(at(size * (size + 1) / 2)), inverse_pivot_(at(size)) {}

  std::int64_t size() const { return size_; }
  // Row i up to its diagonal.
  double* row(std::int64_t i) { return lower_.data() + i * (i + 1) / 2; }
  const double* row(std::int64_t i) const { return lower_.data() + i * (i + 1) / 2; }

  // False if the watch has stopped it.
  bool factor(int threads, Watch& watch) {
    for (std::int64_t first = 0; first < size_; first += tile) {
      const Range columns{first, std::min(size_, first + tile)};
      subtract(columns, columns);
      const std::vector<double> inverse = factor_corner(columns);
      const std::int64_t below = (size_ - columns.end + tile - 1) / tile;
      const double work = static_cast<double>(tile * (size_ - first) * (first + tile));
      parallel_for(worthwhile_threads(threads, work), below, [&](std::int64_t t) {
        const std::int64_t begin = columns.end + t * tile;
        const Range rows{begin, std::min(size_, begin + tile)};
        subtract(rows, columns);
        divide(rows, columns, inverse);
      });
      watch.poll();
      if (watch.stopped()) return false;
    }
    return true;
  }

  // Whether a column is left out.
  bool said(std::int64_t i) const { return inverse_pivot_[at(i)] == 0; }
  // How those before it say it.
  std::vector<double> combination(std::int64_t i) const {
    std::vector<double> v(row(i), row(i) + i);
    divide_transposed(v);
    return v;
  }

  // v becomes (LL')^-1 v.
  void solve(std::span<double> v) const {
    divide(v);
    divide_transposed(v);
  }
  // v becomes L^-1 v.
  void divide(std::span<double> v) const {
    for (std::int64_t i = 0; i < size_; ++i)
      v[at(i)] = (v[at(i)] - table_->dot(i, row(i), v.data())) * inverse_pivot_[at(i)];
  }

 private:
  static constexpr std::int64_t tile = 32;
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  // v becomes L'^-1 v, of the first columns.
  void divide_transposed(std::span<double> v) const {
    for (auto i = static_cast<std::int64_t>(v.size()) - 1; i >= 0; --i) {
      v[at(i)] *= inverse_pivot_[at(i)];
      table_->axpy(i, -v[at(i)], row(i), nullptr, v.data());
    }
  }

  // Takes from the lower half of a tile what the columns of L before it say.
  void subtract(Range rows, Range columns) {
    constexpr std::int64_t some = 256;  // entries of each row, which stay in cache
    for (std::int64_t m = 0; m < columns.begin; m += some) {
      const double* left[tile];
      for (auto c = columns.begin; c < columns.end; ++c) left[c - columns.begin] = row(c) + m;
      for (auto i = rows.begin; i < rows.end; ++i) {
        double sums[tile] = {};
        const std::int64_t count = std::min(columns.size(), i + 1 - columns.begin);
        table_->dots(std::min(some, columns.begin - m), count, left, row(i) + m, sums);
        for (std::int64_t c = 0; c < count; ++c) row(i)[columns.begin + c] -= sums[c];
      }
    }
  }

  // The factor of a tile on the diagonal, and the inverse of that.
  std::vector<double> factor_corner(Range columns) {
    const std::int64_t first = columns.begin;
    std::vector<double> inverse(at(tile * tile));
    for (auto i = first; i < columns.end; ++i) {
      double* L = row(i) + first;
      for (auto c = first; c < i; ++c)
        L[c - first] =
            (L[c - first] - table_->dot(c - first, L, row(c) + first)) * inverse_pivot_[at(c)];
      const double before = L[i - first];
      const double left = before - table_->dot(i - first, L, L);
      // What is left of a column that the others say is rounding of all that was subtracted.
      const bool own = left > own_ * diagonal(i, before) && std::isfinite(left);
      L[i - first] = own ? std::sqrt(left) : 0.0;
      inverse_pivot_[at(i)] = own ? 1 / L[i - first] : 0.0;
      double* X = inverse.data() + (i - first) * tile;
      for (auto c = first; c < i; ++c) {
        const double* other = inverse.data() + (c - first) * tile;
        table_->axpy(c - first + 1, -L[c - first] * inverse_pivot_[at(i)], other, nullptr, X);
      }
      X[i - first] = inverse_pivot_[at(i)];
    }
    return inverse;
  }
  // What the diagonal was before columns of L were taken from it.
  double diagonal(std::int64_t i, double left) const {
    const double* L = row(i);
    const std::int64_t before = i / tile * tile;
    return left + table_->dot(before, L, L);
  }

  // Rows of the matrix, times the inverse of the corner's factor: rows of L.
  void divide(Range rows, Range columns, const std::vector<double>& inverse) {
    const double* factors[tile];
    for (std::int64_t c = 0; c < columns.size(); ++c) factors[c] = inverse.data() + c * tile;
    for (auto i = rows.begin; i < rows.end; ++i) {
      double quotients[tile] = {};
      table_->dots(columns.size(), columns.size(), factors, row(i) + columns.begin, quotients);
      std::copy(quotients, quotients + columns.size(), row(i) + columns.begin);
    }
  }

  std::int64_t size_ = 0;
  double own_ = 0;
  std::vector<double> lower_, inverse_pivot_;
  const kernels::Table<double>* table_ = &kernels::active_table<double>();
};

}  // namespace shotgun
