// What runs on several threads, on problems so large that it really does: for ThreadSanitizer,
// which sees only what happens.
#include <algorithm>
#include <bit>
#include <thread>

#include "support.hpp"

using namespace testing;

namespace {

const std::vector<Engine> engines{Engine::automatic,    Engine::shooting,   Engine::bundle,
                                  Engine::block,        Engine::newton,     Engine::asynchronous,
                                  Engine::shooting_cdn, Engine::shotgun_cdn};

Example large(const AnyLoss& loss, double density) {
  Example e = make_example(1500, density == 1.0 ? 160 : 400, density, loss, 90);
  e.lam = 30.0;
  e.intercept = true;
  return e;
}

int most_threads(const std::vector<TraceRow>& trace) {
  int most = 0;
  for (const TraceRow& row : trace) most = std::max(most, row.threads);
  return most;
}

std::vector<std::uint64_t> bits(const Solution& s) {
  std::vector<std::uint64_t> all{std::bit_cast<std::uint64_t>(s.gap)};
  for (double x : s.weights) all.push_back(std::bit_cast<std::uint64_t>(x));
  return all;
}

}  // namespace

TEST_CASE("every engine, loss and layout has two threads at work") {
  for (const AnyLoss& loss : all_losses)
    for (double density : {1.0, 0.4}) {
      const Example e = large(loss, density);
      for (Engine engine : engines)
        for (bool working_set : {true, false}) {
          const Options options{
              .engine = engine, .P = 32, .threads = 2, .working_set = working_set, .max_epochs = 5};
          const Solution s = solve_example(e, options, density == 1.0);
          CAPTURE(static_cast<int>(engine));
          CAPTURE(name_of(loss));
          CHECK(s.objective <= s.null_objective);
          CHECK(most_threads(s.trace) == 2);
        }
    }
}

TEST_CASE("a path and the spectral radius have two threads at work") {
  for (double density : {1.0, 0.4}) {
    const Example e = large(Squared{}, density);
    AnySource source = density == 1.0 ? e.A.dense_source() : e.A.sparse_source();
    Problem problem{source, e.loss, e.samples(), e.penalty(), true, true};
    Watch watch(nullptr, infinity);
    const auto fits = path(problem, {.threads = 2}, {.count = 12, .eps = 1e-3}, {}, watch);
    CHECK(fits.size() == 12);
    for (const Solution& s : fits) CHECK(s.status == Status::converged);
    CHECK(spectrum(problem, {.threads = 2}, 1e-3, watch).rho > 1);
  }
}

// As cross-validation does: rows of weight zero are the fold that is left out.
TEST_CASE("folds that are fitted at once from the same data have the bits of one after the other") {
  std::vector<Example> folds(6, large(Logistic{}, 0.4));
  for (std::size_t f = 0; f < folds.size(); ++f) {
    folds[f].w.assign(at(folds[f].A.n), 1.0);
    for (std::size_t i = f; i < folds[f].w.size(); i += folds.size()) folds[f].w[i] = 0;
  }
  const Matrix<double>& A = folds[0].A;
  const auto fit = [&](std::size_t f) {
    AnySource source = f % 2 ? A.dense_source() : A.sparse_source();
    const Example& e = folds[f];
    Problem problem{source, e.loss, e.samples(), e.penalty(), true, false};
    Watch watch(nullptr, infinity);
    const Options options{.engine = f % 3 ? Engine::block : Engine::newton, .threads = 2};
    return bits(solve(problem, options, {}, {}, watch));
  };
  std::vector<std::vector<std::uint64_t>> alone, together(folds.size());
  for (std::size_t f = 0; f < folds.size(); ++f) alone.push_back(fit(f));
  std::vector<std::thread> users;
  for (std::size_t f = 0; f < folds.size(); ++f)
    users.emplace_back([&, f] { together[f] = fit(f); });
  for (std::thread& user : users) user.join();
  CHECK(together == alone);
}
