// What reads files: text in, arrays out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <limits>

#include "bindings/shared.hpp"
#include "io/svmlight.hpp"

namespace shotgun {
namespace {

template <class T>
nb::dict to_python(svmlight::Table<T> table) {
  const auto n = static_cast<std::size_t>(table.rows), d = static_cast<std::size_t>(table.features);
  nb::dict out;
  std::visit(
      [&](auto& A) {
        const auto nnz = static_cast<std::size_t>(A.nnz);
        out["values"] = own(std::move(A.values), nnz);
        out["rows"] = own(std::move(A.rows), nnz);
        out["starts"] = own(std::move(A.starts), d + 1);
      },
      table.A);
  const bool weighted = table.weights != nullptr;
  out["y"] = own(std::move(table.y), n);
  out["weights"] = weighted ? own(std::move(table.weights), n) : nb::none();
  out["zero_based"] = table.zero_based;
  out["qid_line"] = table.qid_line;
  return out;
}

template <class T>
nb::dict read(const svmlight::Text& text, const svmlight::Options& options) {
  Watch watch(signalled, std::numeric_limits<double>::infinity());
  svmlight::Table<T> table;
  {
    WithoutGil nogil;
    table = svmlight::read<T>(text, options, watch);
  }
  raise_if_interrupted(watch);
  return to_python(std::move(table));
}

// lines_before: those of the file that come before the text.
nb::dict read_as(const svmlight::Text& text, const std::string& name, bool single,
                 const svmlight::Options& options, std::int64_t lines_before) {
  try {
    return single ? read<float>(text, options) : read<double>(text, options);
  } catch (const svmlight::Malformed& e) {
    throw nb::value_error((name + ":" + std::to_string(lines_before + e.line) + ":" +
                           std::to_string(e.column) + ": " + e.what())
                              .c_str());
  }
}

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

}  // namespace

void bind_io(nb::module_& m) {
  nb::class_<svmlight::Options>(m, "SvmlightOptions")
      .def(nb::init<>())
      .def_rw("zero_based", &svmlight::Options::zero_based)
      .def_rw("features", &svmlight::Options::features)
      .def_rw("threads", &svmlight::Options::threads)
      .def_rw("grain", &svmlight::Options::grain)
      .def_rw("window", &svmlight::Options::window);
  m.def("svmlight_file", [](int descriptor, std::int64_t size, const std::string& name, bool single,
                            const svmlight::Options& options) {
    return read_as(svmlight::in_file(descriptor, size), name, single, options, 0);
  });
  m.def(
      "svmlight_bytes",
      [](Bytes bytes, const std::string& name, bool single, const svmlight::Options& options,
         std::int64_t lines_before) {
        const auto* data = reinterpret_cast<const char*>(bytes.data());
        return read_as(svmlight::in_memory({data, bytes.size()}), name, single, options,
                       lines_before);
      },
      nb::arg("bytes"), nb::arg("name"), nb::arg("single"), nb::arg("options"),
      nb::arg("lines_before") = 0);
}

}  // namespace shotgun
