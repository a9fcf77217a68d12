// Matrices: views of arrays, files on disk, and what Python asks others about; their conversions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/shared.hpp"
#include "problem/convert.hpp"
#include "problem/remote.hpp"

namespace shotgun {
namespace {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

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
// propose(which, x, means, inv_scale, lam, lo, hi, gap, l2, g, h or None, intercept, enough).
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
  const nb::object answer = call(
      propose, owned(model.which), owned(model.x), owned(model.means), owned(model.inv_scale),
      own(lam), own(lo), own(hi), nb::cast(model.gap), nb::cast(model.penalties.front().l2),
      copied(model.g, n), copied(model.h, n), nb::cast(model.intercept), nb::cast(model.enough));
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

template <class T>
void bind_values(nb::module_& m) {
  m.def("dense", &dense<T>);
  m.def("fortran", &fortran<T>, nb::arg("a"), nb::arg("threads"));
  m.def("csc", &csc<T, std::int32_t>);
  m.def("csc", &csc<T, std::int64_t>);
  m.def("transpose", &transpose<T, std::int32_t>);
  m.def("transpose", &transpose<T, std::int64_t>);
}

}  // namespace

void bind_matrices(nb::module_& m) {
  nb::class_<Design>(m, "Design").def_ro("rows", &Design::rows).def_ro("cols", &Design::cols);
  bind_values<double>(m);
  bind_values<float>(m);
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
  m.def("checksum", &checksum<std::int32_t>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("checksum", &checksum<std::int64_t>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("checksum", &checksum<float>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("checksum", &checksum<double>, nb::arg("numbers"), nb::arg("first") = 0);
  m.def("structure", &structure<std::int32_t>);
  m.def("structure", &structure<std::int64_t>);
}

}  // namespace shotgun
