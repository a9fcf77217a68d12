// The paper's study: its stochastic competitors, and the memory wall.
#include "bindings/shared.hpp"
#include "study/memory_wall.hpp"
#include "study/sgd.hpp"
#include "study/smidas.hpp"

namespace shotgun::study {
namespace {

// Calls body with all columns of the design.
template <class Body>
auto with_columns(Design& design, Body&& body) {
  return std::visit(
      [&]<class C>(std::unique_ptr<Source<C>>& source) {
        std::vector<Column> all(static_cast<std::size_t>(design.cols));
        std::iota(all.begin(), all.end(), 0);
        std::vector<Handle<C>> handles;
        source->borrow(all, handles);
        return body(C(design.rows, handles));
      },
      design.source);
}

std::span<const double> view(const Doubles& v) { return {v.data(), v.size()}; }

template <class Method>
Method start(Doubles x, Vector<std::int64_t> samples, double lam, double rate, bool decays,
             std::uint64_t seed) {
  std::vector<std::int64_t> mine(samples.data(), samples.data() + samples.size());
  return Method(view(x), {Passes(std::move(mine), seed), Rate(rate, decays), lam});
}

template <class Method>
void run(Method& method, Design& rows, Doubles y, std::int64_t steps) {
  Watch watch(signalled, infinity);
  {
    WithoutGil nogil;
    with_columns(rows, [&](const auto& R) { method.run(R, view(y), steps, watch); });
  }
  raise_if_interrupted(watch);
}

template <class Method>
nb::class_<Method> bind_method(nb::module_& m, const char* name) {
  return nb::class_<Method>(m, name)
      .def(nb::new_(&start<Method>), nb::arg("x"), nb::arg("samples"), nb::arg("lam"),
           nb::arg("rate"), nb::arg("decays"), nb::arg("seed"))
      .def("run", &run<Method>, nb::arg("rows"), nb::arg("y"), nb::arg("steps"))
      .def_prop_ro("x", [](Method& method) { return own(method.x()); });
}

Cost epoch(Design& design, Doubles y, double lam, Write write, bool random, int threads,
           std::uint64_t seed) {
  WithoutGil nogil;
  return with_columns(design, [&](const auto& A) {
    return MemoryWall(A, view(y), lam).epoch({write, random}, threads, seed);
  });
}

}  // namespace
}  // namespace shotgun::study

namespace shotgun {

void bind_study(nb::module_& m) {
  using namespace study;
  bind_method<Sgd>(m, "Sgd");
  bind_method<Smidas>(m, "Smidas")
      .def_prop_ro("p", &Smidas::p)
      .def_prop_ro("theta", [](const Smidas& method) { return own(method.theta()); });

  nb::enum_<Write>(m, "Write")
      .value("atomic", Write::atomic)
      .value("plain", Write::plain)
      .value("private", Write::private_)
      .value("none", Write::none);
  nb::class_<Cost>(m, "Cost")
      .def_ro("seconds", &Cost::seconds)
      .def_ro("threads", &Cost::threads)
      .def_ro("updates", &Cost::updates)
      .def_ro("entries", &Cost::entries)
      .def_ro("written", &Cost::written)
      .def_ro("bytes_A", &Cost::bytes_A)
      .def_ro("bytes_Ax", &Cost::bytes_Ax)
      .def_ro("operations", &Cost::operations)
      .def_ro("moved", &Cost::moved);
  m.def("memory_wall_epoch", &epoch, nb::arg("design"), nb::arg("y"), nb::arg("lam"),
        nb::arg("write"), nb::arg("random"), nb::arg("threads"), nb::arg("seed"));
  m.def("read_speed", &read_speed, nb::arg("bytes"), nb::arg("threads"),
        nb::call_guard<WithoutGil>());
  m.def("arithmetic_speed", &arithmetic_speed, nb::arg("threads"), nb::call_guard<WithoutGil>());
  m.def("latency", &latency, nb::arg("bytes"), nb::call_guard<WithoutGil>());
}

}  // namespace shotgun
