// What a fit is asked and what it answers.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "problem/design.hpp"
#include "problem/memory.hpp"

namespace shotgun {

enum class Engine {
  automatic,
  shooting,
  bundle,
  block,
  newton,
  asynchronous,
  shooting_cdn,
  shotgun_cdn
};
enum class Status { converged, max_epochs, deadline, stopped, precision, interrupted };

struct Options {
  Engine engine = Engine::automatic;
  std::int64_t P = 0;  // 0: from the data
  int threads = 1;
  double tol = 1e-6;
  bool working_set = true;
  bool cyclic = false;
  std::int64_t max_epochs = 100'000;
  std::uint64_t seed = 0;
};

// The lams of a path: given, or `count` of them from lambda_max down to eps times that, evenly on a
// log scale. The path ends early when the losses have fallen by the part `deviance` of what they
// were at x = 0.
struct Grid {
  std::vector<double> lams, l2s;  // l2 of each lam, where it changes along the path
  std::int64_t count = 100;
  double eps = 1e-3, deviance = std::numeric_limits<double>::infinity();
  std::vector<double> x0;  // the fit that these continue, if there is one,
  double last = 0;         // and its lam

  std::vector<double> below(double largest) const {
    if (!(largest > 0))
      throw std::invalid_argument("lambda_max is 0, so that no grid follows from it: give lams");
    std::vector<double> made;
    for (std::int64_t k = 0; k < count; ++k) {
      const double part = count > 1 ? static_cast<double>(k) / static_cast<double>(count - 1) : 0.0;
      made.push_back(largest * std::pow(eps, part));
    }
    return made;
  }
};

// One row per round. Seconds of a phase are those spent in it during this round.
struct TraceRow {
  std::int64_t round = 0, samples = 0, epochs = 0, updates = 0, working_set = 0, active = 0, P = 0;
  int threads = 1;    // most that worked at once in this round
  double passes = 0;  // entries of A that were looked at so far, over those that there are
  double lam = 0, objective = 0, gap = 0, rho = 0, seconds = 0;
  double scan = 0, certify = 0, screen = 0, select = 0, pack = 0, shoot = 0;
};

struct Solution {
  double lam = 0;
  std::int64_t size = 0;              // how many weights there are,
  std::vector<std::int32_t> support;  // those that are not zero, ascending,
  std::vector<double> weights;        // and their values
  PerColumn<Column> open;             // not decided by screening; of a path's fits not kept
  double intercept = 0, objective = 0, gap = 0, null_objective = 0, tolerance = 0;
  Status status = Status::converged;
  bool certified_by_gap = true;  // else by the projected gradient
  std::int64_t n_rounds = 0, n_epochs = 0, n_updates = 0, P = 1, n_screened = 0;
  double rho = std::numeric_limits<double>::quiet_NaN();
  Engine engine = Engine::shooting;
  double seconds = 0;
  std::vector<TraceRow> trace;
};

// Called after each round's certificate; true stops the fit.
using Callback = std::function<bool(const TraceRow&)>;

}  // namespace shotgun
