// A symmetric matrix that grows, of which only the lower half is kept.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"
#include "parallel/threads.hpp"

namespace shotgun {

class Symmetric {
 public:
  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  void grow() { rows_.emplace_back(rows_.size() + 1); }

  // Row i up to its diagonal.
  std::span<double> row(std::int64_t i) { return rows_[at(i)]; }
  double operator()(std::int64_t i, std::int64_t j) const {
    return i < j ? rows_[at(j)][at(i)] : rows_[at(i)][at(j)];
  }

  // (M v)_i where wanted(i); what the others get is less. A row is read once: for its own product
  // and for what it adds to those before it.
  template <class Wanted>
  std::vector<double> times(std::span<const double> v, Wanted&& wanted, int threads) const {
    const double work = 0.5 * static_cast<double>(size()) * static_cast<double>(size());
    const std::int64_t parts = work < 1e5 ? 1 : most_parts;
    std::array<std::vector<double>, most_parts> sums;
    parallel_for(worthwhile_threads(threads, work), parts, [&](std::int64_t p) {
      const std::int64_t first = bound(p, parts), last = bound(p + 1, parts);
      auto& sum = sums[at(p)];
      sum.resize(at(last));
      for (std::int64_t i = first; i < last; i += run)
        add_rows(i, std::min(last, i + run), v.data(), wanted, sum.data());
    });
    std::vector<double> product(v.size());
    for (std::int64_t p = 0; p < parts; ++p)
      for (std::size_t i = 0; i < sums[at(p)].size(); ++i) product[i] += sums[at(p)][i];
    return product;
  }

  // M += sum_t scale_t w_t w_t'
  void add(std::span<const double> scales, std::span<const double* const> w, int threads) {
    const auto count = static_cast<std::int64_t>(w.size());
    const double work = 0.5 * static_cast<double>(size() * size() * count);
    parallel_for(worthwhile_threads(threads, work), size(), [&](std::int64_t i) {
      std::vector<double> lengths(w.size());
      for (std::size_t t = 0; t < w.size(); ++t) lengths[t] = scales[t] * w[t][i];
      table_->axpys(i + 1, count, w.data(), lengths.data(), nullptr, rows_[at(i)].data());
    });
  }

  // Row and column i become zero.
  void clear(std::int64_t i) {
    std::fill(rows_[at(i)].begin(), rows_[at(i)].end(), 0.0);
    for (std::int64_t k = i + 1; k < size(); ++k) rows_[at(k)][at(i)] = 0;
  }

 private:
  static constexpr std::int64_t most_parts = 8, run = 16;
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  // What rows [first, last) add to M v: those entries left of `first` a few rows at a time, so that
  // a load of v or of the sums serves all of them, and then the corner.
  template <class Wanted>
  void add_rows(std::int64_t first, std::int64_t last, const double* v, Wanted&& wanted,
                double* sum) const {
    const double *dotted[run] = {}, *added[run] = {};
    double dots[run] = {}, lengths[run] = {};
    std::int64_t n_dotted = 0, n_added = 0, whose[run] = {};
    for (std::int64_t i = first; i < last; ++i) {
      if (wanted(i)) {
        whose[n_dotted] = i;
        dotted[n_dotted++] = rows_[at(i)].data();
      }
      if (v[i] != 0) {
        lengths[n_added] = v[i];
        added[n_added++] = rows_[at(i)].data();
      }
    }
    table_->dots(first, n_dotted, dotted, v, dots);
    table_->axpys(first, n_added, added, lengths, nullptr, sum);
    for (std::int64_t k = 0; k < n_dotted; ++k) sum[whose[k]] += dots[k];
    for (std::int64_t i = first; i < last; ++i) {
      const double* row = rows_[at(i)].data();
      for (std::int64_t j = first; j < i; ++j) {
        sum[i] += row[j] * v[j];
        sum[j] += row[j] * v[i];
      }
      sum[i] += row[i] * v[i];
    }
  }
  // Where part p begins, all parts being as large as each other.
  std::int64_t bound(std::int64_t p, std::int64_t parts) const {
    const double share = static_cast<double>(p) / static_cast<double>(parts);
    return p == parts ? size() : std::llround(std::sqrt(share) * static_cast<double>(size()));
  }

  std::vector<std::vector<double>> rows_;
  const kernels::Table<double>* table_ = &kernels::active_table<double>();
};

}  // namespace shotgun
