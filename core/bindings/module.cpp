// nanobind only: views in, structs out, the GIL released while the core works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bindings/shared.hpp"
#include "io/disk.hpp"
#include "kernels/kernels.hpp"
#include "parallel/spectral.hpp"
#include "problem/convert.hpp"
#include "problem/gram.hpp"
#include "problem/remote.hpp"

namespace nb = nanobind;

namespace {

using namespace shotgun;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

std::span<const double> view(const std::optional<Doubles>& v) {
  return v ? std::span<const double>(v->data(), v->size()) : std::span<const double>();
}

template <class T>
Design dense(Matrix<T> a) {
  const auto n = static_cast<std::int64_t>(a.shape(0)), d = static_cast<std::int64_t>(a.shape(1));
  if (n > 1 && a.stride(0) != 1) throw nb::value_error("columns must be contiguous");
  return {std::make_unique<DenseSource<T>>(a.data(), n, d, d > 1 ? a.stride(1) : n),
          {nb::cast(a)},
          n,
          d};
}

template <class T, class Index>
Design csc(Vector<Index> starts, Vector<Index> rows, Vector<T> values, std::int64_t n) {
  const auto d = static_cast<std::int64_t>(starts.size()) - 1;
  return {std::make_unique<CscSource<T, Index>>(values.data(), rows.data(), starts.data(), n, d),
          {nb::cast(starts), nb::cast(rows), nb::cast(values)},
          n,
          d};
}

[[noreturn]] void raise_os_error(const std::system_error& e) {
  PyErr_SetString(PyExc_OSError, e.what());
  throw nb::python_error();
}

// A tile as Python states it: its first column, then file, offset and checksum of its values (no
// file where all are one) and of its rows.
using TileStatement = std::tuple<Column, std::optional<std::string>, std::int64_t, std::uint64_t,
                                 std::string, std::int64_t, std::uint64_t>;

template <class T>
Design on_disk(const std::vector<TileStatement>& stated, Vector<std::int64_t> starts,
               std::int64_t n) try {
  std::vector<disk::Tile> tiles;
  for (const auto& [first, values, values_offset, values_sum, rows, rows_offset, rows_sum] : stated)
    tiles.push_back({first,
                     values ? std::optional(disk::File(*values, values_offset)) : std::nullopt,
                     disk::File(rows, rows_offset), values_sum, rows_sum});
  std::vector<std::int64_t> all(starts.data(), starts.data() + starts.size());
  const auto d = static_cast<std::int64_t>(all.size()) - 1;
  return {std::make_unique<DiskSource<T>>(std::move(tiles), std::move(all), n), {}, n, d};
} catch (const std::system_error& e) {
  raise_os_error(e);
}

nb::object copied(const double* values, std::int64_t size) {
  return values ? own(std::vector<double>(values, values + size)) : nb::none();
}

// What Python answered, which must be `size` numbers.
void take(nb::handle answer, std::int64_t size, double* out) {
  const auto numbers = nb::cast<Doubles>(answer);
  if (static_cast<std::int64_t>(numbers.size()) != size)
    throw nb::value_error("a remote matrix answered with a vector of the wrong length");
  std::copy(numbers.data(), numbers.data() + size, out);
}

// Visits columns that Python answered, one in each row of an array.
template <class T>
void visit_dense(nb::handle answer, std::size_t count, std::int64_t n,
                 const typename Answers<DenseColumns<T>>::Visit& visit) {
  const auto values = nb::cast<nb::ndarray<const T, nb::ndim<2>, nb::c_contig>>(answer);
  if (values.shape(0) != count || static_cast<std::int64_t>(values.shape(1)) != n)
    throw nb::value_error("a remote matrix answered with columns that are not its own");
  for (std::size_t p = 0; p < count; ++p)
    visit(static_cast<std::int64_t>(p), values.data() + static_cast<std::int64_t>(p) * n);
}

// The same of (starts, rows, values).
template <class T>
void visit_sparse(nb::handle answer, std::size_t count, std::int64_t n,
                  const typename Answers<SparseColumns<T>>::Visit& visit) {
  const auto [starts, rows, values] =
      nb::cast<std::tuple<Vector<std::int64_t>, Vector<Row>, Vector<T>>>(answer);
  const auto size = static_cast<std::int64_t>(rows.size());
  bool valid = starts.size() == count + 1 && values.size() == rows.size() &&
               std::is_sorted(starts.data(), starts.data() + starts.size()) && starts(0) == 0 &&
               starts(count) == size && all_below(rows.data(), {0, size}, n);
  for (std::size_t p = 0; valid && p < count; ++p)
    valid = std::is_sorted(rows.data() + starts(p), rows.data() + starts(p + 1),
                           std::less_equal<Row>());
  if (!valid) throw nb::value_error("a remote matrix answered with columns that are not its own");
  for (std::size_t p = 0; p < count; ++p)
    visit(static_cast<std::int64_t>(p),
          {values.data() + starts(p), rows.data() + starts(p), starts(p + 1) - starts(p)});
}

// For columns that do not all fit here: what each takes, what all may take, and who works on them
// if it is more, add(which, steps) and
// propose(which, x, means, inv_scale, lam, lo, hi, l2, g, h or None, intercept, gap).
using Far = std::tuple<Doubles, double, nb::callable, nb::callable>;

template <class T>
nb::object owned(std::span<const T> numbers) {
  return own(std::vector<T>(numbers.begin(), numbers.end()));
}

Proposal proposed(const FarModel& model, std::int64_t n, const nb::callable& propose) {
  std::vector<double> lam, lo, hi;
  for (const Penalty& p : model.penalties) {
    lam.push_back(p.lam);
    lo.push_back(p.lo);
    hi.push_back(p.hi);
  }
  const nb::object answer =
      call(propose, owned(model.which), owned(model.x), owned(model.means), owned(model.inv_scale),
           own(lam), own(lo), own(hi), nb::cast(model.penalties.front().l2), copied(model.g, n),
           copied(model.h, n), nb::cast(model.intercept), nb::cast(model.gap));
  Proposal found{std::vector<double>(model.which.size()),
                 std::vector<double>(static_cast<std::size_t>(n))};
  take(answer[0], static_cast<std::int64_t>(found.goal.size()), found.goal.data());
  take(answer[1], n, found.dz.data());
  return found;
}

// What is given away to threads that do not have the GIL: they may be the last to let go of it.
template <class T>
std::shared_ptr<const T> shared(T python) {
  return std::shared_ptr<const T>(new T(std::move(python)), [](const T* last) {
    WithGil gil;
    delete last;
  });
}

// A design that the core keeps from now on, with the arrays that it reads.
template <class C>
std::unique_ptr<Source<C>> handed_over(Design& design) {
  auto source = std::move(std::get<std::unique_ptr<Source<C>>>(design.source));
  source->owner = shared(std::move(design.keep_alive));
  return source;
}

// A matrix that Python asks others about: scan(v, which or None), survey(w or None, v),
// columns(which), head(rows), which is a Design or None, and, where not all columns fit here, what
// else is to be known.
template <class C>
Design remote(std::int64_t n, std::int64_t d, std::int64_t nonzeros, nb::callable scan,
              nb::callable survey, nb::callable columns, nb::callable head,
              std::optional<Far> far) {
  Answers<C> ask;
  ask.scan = [n, d, scan = shared(scan)](const double* v, std::span<const Column> which,
                                         double* out) {
    WithGil gil;
    const nb::object chosen = which.empty() ? nb::none() : owned(which);
    take(call(*scan, copied(v, n), chosen),
         which.empty() ? d : static_cast<std::int64_t>(which.size()), out);
  };
  ask.survey = [n, d, survey = shared(survey)](const double* w, const double* v, double* sums,
                                               double* squares, double* dots) {
    WithGil gil;
    const nb::object found = call(*survey, copied(w, n), copied(v, n));
    take(found[0], d, sums);
    take(found[1], d, squares);
    take(found[2], d, dots);
  };
  ask.columns = [n, columns = shared(columns)](std::span<const Column> which,
                                               const typename Answers<C>::Visit& visit) {
    WithGil gil;
    const nb::object answer = call(*columns, owned(which));
    if constexpr (C::dense)
      visit_dense<typename C::Value>(answer, which.size(), n, visit);
    else
      visit_sparse<typename C::Value>(answer, which.size(), n, visit);
  };
  ask.head = [head = shared(head)](std::int64_t rows) -> std::unique_ptr<Source<C>> {
    WithGil gil;
    const nb::object few = call(*head, nb::cast(rows));
    return few.is_none() ? nullptr : handed_over<C>(nb::cast<Design&>(few));
  };
  if (far) {
    const auto& [bytes, most, add, propose] = *far;
    ask.bytes.assign(bytes.data(), bytes.data() + bytes.size());
    ask.most = most;
    ask.add = [n, add = shared(add)](std::span<const Column> which, std::span<const double> steps,
                                     double* z) {
      WithGil gil;
      std::vector<double> sum(static_cast<std::size_t>(n));
      take(call(*add, owned(which), owned(steps)), n, sum.data());
      std::transform(sum.begin(), sum.end(), z, z, std::plus<>());
    };
    ask.propose = [n, propose = shared(propose)](const FarModel& model) {
      WithGil gil;
      return proposed(model, n, *propose);
    };
  }
  return {std::make_unique<RemoteSource<C>>(std::move(ask), n, d, nonzeros), {}, n, d};
}

// Runs body without the GIL; input that only a pass over A shows to be bad becomes a ValueError.
template <class Body>
auto guarded(Watch& watch, Body&& body) {
  try {
    auto result = [&] {
      WithoutGil nogil;
      return body();
    }();
    raise_if_interrupted(watch);
    return result;
  } catch (const Overflow&) {
    throw nb::value_error("y, offset or weights are too large: F at x = 0 overflows");
  } catch (const disk::Damaged& e) {
    throw nb::value_error(e.what());
  } catch (const std::system_error& e) {
    raise_os_error(e);
  } catch (const NotFinite& e) {
    throw nb::value_error(("A contains NaN or infinity, first seen at row " +
                           std::to_string(e.row) + ", column " + std::to_string(e.column))
                              .c_str());
  }
}

// What a remote matrix is asked, answered by one that is here.
nb::object scan(Design& design, Doubles v, std::optional<Vector<Column>> which, int threads) {
  Watch watch(signalled, infinity);
  const std::span<const Column> chosen =
      which ? std::span(which->data(), which->size()) : std::span<const Column>();
  if (which && chosen.empty()) return own(std::vector<double>());
  std::vector<double> out(which ? chosen.size() : static_cast<std::size_t>(design.cols));
  if (static_cast<std::int64_t>(v.size()) != design.rows ||
      !all_below(chosen.data(), {0, static_cast<std::int64_t>(chosen.size())}, design.cols))
    throw nb::value_error("v or which does not fit the matrix");
  guarded(watch, [&] {
    std::visit([&](auto& A) { A->scan(threads, v.data(), chosen, out.data(), watch); },
               design.source);
    return 0;
  });
  return own(out);
}

nb::tuple survey(Design& design, std::optional<Doubles> w, Doubles v, int threads) {
  Watch watch(signalled, infinity);
  const auto d = static_cast<std::size_t>(design.cols);
  std::vector<double> sums(d), squares(d), dots(d);
  if (static_cast<std::int64_t>(v.size()) != design.rows || (w && w->size() != v.size()))
    throw nb::value_error("w or v does not fit the matrix");
  guarded(watch, [&] {
    std::visit(
        [&](auto& A) {
          A->survey(threads, w ? w->data() : nullptr, v.data(), squares.data(), dots.data(), watch,
                    [&](Column first, Column last, const double* part) {
                      std::copy(part, part + (last - first), sums.begin() + first);
                      return 0.0;
                    });
        },
        design.source);
    return 0;
  });
  return nb::make_tuple(own(sums), own(squares), own(dots));
}

// A'HA, h = 1 where absent, of columns that are dense.
nb::object gram_of(Design& design, std::optional<Doubles> h) {
  if (h && static_cast<std::int64_t>(h->size()) != design.rows)
    throw nb::value_error("h does not fit the matrix");
  std::vector<Column> all(static_cast<std::size_t>(design.cols));
  std::iota(all.begin(), all.end(), 0);
  return own(std::visit(
      [&]<class C>(std::unique_ptr<Source<C>>& A) -> std::vector<double> {
        if constexpr (C::dense) {
          WithoutGil nogil;
          std::vector<Handle<C>> columns;
          A->borrow(all, columns);
          return gram(C(design.rows, columns), h ? h->data() : nullptr);
        } else {
          throw nb::value_error("columns must be dense");
        }
      },
      design.source));
}

template <class T>
std::uint64_t checksum(Vector<T> numbers, std::int64_t first) {
  WithoutGil nogil;
  return disk::checksum(numbers.data(), static_cast<std::int64_t>(numbers.size()), first);
}

template <class Index>
nb::tuple structure(Vector<Index> starts, Vector<Index> indices, std::int64_t width, int threads) {
  Watch watch(signalled, infinity);
  Structure s;
  {
    WithoutGil nogil;
    s = check_structure(starts.data(), static_cast<std::int64_t>(starts.size()) - 1, indices.data(),
                        static_cast<std::int64_t>(indices.size()), width, threads, watch);
  }
  raise_if_interrupted(watch);
  return nb::make_tuple(s.problem, s.canonical);
}

template <class T, class Index>
nb::tuple transpose(Vector<Index> starts, Vector<Index> columns, Vector<T> values, std::int64_t d,
                    int threads) {
  const auto n = static_cast<std::int64_t>(starts.size()) - 1;
  Watch watch(signalled, infinity);
  CompressedColumns<T, Index> out;
  {
    WithoutGil nogil;
    out = csr_to_csc(values.data(), columns.data(), starts.data(), n, d, threads, watch);
  }
  raise_if_interrupted(watch);
  const auto nnz = static_cast<std::size_t>(out.nnz);
  return nb::make_tuple(own(std::move(out.starts), static_cast<std::size_t>(d + 1)),
                        own(std::move(out.rows), nnz), own(std::move(out.values), nnz));
}

template <class T>
nb::object fortran(Matrix<T> a, int threads) {
  const auto n = static_cast<std::int64_t>(a.shape(0)), d = static_cast<std::int64_t>(a.shape(1));
  Watch watch(signalled, infinity);
  std::unique_ptr<T[]> out;
  {
    WithoutGil nogil;
    out = to_fortran(a.data(), n, d, a.stride(0), threads, watch);
  }
  raise_if_interrupted(watch);
  return own(std::move(out), static_cast<std::size_t>(n * d));
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

template <class T>
void bind_matrices(nb::module_& m) {
  m.def("dense", &dense<T>);
  m.def("fortran", &fortran<T>, nb::arg("a"), nb::arg("threads"));
  m.def("csc", &csc<T, std::int32_t>);
  m.def("csc", &csc<T, std::int64_t>);
  m.def("transpose", &transpose<T, std::int32_t>);
  m.def("transpose", &transpose<T, std::int64_t>);
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
  nb::class_<Design>(m, "Design").def_ro("rows", &Design::rows).def_ro("cols", &Design::cols);
  bind_matrices<double>(m);
  bind_matrices<float>(m);
  m.def("disk64", &on_disk<double>);
  m.def("disk32", &on_disk<float>);
  m.def("remote64", &remote<SparseColumns<double>>);
  m.def("remote32", &remote<SparseColumns<float>>);
  m.def("remote_dense64", &remote<DenseColumns<double>>);
  m.def("remote_dense32", &remote<DenseColumns<float>>);
  m.def("scan", &scan, nb::arg("design"), nb::arg("v"), nb::arg("which").none(),
        nb::arg("threads") = 1);
  m.def("survey", &survey, nb::arg("design"), nb::arg("w").none(), nb::arg("v"),
        nb::arg("threads") = 1);
  m.def("gram", &gram_of, nb::arg("design"), nb::arg("h").none());
  m.def("checksum", &checksum<std::int32_t>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("checksum", &checksum<std::int64_t>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("checksum", &checksum<float>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("checksum", &checksum<double>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("structure", &structure<std::int32_t>);
  m.def("structure", &structure<std::int64_t>);

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
  nb::class_<Spectrum>(m, "Spectrum")
      .def_ro("rho", &Spectrum::rho)
      .def_ro("engine", &Spectrum::engine)
      .def_ro("shared", &Spectrum::shared);
  m.def("spectrum",
        [](Design& design, const Statement& statement, const Options& options, double tol) {
          Watch watch(signalled, infinity);
          Problem problem = statement.of(design);
          return guarded(watch, [&] { return spectrum(problem, options, tol, watch); });
        });
  m.def("ideal_p", &ideal_p, nb::arg("d"), nb::arg("rho"));
  m.def("default_threads", &default_threads);
  m.def("instructions", [] { return kernels::active().name; });
  bind_io(m);
  bind_study(m);
}
