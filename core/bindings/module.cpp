// The module: a problem as Python states it, the doors to the core, and what comes out of them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/shared.hpp"
#include "kernels/kernels.hpp"
#include "parallel/spectral.hpp"

namespace nb = nanobind;

namespace {

using namespace shotgun;

std::span<const double> view(const std::optional<Doubles>& v) {
  return v ? std::span<const double>(v->data(), v->size()) : std::span<const double>();
}

// Calls body with every loss there is.
template <class Body>
void each_loss(Body&& body) {
  [&]<class... L>(std::variant<L...>*) { (body(L{}), ...); }(static_cast<AnyLoss*>(nullptr));
}

// A problem as Python states it: the arrays that it points to live as long as this does.
struct Statement {
  std::optional<Doubles> y, weights, offset, factor, lo, hi;
  double lam = 0, l2 = 0;
  std::string loss = "squared";
  double delta = 0;  // of the Huber loss
  bool intercept = false, standardize = false;

  Problem of(Design& design) const {
    return {design.source,
            named_loss(),
            Samples{view(y), view(weights), view(offset)},
            PenaltySpec{lam, l2, {1.0, view(factor)}, {-infinity, view(lo)}, {infinity, view(hi)}},
            intercept,
            standardize};
  }

 private:
  AnyLoss named_loss() const {
    AnyLoss found;
    each_loss([&](auto made) {
      if (made.name != loss) return;
      if constexpr (requires { made.delta; }) made.delta = delta;
      found = made;
    });
    return found;
  }
};

// Runs body(callback, watch) with the core's view of a Python callback; what that raises is raised
// again once the core has stopped.
template <class Body>
auto watched(double deadline, std::optional<nb::callable> callback, Body&& body) {
  Watch watch(signalled, deadline);
  std::optional<nb::python_error> failed;
  Callback forward;
  if (callback)
    forward = [&](const TraceRow& row) {
      WithGil gil;
      try {
        return nb::cast<bool>(call(*callback, nb::cast(row)));
      } catch (nb::python_error& e) {
        failed.emplace(std::move(e));
        return true;
      }
    };
  auto result = guarded(watch, [&] { return body(forward, watch); });
  if (failed) throw std::move(*failed);
  return result;
}

// The words that are the same there and here.
void bind_words(nb::module_& m) {
  nb::enum_<Engine>(m, "Engine")
      .value("auto", Engine::automatic)
      .value("shooting", Engine::shooting)
      .value("bundle", Engine::bundle)
      .value("block", Engine::block)
      .value("newton", Engine::newton)
      .value("asynchronous", Engine::asynchronous)
      .value("shooting_cdn", Engine::shooting_cdn)
      .value("shotgun_cdn", Engine::shotgun_cdn);
  nb::enum_<Targets>(m, "Targets")
      .value("numbers", Targets::numbers)
      .value("classes", Targets::classes)
      .value("counts", Targets::counts);
  m.def("losses", [] {
    nb::dict all;
    each_loss([&](auto loss) { all[std::string(loss.name).c_str()] = loss.targets; });
    return all;
  });
  nb::enum_<Status>(m, "Status")
      .value("converged", Status::converged)
      .value("max_epochs", Status::max_epochs)
      .value("deadline", Status::deadline)
      .value("stopped", Status::stopped)
      .value("precision", Status::precision)
      .value("interrupted", Status::interrupted);
}

// What is asked.
void bind_questions(nb::module_& m) {
  nb::class_<Options>(m, "Options")
      .def(nb::init<>())
      .def_rw("engine", &Options::engine)
      .def_rw("P", &Options::P)
      .def_rw("threads", &Options::threads)
      .def_rw("tol", &Options::tol)
      .def_rw("working_set", &Options::working_set)
      .def_rw("cyclic", &Options::cyclic)
      .def_rw("max_epochs", &Options::max_epochs)
      .def_rw("seed", &Options::seed);
  nb::class_<Statement>(m, "Statement")
      .def(nb::init<>())
      .def_rw("y", &Statement::y)
      .def_rw("weights", &Statement::weights)
      .def_rw("offset", &Statement::offset)
      .def_rw("factor", &Statement::factor)
      .def_rw("lo", &Statement::lo)
      .def_rw("hi", &Statement::hi)
      .def_rw("lam", &Statement::lam)
      .def_rw("l2", &Statement::l2)
      .def_rw("loss", &Statement::loss)
      .def_rw("delta", &Statement::delta)
      .def_rw("intercept", &Statement::intercept)
      .def_rw("standardize", &Statement::standardize);
  nb::class_<Grid>(m, "Grid")
      .def(nb::init<>())
      .def_rw("lams", &Grid::lams)
      .def_rw("l2s", &Grid::l2s)
      .def_rw("count", &Grid::count)
      .def_rw("eps", &Grid::eps)
      .def_rw("deviance", &Grid::deviance)
      .def_rw("x0", &Grid::x0)
      .def_rw("last", &Grid::last)
      .def("below", &Grid::below);
}

// What is found.
void bind_answers(nb::module_& m) {
  nb::class_<TraceRow>(m, "TraceRow")
      .def_ro("lam", &TraceRow::lam)
      .def_ro("samples", &TraceRow::samples)
      .def_ro("round", &TraceRow::round)
      .def_ro("epoch", &TraceRow::epochs)
      .def_ro("updates", &TraceRow::updates)
      .def_ro("passes", &TraceRow::passes)
      .def_ro("objective", &TraceRow::objective)
      .def_ro("gap", &TraceRow::gap)
      .def_ro("working_set", &TraceRow::working_set)
      .def_ro("active", &TraceRow::active)
      .def_ro("P", &TraceRow::P)
      .def_ro("rho", &TraceRow::rho)
      .def_ro("threads", &TraceRow::threads)
      .def_ro("seconds", &TraceRow::seconds)
      .def_ro("scan", &TraceRow::scan)
      .def_ro("certify", &TraceRow::certify)
      .def_ro("screen", &TraceRow::screen)
      .def_ro("select", &TraceRow::select)
      .def_ro("pack", &TraceRow::pack)
      .def_ro("shoot", &TraceRow::shoot);
  nb::class_<Solution>(m, "Solution")
      .def_ro("lam", &Solution::lam)
      .def_ro("size", &Solution::size)
      .def_prop_ro("support", [](const Solution& s) { return own(s.support); })
      .def_prop_ro("weights", [](const Solution& s) { return own(s.weights); })
      .def_prop_ro("open", [](const Solution& s) { return own(s.open); })
      .def_ro("intercept", &Solution::intercept)
      .def_ro("objective", &Solution::objective)
      .def_ro("null_objective", &Solution::null_objective)
      .def_ro("tolerance", &Solution::tolerance)
      .def_ro("gap", &Solution::gap)
      .def_ro("status", &Solution::status)
      .def_ro("certified_by_gap", &Solution::certified_by_gap)
      .def_ro("n_rounds", &Solution::n_rounds)
      .def_ro("n_epochs", &Solution::n_epochs)
      .def_ro("n_updates", &Solution::n_updates)
      .def_ro("n_screened", &Solution::n_screened)
      .def_ro("P", &Solution::P)
      .def_ro("rho", &Solution::rho)
      .def_ro("engine", &Solution::engine)
      .def_ro("seconds", &Solution::seconds)
      .def_ro("trace", &Solution::trace);
  nb::class_<Spectrum>(m, "Spectrum")
      .def_ro("rho", &Spectrum::rho)
      .def_ro("engine", &Spectrum::engine)
      .def_ro("shared", &Spectrum::shared);
}

void bind_solvers(nb::module_& m) {
  m.def(
      "solve",
      [](Design& design, const Statement& statement, const Options& options,
         std::optional<Doubles> x0, double deadline, std::optional<nb::callable> callback) {
        Problem problem = statement.of(design);
        return watched(deadline, callback, [&](const Callback& told, Watch& watch) {
          return solve(problem, options, view(x0), told, watch);
        });
      },
      nb::arg("design"), nb::arg("statement"), nb::arg("options"), nb::arg("x0") = nb::none(),
      nb::arg("deadline") = infinity, nb::arg("callback") = nb::none());
  m.def(
      "path",
      [](Design& design, const Statement& statement, const Options& options, const Grid& grid,
         double deadline, std::optional<nb::callable> callback) {
        Problem problem = statement.of(design);
        return watched(deadline, callback, [&](const Callback& told, Watch& watch) {
          return path(problem, options, grid, told, watch);
        });
      },
      nb::arg("design"), nb::arg("statement"), nb::arg("options"), nb::arg("grid"),
      nb::arg("deadline") = infinity, nb::arg("callback") = nb::none());
  m.def("lambda_max", [](Design& design, const Statement& statement, const Options& options) {
    Watch watch(signalled, infinity);
    Problem problem = statement.of(design);
    return guarded(watch, [&] { return lambda_max(problem, options, watch); });
  });
  m.def("spectrum",
        [](Design& design, const Statement& statement, const Options& options, double tol) {
          Watch watch(signalled, infinity);
          Problem problem = statement.of(design);
          return guarded(watch, [&] { return spectrum(problem, options, tol, watch); });
        });
}

}  // namespace

// For threadpoolctl, which looks these up in the loaded library by name.
extern "C" __attribute__((visibility("default"))) int shotgun_get_num_threads() {
  return shotgun::default_threads();
}
extern "C" __attribute__((visibility("default"))) void shotgun_set_num_threads(int threads) {
  shotgun::set_default_threads(threads);
}

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // what a daemon thread still holds at the end is no leak
  m.def("heed_crowds", &shotgun::heed_crowds);
  bind_matrices(m);
  bind_words(m);
  bind_questions(m);
  bind_answers(m);
  bind_solvers(m);
  bind_io(m);
  bind_study(m);
  m.def("ideal_p", &ideal_p, nb::arg("d"), nb::arg("rho"));
  m.def("default_threads", &default_threads);
  m.def("instructions", [] { return kernels::active().name; });
}
