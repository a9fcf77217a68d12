// task: what the loop is to minimise, and where it begins.
#pragma once

#include "loop/solution.hpp"
#include "parallel/watch.hpp"
#include "problem/intercept.hpp"
#include "problem/source.hpp"
#include "problem/standardized.hpp"

namespace shotgun {

// F, and how it is to be minimised.
template <Columns C, Loss L>
struct Task {
  Source<C>& A;
  const Observed<L>& samples;
  PenaltySpec spec;
  bool intercept, standardize;
  Options options;
  Watch& watch;
  double returns = 0;  // a step that gains less than this part of the shot is the last
};

// Where a fit of the first `rows` has ended, and what A makes of that, having looked at so many
// entries.
struct Start {
  std::int64_t rows = 0;
  Solution fit;
  std::vector<double> Ax;
  double looked = 0;
};

// The gradient at Ax (empty: x = 0) with the best intercept, for the scan that the survey of A
// makes in passing.
template <Loss L>
std::vector<double> first_gradient(const Observed<L>& samples, std::span<const double> Ax,
                                   bool intercept, int threads) {
  std::vector<double> z(samples.y.size());
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = samples.shift(static_cast<std::int64_t>(i)) + (Ax.empty() ? 0.0 : Ax[i]);
  if (intercept) minimise_intercept(threads, samples, z);
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = samples.derivative(static_cast<std::int64_t>(i), z[i]);
  return z;
}

}  // namespace shotgun
