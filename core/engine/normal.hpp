// The product v -> A~'HA~v, for power iteration and conjugate gradients.
#pragma once

#include <vector>

#include "engine/update.hpp"
#include "problem/csc.hpp"

namespace shotgun {

// v -> Av over ranges of rows. Dense columns are added up as they are; sparse ones are copied row by
// row first, since reading along a row is faster than scattering along columns and needs no sum over
// threads.
template <Columns C>
class Rows {
 public:
  Rows(C A, int) : A_(A), list_(first_columns(A.count())) {}
  void multiply(std::span<const double> v, double* z, Range r) const {
    std::fill(z + r.begin, z + r.end, 0.0);
    A_.add_axpys(list_, v.data(), nullptr, z, r);
  }

 private:
  C A_;
  std::vector<std::int64_t> list_;
};

template <class T>
class Rows<SparseColumns<T>> {
 public:
  Rows(const SparseColumns<T>& A, int threads)
      : starts_(static_cast<std::size_t>(A.rows()) + 1),
        columns_(static_cast<std::size_t>(count_nonzeros(A))),
        values_(columns_.size()) {
    // Every thread makes a range of rows; the copy is the same for any number of them.
    run_region(threads, [&](Team team) {
      const Range r = share(A.rows(), team.thread, team.threads);
      for (std::int64_t k = 0; k < A.count(); ++k)
        A.visit(k, r, [&](Row i, double) { ++starts_[static_cast<std::size_t>(i) + 1]; });
    });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
    run_region(threads, [&](Team team) {
      const Range r = share(A.rows(), team.thread, team.threads);
      for (std::int64_t k = 0; k < A.count(); ++k)
        A.visit(k, r, [&](Row i, double a) {
          const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(i)]++);
          columns_[at] = static_cast<Row>(k);
          values_[at] = static_cast<T>(a);
        });
    });
  }
  void multiply(std::span<const double> v, double* z, Range r) const {
    for (auto i = r.begin; i < r.end; ++i) {
      const std::int64_t begin = starts_[static_cast<std::size_t>(i)];
      z[i] = sparse_dot(values_.data() + begin, columns_.data() + begin,
                        starts_[static_cast<std::size_t>(i) + 1] - begin, v.data());
    }
  }

 private:
  std::vector<std::int64_t> starts_;
  std::vector<Row> columns_;
  std::vector<T> values_;
};

// The same bits for any number of threads: rows are summed each by itself, over fixed slabs.
template <Columns C>
class NormalMatrix {
 public:
  NormalMatrix(C A, std::span<const Coordinate> coordinates, const double* h, int threads)
      : A_(A),
        coordinates_(coordinates),
        h_(h),
        threads_(worthwhile_threads(threads, count_nonzeros(A))),
        rows_(A, threads_),
        scaled_(coordinates.size()),
        z_(static_cast<std::size_t>(A.rows())) {}

  std::size_t size() const { return coordinates_.size(); }

  void apply(std::span<const double> v, std::span<double> out) {
    multiply(v);
    multiply_transposed(out);
  }

  // A~v = z + constant, kept for z(), constant(), curvature() and multiply_transposed.
  void multiply(std::span<const double> v) {
    constant_ = 0;  // what centring takes from every row
    for (std::size_t k = 0; k < size(); ++k) {
      scaled_[k] = v[k] * coordinates_[k].inv_scale;
      constant_ -= scaled_[k] * coordinates_[k].mean;
    }
    const Slabs slabs(A_.rows());
    std::vector<double> partial(static_cast<std::size_t>(slabs.count()));
    parallel_for(threads_, slabs.count(), [&](std::int64_t s) {
      rows_.multiply(scaled_, z_.data(), slabs[s]);
      for (auto i = slabs[s].begin; i < slabs[s].end; ++i) {
        const double total = z_[at(i)] + constant_;
        partial[at(s)] += h(i) * total * total;
      }
    });
    curvature_ = std::accumulate(partial.begin(), partial.end(), 0.0);
  }
  std::span<const double> z() const { return z_; }
  double constant() const { return constant_; }
  double curvature() const { return curvature_; }  // v'A~'HA~v
  int threads() const { return threads_; }

  // out = A~'Hz; uses z up.
  void multiply_transposed(std::span<double> out) {
    const double sum = sum_rows(threads_, A_.rows(), [&](std::int64_t i) {
      return z_[at(i)] = h(i) * (z_[at(i)] + constant_);
    });
    const std::vector<double> dots = all_dots(A_, z_.data(), threads_);
    for (std::size_t k = 0; k < size(); ++k)
      out[k] = coordinates_[k].inv_scale * (dots[k] - coordinates_[k].mean * sum);
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  double h(std::int64_t i) const { return h_ ? h_[i] : 1.0; }

  C A_;
  std::span<const Coordinate> coordinates_;
  const double* h_;
  int threads_;
  Rows<C> rows_;
  std::vector<double> scaled_, z_;
  double constant_ = 0, curvature_ = 0;
};

}  // namespace shotgun
