// Newton: sweeps find the support, conjugate gradients solve on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/conjugate.hpp"
#include "engine/epoch.hpp"
#include "engine/slide.hpp"

namespace shotgun {

// Projected Newton-CG. Three epochs sweep once over W, twice over the support, then take a Newton
// step on the support with signs held: weights that would cross zero stop there, unless a line
// search along the unprojected step lowers F more. On a model that will soon give way to a better
// one, two epochs: a sweep over W, then the Newton step and a sweep over the support, which evens
// out the few large gradients that conjugate gradients leave, and that the gap would suffer from.
template <Columns C>
class Newton {
 public:
  using Model = Quadratic<C>;

  // `products` is how many conjugate gradients may make for a step.
  Newton(Model& model, Factor<C>& factor, int& products, bool passing, int threads)
      : model_(model),
        factor_(factor),
        products_(products),
        passing_(passing),
        threads_(threads),
        everything_(model.A.count(), true, 0) {}

  std::int64_t P() const { return moved_; }  // a Newton step moves the whole support at once
  static std::int64_t patience() { return 3; }

  Epoch operator()(std::span<double> x, std::int64_t epochs, Watch& watch) {
    Epoch epoch;
    for (std::int64_t e = 0; e < epochs && !watch.stopped(); ++e) {
      if (stage_ == 0) {
        sweep(model_, x, everything_.next(), epoch, watch);
        support_ = interior(x);
      } else if (!passing_) {
        sweep(model_, x, support_, epoch, watch);
      }
      stage_ = (stage_ + 1) % (passing_ ? 2 : 3);
      if (!ready() || watch.stopped()) continue;
      leap(x, interior(x), epoch, watch);
      if (passing_) sweep(model_, x, support_, epoch, watch);
    }
    return epoch;
  }
  bool ready() const { return stage_ == 0; }
  static bool uses_rho() { return false; }
  static bool gradual() { return false; }

 private:
  // The weights that F is smooth in, where they are: not at zero (unless nothing holds them there)
  // and not at a bound.
  std::vector<std::int64_t> interior(std::span<const double> x) const {
    std::vector<std::int64_t> inside;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Penalty& p = model_.coordinates[k].penalty;
      if ((x[k] != 0 || p.lam == 0) && x[k] > p.lo && x[k] < p.hi && model_.coordinates[k].beta > 0)
        inside.push_back(static_cast<std::int64_t>(k));
    }
    return inside;
  }

  // The columns that a Newton step moves, and where they are.
  struct Face {
    std::vector<std::int64_t> inside;
    std::vector<Handle<C>> handles;
    std::vector<Coordinate> coordinates;
    std::vector<Move> moves;  // k counts within the face
  };
  Face face(std::span<const double> x, std::vector<std::int64_t> inside) const {
    Face f{std::move(inside), {}, {}, {}};
    for (std::int64_t k : f.inside) {
      const auto at = static_cast<std::size_t>(k);
      f.handles.push_back(model_.A.handle(k));
      f.coordinates.push_back(model_.coordinates[at]);
      f.moves.push_back({static_cast<std::int64_t>(f.moves.size()), x[at], 0.0, 0.0});
    }
    constexpr std::int64_t run = 64;
    const auto size = static_cast<std::int64_t>(f.inside.size());
    parallel_for(threads_, (size + run - 1) / run, [&](std::int64_t r) {
      for (auto s = r * run; s < std::min(size, (r + 1) * run); ++s)
        f.moves[static_cast<std::size_t>(s)].gradient =
            model_.gradient(f.inside[static_cast<std::size_t>(s)]);
    });
    return f;
  }

  // Of F along each weight of a face, signs held.
  static std::vector<double> slopes(const Face& f) {
    std::vector<double> all;
    for (std::size_t s = 0; s < f.moves.size(); ++s) {
      const Penalty& p = f.coordinates[s].penalty;
      const double x = f.moves[s].x;
      all.push_back(f.moves[s].gradient + p.l2 * x + std::copysign(p.lam, x));
    }
    return all;
  }

  // A way to go, and what it brings.
  struct Trial {
    std::vector<double> step, z;
    double length = 0, decrease = 0;
  };

  // One Newton step on the columns `inside`.
  void leap(std::span<double> x, std::vector<std::int64_t> inside, Epoch& epoch, Watch& watch) {
    if (inside.empty()) return;
    moved_ = static_cast<std::int64_t>(inside.size());
    Face f = face(x, std::move(inside));
    NormalMatrix<C> normal(C(model_.A.rows(), f.handles), f.coordinates, model_.h, threads_);
    watch.saw_threads(normal.threads());
    const std::optional<NewtonStep> found = solve(x, normal, f, slopes(f), epoch, watch);
    if (!found) return;
    const std::vector<double>& step = found->step;
    std::vector<double> projected(step.size());
    double reach = 1;  // the longest step that keeps all bounds
    std::size_t crossing = 0;
    for (std::size_t s = 0; s < step.size(); ++s) {
      const Penalty& p = f.coordinates[s].penalty;
      const double goal = f.moves[s].x + step[s];
      const bool crosses = p.lam > 0 && goal * f.moves[s].x < 0;
      crossing += crosses;
      projected[s] = p.clamp(crosses ? 0.0 : goal) - f.moves[s].x;
      if (goal > p.hi) reach = std::min(reach, (p.hi - f.moves[s].x) / step[s]);
      if (goal < p.lo) reach = std::min(reach, (p.lo - f.moves[s].x) / step[s]);
    }
    // While weights cross zero better steps would be lost on them; if no longer, but one step after
    // the other falls short, they are what is missing.
    constexpr int most = 480, often = 3;
    if (!found->finished && 100 * crossing <= step.size() && ++short_ >= often)
      products_ = std::min(2 * products_, most);
    const bool two = projected != step;
    Trial best = attempt(normal, f, projected, 1.0, two);
    epoch.work += (two ? 3 : 2) * count_nonzeros(C(model_.A.rows(), f.handles));
    if (two) {
      Trial straight = attempt(normal, f, step, reach, false);
      if (straight.decrease > best.decrease) best = std::move(straight);
    }
    epoch.decrease += accept(x, f, normal, best);
  }

  // The Newton step. Once products have cost what a factor would, it is made, and serves until they
  // have again. None where that shows that columns say one another, and x has moved for it.
  std::optional<NewtonStep> solve(std::span<double> x, NormalMatrix<C>& normal, Face& f,
                                  std::span<const double> gradient, Epoch& epoch, Watch& watch) {
    const double each = 2 * count_nonzeros(C(model_.A.rows(), f.handles));
    const auto steps = [&](std::span<const double> from, int most) {
      NewtonStep made = newton_step(normal, f.coordinates, from, {factor_, f.inside, f.coordinates},
                                    most, accuracy, watch);
      epoch.besides += made.products * moved_;
      epoch.work += made.products * each;
      return made;
    };
    if (factor_.size() > 4 * moved_) factor_.clear();  // the support has left it
    const double cost = Factor<C>::cost(C(model_.A.rows(), f.handles), products_);
    const bool dear = cost > products_, same = made_ && factor_.is_of(f.inside);
    NewtonStep found = steps(gradient, dear || made_ ? products_ : static_cast<int>(cost) + 1);
    if (dear && !found.finished) factor_.clear();
    if (found.finished || dear || same || watch.stopped()) return found;
    factor_.make(model_, f.inside, threads_, watch);
    made_ = !factor_.empty();
    epoch.besides += static_cast<std::int64_t>(cost) * moved_;
    epoch.work += cost * each;
    if (slide(x, normal, f, epoch, watch)) return {};
    for (double& r : found.residual) r = -r;
    NewtonStep rest = steps(found.residual, products_);
    for (std::size_t s = 0; s < rest.step.size(); ++s) rest.step[s] += found.step[s];
    return rest;
  }

  // Moves what others say to those. Says whether F is lower for it.
  bool slide(std::span<double> x, NormalMatrix<C>& normal, Face& f, Epoch& epoch, Watch& watch) {
    const std::vector<double> step = slide_step(factor_, f.coordinates, f.moves, watch);
    if (std::ranges::all_of(step, [](double s) { return s == 0; })) return false;
    Trial trial = attempt(normal, f, step, 1.0, true);
    if (!(trial.decrease > 0)) trial = attempt(normal, f, step, 1.0, false);
    epoch.decrease += accept(x, f, normal, trial);
    return trial.decrease > 0;
  }

  // The whole of `step`, or as much of it (at most `reach`) as lowers F most.
  Trial attempt(NormalMatrix<C>& normal, Face& f, std::span<const double> step, double reach,
                bool whole) {
    for (std::size_t s = 0; s < step.size(); ++s) f.moves[s].delta = step[s];
    normal.multiply(step);
    const double slope = slope_of(f.moves), curvature = normal.curvature();
    const double t =
        whole ? 1.0 : std::min(reach, exact_step(f.moves, f.coordinates, slope, curvature));
    const double change =
        t * (slope + 0.5 * t * curvature) + penalty_change(f.moves, f.coordinates, t);
    return {{step.begin(), step.end()}, {normal.z().begin(), normal.z().end()}, t, -change};
  }

  double accept(std::span<double> x, const Face& f, const NormalMatrix<C>& normal,
                const Trial& trial) {
    if (!(trial.decrease > 0)) return 0;
    for_rows(normal.threads(), model_.A.rows(), [&](std::int64_t i) {
      model_.g[static_cast<std::size_t>(i)] +=
          trial.length * model_.curvature(i) * trial.z[static_cast<std::size_t>(i)];
    });
    for (std::size_t s = 0; s < f.inside.size(); ++s) {
      const double delta = trial.length * trial.step[s];
      double& x_k = x[static_cast<std::size_t>(f.inside[s])];
      x_k = f.coordinates[s].penalty.clamp(x_k + delta);
      model_.running.move(f.coordinates[s], delta);
    }
    return trial.decrease;
  }

  static constexpr double accuracy = 0.05;  // of a step

  Model& model_;
  Factor<C>& factor_;
  bool made_ = false;  // the factor, for this very model
  int& products_;
  bool passing_;  // the model is one of many
  int threads_;
  Order everything_;
  std::vector<std::int64_t> support_;
  std::int64_t moved_ = 1;
  int short_ = 0;  // Newton steps that conjugate gradients left unfinished
  int stage_ = 0;  // which of the two or three epochs is next
};

}  // namespace shotgun
