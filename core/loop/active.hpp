// screen: the active columns, whose optimal weight is not known yet.
#pragma once

#include "certify/screening.hpp"
#include "loop/point.hpp"
#include "loop/scan.hpp"

namespace shotgun {

template <Columns C, Loss L>
class Active {
 public:
  Active(const Features<C>& features, const Scan<C>& scan, const Point<C, L>& point, bool screens,
         int threads, const Watch& watch)
      : features_(features),
        scan_(scan),
        point_(point),
        screens_(screens),
        threads_(threads),
        watch_(watch) {
    awaken();
  }

  std::span<const Column> columns() const { return columns_; }  // ascending
  std::int64_t size() const { return static_cast<std::int64_t>(columns_.size()); }
  bool holds(Column j) const { return std::ranges::binary_search(columns_, j); }
  std::int64_t screened() const { return screened_; }
  PerColumn<Column> take() && { return std::move(columns_); }

  // Whether a gap tells how far F is from its minimum: not where nothing penalises a weight, but
  // for those that the dual point can be made orthogonal to.
  bool certifiable() const { return certifiable_; }

  // It moves nothing, and its penalty wants it at zero. (Centred to nothing is not nothing: what
  // rounding leaves of such a column keeps its say. And what was never looked at is not known.)
  bool at_rest(Column j) const {
    return features_.empty(j) && features_.penalty(j).silent_within() && !watch_.stopped();
  }

  // All columns take part but the excluded, and those that have no say at all.
  void awaken() {
    columns_.resize(static_cast<std::size_t>(features_.count()));
    for_rows(threads_, features_.count(), [&](std::int64_t j) {
      columns_[static_cast<std::size_t>(j)] = static_cast<Column>(j);
    });
    if (!features_.alike())
      std::erase_if(columns_, [&](Column j) { return features_.penalty(j).excluded(); });
    screened_ = 0;
    if (screens_ && !watch_.stopped())
      drop_unless([&, plain = features_.plain().has_value()](Column j) -> bool {
        return !(features_.empty(j) & (plain || features_.penalty(j).silent_within()));
      });
    const auto different = columns().first(
        features_.alike() ? std::min<std::size_t>(1, columns_.size()) : columns_.size());
    certifiable_ = std::ranges::none_of(different, [&](Column j) {
      const Penalty p = features_.penalty(j);
      return p.half_free() || (p.free() && !features_.held_free(j));
    });
  }

  // Columns that are packed still, though screening has dropped them, may have been moved by a shot
  // that is not exact: then they have a say again.
  template <class IsPacked>
  void reawaken(IsPacked&& packed) {
    std::vector<Column> back;
    const auto look = [&](Column j) {
      if (packed(j) && !holds(j)) back.push_back(j);
    };
    if (features_.plain()) {  // what is not in the support is where it was decided to be
      for (Column j : point_.support()) look(j);
    } else if (screened_ > 0) {
      for (Column j = 0; j < features_.count(); ++j) look(j);
    }
    if (back.empty()) return;
    screened_ -= static_cast<std::int64_t>(back.size());
    const auto middle = static_cast<std::ptrdiff_t>(columns_.size());
    columns_.insert(columns_.end(), back.begin(), back.end());
    std::inplace_merge(columns_.begin(), columns_.begin() + middle, columns_.end());
  }

  // Drops the columns whose optimal weight is known and already there: the optimal dual point lies
  // within `radius` of `scale` u. While that is far and no column of a sample would go, all stay.
  void screen(double scale, double radius) {
    const auto keep = [&, plain = features_.plain()](Column j) -> bool {
      if (plain) return point_.moved(j) | scan_.may_exceed(j, *plain, scale, radius);
      const Penalty penalty = features_.penalty(j);
      if (penalty.silent_within()) {
        if (!point_.moved(j) && !scan_.may_exceed(j, penalty.lam, scale, radius)) return false;
        if (penalty.silent_at_zero() || !scan_.knows(j)) return true;
      }
      const double reach = radius * std::sqrt(features_.norm2(j)) * (1 + 1e-12);
      const double decided = decided_weight(penalty, -scale * scan_.c(j), reach);
      return decided != point_.x(j) || features_.held_free(j);
    };
    if (!all_stay(keep)) drop_unless(keep);
  }

 private:
  // Whether none of a sample would go; where columns are few, all are asked. The step is prime: at
  // such a one columns of one kind do not happen to come.
  template <class Keep>
  bool all_stay(Keep&& keep) const {
    constexpr std::size_t step = 61;
    if (columns_.size() < 64 * step) return false;
    for (std::size_t p = 0; p < columns_.size(); p += step)
      if (!keep(columns_[p])) return false;
    return true;
  }
  template <class Keep>
  void drop_unless(Keep&& keep) {
    const std::size_t before = columns_.size();
    keep_if(threads_, columns_, keep);
    screened_ += static_cast<std::int64_t>(before - columns_.size());
  }

  const Features<C>& features_;
  const Scan<C>& scan_;
  const Point<C, L>& point_;
  bool screens_;
  int threads_;
  const Watch& watch_;
  PerColumn<Column> columns_;
  std::int64_t screened_ = 0;
  bool certifiable_ = true;
};

}  // namespace shotgun
