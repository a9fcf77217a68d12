#include "engine/joint.hpp"
#include "support.hpp"

using namespace testing;

namespace {

struct Direction {
  std::vector<Move> moves;
  std::vector<Coordinate> coordinates;
  double slope = 0, curvature = 0;

  double change(double t) const {
    return t * (slope + 0.5 * curvature * t) + penalty_change(moves, coordinates, t);
  }
};

// Weights on both sides of zero, moves towards it, through it and away from it.
Direction random_direction(std::uint64_t seed, double l2) {
  Random random(seed);
  Direction d;
  const std::int64_t count = 1 + random.below(6);
  for (std::int64_t k = 0; k < count; ++k) {
    const double x = random.below(3) == 0 ? 0.0 : normal(random);
    const double delta = random.below(4) == 0 ? 0.0 : 2 * normal(random);
    d.coordinates.push_back({.penalty = {.lam = random.uniform(), .l2 = l2}});
    d.moves.push_back({.k = k, .x = x, .delta = delta, .gradient = normal(random)});
  }
  d.slope = slope_of(d.moves) - 1.0;
  d.curvature = random.below(5) == 0 ? 0.0 : 4 * random.uniform();
  return d;
}

}  // namespace

TEST_CASE("exact_step minimises the piecewise quadratic on [0, 1]") {
  for (double l2 : {0.0, 0.3})
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const Direction d = random_direction(seed, l2);
      const double t = exact_step(d.moves, d.coordinates, d.slope, d.curvature);
      CAPTURE(seed);
      CAPTURE(t);
      CHECK(t >= 0);
      CHECK(t <= 1);
      double best = 0;
      for (int s = 0; s <= 4000; ++s) best = std::min(best, d.change(s / 4000.0));
      CHECK(d.change(t) <= best + 1e-12);
    }
}

TEST_CASE("exact_step stops on a kink where the slope changes sign") {
  // t (-1) + |1 - 2t|: falls until the weight reaches zero at t = 1/2, then rises.
  const std::vector<Move> moves{{.k = 0, .x = 1.0, .delta = -2.0}};
  const std::vector<Coordinate> coordinates{{.penalty = {.lam = 1.0}}};
  CHECK(exact_step(moves, coordinates, -1.0, 0.0) == 0.5);
  CHECK(exact_step(moves, coordinates, -3.0, 0.0) == 1.0);
  CHECK(exact_step(moves, coordinates, 3.0, 1.0) == 0.0);
}

TEST_CASE("two identical columns share one step: the joint step is one half") {
  // F(x) = 1/2 (x_1 + x_2 - 1)^2 at 0: both want delta = 1 (the paper's interference).
  const std::vector<Move> moves{{.k = 0, .delta = 1, .gradient = -1},
                                {.k = 1, .delta = 1, .gradient = -1}};
  const std::vector<Coordinate> coordinates(2);
  CHECK(exact_step(moves, coordinates, slope_of(moves), 4.0) == 0.5);
}
