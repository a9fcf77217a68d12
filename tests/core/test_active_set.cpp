#include "engine/active_set.hpp"
#include "support.hpp"

using namespace testing;

namespace {

constexpr std::int64_t count = 6, rows = 10;
const Penalty penalty{.lam = 1.0};

using Visited = std::vector<std::int64_t>;

// One epoch in which the weights are x, have these gradients and stay where they are.
Visited epoch(ActiveSet& active, const Doubles& gradient, const Doubles& x = Doubles(count)) {
  const auto order = active.next();
  Visited visited(order.begin(), order.end());
  for (std::int64_t k : visited)
    active.saw({.k = k, .x = x[at(k)], .gradient = gradient[at(k)]}, penalty);
  std::ranges::sort(visited);
  return visited;
}

const Visited all{0, 1, 2, 3, 4, 5};
// Weight 0 violates by 0.5, so that the margin is 0.05: 3 and 5 are inside by more, 4 by less.
const Doubles gradient{1.5, 1.2, -1.1, 0.0, -0.96, 0.94};

}  // namespace

TEST_CASE("every column is visited in the first two epochs") {
  ActiveSet active(count, rows, false, 1);
  CHECK(epoch(active, Doubles(count)) == all);
  ActiveSet other(count, rows, false, 1);
  CHECK(epoch(other, gradient) == all);
  CHECK(epoch(other, gradient) == all);  // the first has only told the margin
}

TEST_CASE("weights rest that are at zero with a gradient inside by more than the margin") {
  ActiveSet active(count, rows, false, 2);
  for (int first = 0; first < 2; ++first) epoch(active, gradient);
  for (int later = 0; later < 3; ++later) CHECK(epoch(active, gradient) == Visited{0, 1, 2, 4});
}

TEST_CASE("a weight that is not zero never rests") {
  ActiveSet active(count, rows, false, 3);
  Doubles x(count);
  x[3] = 0.2, x[5] = -1e-300;
  for (int first = 0; first < 2; ++first) epoch(active, gradient, x);
  CHECK(epoch(active, gradient, x) == all);
}

TEST_CASE("all are visited again once the largest violation is a tenth of what it was") {
  ActiveSet active(count, rows, false, 4);
  for (int first = 0; first < 2; ++first) epoch(active, gradient);
  Doubles less = gradient;
  less[0] = 1.06, less[1] = less[2] = 1.0;
  CHECK(epoch(active, less) == Visited{0, 1, 2, 4});
  less[0] = 1.04;
  CHECK(epoch(active, less).size() < count);
  CHECK(epoch(active, less) == all);
}

TEST_CASE("a cyclic active set keeps the order of the columns") {
  ActiveSet active(count, rows, true, 5);
  for (int time = 0; time < 4; ++time) {
    const auto order = active.next();
    CHECK(std::ranges::is_sorted(order));
    for (std::int64_t k : order) active.saw({.k = k, .gradient = gradient[at(k)]}, penalty);
  }
}
