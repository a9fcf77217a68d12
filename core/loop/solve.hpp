// One door from outside: any design, any loss.
#pragma once

#include <memory>
#include <variant>

#include "loop/solution.hpp"
#include "loop/watch.hpp"
#include "problem/samples.hpp"
#include "problem/standardized.hpp"

namespace shotgun {

enum class LossKind { squared, logistic };

using AnySource = std::variant<
    std::unique_ptr<Source<DenseColumns<double>>>, std::unique_ptr<Source<DenseColumns<float>>>,
    std::unique_ptr<Source<SparseColumns<double>>>, std::unique_ptr<Source<SparseColumns<float>>>>;

struct Problem {
  AnySource& A;
  LossKind loss;
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

// Per column type, each in its own translation unit.
template <class C>
Solution solve_columns(Source<C>& A, const Problem& problem, const Options& options,
                       std::span<const double> x0, const Callback& callback, Watch& watch);
template <class C>
std::vector<Solution> path_columns(Source<C>& A, const Problem& problem, const Options& options,
                                   const Grid& grid, const Callback& callback, Watch& watch);
template <class C>
double lambda_max_columns(Source<C>& A, const Problem& problem, const Options& options,
                          Watch& watch);
template <class C>
Spectrum spectrum_columns(Source<C>& A, const Problem& problem, const Options& options, double tol,
                          Watch& watch);

}  // namespace shotgun
