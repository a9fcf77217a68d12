// The instantiations of one column type; included by the translation units that make them.
#pragma once

#include "loop/solve.hpp"
#include "loop/working_set.hpp"

namespace shotgun {

// Calls body with the loss as a type.
template <class Body>
auto with_loss(LossKind kind, Body&& body) {
  if (kind == LossKind::logistic) return body(Logistic{});
  return body(Squared{});
}

template <class C>
Solution On<C>::solve(Source<C>& A, const Problem& p, const Options& options,
                      std::span<const double> x0, const Callback& callback, Watch& watch) {
  return with_loss(p.loss, [&](auto loss) {
    WorkingSet<C, decltype(loss)> loop(A, p.samples, p.penalty, p.intercept, p.standardize, options,
                                       watch);
    return loop.solve(x0, callback);
  });
}

template <class C>
std::vector<Solution> On<C>::path(Source<C>& A, const Problem& p, const Options& options,
                                  const Grid& grid, const Callback& callback, Watch& watch) {
  return with_loss(p.loss, [&](auto loss) {
    WorkingSet<C, decltype(loss)> loop(A, p.samples, p.penalty, p.intercept, p.standardize, options,
                                       watch);
    return loop.path(grid, callback);
  });
}

template <class C>
double On<C>::lambda_max(Source<C>& A, const Problem& p, const Options& options, Watch& watch) {
  return with_loss(p.loss, [&](auto loss) {
    WorkingSet<C, decltype(loss)> loop(A, p.samples, p.penalty, p.intercept, p.standardize, options,
                                       watch);
    return loop.lambda_max();
  });
}

template <class C>
Spectrum On<C>::spectrum(Source<C>& A, const Problem& p, const Options& options, double tol,
                         Watch& watch) {
  const std::vector<double> v(p.samples.y.size());
  PerColumn<double> unused;
  Features<C> features(A, p.samples, p.penalty, p.intercept, p.standardize, v, unused,
                       options.threads, watch);
  Point<C, Squared> point(A, p.samples, features, options.threads, watch);
  std::vector<Column> all(static_cast<std::size_t>(A.cols()));
  std::iota(all.begin(), all.end(), 0);
  Packed<C> packed = point.borrow(all);
  point.describe(packed, p.samples.weights(), features.total_weight());
  SpectralRadius<C> spectrum(C(A.rows(), packed.handles), packed.coordinates, p.samples.weights(),
                             options.threads, options.seed);
  while (!watch.stopped() && spectrum.step() && spectrum.error() > tol * spectrum.rho())
    watch.poll();
  return {spectrum.rho(), choose_engine(Engine::automatic, C::dense, true, features.shared()),
          features.shared()};
}

}  // namespace shotgun
