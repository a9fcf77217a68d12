// The product v -> A~'HA~v, for power iteration and conjugate gradients.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/update.hpp"
#include "problem/design.hpp"

namespace shotgun {

// The same bits for any number of threads: the product is made in parts that the data alone decide.
// Dense columns are cut into slabs of rows; sparse ones, too short for that, into groups of
// columns, each with a sum of its own.
template <Columns C>
class NormalMatrix {
 public:
  NormalMatrix(C A, std::span<const Coordinate> coordinates, const double* h, int threads)
      : A_(A),
        coordinates_(coordinates),
        h_(h),
        threads_(worthwhile_threads(threads, count_nonzeros(A))),
        everything_(first_columns(A.count())),
        scaled_(coordinates.size()),
        centred_(
            std::ranges::any_of(coordinates, [](const Coordinate& c) { return c.mean != 0; })) {
    if constexpr (C::dense)
      cut_rows();
    else
      cut_columns();
    z_.resize(at(sums_ * A.rows()));
  }

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
    const std::int64_t n = A_.rows();
    parallel_for(threads_, static_cast<std::int64_t>(parts_.size()), [&](std::int64_t p) {
      const Part& part = parts_[at(p)];
      double* z = z_.data() + part.sum * n;
      std::fill(z + part.rows.begin, z + part.rows.end, 0.0);
      const auto list =
          std::span(everything_).subspan(at(part.columns.begin), at(part.columns.size()));
      A_.add_axpys(list, scaled_.data() + part.columns.begin, nullptr, z, part.rows);
    });
    if (sums_ > 1)
      for_rows(threads_, n, [&](std::int64_t i) {
        for (std::int64_t s = 1; s < sums_; ++s) z_[at(i)] += z_[at(s * n + i)];
      });
  }
  std::span<const double> z() const { return {z_.data(), at(A_.rows())}; }
  double constant() const { return constant_; }
  double curvature() const {  // v'A~'HA~v
    return sum_rows(threads_, A_.rows(), [&](std::int64_t i) {
      const double total = z_[at(i)] + constant_;
      return h(i) * total * total;
    });
  }
  int threads() const { return threads_; }

  // out = A~'Hz; uses z up.
  void multiply_transposed(std::span<double> out) {
    double sum = 0;
    if (h_ || centred_)
      sum = sum_rows(threads_, A_.rows(),
                     [&](std::int64_t i) { return z_[at(i)] = h(i) * (z_[at(i)] + constant_); });
    const std::vector<double> dots = all_dots(A_, z_.data(), threads_);
    for (std::size_t k = 0; k < size(); ++k)
      out[k] = coordinates_[k].inv_scale * (dots[k] - coordinates_[k].mean * sum);
  }

 private:
  struct Part {
    Range columns, rows;
    std::int64_t sum;  // which it adds to
  };
  void cut_rows() {
    const Slabs slabs(A_.rows());
    for (std::int64_t s = 0; s < slabs.count(); ++s)
      parts_.push_back({{0, A_.count()}, slabs[s], 0});
  }
  // Into groups of as many non-zeros each, few enough that adding them up costs little.
  void cut_columns() {
    const double total = count_nonzeros(A_), n = static_cast<double>(A_.rows());
    sums_ = static_cast<std::int64_t>(std::clamp(total / (8 * n), 1.0, 16.0));
    double seen = 0;
    for (std::int64_t k = 0, first = 0; k < A_.count(); ++k) {
      seen += static_cast<double>(A_.nonzeros(k));
      const auto group = static_cast<std::int64_t>(parts_.size());
      if (k + 1 < A_.count() &&
          seen * static_cast<double>(sums_) < total * static_cast<double>(group + 1))
        continue;
      parts_.push_back({{first, k + 1}, {0, A_.rows()}, group});
      first = k + 1;
    }
    sums_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(parts_.size()));
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  double h(std::int64_t i) const { return h_ ? h_[i] : 1.0; }

  C A_;
  std::span<const Coordinate> coordinates_;
  const double* h_;
  int threads_;
  std::vector<std::int64_t> everything_;
  std::vector<Part> parts_;
  std::int64_t sums_ = 1;
  std::vector<double> scaled_, z_;
  bool centred_;
  double constant_ = 0;
};

}  // namespace shotgun
