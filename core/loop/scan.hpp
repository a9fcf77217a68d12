// scan: the gradient c = A~'u, as fresh as it needs to be.
#pragma once

#include <algorithm>
#include <iterator>

#include "problem/standardized.hpp"

namespace shotgun {

// c_j was computed at an older u; since then u has moved by at most `drift`, so that today's is
// within ||a~_j|| drift of it (Cauchy-Schwarz, in the norms of W and W^-1). Whoever is content with
// that bound need not look at the column again: towards the end of a fit, and along a path, few
// columns must be.
template <Columns C>
class Scan {
 public:
  // `dots` = A'u is what the survey of A found.
  Scan(Source<C>& A, const Features<C>& features, const Samples& samples, PerColumn<double> dots,
       std::vector<double> u, int threads, Watch& watch)
      : A_(A),
        features_(features),
        samples_(samples),
        threads_(threads),
        watch_(watch),
        c_(std::move(dots)),
        seen_(c_.size()),
        u_(std::move(u)) {
    if (features_.untouched()) return;
    const double sum = total();
    for (Column j = 0; j < features_.count(); ++j) c_[at(j)] = centred(j, c_[at(j)], sum);
  }

  std::span<const double> u() const { return u_; }
  double c(Column j) const { return c_[at(j)]; }
  // How far c(j) may be from a~_j'u; a trifle more, for the rounding of this bound itself.
  double doubt(Column j) const {
    const double drift = drift_since(j);
    return drift == 0 ? 0.0 : drift * std::sqrt(features_.norm2(j)) * (1 + 1e-10);
  }

  // Whether scale |a~_j'u| + radius ||a~_j|| may exceed `limit`.
  bool may_exceed(Column j, double limit, double scale = 1, double radius = 0) const {
    const double slack = limit - scale * std::abs(c_[at(j)]);
    const double reach = scale * drift_since(j) + radius;
    // Squares that leave the range of double do not decide for "no".
    return (slack < 0) | !(reach * reach * features_.norm2(j) * (1 + 1e-10) < slack * slack);
  }

  void move_to(std::vector<double> u) {
    const double step = std::sqrt(sum_rows(threads_, samples_.size(), [&](std::int64_t i) {
      const double w = samples_.weight(i), move = u[at(i)] - u_[at(i)];
      return w > 0 ? move * move / w : 0.0;
    }));
    if (step != 0) drift_.push_back(drift_.back() + step);
    u_ = std::move(u);
  }
  // The same u, up to rounding.
  void replace(std::vector<double> u) { u_ = std::move(u); }

  // Brings c(j) up to date for the columns `which`; returns how many had to be looked at.
  std::size_t refresh(std::span<const Column> which) {
    const auto is_fresh = [&](Column j) { return seen_[at(j)] == now(); };
    std::vector<Column> rest;
    if (std::ranges::any_of(which, is_fresh)) {
      std::ranges::remove_copy_if(which, std::back_inserter(rest), is_fresh);
      which = rest;
    }
    if (which.empty()) return 0;
    const bool all = static_cast<Column>(which.size()) == features_.count();
    PerColumn<double> dots(which.size());
    A_.scan(threads_, u_.data(), all ? std::span<const Column>() : which, dots.data(), watch_);
    const double sum = features_.untouched() ? 0.0 : total();
    for_rows(threads_, static_cast<std::int64_t>(which.size()), [&](std::int64_t p) {
      const Column j = which[at(p)];
      c_[at(j)] = centred(j, dots[at(p)], sum);
      seen_[at(j)] = now();
    });
    return which.size();
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::uint32_t now() const { return static_cast<std::uint32_t>(drift_.size() - 1); }
  double drift_since(Column j) const { return drift_.back() - drift_[seen_[at(j)]]; }
  // sum_i u_i: zero with an intercept, up to what a large mean makes of its rounding.
  double total() const { return std::accumulate(u_.begin(), u_.end(), 0.0); }
  double centred(Column j, double dot, double sum) const {
    return features_.untouched() ? dot : features_.inv_scale(j) * (dot - features_.mean(j) * sum);
  }

  Source<C>& A_;
  const Features<C>& features_;
  const Samples& samples_;
  int threads_;
  Watch& watch_;
  PerColumn<double> c_;
  PerColumn<std::uint32_t> seen_;  // after how many moves of u
  std::vector<double> u_;
  std::vector<double> drift_{0.0};  // how far u had moved by then, in all
};

}  // namespace shotgun
