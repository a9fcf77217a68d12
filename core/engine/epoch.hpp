// An epoch: one update of every coordinate, in some order.
#pragma once

#include "engine/model.hpp"
#include "engine/order.hpp"
#include "parallel/watch.hpp"

namespace shotgun {

// What one epoch, |W| updates, achieved.
struct Epoch {
  double decrease = 0;         // of F, as the model predicts it
  std::int64_t updates = 0;    // coordinates visited
  std::int64_t besides = 0;    // columns multiplied otherwise, as by conjugate gradients
  double work = 0;             // entries of A looked at for those
  std::int64_t shortened = 0;  // joint steps below 1, or races that were held back
};

// What the coordinates a few places on will need.
template <class Model>
[[gnu::always_inline]] inline void prefetch(const Model& model, std::span<const std::int64_t> order,
                                            std::size_t place, std::span<double> x) {
  constexpr std::size_t far = 8, near = 3;
  if (place + far >= order.size()) return;
  const auto soon = static_cast<std::size_t>(order[place + near]);
  model.A.prefetch_handle(order[place + far]);
  model.A.prefetch_column(order[place + near]);
  __builtin_prefetch(&model.coordinates[soon]);
  __builtin_prefetch(&x[soon], 1);
}

// One update of each coordinate in `order`, each told to saw(move, penalty).
template <class Model, class Saw = decltype(&Order::saw)>
void sweep(Model& model, std::span<double> x, std::span<const std::int64_t> order, Epoch& epoch,
           Watch& watch, Saw&& saw = Order::saw) {
  std::int64_t work = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::int64_t k = order[place];
    prefetch(model, order, place, x);
    double& x_k = x[static_cast<std::size_t>(k)];
    const Move move = model.propose(k, x_k);
    saw(move, model.coordinates[static_cast<std::size_t>(k)].penalty);
    if (move.delta != 0) {
      const Step step = model.advance(move);
      x_k += step.length * move.delta;
      epoch.decrease += step.decrease;
    }
    ++epoch.updates;
    if ((work += model.A.nonzeros(k) + 16) < 200'000) continue;
    work = 0;
    watch.poll();
    if (watch.stopped()) return;
  }
}

}  // namespace shotgun
