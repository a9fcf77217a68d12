#include "loop/solve.hpp"

namespace shotgun {

Solution solve(Problem& problem, const Options& options, std::span<const double> x0,
               const Callback& callback, Watch& watch) {
  return std::visit(
      [&](auto& A) { return solve_columns(*A, problem, options, x0, callback, watch); }, problem.A);
}

std::vector<Solution> path(Problem& problem, const Options& options, const Grid& grid,
                           const Callback& callback, Watch& watch) {
  return std::visit(
      [&](auto& A) { return path_columns(*A, problem, options, grid, callback, watch); },
      problem.A);
}

double lambda_max(Problem& problem, const Options& options, Watch& watch) {
  return std::visit([&](auto& A) { return lambda_max_columns(*A, problem, options, watch); },
                    problem.A);
}

Spectrum spectrum(Problem& problem, const Options& options, double tol, Watch& watch) {
  return std::visit([&](auto& A) { return spectrum_columns(*A, problem, options, tol, watch); },
                    problem.A);
}

}  // namespace shotgun
