// The product v -> A~'HA~v, for power iteration and conjugate gradients.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/update.hpp"
#include "problem/product.hpp"

namespace shotgun {

template <Columns C>
class NormalMatrix {
 public:
  NormalMatrix(C A, std::span<const Coordinate> coordinates, const double* h, int threads)
      : A_(A),
        product_(A),
        coordinates_(coordinates),
        h_(h),
        threads_(worthwhile_threads(threads, count_nonzeros(A))),
        runs_(product_.groups(32)),
        scaled_(coordinates.size()),
        partial_(static_cast<std::size_t>(product_.blocks())),
        centred_(
            std::ranges::any_of(coordinates, [](const Coordinate& c) { return c.mean != 0; })) {}

  std::size_t size() const { return coordinates_.size(); }
  int threads() const { return threads_; }

  // out = A~'HA~v. All threads of a team call this, and find it done.
  void apply(const Team& team, std::span<const double> v, std::span<double> out) {
    multiply(team, v);
    multiply_transposed(team, out);
  }
  void apply(std::span<const double> v, std::span<double> out) {
    run_region(threads_, [&](const Team& team) { apply(team, v, out); });
  }

  // A~v = z + constant, kept for z(), constant() and curvature().
  void multiply(std::span<const double> v) {
    run_region(threads_, [&](const Team& team) { multiply(team, v); });
  }
  std::span<const double> z() const { return product_.z(); }
  double constant() const { return constant_; }
  double curvature() const {  // v'A~'HA~v
    return sum_rows(threads_, A_.rows(), [&](std::int64_t i) {
      const double total = z()[at(i)] + constant_;
      return h(i) * total * total;
    });
  }

 private:
  void multiply(const Team& team, std::span<const double> v) {
    team.once([&] {
      constant_ = 0;  // what centring takes from every row
      for (std::size_t k = 0; k < size(); ++k) {
        scaled_[k] = v[k] * coordinates_[k].inv_scale;
        constant_ -= scaled_[k] * coordinates_[k].mean;
      }
    });
    product_.multiply(team, scaled_.data());
  }
  // out = A~'Hz; uses z up.
  void multiply_transposed(const Team& team, std::span<double> out) {
    const std::span<double> z = product_.z();
    double sum = 0;
    if (h_ || centred_) {
      team.each(product_.blocks(), [&](std::int64_t b) {
        const Range rows = product_.row_block(b);
        double& part = partial_[at(b)] = 0;
        for (auto i = rows.begin; i < rows.end; ++i)
          part += z[at(i)] = h(i) * (z[at(i)] + constant_);
      });
      sum = std::accumulate(partial_.begin(), partial_.end(), 0.0);
    }
    team.each(static_cast<std::int64_t>(runs_.size()), [&](std::int64_t r) {
      const Range run = runs_[at(r)];
      double* dots = out.data() + run.begin;
      std::fill(dots, dots + run.size(), 0.0);
      A_.add_dots(product_.columns(run), z.data(), dots, {0, A_.rows()});
      for (auto k = run.begin; k < run.end; ++k) {
        const Coordinate& c = coordinates_[at(k)];
        out[at(k)] = c.inv_scale * (out[at(k)] - c.mean * sum);
      }
    });
  }
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  double h(std::int64_t i) const { return h_ ? h_[i] : 1.0; }

  C A_;
  Product<C> product_;
  std::span<const Coordinate> coordinates_;
  const double* h_;
  int threads_;
  std::vector<Range> runs_;  // of columns, for the way back
  std::vector<double> scaled_, partial_;
  bool centred_;
  double constant_ = 0;
};

}  // namespace shotgun
