// The instantiations of one column type; included by the translation units that make them.
#pragma once

#include "loop/grow.hpp"
#include "loop/solve.hpp"

namespace shotgun {

// Calls body with the task for the problem's loss.
template <class C, class Body>
auto with_task(Source<C>& A, const Problem& p, const PenaltySpec& penalty, const Options& options,
               Watch& watch, Body&& body) {
  return std::visit(
      [&]<class L>(const L& loss) {
        const Observed<L> samples{p.samples, loss};
        return body(Task<C, L>{A, samples, penalty, p.intercept, p.standardize, options, watch});
      },
      p.loss);
}

template <class C>
Solution On<C>::solve(Source<C>& A, const Problem& p, const Options& options,
                      std::span<const double> x0, const Callback& callback, Watch& watch) {
  return with_task(A, p, p.penalty, options, watch, [&](const auto& task) {
    return x0.empty() ? solve_growing(task, callback) : WorkingSet(task).solve(x0, callback);
  });
}

template <class C>
std::vector<Solution> On<C>::path(Source<C>& A, const Problem& p, const Options& options,
                                  const Grid& grid, const Callback& callback, Watch& watch) {
  PenaltySpec penalty = p.penalty;
  for (double lam : grid.lams) penalty.most_lam = std::max(penalty.most_lam, lam);
  for (double l2 : grid.l2s) penalty.most_l2 = std::max(penalty.most_l2, l2);
  return with_task(A, p, penalty, options, watch,
                   [&](const auto& task) { return WorkingSet(task).path(grid, callback); });
}

template <class C>
double On<C>::lambda_max(Source<C>& A, const Problem& p, const Options& options, Watch& watch) {
  return with_task(A, p, p.penalty, options, watch,
                   [&](const auto& task) { return WorkingSet(task).lambda_max(); });
}

template <class C>
Spectrum On<C>::spectrum(Source<C>& A, const Problem& p, const Options& options, double tol,
                         Watch& watch) {
  const std::vector<double> v(p.samples.y.size());
  PerColumn<double> unused;
  Features<C> features(A, p.samples, p.penalty, p.intercept, p.standardize, v, unused,
                       options.threads, watch);
  const Observed<Squared> samples{p.samples, {}};
  Point<C, Squared> point(A, samples, features, options.threads, watch);
  std::vector<Column> all(static_cast<std::size_t>(A.cols()));
  std::iota(all.begin(), all.end(), 0);
  Packed<C> packed = point.borrow(all);
  point.describe(packed, p.samples.weights(), features.total_weight());
  SpectralRadius<C> spectrum(C(A.rows(), packed.handles), packed.coordinates, p.samples.weights(),
                             options.threads, options.seed);
  while (!watch.stopped() && spectrum.step() && spectrum.error() > tol * spectrum.rho())
    watch.poll();
  return {spectrum.rho(), choose_engine(Engine::automatic, C::dense, true, true, features.shared()),
          features.shared()};
}

}  // namespace shotgun
