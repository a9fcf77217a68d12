// shoot: Shotgun on the packed problem, until its own gap is small enough for another look at A.
#pragma once

#include "certify/dual.hpp"
#include "engine/active_set.hpp"
#include "engine/anderson.hpp"
#include "engine/asynchronous.hpp"
#include "engine/block.hpp"
#include "engine/bundle.hpp"
#include "engine/cdn.hpp"
#include "engine/shooting.hpp"
#include "loop/point.hpp"

namespace shotgun {

// The packed columns' part of the duality gap at the model's current point.
template <class Model>
Columnwise packed_columns_gap(const Model& model, std::span<const double> x, int threads) {
  const std::vector<double> gradient = model.gradients(threads);
  return columnwise_gap(threads, model.A.count(), 4.0 * static_cast<double>(model.A.count()),
                        [&](std::int64_t k) {
                          const auto at = static_cast<std::size_t>(k);
                          const Coordinate& c = model.coordinates[at];
                          return DualTerm{c.penalty, x[at], gradient[at], c.beta};
                        });
}
template <class Model>
double packed_gap(const Model& model, std::span<const double> x, int threads) {
  const Columnwise columns = packed_columns_gap(model, x, threads);
  return columns.gap + model.rows_gap(threads, columns.scale);
}

// When a shot that begins with the gap `from` has done enough: the packed gap is at most `gap`,
// `epochs` are spent, or an epoch (of prox-Newton: a step) gains less than the part `returns` of
// what all have gained.
struct Aim {
  double from, gap;
  std::int64_t epochs;
  double returns = 0;
};

// Epochs of one engine, until the aim is met or nothing moves any more.
template <class Model, class Engine>
void drive(Model& model, Engine& engine, Guard<typename Model::Cols>& guard, std::span<double> x,
           Aim aim, int threads, Effort& effort, Watch& watch) {
  const double epoch_work = 2 * count_nonzeros(model.A) + static_cast<double>(model.A.count());
  // The first look at the gap comes when a quarter of the last shot's epochs are done.
  std::int64_t check = std::clamp<std::int64_t>(effort.shot / 4, 1, 20), idle = 0;
  const std::int64_t begin = effort.epochs;
  const double unseen = 0x1p-98 * model.rows_value(threads);
  double gained = 0;
  for (std::int64_t done = 0; done < aim.epochs && !watch.stopped();) {
    const std::int64_t epochs =
        aim.returns > 0 ? 1 : std::clamp<std::int64_t>(check - done, 1, aim.epochs - done);
    const Epoch epoch = engine(x, epochs, watch);
    model.settle(threads);
    done += epochs;
    gained += epoch.decrease;
    effort.epochs += epochs;
    effort.updates += epoch.updates;
    effort.besides += epoch.besides;
    effort.products_work += epoch.work;
    effort.work += epoch_work * static_cast<double>(epochs);
    if (engine.uses_rho()) guard.learn(1, 0.05);
    watch.poll();
    if (watch.stopped()) break;
    // F is of second order in what x lacks, the gap of first: epochs far below F's last bit still
    // pay.
    const bool moved = epoch.decrease > unseen || (epoch.shortened && engine.P() > 1);
    idle = moved ? 0 : idle + epochs;
    if (idle >= engine.patience()) break;
    if (engine.ready() && epoch.decrease < aim.returns * gained) break;
    if (done < check || !engine.ready() || model.tilted()) continue;
    if (engine.gradual() && epoch.decrease > aim.gap * static_cast<double>(epochs)) {
      check = done + std::clamp<std::int64_t>(done / 8, 1, 10);
      continue;
    }
    effort.work += epoch_work / 2;
    if (packed_gap(model, x, threads) <= aim.gap) break;
    check = done + std::clamp<std::int64_t>(done / 2, 1, 20);
  }
  guard.learn(30,
              engine.uses_rho() ? 0.05 : 0.02);  // a product costs more than its operations tell
  effort.P = engine.P();
  effort.shot = effort.epochs - begin;
}

template <class Model>
void run_engine(Model& model, Packed<typename Model::Cols>& packed, Engine engine,
                std::span<double> x, const Options& options, Aim aim, Effort& effort,
                Watch& watch) {
  const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(effort.epochs);
  const int threads = options.threads;
  Guard guard(model.A, model.coordinates, model.curvatures(), options, effort);
  auto run = [&](auto&& shots) {
    return drive(model, shots, guard, x, aim, threads, effort, watch);
  };
  if (engine == Engine::shooting_cdn || engine == Engine::shotgun_cdn) {
    ActiveSet active(model.A.count(), model.A.rows(), options.cyclic, seed);
    if (engine == Engine::shotgun_cdn) return run(Bundle(model, active, guard, threads));
    return run(Shooting(model, active));
  }
  Order order(model.A.count(), options.cyclic, seed);
  if (engine == Engine::bundle) return run(Bundle(model, order, guard, threads));
  if (engine == Engine::asynchronous)
    return run(Asynchronous(model, effort.P > 0 ? effort.P : threads, threads, seed));
  if constexpr (Model::exact) {
    if (engine == Engine::newton)
      return run(Newton(model, packed.factor, effort.products, aim.returns > 0, threads));
    if (engine == Engine::block) {
      const std::int64_t P =
          std::min(options.P > 0 ? options.P : default_block(model.A.rows()), model.A.count());
      GramCache& gram = packed.gram;
      const std::int64_t made = gram.P == P ? gram.columns / P * P : 0;  // of the Gram matrices
      effort.products_work += count_nonzeros(model.A) *
                              static_cast<double>(model.A.count() - made) /
                              static_cast<double>(model.A.count());
      return run(Anderson(model, Block(model, P, gram, threads, watch), threads));
    }
  }
  return run(Shooting(model, order));
}

// On as few samples as there are columns, where that costs little beside what it saves. The model's
// gradient does not follow; false where it does not pay.
template <Columns C>
bool descend_compressed(Quadratic<C>& model, Packed<C>& packed, std::span<double> x,
                        const Options& options, Aim aim, Effort& effort, Watch& watch) {
  if (!packed.light || model.tilted() || options.engine != Engine::automatic) return false;
  // For the squared loss it serves the shots that follow, too, and pays at last once engines have
  // looked at as much.
  const double product = 2 * count_nonzeros(model.A);
  const double worth = std::max(8.0, aim.returns > 0 ? 0.0 : packed.looked / product);
  const double cost = packed.compressed.cost(model.A, worth);
  if (cost > worth || !packed.compressed.take(model, options.threads, watch)) return false;
  effort.products_work += cost * product;
  Quadratic<typename Compressed<C>::Small> small = packed.compressed.model();
  Packed<typename Compressed<C>::Small> few;
  // Epochs cost next to nothing there: more of them, and a better minimum, save rounds.
  aim.gap *= 0.1;
  aim.returns *= 0.1;
  aim.epochs = std::max(aim.epochs, std::min<std::int64_t>(60, options.max_epochs - effort.epochs));
  const std::vector<double> before(x.begin(), x.end());
  run_engine(small, few, Engine::newton, x, options, aim, effort, watch);
  for (std::size_t k = 0; k < x.size(); ++k)
    model.running.move(model.coordinates[k], x[k] - before[k]);
  return true;
}

template <class Model>
void descend(Model& model, Packed<typename Model::Cols>& packed, Engine engine, std::span<double> x,
             const Options& options, Aim aim, Effort& effort, Watch& watch) {
  if constexpr (Model::exact)
    if (descend_compressed(model, packed, x, options, aim, effort, watch)) return;
  const double before = effort.work + effort.products_work;
  run_engine(model, packed, engine, x, options, aim, effort, watch);
  packed.looked += effort.work + effort.products_work - before;
}

// Whether losses other than the squared one are descended by Newton models. Centring moves every z
// at each update, and an intercept without it converges slowly where columns are far from centred:
// the model has both for free.
template <Columns C>
bool models_newton(Engine engine, const Features<C>& features) {
  return engine == Engine::block || engine == Engine::newton || features.standardize() ||
         features.intercept();
}

// Prox-Newton: the engine works on the quadratic model of F, a line search on F itself decides how
// far to follow it. The model deserves the more epochs the better it foretells F: in proportion as
// the last step gained less than the one before (Eisenstat, Walker 1996). The curvature of few
// samples, where there are more, serves as long as steps by it get on.
template <Columns K, Columns C, Loss L>
void prox_newton(Point<C, L>& point, Packed<K>& packed, Engine engine, const Options& options,
                 Aim aim, Effort& effort, Watch& watch) {
  const std::int64_t limit = effort.epochs + aim.epochs;
  double gap = aim.from, last = infinity, returns = 0.1, gained = 0;
  int unseen = 0;  // steps in a row whose gain float64 does not show
  while (effort.epochs < limit && !watch.stopped()) {
    const bool told = point.told();
    Quadratic<K> model =
        point.trusts_few() ? point.model_of_few(packed) : point.newton_model(packed);
    const bool few = model.tilted();
    // Not looked at before the first step, nor after one that gained far more than it may be.
    if (last < 100 * aim.gap) {
      const Columnwise columns = packed_columns_gap(model, packed.x, options.threads);
      gap = columns.gap + (few ? point.rows_gap(point.g(), columns.scale)
                               : model.rows_gap(options.threads, columns.scale));
      if (columns.gap <= aim.gap &&
          columns.gap + point.rows_gap(point.g(), columns.scale) <= aim.gap)
        break;
    }
    effort.work += count_nonzeros(model.A) +
                   (few && !told ? 2 : 1) * count_nonzeros(K(point.rows(), packed.handles));
    std::vector<double> goal = packed.x;
    descend(model, packed, engine, goal, options,
            {gap, std::max(returns * gap, 0.3 * aim.gap),
             std::min<std::int64_t>(limit - effort.epochs, 20), returns},
            effort, watch);
    const Step step = point.step_towards(packed, goal, model.constant());
    if (few && (step.length == 0 || !step.seen || step.decrease > 0.3 * last)) {
      point.trust(0);
      last = infinity;
      continue;
    }
    unseen = step.seen ? 0 : unseen + 1;
    if (step.length == 0 || unseen == 3) break;
    if (!step.seen) continue;
    gained += step.decrease;
    if (step.decrease < aim.returns * gained) break;
    // What few foretell does not get better.
    returns = 0.1 * (few || last == infinity ? 1.0 : std::min(1.0, step.decrease / last));
    last = step.decrease;
  }
}

// On F itself, as the paper does it, for the engines of the paper.
template <Columns K, Columns C, Loss L>
void shoot_directly(Point<C, L>& point, Packed<K>& packed, Engine engine, const Options& options,
                    Aim aim, Effort& effort, Watch& watch) {
  point.describe(packed, point.samples().weights(), point.features().total_weight());
  Cdn<K, L> model(K(point.rows(), packed.handles), packed.coordinates, point.samples(), point.z(),
                  point.g(), options.threads);
  return descend(model, packed, engine, packed.x, options, aim, effort, watch);
}

// Returns whether z has followed, in float64, as on the columns of A itself.
template <Columns K, Columns C, Loss L>
bool shoot_packed(Point<C, L>& point, Packed<K>& packed, Engine engine, const Options& options,
                  Aim aim, Effort& effort, Watch& watch) {
  if constexpr (L::quadratic) {
    Quadratic<K> model = point.newton_model(packed);
    descend(model, packed, engine, packed.x, options, aim, effort, watch);
    return false;
  } else {
    if (!models_newton(engine, point.features())) {
      shoot_directly(point, packed, engine, options, aim, effort, watch);
      return false;
    }
    prox_newton(point, packed, engine, options, aim, effort, watch);
    return std::is_same_v<K, C>;
  }
}

}  // namespace shotgun
