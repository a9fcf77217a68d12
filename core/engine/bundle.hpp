// Shotgun with bundles (Alg. 2): P updates from one Ax, then one joint step.
#pragma once

#include "engine/epoch.hpp"
#include "engine/guard.hpp"
#include "engine/joint.hpp"

namespace shotgun {

// The rows that a bundle touches, slab by slab, and the change dz of each. A thread owns slabs, so
// nothing is shared; sums are kept per slab and added in slab order, so they have the same bits for
// any number of threads.
template <Columns C>
class TouchedRows {
 public:
  TouchedRows(const C& A, Slabs slabs)
      : A_(A),
        slabs_(slabs),
        dz_(static_cast<std::size_t>(A.rows())),
        lists_(static_cast<std::size_t>(slabs.count())),
        seen_(C::dense ? 0 : static_cast<std::size_t>(A.rows())) {}

  void gather(int slab, std::span<const Move> moves, std::span<const Coordinate> coordinates) {
    const Range rows = slabs_[slab];
    auto& list = lists_[static_cast<std::size_t>(slab)];
    for (const Move& m : moves) {
      if (m.delta == 0) continue;
      const double step = m.delta * coordinates[static_cast<std::size_t>(m.k)].inv_scale;
      if constexpr (C::dense) {
        A_.add_axpys({&m.k, 1}, &step, nullptr, dz_.data(), rows);
      } else {
        A_.visit(m.k, rows, [&](Row i, double a) {
          const auto at = static_cast<std::size_t>(i);
          if (!seen_[at]) list.push_back(i);
          seen_[at] = true;
          dz_[at] += step * a;
        });
      }
    }
  }
  // visit(i, dz_i) for every touched row of the slab.
  template <class Visit>
  void visit(int slab, Visit&& visit) const {
    if constexpr (C::dense) {
      const Range rows = slabs_[slab];
      for (std::int64_t i = rows.begin; i < rows.end; ++i)
        visit(i, dz_[static_cast<std::size_t>(i)]);
    } else {
      for (Row i : lists_[static_cast<std::size_t>(slab)])
        visit(static_cast<std::int64_t>(i), dz_[static_cast<std::size_t>(i)]);
    }
  }
  void clear(int slab) {
    if constexpr (C::dense) {
      const Range rows = slabs_[slab];
      std::fill(dz_.begin() + rows.begin, dz_.begin() + rows.end, 0.0);
    } else {
      auto& list = lists_[static_cast<std::size_t>(slab)];
      for (Row i : list) {
        dz_[static_cast<std::size_t>(i)] = 0;
        seen_[static_cast<std::size_t>(i)] = false;
      }
      list.clear();
    }
  }

 private:
  const C& A_;
  Slabs slabs_;
  std::vector<double> dz_;
  std::vector<std::vector<Row>> lists_;
  std::vector<unsigned char> seen_;
};

template <class Model, class Visits>
class Bundle {
 public:
  using C = typename Model::Cols;

  Bundle(Model& model, Visits& order, const Guard<C>& guard, int threads)
      : model_(model),
        order_(order),
        guard_(guard),
        slabs_(model.A.rows()),
        touched_(model.A, slabs_),
        threads_(threads),
        nonzeros_(count_nonzeros(model.A)) {
    for (auto& buffer : partial_) buffer.resize(static_cast<std::size_t>(slabs_.count()));
  }

  std::int64_t P() const { return guard_.P(); }
  static std::int64_t patience() { return Visits::patience(); }
  static bool ready() { return true; }
  static bool uses_rho() { return true; }
  static bool gradual() { return true; }

  Epoch operator()(std::span<double> x, std::int64_t epochs, Watch& watch) {
    Epoch epoch;
    for (std::int64_t e = 0; e < epochs && !watch.stopped(); ++e) sweep(x, epoch, watch);
    return epoch;
  }

 private:
  void sweep(std::span<double> x, Epoch& epoch, Watch& watch) {
    const auto order = order_.next();
    const auto size = static_cast<std::size_t>(P());
    moves_.resize(size);
    const double per_bundle =
        nonzeros_ * static_cast<double>(size) / static_cast<double>(order.size());
    halt_ = false;
    const int ran = run_region(per_bundle > 8e3 ? threads_ : 1, [&](Team team) {
      for (std::size_t first = 0; first < order.size() && !halt_; first += size)
        fire(team, x, order.subspan(first, std::min(size, order.size() - first)), epoch, watch);
    });
    watch.saw_threads(ran);
  }

  void fire(Team team, std::span<double> x, std::span<const std::int64_t> bundle, Epoch& epoch,
            Watch& watch) {
    const auto size = static_cast<std::int64_t>(bundle.size());
    const std::span<Move> moves(moves_.data(), bundle.size());
    const Range mine = share(size, team.thread, team.threads);
    for (auto p = mine.begin; p < mine.end; ++p) {
      const std::int64_t k = bundle[static_cast<std::size_t>(p)];
      moves[static_cast<std::size_t>(p)] = model_.propose(k, x[static_cast<std::size_t>(k)]);
    }
    team.barrier.wait();
    const Range slabs = share(slabs_.count(), team.thread, team.threads);
    for (auto s = slabs.begin; s < slabs.end; ++s)
      touched_.gather(static_cast<int>(s), moves, model_.coordinates);
    const Step step = choose_step(team, moves, slabs);
    for (auto s = slabs.begin; s < slabs.end; ++s) apply(static_cast<int>(s), step.length);
    if (team.thread == 0) {
      finish(moves, step, x, epoch);
      watch.poll();
      halt_ = watch.stopped();
    }
    team.barrier.wait();
  }

  // Sum over slabs of what `term` gives for each touched row; every thread gets the same bits. Two
  // buffers take turns, so that a fast thread's next sum does not overwrite what a slow one reads.
  template <class Term>
  double reduce(Team team, int turn, Range slabs, Term&& term) {
    std::vector<double>& partial = partial_[turn % 2];
    for (auto s = slabs.begin; s < slabs.end; ++s) {
      double sum = 0;
      touched_.visit(static_cast<int>(s), [&](std::int64_t i, double dz) { sum += term(i, dz); });
      partial[static_cast<std::size_t>(s)] = sum;
    }
    team.barrier.wait();
    double sum = 0;
    for (double p : partial) sum += p;
    return sum;
  }

  Step choose_step(Team team, std::span<const Move> moves, Range slabs) {
    const double slope = slope_of(moves);
    if constexpr (Model::exact) {
      typename Model::Running change{0, 0, model_.total_h};
      for (const Move& m : moves)
        change.move(model_.coordinates[static_cast<std::size_t>(m.k)], m.delta);
      double curvature = reduce(
          team, 0, slabs, [&](std::int64_t i, double dz) { return model_.curvature(i) * dz * dz; });
      curvature += change.shift * (2 * change.sum_g + change.shift * model_.total_h);
      const double full = slope + 0.5 * curvature + penalty_change(moves, model_.coordinates, 1.0);
      const double step = full <= 0 ? 1.0 : exact_step(moves, model_.coordinates, slope, curvature);
      const double decrease = -(step * (slope + 0.5 * step * curvature) +
                                penalty_change(moves, model_.coordinates, step));
      return decrease >= 0 ? Step{step, decrease} : Step{0.0, 0.0};
    } else {
      int turn = 0;
      const auto penalty = [&](double t) { return penalty_change(moves, model_.coordinates, t); };
      const auto rows = [&](auto&& term) { return reduce(team, turn++, slabs, term); };
      const double promised = slope + penalty(1.0);
      const auto value = [&](double t) {
        return penalty(t) +
               rows([&](std::int64_t i, double dz) { return model_.value(i, t * dz); });
      };
      // Each update is right alone, not together: where F does not show whether they interfere, its
      // slopes at both ends of the step do, by the trapezoidal rule.
      const auto falls = [&](double t) {
        return penalty(t) + 0.5 * t * rows([&](std::int64_t i, double dz) {
                              return dz * (model_.slope(i, 0) + model_.slope(i, t * dz));
                            }) <=
               0.01 * t * promised;
      };
      return backtrack(promised, value, 1.0, falls);
    }
  }

  void apply(int slab, double step) {
    touched_.visit(slab, [&](std::int64_t i, double dz) {
      if constexpr (Model::exact)
        model_.g[static_cast<std::size_t>(i)] += step * model_.curvature(i) * dz;
      else
        model_.set(i, model_.z[static_cast<std::size_t>(i)] + step * dz);
    });
    touched_.clear(slab);
  }

  void finish(std::span<const Move> moves, Step step, std::span<double> x, Epoch& epoch) {
    for (const Move& m : moves) {
      const Coordinate& c = model_.coordinates[static_cast<std::size_t>(m.k)];
      order_.saw(m, c.penalty);
      x[static_cast<std::size_t>(m.k)] =
          step.length == 1.0 ? m.x + m.delta : c.penalty.clamp(m.x + step.length * m.delta);
      if constexpr (Model::exact) model_.running.move(c, step.length * m.delta);
    }
    epoch.decrease += step.decrease;
    epoch.updates += static_cast<std::int64_t>(moves.size());
    epoch.shortened += step.length > 0 && step.length < 1.0;
  }

  Model& model_;
  Visits& order_;
  const Guard<C>& guard_;
  Slabs slabs_;
  TouchedRows<C> touched_;
  std::vector<Move> moves_;
  std::vector<double> partial_[2];
  bool halt_ = false;
  int threads_;
  double nonzeros_;
};

}  // namespace shotgun
