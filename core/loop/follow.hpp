// follow: the low end of a path, exactly.
#pragma once

#include "loop/point.hpp"

namespace shotgun {

// On the low end of a path descent takes ever more epochs. Once it has had as many as the Gram
// matrix of the working set costs, the path is followed by the homotopy, as far as that matrix is
// not much larger than A.
class Follower {
 public:
  bool follows() const { return follows_; }
  // A lam that is good enough as it is still lies on the way to the next.
  bool on_the_way(double lam) const { return follows_ && minimal_at_ > lam; }
  void descended(std::int64_t epochs) { epochs_ += epochs; }
  void arrived(double lam) { minimal_at_ = lam; }

  // Whether it is time for packed columns whose Gram matrix is `gram_size` times as large as A.
  template <Columns K>
  bool ready(const Packed<K>& packed, double gram_size) {
    if (gram_size > 2) return false;
    follows_ = follows_ || 4 * epochs_ >= static_cast<std::int64_t>(packed.which.size());
    return follows_;
  }

  // Moves the packed weights to the minimum for lam. False if that failed: descent is back in turn.
  template <Columns K>
  bool operator()(const Quadratic<K>& model, Packed<K>& packed, double lam, int threads,
                  Watch& watch) {
    const double ratio = std::max(1.0, minimal_at_ / lam);
    if (packed.homotopy(model, packed.x, ratio, threads, watch)) return true;
    packed.homotopy = {};
    follows_ = false;
    epochs_ = 0;
    return false;
  }

 private:
  std::int64_t epochs_ = 0;  // of descent, on the path so far
  double minimal_at_ = 0;    // the lam that x is the minimum of, nearly
  bool follows_ = false;
};

}  // namespace shotgun
