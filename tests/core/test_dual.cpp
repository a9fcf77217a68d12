#include <bit>

#include "certify/dual.hpp"
#include "support.hpp"

using namespace testing;

namespace {

struct Certificate {
  double scale, gap, dual;
};

// The gap at x by brackets, and the dual value at the same dual point by its definition.
Certificate certificate(const Example& e, const Doubles& x, double b, int threads) {
  const Doubles z = predictor(e, x, b);
  Doubles g(z.size());
  for (std::int64_t i = 0; i < e.A.n; ++i)
    g[at(i)] = e.weight(i) * loss_at(e.loss, z[at(i)], e.y[at(i)]).derivative;
  Doubles c(at(e.A.d));
  for (std::int64_t j = 0; j < e.A.d; ++j)
    for (std::int64_t i = 0; i < e.A.n; ++i) c[at(j)] += e.A(i, j) * g[at(i)];
  const Columnwise columns = columnwise_gap(threads, e.A.d, 1e9, [&](std::int64_t j) {
    return DualTerm{e.penalty_of(j), x[at(j)], c[at(j)], 1.0};
  });
  Certificate result{columns.scale, columns.gap, 0};
  for (std::int64_t i = 0; i < e.A.n; ++i) {
    const double w = e.weight(i), u = w > 0 ? columns.scale * g[at(i)] / w : 0.0, y = e.y[at(i)];
    if (w == 0) continue;
    const double shift = e.offset.empty() ? 0.0 : e.offset[at(i)];
    std::visit(
        [&](const auto& loss) {
          result.gap += w * loss.fenchel_young(z[at(i)], y, u);
          result.dual += w * (u * shift - loss.conjugate(u, y));
        },
        e.loss);
  }
  for (std::int64_t j = 0; j < e.A.d; ++j)
    result.dual -= e.penalty_of(j).conjugate(-columns.scale * c[at(j)]);
  return result;
}

std::vector<Example> examples() {
  std::vector<Example> all;
  for (const AnyLoss& loss : all_losses) {
    Example e = make_example(40, 12, 0.6, loss, 31);
    e.lam = 2.0;
    all.push_back(e);
    e.l2 = 0.5;
    all.push_back(e);
    e.lo.assign(12, -0.2), e.hi.assign(12, 1.0);
    all.push_back(e);
    e.l2 = 0;
    e.w = random_vector(40, 32);
    for (double& w : e.w) w = std::max(0.0, w);
    e.offset = random_vector(40, 33);
    all.push_back(e);
  }
  return all;
}

}  // namespace

TEST_CASE("the brackets sum to primal minus dual, and bound F - F*") {
  for (const Example& e : examples()) {
    const Optimum best = reference(e);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Doubles x = random_vector(e.A.d, seed);
      for (std::int64_t j = 0; j < e.A.d; ++j)
        x[at(j)] = e.penalty_of(j).clamp(seed % 2 ? x[at(j)] : best.x[at(j)] + 1e-4 * x[at(j)]);
      const Certificate c = certificate(e, x, 0.0, 1);
      const double F = objective(e, x, 0.0);
      CHECK(c.gap == doctest::Approx(F - c.dual).epsilon(1e-9).scale(F));
      CHECK(c.gap >= F - best.objective - 1e-10 * F);
      CHECK(c.dual <= best.objective + 1e-10 * best.objective);
    }
  }
}

TEST_CASE("the gap closes at the optimum") {
  for (const Example& e : examples()) {
    const Optimum best = reference(e, 20'000);
    CHECK(certificate(e, best.x, 0.0, 1).gap <= 1e-11 * best.objective);
  }
}

TEST_CASE("scale is the largest that makes every column feasible") {
  Example e = make_example(50, 20, 1.0, Squared{}, 34);
  e.lam = 3.0;
  const Doubles x(at(e.A.d));
  const double scale = certificate(e, x, 0.0, 1).scale;
  double largest = 0;
  for (std::int64_t j = 0; j < e.A.d; ++j) {
    double c = 0;
    for (std::int64_t i = 0; i < e.A.n; ++i) c += e.A(i, j) * e.y[at(i)];
    largest = std::max(largest, std::abs(c));
  }
  REQUIRE(largest > e.lam);
  CHECK(scale == doctest::Approx(e.lam / largest).epsilon(1e-12));
}

TEST_CASE("the columns' part has the same bits for any number of threads") {
  const std::int64_t count = 50'000;
  const Doubles x = random_vector(count, 35), g = random_vector(count, 36);
  auto gap = [&](int threads) {
    return columnwise_gap(threads, count, 1e9, [&](std::int64_t p) {
      return DualTerm{{.lam = 0.5}, x[at(p)], g[at(p)], 1.0};
    });
  };
  for (int threads : {2, 4}) {
    CHECK(std::bit_cast<std::uint64_t>(gap(threads).gap) ==
          std::bit_cast<std::uint64_t>(gap(1).gap));
    CHECK(gap(threads).scale == gap(1).scale);
  }
}

TEST_CASE("the brackets have the values that their formulas have") {
  CHECK(feasible_scale({{.lam = 1.0}, 0.0, -4.0, 1.0}) == 0.25);
  CHECK(feasible_scale({{.lam = 1.0, .lo = -1.0}, 0.0, -4.0, 1.0}) == 0.25);
  CHECK(feasible_scale({{.lam = 1.0, .lo = -1.0}, 0.0, 4.0, 1.0}) == 1.0);
  CHECK(feasible_scale({{.lam = infinity}, 0.0, infinity, 1.0}) == 1.0);
  CHECK(feasible_scale({{}, 0.0, 4.0, 1.0}) == 1.0);
  CHECK(feasible_scale({{.lo = 0.0}, 0.0, -4.0, 1.0}) == 1.0);
  CHECK(column_gap({{.lam = 1.0}, -2.0, 0.5, 1.0}, 0.5) == 2.0 - 0.5);
  CHECK(column_gap({{}, -3.0, 0.5, 2.0}, 0.25) == 1.5 + 0.0625);
  CHECK(column_gap({{}, -3.0, 0.5, 0.0}, 0.25) == 1.5);
  CHECK(column_gap({{.lo = 0.0}, 0.0, 3.0, 2.0}, 0.25) == 0.0);
  CHECK(column_gap({{.lo = 0.0}, 1.0, 3.0, 2.0}, 0.25) == 3.0 + 2.25);
}

TEST_CASE("every column has its say, wherever the blocks of the sum begin and end") {
  for (std::int64_t count : {0, 1, 1023, 1024, 1025, 2048, 2049, 5000}) {
    const Columnwise all = columnwise_gap(
        2, count, 1e9, [&](std::int64_t) { return DualTerm{{.lam = 1.0}, 1.0, 0.0, 1.0}; });
    CHECK(all.gap == static_cast<double>(count));
    CHECK(all.scale == 1.0);
    for (std::int64_t worst : {std::int64_t{0}, count / 2, count - 1}) {
      const Columnwise one = columnwise_gap(2, count, 1e9, [&](std::int64_t p) {
        return DualTerm{{.lam = 1.0}, 0.0, p == worst ? -4.0 : 1.0, 1.0};
      });
      CHECK(one.scale == (count > 0 ? 0.25 : 1.0));
      CHECK(one.gap == 0);
    }
  }
}

TEST_CASE("weights at zero have a say where the penalty is not silent there") {
  auto gap = [](Penalty penalty, double gradient) {
    return columnwise_gap(1, 1, 1.0,
                          [&](std::int64_t) { return DualTerm{penalty, 0.0, gradient, 1.0}; });
  };
  CHECK(gap({.lam = 1.0, .l2 = 2.0}, 3.0).gap == 1.0);  // (3 - 1)^2 / (2 * 2)
  CHECK(gap({.lam = 1.0, .l2 = 2.0}, 3.0).scale == 1.0);
  CHECK(gap({.lam = 1.0, .lo = -2.0, .hi = 2.0}, 3.0).gap == 4.0);
  CHECK(gap({.lam = 1.0}, 1.0).scale == 1.0);
  CHECK(gap({.lam = 1.0}, 2.0).scale == 0.5);
}

TEST_CASE("the rounding of a sum grows like a random walk") {
  CHECK(rounding_unit(0) == 0x1p-53 * 16);
  CHECK(rounding_unit(100) == 0x1p-53 * 56);
}

TEST_CASE("a gradient that is no number, or infinite, proves nothing") {
  for (double gradient : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()})
    for (const Penalty& penalty : {Penalty{.lam = 1.0}, Penalty{.lam = 1.0, .lo = 0.0}}) {
      const auto gap = [&](double c) {
        return columnwise_gap(1, 1, 4.0,
                              [&](std::int64_t) { return DualTerm{penalty, 0.0, c, 1.0}; })
            .gap;
      };
      CHECK(gap(gradient) == infinity);
      CHECK(gap(3.0) == 0);
    }
}

TEST_CASE("what a slope promises is seen where its square leaves the range of double") {
  // v^2 / 2 beta
  CHECK(column_gap({{}, 0.0, 0x1p-1000, 0x1p-1000}, 1.0) == 0x1p-1001);
  CHECK(column_gap({{}, 0.0, 0x1p+600, 0x1p+600}, 1.0) == 0x1p+599);
  CHECK(column_gap({{}, 0.0, 0.0, 0x1p-1070}, 1.0) == 0.0);
}
