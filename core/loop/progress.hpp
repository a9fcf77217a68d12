// Whether a fit still gets on.
#pragma once

#include <algorithm>
#include <cmath>

#include "problem/penalty.hpp"

namespace shotgun {

class Progress {
 public:
  // A round's F and gap; no smaller decrease of F than `least` counts, nor one of its last bits.
  void note(double objective, double gap, double least) {
    const double step = std::max(0x1p-51 * std::abs(objective_), least);
    const bool made = objective < objective_ - step || gap < 0.9 * gap_;
    objective_ = std::min(objective_, objective);
    gap_ = std::min(gap_, gap);
    idle_ = made ? 0 : idle_ + 1;
  }
  int idle() const { return idle_; }  // rounds, of late, that lowered neither

 private:
  double objective_ = infinity, gap_ = infinity;  // the lowest so far
  int idle_ = 0;
};

}  // namespace shotgun
