// One door from outside: any design, any loss.
#pragma once

#include <memory>
#include <variant>

#include "loop/solution.hpp"
#include "parallel/watch.hpp"
#include "problem/losses/losses.hpp"
#include "problem/samples.hpp"
#include "problem/standardized.hpp"

namespace shotgun {

template <class... Columns>
using AnySourceOf = std::variant<std::unique_ptr<Source<Columns>>...>;
using AnySource = AnySourceOf<DenseColumns<double>, DenseColumns<float>, SparseColumns<double>,
                              SparseColumns<float>, SparseColumns<double, std::int64_t>,
                              SparseColumns<float, std::int64_t>>;

struct Problem {
  AnySource& A;
  AnyLoss loss;
  Samples samples;
  PenaltySpec penalty;
  bool intercept = false, standardize = false;
};

Solution solve(Problem& problem, const Options& options, std::span<const double> x0,
               const Callback& callback, Watch& watch);
std::vector<Solution> path(Problem& problem, const Options& options, const Grid& grid,
                           const Callback& callback, Watch& watch);
double lambda_max(Problem& problem, const Options& options, Watch& watch);

// rho of the column-normalised (and centred, if the problem has an intercept) sqrt(W) A, and the
// engine that a fit of the squared loss would use.
struct Spectrum {
  double rho;
  Engine engine;
  double shared;  // see choose_engine
};
Spectrum spectrum(Problem& problem, const Options& options, double tol, Watch& watch);

// The same per column type, each in its own translation unit.
template <class C>
struct On {
  static Solution solve(Source<C>& A, const Problem& problem, const Options& options,
                        std::span<const double> x0, const Callback& callback, Watch& watch);
  static std::vector<Solution> path(Source<C>& A, const Problem& problem, const Options& options,
                                    const Grid& grid, const Callback& callback, Watch& watch);
  static double lambda_max(Source<C>& A, const Problem& problem, const Options& options,
                           Watch& watch);
  static Spectrum spectrum(Source<C>& A, const Problem& problem, const Options& options, double tol,
                           Watch& watch);
};

}  // namespace shotgun
