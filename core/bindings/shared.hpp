// What the files of the bindings share: arrays handed over to and by Python, the GIL, Ctrl-C and
// errors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "io/disk.hpp"
#include "loop/solve.hpp"

namespace nb = nanobind;

namespace shotgun {

void bind_matrices(nb::module_& m);
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

// Runs `python`, which waits for the GIL. When Python ends meanwhile, a daemon thread never gets
// it: before Python 3.14 its stack is unwound instead, which destructors do not survive. Such a
// thread sleeps here until the process is gone, as it does in later ones.
[[noreturn]] inline void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}
template <class Body>
auto or_sleep(Body&& python) {
#if defined(__GLIBCXX__)
  try {
    return python();
  } catch (abi::__forced_unwind&) {
    sleep_for_ever();
  }
#else
  return python();
#endif
}

class WithoutGil {
 public:
  WithoutGil() = default;
  ~WithoutGil() {
    or_sleep([&] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_ = PyEval_SaveThread();
};

// Whether Python ends: towards the end of that it forgets its threads, and who asks for the GIL as
// one that it does not know crashes.
inline bool python_ends() {
#if defined(Py_LIMITED_API)
  return false;
#elif PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

class WithGil {
 public:
  WithGil() {
    if (python_ends()) sleep_for_ever();
    state_ = or_sleep(PyGILState_Ensure);
  }
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// What Python code answers. No other C++ may lie between it and or_sleep.
template <class... Arguments>
nb::object call(const nb::callable& python, const Arguments&... arguments) {
  PyObject* given[] = {arguments.ptr()...};
  PyObject* answer = or_sleep(
      [&] { return PyObject_Vectorcall(python.ptr(), given, sizeof...(arguments), nullptr); });
  if (!answer) throw nb::python_error();
  return nb::steal(answer);
}

// Ctrl-C: asks Python, at most every few hundredths of a second, whether a signal has come.
inline bool signalled() {
  WithGil gil;
  return or_sleep(PyErr_CheckSignals) != 0;
}

inline void raise_if_interrupted(const Watch& watch) {
  if (watch.reason() == Watch::Reason::interrupted) throw nb::python_error();
}

[[noreturn]] inline void raise_os_error(const std::system_error& e) {
  PyErr_SetString(PyExc_OSError, e.what());
  throw nb::python_error();
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
    throw nb::value_error(
        "y, offset, weights or bounds are too large: F at x = 0 (or as near as bounds allow) "
        "overflows");
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

}  // namespace shotgun
