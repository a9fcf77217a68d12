// The product v -> A~'HA~v, for power iteration and conjugate gradients.
#pragma once

#include <vector>

#include "engine/update.hpp"
#include "problem/design.hpp"

namespace shotgun {

// Deterministic for any number of threads: Av is summed over fixed groups of columns, and the
// groups are added in order.
template <Columns C>
class NormalMatrix {
 public:
  NormalMatrix(C A, std::span<const Coordinate> coordinates, const double* h, int threads)
      : A_(A),
        coordinates_(coordinates),
        h_(h),
        groups_(std::clamp<std::int64_t>(A.count() / 64, 1, 8)),
        z_(static_cast<std::size_t>(A.rows() * groups_)) {
    threads_ = worthwhile_threads(threads, count_nonzeros(A));
  }

  std::size_t size() const { return coordinates_.size(); }

  void apply(std::span<const double> v, std::span<double> out) {
    multiply(v);
    multiply_transposed(out);
  }

  // A~v = z + constant, kept for z(), constant(), curvature() and multiply_transposed.
  void multiply(std::span<const double> v) {
    const std::int64_t n = A_.rows(), count = A_.count();
    constant_ = 0;  // what centring takes from every row
    for (std::size_t k = 0; k < size(); ++k)
      constant_ -= v[k] * coordinates_[k].inv_scale * coordinates_[k].mean;
    parallel_for(threads_, groups_, [&](std::int64_t s) {
      double* z = z_.data() + s * n;
      std::fill_n(z, n, 0.0);
      for (std::int64_t k = count * s / groups_; k < count * (s + 1) / groups_; ++k)
        if (const double step = v[at(k)] * coordinates_[at(k)].inv_scale; step != 0)
          A_.axpy(k, step, nullptr, z);
    });
    curvature_ = sum_rows(threads_, n, [&](std::int64_t i) {
      double total = z_[at(i)];
      for (std::int64_t s = 1; s < groups_; ++s) total += z_[at(s * n + i)];
      z_[at(i)] = total;
      return h(i) * (total + constant_) * (total + constant_);
    });
  }
  std::span<const double> z() const { return {z_.data(), at(A_.rows())}; }
  double constant() const { return constant_; }
  double curvature() const { return curvature_; }  // v'A~'HA~v
  int threads() const { return threads_; }

  // out = A~'Hz; uses z up.
  void multiply_transposed(std::span<double> out) {
    const std::int64_t count = A_.count();
    const double sum = sum_rows(threads_, A_.rows(), [&](std::int64_t i) {
      return z_[at(i)] = h(i) * (z_[at(i)] + constant_);
    });
    constexpr std::int64_t run = 256;
    parallel_for(threads_, (count + run - 1) / run, [&](std::int64_t r) {
      for (std::int64_t k = r * run; k < std::min(count, (r + 1) * run); ++k) {
        const Coordinate& c = coordinates_[at(k)];
        out[at(k)] = c.inv_scale * (A_.dot(k, z_.data()) - c.mean * sum);
      }
    });
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  double h(std::int64_t i) const { return h_ ? h_[i] : 1.0; }

  C A_;
  std::span<const Coordinate> coordinates_;
  const double* h_;
  std::int64_t groups_;
  std::vector<double> z_;
  double constant_ = 0, curvature_ = 0;
  int threads_;
};

}  // namespace shotgun
