// The few hot dense loops, one implementation per instruction set, behind one table.
#pragma once

#include <cstdint>

namespace shotgun::kernels {

// Values of A are T (float or double); everything that is accumulated is double.
template <class T>
struct Table {
  // sum_i a_i v_i
  double (*dot)(std::int64_t n, const T* a, const double* v);
  // out_k += sum_i a_ik v_i for `count` columns
  void (*dots)(std::int64_t n, std::int64_t count, const T* const* a, const double* v, double* out);
  // v += delta a, and v += delta h.a where h is given
  void (*axpy)(std::int64_t n, double delta, const T* a, const double* h, double* v);
  // v += h.(sum_k delta_k a_k)
  void (*axpys)(std::int64_t n, std::int64_t count, const T* const* a, const double* delta,
                const double* h, double* v);
  // sum_i h_i a_i and sum_i h_i a_i^2 (h = 1 where absent), and sum_i a_i v_i (v = 0 where absent)
  void (*moments)(std::int64_t n, const T* a, const double* h, const double* v, double* sum,
                  double* sum_of_squares, double* dot);
};

// The logistic loss log(1 + exp(-y_i z_i)) of n rows, y_i = -1 or +1, and its first two derivatives
// in z_i; what is null is not wanted. Within a few units in the last place.
using Logistic = void (*)(std::int64_t n, const double* z, const double* y, double* value,
                          double* derivative, double* curvature);

struct Instructions {
  const char* name;
  Logistic logistic;
  Table<double> f64;
  Table<float> f32;
};

const Instructions& baseline();
const Instructions& avx2();
const Instructions& avx512();

// Whether this processor runs it.
bool runs(const Instructions& set);
// The best set that this processor runs; chosen once, at first use.
const Instructions& active();

template <class T>
const Table<T>& active_table();
template <>
inline const Table<double>& active_table<double>() {
  return active().f64;
}
template <>
inline const Table<float>& active_table<float>() {
  return active().f32;
}

}  // namespace shotgun::kernels
