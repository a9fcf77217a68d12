// scan: the gradient c = A~'u, as fresh as it needs to be.
#pragma once

#include <algorithm>
#include <iterator>

#include "problem/standardized.hpp"

namespace shotgun {

// What is known of |a~_j'u| without another look at the column. When u has moved by at most `drift`
// in all (in the norm of W^-1), it is at most base + drift * norm (Cauchy-Schwarz). Two small
// numbers, rounded up: going through those of all columns is what a round costs that scans few.
struct Bound {
  float base, norm;
  double at(double drift) const {
    return static_cast<double>(base) + drift * static_cast<double>(norm);
  }
};

// Not below v, and above it by a few parts in ten millions; what float32 cannot hold becomes
// infinite, or a small number, and so no reason to leave a column out. Small, but far from
// denormal: some processors take a hundred times as long for such numbers, and every empty column
// has one.
inline float rounded_up(double v) {
  constexpr double small = 1e-30;
  const auto near = static_cast<float>(std::abs(v) < small ? small : std::max(v, -1e38));
  return near * (near > 0 ? 1 + 0x1p-22f : 1 - 0x1p-22f);
}

// Whoever is content with a bound need not look at the column again: towards the end of a fit, and
// along a path, few columns must be.
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
        bounds_(c_.size()),
        u_(std::move(u)) {
    const double sum = features_.untouched() ? 0.0 : total();
    for_rows(threads_, features_.count(), [&](std::int64_t j) {
      c_[at(j)] = centred(static_cast<Column>(j), c_[at(j)], sum);
      bounds_[at(j)] = {rounded_up(std::abs(c_[at(j)])),
                        rounded_up(std::sqrt(features_.norm2(static_cast<Column>(j))))};
    });
  }

  std::span<const double> u() const { return u_; }
  // c(j), if the last refresh() was asked for it; else, and it may be there all the same, what it
  // is not larger than. `place` is where the list of that refresh may have it.
  double c(Column j, std::size_t place = 0) const {
    if (place < which_.size() && which_[place] == j) return c_[place];
    const std::size_t known = find(j);
    return known == nowhere ? bound(j) : c_[known];
  }
  bool knows(Column j) const { return find(j) != nowhere; }
  // c of all these columns; empty if the last refresh() was not asked for one of them.
  std::vector<double> exactly(std::span<const Column> which) const {
    std::vector<double> all;
    for (Column j : which) {
      const std::size_t known = find(j);
      if (known == nowhere) return {};
      all.push_back(c_[known]);
    }
    return all;
  }
  std::int64_t known_count() const { return static_cast<std::int64_t>(which_.size()); }
  // The p-th column of that list, and its c.
  auto known() const {
    return [this](std::size_t p) { return std::pair(which_[p], c_[p]); };
  }
  double bound(Column j) const { return bounds_[at(j)].at(drift_); }

  // Whether scale |a~_j'u| + radius ||a~_j|| may exceed `limit`. NaN is no proof that it does not.
  bool may_exceed(Column j, double limit, double scale = 1, double radius = 0) const {
    const Bound b = bounds_[at(j)];
    return !(scale * b.at(drift_) + radius * static_cast<double>(b.norm) <= limit);
  }

  void move_to(std::vector<double> u) {
    const double step = std::sqrt(sum_rows(threads_, samples_.size(), [&](std::int64_t i) {
      const double w = samples_.weight(i), move = u[at(i)] - u_[at(i)];
      return w > 0 ? move * (move / w) : 0.0;  // the square alone may be out of range
    }));
    if (step != 0) {
      drift_ += step;
      stale_ = true;
    }
    u_ = std::move(u);
  }
  // The same u, up to rounding.
  void replace(std::vector<double> u) { u_ = std::move(u); }

  // Makes c(j) known for the columns `which`, ascending; returns how many had to be looked at.
  std::size_t refresh(std::vector<Column> which) {
    PerColumn<double> c(which.size());
    std::vector<Column> rest;         // not known already,
    std::vector<std::size_t> places;  // and where they go
    for (std::size_t p = 0; !stale_ && p < which.size(); ++p) {
      if (const std::size_t known = find(which[p]); known != nowhere) {
        c[p] = c_[known];
      } else {
        rest.push_back(which[p]);
        places.push_back(p);
      }
    }
    const std::size_t looked = stale_ ? which.size() : rest.size();
    if (2 * looked > bounds_.size()) rebase();
    if (stale_) {
      look_at(which, c.data());
    } else {
      PerColumn<double> found(rest.size());
      look_at(rest, found.data());
      for (std::size_t p = 0; p < rest.size(); ++p) c[places[p]] = found[p];
    }
    which_ = std::move(which);
    c_ = std::move(c);
    everything_ = stale_ = false;
    return looked;
  }

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::size_t find(Column j) const {
    if (everything_) return at(j);
    const auto found = std::ranges::lower_bound(which_, j);
    return found != which_.end() && *found == j ? at(found - which_.begin()) : nowhere;
  }
  // out_p = c_j for j = which_p.
  void look_at(std::span<const Column> which, double* out) {
    if (which.empty()) return;
    const bool all = static_cast<Column>(which.size()) == features_.count();
    A_.scan(threads_, u_.data(), all ? std::span<const Column>() : which, out, watch_);
    const double sum = features_.untouched() ? 0.0 : total();
    for_rows(threads_, static_cast<std::int64_t>(which.size()), [&](std::int64_t p) {
      const Column j = which[at(p)];
      out[p] = centred(j, out[p], sum);
      Bound& b = bounds_[at(j)];
      b.base = rounded_up(std::abs(out[p]) - drift_ * static_cast<double>(b.norm));
    });
  }
  // Counts drift from here on: what is subtracted from small numbers stays small.
  void rebase() {
    for_rows(threads_, features_.count(), [&](std::int64_t j) {
      Bound& b = bounds_[at(j)];
      b.base = rounded_up(b.at(drift_));
    });
    drift_ = 0;
  }
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
  std::vector<Column> which_;  // the columns of the last refresh,
  PerColumn<double> c_;        // and their gradients,
  bool everything_ = true;     // at first those of all columns;
  bool stale_ = false;         // u has moved since
  PerColumn<Bound> bounds_;
  std::vector<double> u_;
  double drift_ = 0;
};

}  // namespace shotgun
