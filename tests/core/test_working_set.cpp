#include <bit>

#include "support.hpp"

using namespace testing;

namespace {

const std::vector<Engine> deterministic{Engine::automatic,  Engine::shooting, Engine::bundle,
                                        Engine::block,      Engine::newton,   Engine::shooting_cdn,
                                        Engine::shotgun_cdn};
const std::vector<Engine> engines = [] {
  std::vector<Engine> all = deterministic;
  all.push_back(Engine::asynchronous);
  return all;
}();

void check_solution(const Example& e, const Optimum& best, const Options& options, bool dense) {
  const Solution s = solve_example(e, options, dense);
  CAPTURE(static_cast<int>(options.engine));
  CAPTURE(name_of(e.loss));
  CAPTURE(options.working_set);
  CAPTURE(dense);
  CHECK(s.status == Status::converged);
  CHECK(s.objective == doctest::Approx(objective(e, weights(s), s.intercept)).epsilon(1e-10));
  CHECK(s.objective - best.objective <= s.gap + 1e-9 * best.objective);
  CHECK(s.gap <= options.tol * s.null_objective);
  for (std::int64_t j = 0; j < e.A.d; ++j) {
    CHECK(weights(s)[at(j)] >= e.penalty_of(j).lo);
    CHECK(weights(s)[at(j)] <= e.penalty_of(j).hi);
    if (e.penalty_of(j).excluded()) CHECK(weights(s)[at(j)] == 0);
  }
}

void check_all(const Example& e, double tol = 1e-7) {
  const Optimum best = reference(e, 20'000);
  for (Engine engine : engines)
    for (bool working_set : {true, false})
      for (bool dense : {true, false})
        check_solution(e, best,
                       {.engine = engine, .threads = 2, .tol = tol, .working_set = working_set},
                       dense);
}

// A tenth of lambda_max without an intercept.
double small_lambda(const Example& e) {
  double largest = 0;
  for (std::int64_t j = 0; j < e.A.d; ++j) {
    double slope = 0;
    for (std::int64_t i = 0; i < e.A.n; ++i)
      slope += e.A(i, j) * loss_at(e.loss, 0.0, e.y[at(i)]).derivative;
    largest = std::max(largest, std::abs(slope));
  }
  return 0.1 * largest;
}

Example plain(const AnyLoss& loss) {
  Example e = make_example(60, 15, 0.6, loss, 70);
  e.lam = small_lambda(e);
  return e;
}

}  // namespace

TEST_CASE("every engine solves the plain problem to its certificate") {
  for (const AnyLoss& loss : all_losses) check_all(plain(loss));
}

TEST_CASE("every engine solves with an intercept, sample weights and offsets") {
  for (const AnyLoss& loss : all_losses) {
    Example e = plain(loss);
    e.intercept = true;
    e.w = random_vector(60, 71);
    for (double& w : e.w) w = std::max(0.0, w);
    e.offset = random_vector(60, 72);
    check_all(e);
  }
}

TEST_CASE("every engine solves with free and excluded columns") {
  for (const AnyLoss& loss : all_losses)
    for (bool intercept : {false, true}) {
      Example e = plain(loss);
      e.intercept = intercept;
      e.factor.assign(15, 1.0);
      e.factor[2] = e.factor[7] = 0.0;
      e.factor[4] = infinity;
      check_all(e);
    }
}

TEST_CASE("every engine solves the elastic net and bounded problems") {
  for (const AnyLoss& loss : all_losses) {
    Example e = plain(loss);
    e.l2 = 0.7;
    check_all(e);
    e.lo.assign(15, 0.0), e.hi.assign(15, 0.6);
    check_all(e);
    e.lam = 0, e.l2 = 0;  // the paper's "beyond L1": smooth F with bounds
    check_all(e);
  }
}

TEST_CASE("separable logistic regression ends, certified") {
  Example e = plain(Logistic{});
  for (std::int64_t i = 0; i < e.A.n; ++i) e.y[at(i)] = e.A(i, 0) > 0 ? 1 : -1;
  e.lam = 0.05;
  check_all(e, 1e-5);
}

TEST_CASE("columns of zeros and copies of a column are valid") {
  Doubles values(random_matrix(40, 6, 1.0, 73).dense);
  std::fill(values.begin(), values.begin() + 40, 0.0);
  std::copy(values.begin() + 40, values.begin() + 80, values.begin() + 80);
  Example e{.A = Matrix<double>(40, 6, values), .y = random_vector(40, 74)};
  e.lam = 0.5;
  check_all(e);
}

TEST_CASE("asynchronous ends certified even when asked for P far above P*") {
  Doubles values;  // columns nearly alike: P* = 1
  const Doubles column = random_vector(200, 9), noise = random_vector(200 * 40, 10);
  for (std::size_t k = 0; k < noise.size(); ++k) values.push_back(column[k % 200] + 0.1 * noise[k]);
  Example e{.A = Matrix<double>(200, 40, values), .y = column, .lam = 5.0};
  const Optimum best = reference(e, 20'000);
  for (bool working_set : {true, false})
    for (std::int64_t P : {8, 256})
      check_solution(
          e, best,
          {.engine = Engine::asynchronous, .P = P, .threads = 4, .working_set = working_set},
          false);
}

TEST_CASE("a constant target needs no weights once there is an intercept") {
  Example e = plain(Squared{});
  e.y.assign(60, 3.0), e.intercept = true;
  for (Engine engine : engines) {
    const Solution s = solve_example(e, {.engine = engine}, true);
    CHECK(s.status == Status::converged);
    CHECK(s.intercept == doctest::Approx(3.0).epsilon(1e-12));
    for (double x : weights(s)) CHECK(x == 0);
  }
}

TEST_CASE("at lambda_max every weight is zero, just below it one is not") {
  for (const AnyLoss& loss : all_losses)
    for (bool intercept : {false, true}) {
      Example e = plain(loss);
      e.intercept = intercept;
      AnySource source = e.A.dense_source();
      Problem problem{source, loss, e.samples(), e.penalty(), intercept, false};
      Watch watch(nullptr, infinity);
      const double largest = lambda_max(problem, {}, watch);
      auto support = [&](double lam) {
        e.lam = lam;
        std::int64_t count = 0;
        for (double x : weights(solve_example(e, {.tol = 1e-12}, true))) count += x != 0;
        return count;
      };
      CHECK(support(largest * (1 + 1e-9)) == 0);
      CHECK(support(largest * 0.99) > 0);
    }
}

TEST_CASE("a fit never ends above where it started") {
  for (const AnyLoss& loss : all_losses) {
    Example e = plain(loss);
    const Optimum best = reference(e);
    for (const Doubles& x0 : {best.x, Doubles(15, 3.0)}) {
      const double start = objective(e, x0, 0);
      for (std::int64_t epochs : {0, 1, 3}) {
        const Solution s = solve_example(e, {.tol = 0, .max_epochs = epochs}, true, x0);
        CHECK(s.objective <= start * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("asking for no gap at all ends at the precision of double") {
  for (const AnyLoss& loss : all_losses) {
    const Example e = plain(loss);
    const Solution s = solve_example(e, {.tol = 0}, true);
    CHECK(s.status == Status::precision);
    CHECK(s.gap <= 1e-10 * s.null_objective);
    CHECK(s.gap >= 0);
  }
}

TEST_CASE("whole fits have the same bits for any number of threads") {
  for (const AnyLoss& loss : all_losses)
    for (double density : {1.0, 0.1}) {
      Example e = make_example(2400, 150, density, loss, 75);
      e.lam = small_lambda(e);
      e.intercept = true;
      for (Engine engine : deterministic) {
        std::vector<std::uint64_t> first;
        for (int threads : {1, 2, 4}) {
          const Solution s = solve_example(
              e, {.engine = engine, .threads = threads, .working_set = false}, density == 1.0);
          CHECK(s.status == Status::converged);
          std::vector<std::uint64_t> bits{std::bit_cast<std::uint64_t>(s.objective),
                                          std::bit_cast<std::uint64_t>(s.gap),
                                          std::bit_cast<std::uint64_t>(s.intercept)};
          for (double x : weights(s)) bits.push_back(std::bit_cast<std::uint64_t>(x));
          if (first.empty()) first = bits;
          CHECK(bits == first);
        }
      }
    }
}

TEST_CASE("float32 data meet the same certificate") {
  const auto A = random_matrix<float>(80, 20, 0.5, 76);
  const Example e{.A = Matrix<double>(80, 20, Doubles(A.dense.begin(), A.dense.end())),
                  .y = random_vector(80, 77),
                  .lam = 3.0};
  const Optimum best = reference(e);
  for (bool dense : {true, false}) {
    AnySource source = dense ? A.dense_source() : A.sparse_source();
    Problem problem{source, Squared{}, e.samples(), e.penalty()};
    Watch watch(nullptr, infinity);
    const Solution s = solve(problem, {.tol = 1e-9}, {}, {}, watch);
    CHECK(s.status == Status::converged);
    CHECK(s.objective == doctest::Approx(best.objective).epsilon(1e-8));
  }
}

TEST_CASE("a callback that returns true stops the fit, a deadline ends it") {
  const Example e = plain(Squared{});
  AnySource source = e.A.dense_source();
  Problem problem{source, Squared{}, e.samples(), e.penalty()};
  {
    Watch watch(nullptr, infinity);
    const Solution s =
        solve(problem, {.tol = 0}, {}, [](const TraceRow& row) { return row.round == 1; }, watch);
    CHECK(s.status == Status::stopped);
    CHECK(s.n_rounds == 1);
  }
  {
    Watch watch(nullptr, 0.0);
    const Solution s = solve(problem, {.tol = 0}, {}, {}, watch);
    CHECK(s.status == Status::deadline);
    CHECK(s.objective <= s.null_objective);
  }
}

TEST_CASE("an elastic net and bounds look at few columns again, as the Lasso does") {
  for (double l2 : {0.0, 0.5})
    for (double lo : {-infinity, 0.0}) {
      Example e = make_example(300, 20'000, 0.05, Squared{}, 9);
      e.lam = 10;
      e.l2 = l2;
      e.lo = Doubles(20'000, lo);
      const Solution fit = solve_example(e, {}, false);
      CHECK(fit.status == Status::converged);
      CHECK(fit.n_rounds >= 5);
      CHECK(fit.trace.back().passes < 0.75 * static_cast<double>(fit.n_rounds));
    }
}
