#include "certify/screening.hpp"
#include "support.hpp"

using namespace testing;

TEST_CASE("a decided weight is what every pull within reach says") {
  const std::vector<Penalty> penalties{{.lam = 1.0},
                                       {.lam = 0.5, .lo = -1.0, .hi = 2.0},
                                       {.lam = 0.5, .l2 = 0.1, .lo = 0.0, .hi = 2.0},
                                       {.lam = 0.0, .lo = -1.0, .hi = 1.0}};
  for (const Penalty& p : penalties)
    for (double pull : {-3.0, -0.6, -0.1, 0.0, 0.4, 0.9, 2.5})
      for (double reach : {0.0, 0.05, 0.3, 1.0}) {
        const double decided = decided_weight(p, pull, reach);
        if (std::isnan(decided)) continue;
        for (int s = -10; s <= 10; ++s) CHECK(p.prox(pull + reach * s / 10.0, 0.0) == decided);
      }
}

TEST_CASE("zero is decided for a slack column, a bound for a strong one, nothing in between") {
  CHECK(decided_weight({.lam = 1.0}, 0.5, 0.4) == 0);
  CHECK(std::isnan(decided_weight({.lam = 1.0}, 0.5, 0.6)));
  CHECK(decided_weight({.lam = 1.0, .lo = -1, .hi = 2}, 3.0, 0.5) == 2);
  CHECK(decided_weight({.lam = 1.0, .lo = -1, .hi = 2}, -3.0, 0.5) == -1);
  CHECK(std::isnan(decided_weight({.lam = 1.0}, 3.0, 0.5)));
}

TEST_CASE("gap-safe screening never decides against the optimum") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Example e = make_example(40, 30, 1.0, Squared{}, 50 + seed);
    e.lam = 20.0;
    const Optimum best = reference(e);
    std::int64_t decided_zero = 0;
    for (double distance : {1.0, 1e-2, 1e-4}) {
      const Doubles noise = random_vector(e.A.d, seed);
      Doubles x = best.x;
      for (std::size_t j = 0; j < x.size(); ++j)
        if (x[j] != 0) x[j] += distance * noise[j];
      const Doubles z = predictor(e, x, 0.0);
      Doubles c(at(e.A.d)), norm(at(e.A.d));
      double scale = 1;
      for (std::int64_t j = 0; j < e.A.d; ++j) {
        for (std::int64_t i = 0; i < e.A.n; ++i) {
          c[at(j)] += e.A(i, j) * (z[at(i)] - e.y[at(i)]);
          norm[at(j)] += e.A(i, j) * e.A(i, j);
        }
        scale = std::min(scale, e.lam / std::abs(c[at(j)]));
      }
      double gap = 0;
      for (std::int64_t i = 0; i < e.A.n; ++i)
        gap += Squared{}.fenchel_young(z[at(i)], e.y[at(i)], scale * (z[at(i)] - e.y[at(i)]));
      for (std::int64_t j = 0; j < e.A.d; ++j)
        gap += e.penalty_of(j).fenchel_young(x[at(j)], -scale * c[at(j)]);
      for (std::int64_t j = 0; j < e.A.d; ++j) {
        const double reach = screening_radius(Squared::beta, gap) * std::sqrt(norm[at(j)]);
        const double decided = decided_weight(e.penalty_of(j), -scale * c[at(j)], reach);
        if (std::isnan(decided)) continue;
        CHECK(best.x[at(j)] == decided);
        ++decided_zero;
      }
    }
    CHECK(decided_zero > 0);
  }
}

TEST_CASE("the radius and what is decided have the values that their formulas have") {
  CHECK(screening_radius(0.25, 8.0) == 2.0);
  CHECK(decided_weight({.lam = 1.0}, -0.5, 0.5) == 0);
  CHECK(std::isnan(decided_weight({.lam = 1.0}, -0.5, 0.75)));
  CHECK(std::isnan(decided_weight({.lam = 1.0}, -3.0, 0.0)));  // without end is no weight
  CHECK(decided_weight({.lam = 1.0, .lo = -1, .hi = 2}, 1.25, 0.125) == 2);
}
