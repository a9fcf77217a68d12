// certify: how far F may be above its minimum.
#pragma once

#include "certify/dual.hpp"
#include "loop/active.hpp"

namespace shotgun {

// A column with a say in the gap, and its gradient.
struct Voice {
  Column j;
  double c;
};

template <Columns C, Loss L>
class Certificate {
 public:
  Certificate(const Features<C>& features, const Scan<C>& scan, const Point<C, L>& point,
              const Active<C, L>& active, int threads)
      : features_(features),
        scan_(scan),
        point_(point),
        active_(active),
        threads_(threads),
        at_rest_(point.free().empty()) {}

  // F is at most this above its minimum: by the best dual point so far.
  double gap() const { return gap_; }
  // By the last dual point: `scale` times the scan's u.
  double here() const { return here_; }
  double scale() const { return scale_; }
  // What rounding may hide.
  double rounding() const { return rounding_; }
  // No x has a lower F.
  double lower() const { return lower_; }

  // From all that have a say.
  void certify(std::span<const Voice> voices) {
    const auto count = static_cast<std::int64_t>(voices.size());
    const bool free = !active_.certifiable() || !point_.free().empty();  // then it has a say
    const double beta = free ? point_.beta() : L::beta;
    const Columnwise columns =
        columnwise_gap(threads_, count, 4.0 * static_cast<double>(count), [&](std::int64_t p) {
          const auto [j, c] = voices[static_cast<std::size_t>(p)];
          return DualTerm{features_.penalty(j), point_.x(j), c, beta * features_.norm2(j)};
        });
    scale_ = columns.scale;
    estimate_rounding();
    const double found = columns.gap + point_.rows_gap(scan_.u(), scale_) + rounding_;
    here_ = std::isnan(found) ? infinity : found;
    at_rest_ = free_at_rest();
    if (by_gap()) lower_ = std::max(lower_, point_.objective() - here_);
    gap_ = std::max(0.0, std::min(here_, point_.objective() - lower_ + rounding_));
  }

  // F has become smaller since.
  void tighten() { gap_ = std::max(0.0, std::min(gap_, point_.objective() - lower_ + rounding_)); }
  // Of another F, which is nowhere below `lower`.
  void restart(double lower = 0) {
    lower_ = lower;
    gap_ = here_ = infinity;
  }

  // Whether the gap is one: false where weights that nothing penalises are held by their gradient,
  // or where that of the free ones was above rounding level: nothing tells how far they are to go.
  bool by_gap() const { return active_.certifiable() && at_rest_; }

 private:
  bool free_at_rest() const {
    const double unit = 64 * rounding_unit(point_.rows());
    return std::ranges::none_of(point_.free(), [&](Column j) {
      return std::abs(scan_.c(j)) > unit * features_.raw_norm(j) * u_norm_;
    });
  }
  // Errors of z, of c and of F itself, each a sum of products.
  void estimate_rounding() {
    const Samples& samples = point_.samples();
    double u_squares = 0;
    for (std::int64_t i = 0; i < samples.size(); ++i)
      if (const double w = samples.weight(i), u = scan_.u()[static_cast<std::size_t>(i)]; w > 0)
        u_squares += u * (u / w);
    const auto terms = samples.size() + static_cast<std::int64_t>(point_.support().size());
    const double unit = rounding_unit(terms);
    const double off = unit * (point_.reach() + point_.travelled());  // z, in the norm of W
    u_norm_ = std::sqrt(u_squares);
    rounding_ = off * (u_norm_ + 0.5 * point_.beta() * off) + unit * std::abs(point_.objective());
  }

  const Features<C>& features_;
  const Scan<C>& scan_;
  const Point<C, L>& point_;
  const Active<C, L>& active_;
  int threads_;
  bool at_rest_;  // the free weights, when the gap was last taken
  double gap_ = infinity, here_ = infinity, scale_ = 1, rounding_ = 0;
  double lower_ = 0;   // no loss and no penalty is negative
  double u_norm_ = 0;  // of u, in the norm of W^-1
};

}  // namespace shotgun
