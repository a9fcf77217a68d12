// follow: to the minimum exactly, where descent is long.
#pragma once

#include "loop/point.hpp"

namespace shotgun {

// On the low end of a path, or where columns are nearly collinear, descent takes ever more updates.
// Once it has had a quarter of what following costs, the way goes on by the homotopy, as far as the
// Gram matrix of the working set is not much larger than A. There are about as many pieces as
// weights that can be in the support, m = min(n, d), each of m^2 operations, and n make an update:
// m^3 / n. The Gram matrix has m^2 / 2 products, each of which takes an eighth of an update, as
// many are made at once; and it has at most 2 nnz numbers.
class Follower {
 public:
  Follower(double rows, double columns, double nonzeros) {
    const double m = std::min(rows, columns);
    enough_ = 0.25 * std::min(m * m * (m / std::max(1.0, rows) + 1.0 / 16), 2 * nonzeros);
    enough_ = std::max(enough_, 64 * m);  // small problems seldom need it
  }

  bool follows() const { return follows_; }
  // A lam that is good enough as it is still lies on the way to the next.
  bool on_the_way(double lam) const { return follows_ && minimal_at_ > lam; }
  void descended(std::int64_t updates) { updates_ += updates; }
  void arrived(double lam) { minimal_at_ = lam; }

  // Whether there is room for a Gram matrix that is so many times as large as A.
  static bool fits(double gram_size) { return gram_size <= 2; }
  // Whether it is time.
  bool ready() {
    follows_ = follows_ || static_cast<double>(updates_) >= enough_;
    return follows_;
  }
  // For how many epochs of so many columns to descend until then.
  std::int64_t patience(std::int64_t columns) const {
    const double left = std::max(0.0, enough_ - static_cast<double>(updates_));
    return static_cast<std::int64_t>(left / static_cast<double>(columns)) + 3;
  }
  // It did not get there: descent is back in turn, for longer.
  void give_up() {
    follows_ = false;
    enough_ = 4 * std::max(enough_, static_cast<double>(updates_));
  }

  // Moves the packed weights to the minimum for lam; false if that failed.
  template <Columns K>
  bool operator()(const Quadratic<K>& model, Packed<K>& packed, double lam, double l2, int threads,
                  Watch& watch) {
    const double ratio = lam > 0 ? std::max(1.0, minimal_at_ / lam) : 1.0;
    // A few rounds find the columns that were missing; more are due to an l2 that has changed.
    rounds_ = minimal_at_ == lam ? rounds_ + 1 : 1;
    if (packed.homotopy.fresh()) l2_ = l2;
    if (rounds_ > 3 && l2_ != l2) {
      packed.homotopy.renew();
      l2_ = l2;
    }
    if (packed.homotopy(model, packed.x, ratio, threads, watch)) return true;
    packed.homotopy = {};
    give_up();
    return false;
  }

 private:
  double enough_;             // updates of descent
  std::int64_t updates_ = 0;  // so far
  double minimal_at_ = 0;     // the lam that x is the minimum of, nearly
  double l2_ = 0;             // that the inverse has
  int rounds_ = 0;            // for this lam
  bool follows_ = false;
};

}  // namespace shotgun
