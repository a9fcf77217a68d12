#include "loop/solve.hpp"

namespace shotgun {

namespace {

// Calls body with A and with what is done on columns of its kind.
template <class Body>
auto on_columns(Problem& problem, Body&& body) {
  return std::visit([&]<class C>(std::unique_ptr<Source<C>>& A) { return body(On<C>(), *A); },
                    problem.A);
}

}  // namespace

Solution solve(Problem& problem, const Options& options, std::span<const double> x0,
               const Callback& callback, Watch& watch) {
  return on_columns(problem, [&](auto on, auto& A) {
    return on.solve(A, problem, options, x0, callback, watch);
  });
}

std::vector<Solution> path(Problem& problem, const Options& options, const Grid& grid,
                           const Callback& callback, Watch& watch) {
  return on_columns(problem, [&](auto on, auto& A) {
    return on.path(A, problem, options, grid, callback, watch);
  });
}

double lambda_max(Problem& problem, const Options& options, Watch& watch) {
  return on_columns(problem,
                    [&](auto on, auto& A) { return on.lambda_max(A, problem, options, watch); });
}

Spectrum spectrum(Problem& problem, const Options& options, double tol, Watch& watch) {
  return on_columns(problem,
                    [&](auto on, auto& A) { return on.spectrum(A, problem, options, tol, watch); });
}

}  // namespace shotgun
