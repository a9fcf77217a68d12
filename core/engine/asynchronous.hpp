// Shotgun as the paper timed it: threads shoot without waiting, Ax in shared atomic memory. A guard
// looks at F every few dozen updates, so that a race above P* costs a fraction of an epoch, never
// the answer. The only engine whose bits depend on timing.
#pragma once

#include "engine/epoch.hpp"
#include "engine/guard.hpp"

namespace shotgun {

template <class Model>
class Asynchronous {
 public:
  Asynchronous(Model& model, std::int64_t P, int threads, std::uint64_t seed)
      : model_(model), P_(P), threads_(threads), segment_(segment_of(model)), random_(seed) {}

  std::int64_t P() const { return P_; }
  // Draws are with replacement, so an epoch may miss the one weight that could move.
  static std::int64_t patience() { return 5; }
  static bool ready() { return true; }
  static bool uses_rho() { return false; }
  static bool gradual() { return true; }

  // About |W| updates per epoch, in segments with a look at F after each.
  Epoch operator()(std::span<double> x, std::int64_t epochs, Watch& watch) {
    Epoch epoch;
    const std::int64_t wanted = epochs * model_.A.count();
    while (epoch.updates < wanted && !watch.stopped()) {
      fire(x, std::min(segment_, wanted - epoch.updates), epoch, watch);
      watch.poll();
    }
    return epoch;
  }

 private:
  // One segment. A rising F sets the last good state back and halves P; at P = 1 one thread is
  // left, for which every update decreases F.
  void fire(std::span<double> x, std::int64_t updates, Epoch& epoch, Watch& watch) {
    const double before = model_.objective(x, threads_);
    std::atomic<double> promised{0};
    model_.save(saved_);
    saved_x_.assign(x.begin(), x.end());
    const int threads = static_cast<int>(std::min<std::int64_t>(threads_, P_));
    const std::uint64_t seed = random_();
    const int ran = run_region(threads, [&](Team team) {
      promised += race(x, share(updates, team.thread, team.threads).size(),
                       std::max<std::int64_t>(1, P_ / team.threads),
                       Random(seed + static_cast<std::uint64_t>(team.thread)));
    });
    watch.saw_threads(ran);
    model_.settle(threads_);
    const double after = model_.objective(x, threads_);
    epoch.updates += updates;
    if (after <= before + 1e-13 * std::abs(before)) {
      epoch.decrease += std::max(0.0, before - after);
      if (before - after < 0.1 * promised) slow_down(epoch);
      return;
    }
    model_.restore(saved_);
    model_.settle(threads_);
    std::copy(saved_x_.begin(), saved_x_.end(), x.begin());
    slow_down(epoch);
  }
  void slow_down(Epoch& epoch) {
    epoch.shortened += P_ > 1;
    P_ = std::max<std::int64_t>(1, P_ / 2);
  }

  // Updates between two looks at F: a few dozen, more only where a look costs more than they do,
  // but never more than a quarter of an epoch.
  static std::int64_t segment_of(const Model& model) {
    const double per_update = 1 + count_nonzeros(model.A) / static_cast<double>(model.A.count());
    const double look = static_cast<double>(model.A.rows() + model.A.count());
    const auto even = static_cast<std::int64_t>(look / per_update);
    return std::max<std::int64_t>(48, std::min(even, model.A.count() / 4));
  }

  // One thread: draw `batch` weights, compute their updates from Ax as it is now, then write them.
  // Two threads on one weight: the second computes from the first's x and is clamped again, so the
  // bounds hold whatever the interleaving.
  // Returns the decrease of F that the updates promise one by one.
  double race(std::span<double> x, std::int64_t updates, std::int64_t batch, Random random) {
    double promised = 0;
    std::vector<Move> shots;
    for (std::int64_t done = 0; done < updates; done += batch) {
      shots.clear();
      for (std::int64_t b = 0; b < std::min(batch, updates - done); ++b) {
        const std::int64_t k = random.below(model_.A.count());
        const Move move = model_.propose_racing(k, atomic_load(x[static_cast<std::size_t>(k)]));
        if (move.delta == 0) continue;
        shots.push_back(move);
        promised -= 0.5 * (move.delta * move.gradient + penalty(k).change(move.x, move.delta));
      }
      for (const Move& shot : shots) {
        const double moved = atomic_change(x[static_cast<std::size_t>(shot.k)], [&](double old) {
          return penalty(shot.k).clamp(old + shot.delta);
        });
        model_.move_racing(shot.k, moved);
      }
    }
    return promised;
  }
  const Penalty& penalty(std::int64_t k) const {
    return model_.coordinates[static_cast<std::size_t>(k)].penalty;
  }

  Model& model_;
  std::int64_t P_;
  int threads_;
  std::int64_t segment_;
  Random random_;
  typename Model::State saved_;
  std::vector<double> saved_x_;
};

}  // namespace shotgun
