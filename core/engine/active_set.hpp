// The active set of CDN: the weights that are allowed to become non-zero (section 4.2 of the paper,
// after Yuan et al. 2010).
#pragma once

#include "engine/order.hpp"

namespace shotgun {

// An Order in which weights rest that are zero and whose gradient says they want to stay: it is
// inside [-lam, lam] by more than the last epoch's largest violation over the number of samples.
// Once the others have settled, all are visited again.
class ActiveSet {
 public:
  ActiveSet(std::int64_t count, std::int64_t rows, bool cyclic, std::uint64_t seed)
      : resting_(static_cast<std::size_t>(count)), rows_(rows), cyclic_(cyclic), random_(seed) {}

  std::span<const std::int64_t> next() {
    if (violation_ <= 0.1 * of_all_) {
      order_.resize(resting_.size());
      std::iota(order_.begin(), order_.end(), 0);
      std::fill(resting_.begin(), resting_.end(), 0);
      margin_ = infinity;
      of_all_ = 0;  // until this epoch has told
    } else {
      if (of_all_ == 0) of_all_ = violation_;
      std::erase_if(order_, [&](std::int64_t k) { return resting_[static_cast<std::size_t>(k)]; });
      margin_ = violation_ / static_cast<double>(rows_);
    }
    violation_ = 0;
    if (!cyclic_) random_.shuffle(order_);
    return order_;
  }
  void saw(const Move& move, const Penalty& penalty) {
    violation_ = std::max(violation_, penalty.violation(move.x, move.gradient));
    if (move.x == 0 && move.delta == 0 && std::abs(move.gradient) + margin_ < penalty.lam)
      resting_[static_cast<std::size_t>(move.k)] = 1;
  }
  // The others may be at rest while one of these is not.
  static std::int64_t patience() { return 3; }

 private:
  std::vector<std::int64_t> order_;
  std::vector<unsigned char> resting_;
  std::int64_t rows_;
  bool cyclic_;
  Random random_;
  double violation_ = 0, of_all_ = 0;  // the largest, of this epoch and of the last over all
  double margin_ = infinity;
};

}  // namespace shotgun
