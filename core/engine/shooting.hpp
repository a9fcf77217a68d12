// Shooting: one coordinate after another (Alg. 1).
#pragma once

#include "engine/epoch.hpp"

namespace shotgun {

// Visits is an Order or an ActiveSet.
template <class Model, class Visits>
class Shooting {
 public:
  Shooting(Model& model, Visits& order) : model_(model), order_(order) {}
  std::int64_t P() const { return 1; }
  static std::int64_t patience() { return Visits::patience(); }
  // Whether a look at the gap makes sense now.
  static bool ready() { return true; }
  // Whether P follows from rho while the engine runs.
  static bool uses_rho() { return false; }
  // Whether an epoch that still gains much is never the last.
  static bool gradual() { return true; }

  Epoch operator()(std::span<double> x, std::int64_t epochs, Watch& watch) {
    Epoch epoch;
    for (std::int64_t e = 0; e < epochs && !watch.stopped(); ++e)
      sweep(model_, x, order_.next(), epoch, watch,
            [&](const Move& move, const Penalty& penalty) { order_.saw(move, penalty); });
    return epoch;
  }

 private:
  Model& model_;
  Visits& order_;
};

}  // namespace shotgun
