// pack: the columns of the working set, ready for an engine.
#pragma once

#include "loop/point.hpp"

namespace shotgun {

// Light copies; or the columns themselves, where the plain algorithm is asked for or float32 would
// not do; or only their names, where they do not fit here.
template <Columns C, Loss L>
class Pack {
 public:
  Pack(Source<C>& A, Point<C, L>& point, bool exact)
      : A_(A),
        point_(point),
        member_(static_cast<std::size_t>(point.features().count())),
        exact_(exact) {}

  bool holds(Column j) const { return member_[static_cast<std::size_t>(j)]; }
  std::int64_t size() const {
    const auto& here = exact_ ? columns_.which : copies_.which;
    return static_cast<std::int64_t>(far_.empty() ? here.size() : far_.size());
  }
  // The working set, where it does not fit here.
  std::span<const Column> elsewhere() const { return far_; }
  // Calls body with the packed columns.
  template <class Body>
  auto visit(Body&& body) {
    return exact_ ? body(columns_) : body(copies_);
  }

  // Adds columns. Only those are fetched. It starts afresh, with the active columns, where
  // screening has emptied it by half, and stays elsewhere where it does not fit.
  void extend(std::span<const Column> active, std::vector<Column> fresh, bool exactly) {
    std::vector<Column> keep;
    for (Column j : active)
      if (holds(j)) keep.push_back(j);
    const auto before = static_cast<std::size_t>(size());
    const bool was_exact = exact_;
    exact_ = exact_ || exactly ||
             !std::ranges::all_of(fresh, [&](Column j) { return point_.features().fits_float(j); });
    std::vector<Column> all = keep;
    all.insert(all.end(), fresh.begin(), fresh.end());
    const bool fits = A_.fits(all);
    if (2 * keep.size() < before || exact_ != was_exact || !fits || !far_.empty()) {
      fresh = std::move(all);
      clear();
    }
    for (Column j : fresh) member_[static_cast<std::size_t>(j)] = 1;
    if (!fits)
      far_ = std::move(fresh);
    else
      visit([&](auto& packed) { point_.extend(packed, fresh, !exact_); });
  }

  void clear() {
    std::fill(member_.begin(), member_.end(), 0);
    copies_ = {};
    columns_ = {};
    far_.clear();
  }
  // Empty, and of light copies again.
  void restart() {
    clear();
    exact_ = false;
  }
  // The penalties have changed.
  void forget_penalties() {
    copies_.coordinates.clear();
    columns_.coordinates.clear();
  }

 private:
  Source<C>& A_;
  Point<C, L>& point_;
  std::vector<unsigned char> member_;
  Packed<Light<C>> copies_;
  Packed<C> columns_;
  std::vector<Column> far_;
  bool exact_;
};

}  // namespace shotgun
