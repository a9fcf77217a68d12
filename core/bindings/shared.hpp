// What the files of the bindings share: arrays handed over to and by Python, and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "loop/solve.hpp"

namespace nb = nanobind;

namespace shotgun {

void bind_io(nb::module_& m);
void bind_study(nb::module_& m);

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = Vector<double>;

// A matrix that the core can read, and the arrays whose memory it reads.
struct Design {
  AnySource source;
  std::vector<nb::object> keep_alive;
  std::int64_t rows, cols;
};

template <class T>
nb::object own(std::unique_ptr<T[]> values, std::size_t size) {
  T* data = values.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

template <class T, class Allocator>
nb::object own(const std::vector<T, Allocator>& values) {
  auto copy = std::make_unique_for_overwrite<T[]>(values.size());
  std::copy(values.begin(), values.end(), copy.get());
  return own(std::move(copy), values.size());
}

// Ctrl-C: asks Python, at most every few hundredths of a second, whether a signal has come.
inline bool signalled() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

inline void raise_if_interrupted(const Watch& watch) {
  if (watch.reason() == Watch::Reason::interrupted) throw nb::python_error();
}

}  // namespace shotgun
