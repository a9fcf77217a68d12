// The features as the solver sees them: a~_j = (a_j - mean_j) * inv_scale_j, x~_j = x_j /
// inv_scale_j, both implicit, and the penalty of x~_j. Without standardising, nothing is centred
// (an intercept is not part of A) and inv_scale is 1, or a power of two where a column's norm nears
// the end of the range of double, so that squaring it is safe and scaling it is exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/update.hpp"
#include "problem/samples.hpp"
#include "problem/source.hpp"

namespace shotgun {

// One number for all features, or one each.
struct PerFeature {
  double common;
  std::span<const double> each{};
  double operator[](Column j) const {
    return each.empty() ? common : each[static_cast<std::size_t>(j)];
  }
};

struct PenaltySpec {
  double lam = 0, l2 = 0;
  PerFeature factor{1.0}, lo{-infinity}, hi{infinity};
  double most_lam = 0, most_l2 = 0;  // that will be asked for later, where it is more
};

// A holds NaN or infinity. Found without a pass of its own: the squares of such a column are not
// finite, and only columns with suspicious squares are looked at twice.
struct NotFinite {
  Row row;
  Column column;
};

// F at x = 0 is not finite: targets, offsets or weights are too large to square.
struct Overflow {};

// How far, in parts of it, a mean over so many rows may be off: a column that differs from its mean
// by no more is constant.
inline double rounding_of_mean(std::int64_t rows) {
  return static_cast<double>(rows + 4) * 1.2e-16;
}

// The coordinate of one column for curvature h: moments about the mean, without cancellation.
// `fixed_mean` is used unless an intercept makes the h-weighted mean the right one.
template <Columns C>
Coordinate make_coordinate(const C& A, std::int64_t k, const double* h, double total_h,
                           bool intercept, double fixed_mean, double inv_scale,
                           const Penalty& penalty) {
  Coordinate c{.penalty = penalty, .inv_scale = inv_scale};
  double sum = 0, squares = 0;
  A.moments(k, h, &sum, &squares);
  c.mean = intercept ? sum / total_h : fixed_mean;
  c.slope = intercept ? 0.0 : sum - c.mean * total_h;
  double about_mean = squares - c.mean * (2 * sum - c.mean * total_h);
  const bool cancels = c.mean != 0 && about_mean < 1e-4 * squares;
  const bool extreme = inv_scale > 0x1p100 || inv_scale < 0x1p-100;
  if (!cancels && !extreme) {
    c.beta = about_mean * inv_scale * inv_scale;
    return c;
  }
  double seen = 0, beta = 0;
  std::int64_t entries = 0;
  A.visit(k, {0, A.rows()}, [&](Row i, double a) {
    const double weight = h ? h[i] : 1.0, e = (a - c.mean) * inv_scale;
    ++entries;
    seen += weight;
    beta += weight * e * e;
  });
  const double absent = entries < A.rows() ? std::max(0.0, total_h - seen) : 0.0;
  const double rest = c.mean * inv_scale, rounding = rounding_of_mean(A.rows());
  c.beta = beta + absent * rest * rest;
  if (cancels && c.beta <= rounding * rounding * squares * inv_scale * inv_scale) c.beta = 0;
  return c;
}

template <Columns C>
class Features {
 public:
  // `v` is multiplied with every column on the way: dots = A'v.
  Features(Source<C>& A, const Samples& samples, const PenaltySpec& spec, bool intercept,
           bool standardize, const std::vector<double>& v, PerColumn<double>& dots, int threads,
           Watch& watch)
      : spec_(spec),
        total_w_(samples.total_weight()),
        intercept_(intercept),
        standardize_(standardize),
        norm2_(static_cast<std::size_t>(A.cols())) {
    dots.resize(norm2_.size());
    const bool centred = intercept || standardize;
    if (centred) mean_.resize(norm2_.size());
    std::mutex turn;
    std::vector<Column> suspicious;
    std::vector<unsigned char> seen(norm2_.size());
    const double shared = A.survey(
        threads, samples.weights(), v.data(), norm2_.data(), dots.data(), watch,
        [&](Column first, Column last, const double* sums) {
          // The loop has no branches; few runs have a column to look at again.
          double cosines = 0;  // only dense columns are asked for them
          std::int64_t odd = 0;
          std::vector<unsigned char> is_odd(static_cast<std::size_t>(last - first));
          for (Column j = first; j < last; ++j) {
            const double squares = norm2_[at(j)], sum = sums[j - first];
            const double mean = centred ? sum / total_w_ : 0.0, about_mean = squares - mean * sum;
            if constexpr (C::dense) cosines += sum * (sum / std::max(squares, 1e-300));
            const bool in_range = (squares > 1e-200) & (squares < 1e200);
            const bool safe = in_range & ((mean == 0) | (about_mean >= 1e-4 * squares));
            if (centred) mean_[at(j)] = mean;
            norm2_[at(j)] = about_mean;
            is_odd[at(j - first)] = !safe & (squares != 0);
            odd += is_odd[at(j - first)];
          }
          std::fill(seen.begin() + first, seen.begin() + last, 1);
          if (odd == 0) return cosines;
          const std::lock_guard lock(turn);
          for (Column j = first; j < last; ++j)
            if (is_odd[at(j - first)]) suspicious.push_back(j);
          return cosines;
        });
    if (watch.stopped()) {  // what was not looked at is nothing
      for (std::size_t j = 0; j < norm2_.size(); ++j)
        if (!seen[j]) {
          norm2_[j] = dots[j] = 0;
          if (centred) mean_[j] = 0;
        }
      return;
    }
    if (!centred) shared_ = shared / (total_w_ * static_cast<double>(count()));
    std::ranges::sort(suspicious);
    for (Column j : suspicious) {
      norm2_[at(j)] = careful(A, j, samples, mean(j));
      watch.poll();
      if (watch.stopped()) return;
    }
    for (std::size_t j = 0; standardize && j < norm2_.size(); ++j) standardise(j);
    surveyed_ = true;
    set_strength(spec.lam, spec.l2);
  }

  // False if the survey was stopped: then scales are not known,
  bool surveyed() const { return surveyed_; }
  // but for the few columns that this is asked for.
  void look_at(Source<C>& A, const Samples& samples, std::span<const Column> few) {
    std::vector<Handle<C>> handles;
    A.borrow(few, handles);
    const C columns(A.rows(), handles);
    for (std::size_t k = 0; k < few.size(); ++k) {
      double sum = 0, squares = 0;
      columns.moments(static_cast<std::int64_t>(k), samples.weights(), &sum, &squares);
      if (!inv_scale_.empty()) inv_scale_[at(few[k])] = 1;  // the survey may have come that far
      mean_[at(few[k])] = sum / total_w_;
      norm2_[at(few[k])] = careful(A, few[k], samples, mean(few[k]));
      standardise(at(few[k]));
    }
  }

  void set_strength(double lam, double l2) {
    spec_.lam = lam;
    spec_.l2 = l2;
    common_.reset();
    const bool same = spec_.factor.each.empty() && spec_.lo.each.empty() && spec_.hi.each.empty();
    if (same && inv_scale_.empty()) common_ = penalty(0);
  }

  Column count() const { return static_cast<Column>(norm2_.size()); }
  double total_weight() const { return total_w_; }
  bool intercept() const { return intercept_; }
  bool standardize() const { return standardize_; }
  const PenaltySpec& spec() const { return spec_; }

  // sum_i w_i a~_ij^2, about the mean if there is an intercept or standardising.
  double norm2(Column j) const { return norm2_[static_cast<std::size_t>(j)]; }
  double mean(Column j) const { return mean_.empty() ? 0.0 : mean_[static_cast<std::size_t>(j)]; }
  // What centring subtracts when there is no intercept to absorb it.
  double fixed_mean(Column j) const { return standardize_ ? mean(j) : 0.0; }
  // It is nothing, and not by centring.
  bool empty(Column j) const { return (norm2(j) == 0) & (mean(j) == 0); }
  double inv_scale(Column j) const {
    return inv_scale_.empty() ? 1.0 : inv_scale_[static_cast<std::size_t>(j)];
  }

  // Under the curvature w of the squared loss: what the survey found.
  Coordinate coordinate(Column j) const {
    return {penalty(j), norm2(j), mean(j), inv_scale(j), 0.0};
  }
  // Whether float32 holds the column well enough to compute steps with: in the middle of its range,
  // and values not all but equal where they are centred.
  bool fits_float(Column j) const {
    const double size = raw_norm(j), values = size / inv_scale(j);
    return size == 0 || (values > 1e-15 && values < 1e15 && size * size < 1e6 * norm2(j));
  }

  // The mean squared cosine between the columns and the constant: zero where they are centred.
  double shared() const { return shared_; }

  // Columns are used as they are: neither centred nor scaled.
  bool untouched() const { return inv_scale_.empty() && mean_.empty(); }

  // Whether all features have the same penalty.
  bool alike() const { return common_.has_value(); }
  // lam, where they have, and nothing else penalises or bounds them.
  std::optional<double> plain() const {
    return common_ && common_->silent_at_zero() ? std::optional(common_->lam) : std::nullopt;
  }
  Penalty penalty(Column j) const {
    if (common_) return *common_;
    const double s = inv_scale(j), u = unit(j), factor = spec_.factor[j];
    const double lam = factor == infinity ? infinity : spec_.lam * factor * u;
    return {lam, spec_.l2 * u * u, spec_.lo[j] / s, spec_.hi[j] / s};
  }
  // lam_j per unit of lam.
  double lambda_unit(Column j) const {
    const double factor = spec_.factor[j];
    return factor == infinity ? 0.0 : factor * unit(j);
  }
  // The norm of the uncentred scaled column, for bounds on rounding.
  double raw_norm(Column j) const {
    const double m = mean(j) * inv_scale(j);
    return std::sqrt(norm2(j) + m * m * total_w_);
  }
  // x_j from x~_j, exactly within the bounds that were asked for.
  double original(Column j, double scaled) const {
    return std::clamp(scaled * inv_scale(j), spec_.lo[j], spec_.hi[j]);
  }
  // The weights that nothing penalises though others are: the dual must be orthogonal to them.
  bool held_free(Column j) const { return spec_.lam > 0 && penalty(j).free(); }

 private:
  static std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }
  // What is penalised is x~_j times this: x_j, or the weight of a column of unit variance, which a
  // constant one has not.
  double unit(Column j) const { return standardize_ && norm2(j) > 0 ? 1.0 : inv_scale(j); }

  // norm2 by two passes over the column, scaled by a power of two if its squares leave the range.
  double careful(Source<C>& A, Column j, const Samples& samples, double mean) {
    std::vector<Handle<C>> handle;
    A.borrow(std::span<const Column>(&j, 1), handle);
    const C column(A.rows(), handle);
    double largest = 0, weighed = 0;
    column.visit(0, {0, A.rows()}, [&](Row i, double a) {
      if (!std::isfinite(a)) throw NotFinite{i, j};
      largest = std::max(largest, std::abs(a));
      weighed = std::max(weighed, std::abs(a) * std::sqrt(samples.weight(i)));
    });
    if (largest == 0) return 0.0;
    const int exponent = exponent_of(largest), heavy = exponent_of(weighed);
    // No further than to where squares are safe, and the penalty, scaled the other way, is finite.
    int excess = exponent > 300 ? exponent - 60 : exponent < -300 ? exponent + 60 : 0;
    if (weighed > 0 && std::abs(heavy - excess) > 450)  // nor are the squares, weighed
      excess = heavy > excess ? heavy - 400 : heavy + 400;
    const auto limit = [&](double strength, int power) {
      if (excess < 0 && strength > 0)
        excess = std::max(excess, (exponent_of(strength) - 1000) / power);
    };
    if (const double factor = spec_.factor[j]; factor != infinity)
      limit(std::max(spec_.lam, spec_.most_lam) * factor, 1);
    limit(std::max(spec_.l2, spec_.most_l2), 2);
    const double scale = std::ldexp(1.0, -excess);
    double seen = 0, sum = 0, size = 0;
    std::int64_t entries = 0;
    column.visit(0, {0, A.rows()}, [&](Row i, double a) {
      const double w = samples.weight(i), e = (a - mean) * scale, scaled = a * scale;
      ++entries;
      seen += w;
      sum += w * e * e;
      size += w * scaled * scaled;
    });
    const double absent = entries < A.rows() ? std::max(0.0, total_w_ - seen) : 0.0;
    sum += absent * (mean * scale) * (mean * scale);
    const double rounding = rounding_of_mean(A.rows());
    if (mean != 0 && sum <= rounding * rounding * size) sum = 0;
    if (scale != 1.0) scale_by(static_cast<std::size_t>(j), scale);
    return sum;
  }
  static int exponent_of(double value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return exponent;
  }
  void standardise(std::size_t j) {
    if (!(norm2_[j] > 0)) return;
    scale_by(j, std::sqrt(total_w_) / std::sqrt(norm2_[j]));
    norm2_[j] = total_w_;
  }
  void scale_by(std::size_t j, double scale) {
    if (inv_scale_.empty()) inv_scale_.assign(norm2_.size(), 1.0);
    inv_scale_[j] *= scale;
  }

  PenaltySpec spec_;
  double total_w_, shared_ = 0;
  bool intercept_, standardize_, surveyed_ = false;
  PerColumn<double> norm2_, mean_, inv_scale_;
  std::optional<Penalty> common_;  // of all features, where they do not differ
};

}  // namespace shotgun
