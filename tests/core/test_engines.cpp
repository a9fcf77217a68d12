#include <bit>
#include <functional>
#include <numeric>

#include "bench.hpp"
#include "engine/active_set.hpp"
#include "engine/anderson.hpp"
#include "engine/asynchronous.hpp"
#include "engine/block.hpp"
#include "engine/bundle.hpp"
#include "engine/cdn.hpp"
#include "engine/newton.hpp"
#include "engine/shooting.hpp"

using namespace testing;

namespace {

// Runs `epochs` epochs, one at a time, and calls look() after each.
template <Columns C>
void run(Bench<C>& bench, Engine engine, std::int64_t P, int threads, int epochs,
         const std::function<void(const Epoch&)>& look) {
  const Options options{.P = P, .threads = threads};
  Order order(bench.e.A.d, false, 7);
  Effort effort;
  Guard<C> guard(bench.model->A, bench.coordinates, bench.h, options, effort);
  auto drive = [&](auto&& shots) {
    for (int e = 0; e < epochs; ++e) look(shots(bench.x, 1, bench.watch));
  };
  if (engine == Engine::shooting) drive(Shooting(*bench.model, order));
  if (engine == Engine::bundle) drive(Bundle(*bench.model, order, guard, threads));
  if (engine == Engine::newton) {
    Factor<C> factor;
    drive(Newton(*bench.model, factor, effort.products, false, threads));
  }
  if (engine == Engine::block) {
    GramCache gram;
    drive(Anderson(*bench.model, Block(*bench.model, P, gram, threads, bench.watch), threads));
  }
  if (engine == Engine::asynchronous) drive(Asynchronous(*bench.model, P, threads, 7));
}

Example lasso(std::int64_t n, std::int64_t d, double density, std::uint64_t seed) {
  Example e = make_example(n, d, density, Squared{}, seed);
  e.lam = 0.05 * static_cast<double>(n);
  return e;
}

const std::vector<Engine> engines{Engine::shooting, Engine::bundle, Engine::block, Engine::newton,
                                  Engine::asynchronous};

}  // namespace

TEST_CASE("every engine lowers F in every epoch and reaches its minimum") {
  for (bool intercept : {false, true})
    for (bool dense : {false, true})
      for (Engine engine : engines)
        for (std::int64_t P : {1, 4, 12}) {
          Example e = lasso(60, 12, 0.6, 3);
          e.intercept = intercept;
          const Optimum best = reference(e);
          auto check = [&](auto columns) {
            Bench bench(e, columns);
            double before = bench.value();
            run(bench, engine, P, 1, 400, [&](const Epoch& epoch) {
              const double after = bench.value();
              CHECK(after <= before * (1 + 1e-12));
              CHECK(epoch.decrease ==
                    doctest::Approx(before - after).epsilon(1e-6).scale(1e-6 * before));
              before = after;
            });
            CAPTURE(static_cast<int>(engine));
            CAPTURE(P);
            CAPTURE(dense);
            CAPTURE(intercept);
            CHECK(before == doctest::Approx(best.objective).epsilon(1e-8));
          };
          if (dense)
            check(e.A.dense_columns());
          else
            check(e.A.sparse_columns());
        }
}

TEST_CASE("bounds, l2 and sample weights are the model's, for every engine") {
  Example e = lasso(60, 12, 0.6, 4);
  e.l2 = 0.5, e.lo.assign(12, -0.1), e.hi.assign(12, 0.8);
  e.w = random_vector(60, 5);
  for (double& w : e.w) w = std::max(0.0, w);
  const Optimum best = reference(e);
  for (Engine engine : engines) {
    Bench bench(e, e.A.sparse_columns());
    run(bench, engine, 4, 2, 400, [](const Epoch&) {});
    CHECK(bench.value() == doctest::Approx(best.objective).epsilon(1e-8));
    for (double x : bench.x) {
      CHECK(x >= -0.1);
      CHECK(x <= 0.8);
    }
  }
}

TEST_CASE("g is the gradient of the rows at x after any number of moves") {
  const Example e = lasso(60, 12, 0.6, 6);
  for (Engine engine : engines) {
    Bench bench(e, e.A.dense_columns());
    run(bench, engine, 4, 1, 30, [](const Epoch&) {});
    const Doubles z = predictor(e, bench.x, 0.0);
    for (std::size_t i = 0; i < z.size(); ++i)
      CHECK(bench.g[i] == doctest::Approx(z[i] - e.y[i]).epsilon(1e-10).scale(1.0));
  }
}

TEST_CASE("slopes that are added to a model's own are as good as its rows' gradient") {
  for (bool intercept : {false, true})
    for (Engine engine : engines) {
      Example e = lasso(60, 12, 0.6, 8);
      e.intercept = intercept;
      Bench plain(e, e.A.dense_columns()), tilted(e, e.A.dense_columns());
      if (intercept)
        for (double& g : tilted.g) g += 0.3;  // as if the constant were not at its best
      Doubles slopes;
      for (std::int64_t k = 0; k < e.A.d; ++k)
        slopes.push_back(e.A.dense_columns().dot(k, tilted.g.data()));
      const double level = std::accumulate(tilted.g.begin(), tilted.g.end(), 0.0);
      std::fill(tilted.g.begin(), tilted.g.end(), 0.0);
      tilted.model->tilt(slopes, level);
      auto gained = [&](auto& bench) {
        const double before = bench.model->objective(bench.x, 1);
        run(bench, engine, 4, 1, 400, [](const Epoch&) {});
        return before - bench.model->objective(bench.x, 1);
      };
      CAPTURE(static_cast<int>(engine));
      CAPTURE(intercept);
      CHECK(gained(tilted) == doctest::Approx(gained(plain)).epsilon(1e-8));
      for (std::size_t k = 0; k < plain.x.size(); ++k)
        CHECK(tilted.x[k] == doctest::Approx(plain.x[k]).epsilon(1e-5).scale(1.0));
    }
}

TEST_CASE("block, bundle, newton and shooting have the same bits for any number of threads") {
  for (double density : {1.0, 0.3}) {
    Example e = lasso(2200, 70, density, 8);
    e.intercept = true;
    for (Engine engine : {Engine::shooting, Engine::bundle, Engine::block, Engine::newton})
      for (std::int64_t P : {8, 32}) {
        std::vector<std::uint64_t> first;
        for (int threads : {1, 2, 4}) {
          auto bits = [&](auto columns) {
            Bench bench(e, columns);
            run(bench, engine, P, threads, 3, [](const Epoch&) {});
            std::vector<std::uint64_t> all{std::bit_cast<std::uint64_t>(bench.value())};
            for (double x : bench.x) all.push_back(std::bit_cast<std::uint64_t>(x));
            for (double g : bench.g) all.push_back(std::bit_cast<std::uint64_t>(g));
            if (threads > 1 && engine != Engine::shooting && engine != Engine::newton && P == 32)
              CHECK(bench.watch.most_threads() > 1);
            return all;
          };
          const auto now = density == 1.0 ? bits(e.A.dense_columns()) : bits(e.A.sparse_columns());
          if (first.empty()) first = now;
          CHECK(now == first);
        }
      }
  }
}

TEST_CASE("asynchronous threads never raise F, however far P is above P*") {
  Doubles values;  // columns all alike: P* = 1
  const Doubles column = random_vector(200, 9), noise = random_vector(200 * 40, 10);
  for (std::size_t k = 0; k < noise.size(); ++k)
    values.push_back(column[k % 200] + 0.01 * noise[k]);
  Example e{.A = Matrix<double>(200, 40, values), .y = column};
  e.lam = 1.0;
  Bench bench(e, e.A.sparse_columns());
  double before = bench.value();
  run(bench, Engine::asynchronous, 256, 4, 60, [&](const Epoch&) {
    const double after = bench.value();
    CHECK(after <= before * (1 + 1e-12));
    before = after;
  });
  CHECK(before < objective(e, Doubles(40), 0));
}

TEST_CASE("asynchronous threads keep every weight in its bounds") {
  Example e = lasso(300, 3, 1.0, 11);  // few weights: threads collide on each
  e.lam = 0.0, e.lo.assign(3, -0.5), e.hi.assign(3, 0.5);
  Bench bench(e, e.A.dense_columns());
  run(bench, Engine::asynchronous, 8, 4, 50, [&](const Epoch&) {
    for (double x : bench.x) {
      CHECK(x >= -0.5);
      CHECK(x <= 0.5);
    }
  });
}

TEST_CASE("a bundle of identical columns is stopped by the joint step, not by luck") {
  Doubles values;
  const Doubles column = random_vector(50, 12);
  for (int j = 0; j < 16; ++j) values.insert(values.end(), column.begin(), column.end());
  Example e{.A = Matrix<double>(50, 16, values), .y = column};
  e.lam = 0.1;
  Bench bench(e, e.A.dense_columns());
  double before = bench.value();
  std::int64_t shortened = 0;
  run(bench, Engine::bundle, 16, 1, 20, [&](const Epoch& epoch) {
    CHECK(bench.value() <= before * (1 + 1e-14));
    before = bench.value();
    shortened += epoch.shortened;
  });
  CHECK(shortened > 0);
  CHECK(before == doctest::Approx(reference(e).objective).epsilon(1e-9));
}

namespace {

// A loss itself on all columns of an example, with everything that F may have in it.
template <Loss L>
struct Direct {
  Direct() : e(make_example(60, 12, 0.6, L{}, 13)) {
    e.lam = 2.0, e.l2 = 0.1;
    e.w = random_vector(60, 14), e.offset = random_vector(60, 15);
    for (double& w : e.w) w = std::max(0.0, w);
    samples = {e.samples(), {}};
    z = e.offset;
    for (std::int64_t k = 0; k < e.A.d; ++k)
      coordinates.push_back(make_coordinate(e.A.sparse_columns(), k, e.w.data(), 1.0, false, 0.0,
                                            1.0, e.penalty_of(k)));
    model.emplace(e.A.sparse_columns(), coordinates, samples, z, g, 1);
  }

  Example e;
  Observed<L> samples;
  Doubles x = Doubles(12), z, g = Doubles(60);
  std::vector<Coordinate> coordinates;
  std::optional<Cdn<SparseColumns<double>, L>> model;
};

}  // namespace

TEST_CASE_TEMPLATE("every step of CDN lowers F by what it says, and is made whenever x can move", L,
                   Squared, Logistic, SquaredHinge, Huber, Poisson) {
  Direct<L> f;
  for (int epoch = 0; epoch < 20; ++epoch, f.model->settle(1))
    for (std::int64_t k = 0; k < f.e.A.d; ++k) {
      const double before = objective(f.e, f.x, 0.0);
      const Move move = f.model->propose(k, f.x[at(k)]);
      if (move.delta == 0) continue;
      const Step step = f.model->advance(move);
      f.x[at(k)] += step.length * move.delta;
      const double after = objective(f.e, f.x, 0.0);
      CHECK(after <= before * (1 + 1e-14));
      CHECK(step.decrease == doctest::Approx(before - after).epsilon(1e-9).scale(1e-3 * before));
      if (std::abs(move.delta) > 1e-6) CHECK(step.length > 0);
    }
}

TEST_CASE_TEMPLATE("what CDN keeps of its rows is what it would make of them afresh", L, Squared,
                   Logistic, SquaredHinge, Huber, Poisson) {
  Direct<L> f;
  ActiveSet order(f.e.A.d, f.e.A.n, false, 7);
  Epoch epoch;
  Watch watch{nullptr, infinity};
  for (int e = 0; e < 5; ++e) sweep(*f.model, f.x, order.next(), epoch, watch);
  Doubles z = f.z, g(z.size());
  const Cdn<SparseColumns<double>, L> fresh(f.model->A, f.coordinates, f.samples, z, g, 1);
  const Doubles rows = predictor(f.e, f.x, 0.0);
  for (std::int64_t i = 0; i < f.e.A.n; ++i) {
    CHECK(f.z[at(i)] == doctest::Approx(rows[at(i)]).epsilon(1e-13).scale(1.0));
    CHECK(f.model->value(i, 0) == doctest::Approx(fresh.value(i, 0)).epsilon(1e-13));
    CHECK(f.g[at(i)] == doctest::Approx(g[at(i)]).epsilon(1e-13));
  }
  for (std::int64_t k = 0; k < f.e.A.d; ++k)  // where the curvature says
    CHECK(f.model->propose(k, 0.3).delta ==
          doctest::Approx(fresh.propose(k, 0.3).delta).epsilon(1e-12));
}

TEST_CASE_TEMPLATE("threads that race and a single one propose the same step of CDN", L, Logistic,
                   SquaredHinge, Huber, Poisson) {
  Direct<L> f;
  for (std::int64_t k = 0; k < f.e.A.d; ++k) {
    const Move alone = f.model->propose(k, 0.0), racing = f.model->propose_racing(k, 0.0);
    CHECK(racing.gradient == doctest::Approx(alone.gradient).epsilon(1e-12));
    CHECK(racing.delta ==
          doctest::Approx(alone.delta == 0 ? 0.0 : f.model->advance(alone).length * alone.delta)
              .epsilon(1e-12));
    f.model->move_racing(k, -racing.delta);
    f.model->settle(1);
  }
}

TEST_CASE("a random order visits every coordinate once per epoch, a cyclic one in order") {
  Order random(100, false, 1), cyclic(100, true, 1);
  std::vector<std::int64_t> before;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto order = random.next();
    std::vector<int> seen(100);
    for (auto k : order) ++seen[at(k)];
    for (int s : seen) CHECK(s == 1);
    CHECK_FALSE(std::equal(order.begin(), order.end(), before.begin(), before.end()));
    before.assign(order.begin(), order.end());
    std::int64_t next = 0;
    for (auto k : cyclic.next()) CHECK(k == next++);
  }
}
