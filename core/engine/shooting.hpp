// Shooting: one coordinate after another (Alg. 1).
#pragma once

#include "engine/model.hpp"
#include "engine/order.hpp"
#include "loop/watch.hpp"

namespace shotgun {

// What one epoch, |W| updates, achieved.
struct Epoch {
  double decrease = 0;                      // of F, as the model predicts it
  std::int64_t updates = 0;                 // coordinates visited
  std::int64_t shortened = 0, bundles = 0;  // joint steps below 1, of how many
};

// F(x + delta) - F(x) along one coordinate of curvature beta.
inline double coordinate_change(const Coordinate& c, double x, double delta, double gradient) {
  return delta * (gradient + 0.5 * c.beta * delta) + c.penalty.value(x + delta) -
         c.penalty.value(x);
}

template <class Model>
class Shooting {
 public:
  Shooting(Model& model, Order& order) : model_(model), order_(order) {}
  std::int64_t P() const { return 1; }

  Epoch operator()(std::span<double> x, std::int64_t epochs, Watch& watch) {
    Epoch epoch;
    for (std::int64_t e = 0; e < epochs && !watch.stopped(); ++e) sweep(x, epoch, watch);
    return epoch;
  }

 private:
  void sweep(std::span<double> x, Epoch& epoch, Watch& watch) {
    std::int64_t work = 0;
    for (std::int64_t k : order_.next()) {
      const Coordinate& c = model_.coordinates[static_cast<std::size_t>(k)];
      double& x_k = x[static_cast<std::size_t>(k)];
      const double gradient = model_.gradient(k);
      if (const double delta = update(c, x_k, gradient); delta != 0) {
        epoch.decrease -= coordinate_change(c, x_k, delta, gradient);
        model_.move(k, delta);
        x_k += delta;
      }
      ++epoch.updates;
      if ((work += model_.A.nonzeros(k) + 16) < 200'000) continue;
      work = 0;
      watch.poll();
      if (watch.stopped()) return;
    }
  }

  Model& model_;
  Order& order_;
};

}  // namespace shotgun
