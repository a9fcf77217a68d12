// The loops themselves. Included once by each instruction set's translation unit, which compiles it
// with its own flags. Everything here has internal linkage and includes no library template, so no
// function compiled for one instruction set can be merged by the linker with another's (ODR).
#pragma once

#include "kernels/kernels.hpp"

namespace {

using Size = std::int64_t;

// Four doubles at a time, spelt out: left to itself, the compiler assembles vectors of converted
// floats entry by entry.
using Wide = double __attribute__((vector_size(32)));
constexpr Size wide = 4;
template <class T>
struct Entries;
template <>
struct Entries<float> {
  using type = float __attribute__((vector_size(16)));
};
template <>
struct Entries<double> {
  using type = Wide;
};
template <class T>
[[gnu::always_inline]] inline Wide load(const T* from) {
  typename Entries<T>::type entries;
  __builtin_memcpy(&entries, from, sizeof entries);
  return __builtin_convertvector(entries, Wide);
}
[[gnu::always_inline]] inline void store(const Wide& values, double* to) {
  __builtin_memcpy(to, &values, sizeof values);
}
[[gnu::always_inline]] inline double sum(const Wide& v) { return (v[0] + v[2]) + (v[1] + v[3]); }

// Four running vectors: enough independent chains to hide the latency of an add, and a fixed order
// of summation, so a dot product has the same bits wherever it is computed.
template <class T>
double dot(Size n, const T* a, const double* v) {
  Wide acc[4] = {};
  Size i = 0;
  for (; i + 4 * wide <= n; i += 4 * wide)
    for (Size l = 0; l < 4; ++l) acc[l] += load(a + i + l * wide) * load(v + i + l * wide);
  double rest = 0;
  for (; i < n; ++i) rest += static_cast<double>(a[i]) * v[i];
  return sum((acc[0] + acc[2]) + (acc[1] + acc[3])) + rest;
}

// Four columns share each load of v.
template <class T>
void dot4(Size n, const T* const* a, const double* v, double* out) {
  const T *const a0 = a[0], *const a1 = a[1], *const a2 = a[2], *const a3 = a[3];
  Wide acc[4][2] = {};
  Size i = 0;
  for (; i + 2 * wide <= n; i += 2 * wide)
    for (Size l = 0; l < 2; ++l) {
      const Wide vi = load(v + i + l * wide);
      acc[0][l] += load(a0 + i + l * wide) * vi;
      acc[1][l] += load(a1 + i + l * wide) * vi;
      acc[2][l] += load(a2 + i + l * wide) * vi;
      acc[3][l] += load(a3 + i + l * wide) * vi;
    }
  double rest[4] = {};
  for (; i < n; ++i)
    for (Size k = 0; k < 4; ++k) rest[k] += static_cast<double>(a[k][i]) * v[i];
  for (Size k = 0; k < 4; ++k) out[k] += sum(acc[k][0] + acc[k][1]) + rest[k];
}

template <class T>
void dots(Size n, Size count, const T* const* a, const double* v, double* out) {
  Size k = 0;
  for (; k + 4 <= count; k += 4) dot4(n, a + k, v, out + k);
  for (; k < count; ++k) out[k] += dot(n, a[k], v);
}

// v += h.(sum_k delta_k a_k) for `count` columns, h = 1 where absent.
template <Size count, class T>
void add(Size n, const T* const* columns, const double* delta, const double* h, double* v) {
  const T* a[count];
  double d[count];
  for (Size k = 0; k < count; ++k) {
    a[k] = columns[k];
    d[k] = delta[k];
  }
  Size i = 0;
  for (; i + wide <= n; i += wide) {
    Wide step = d[0] * load(a[0] + i);
    for (Size k = 1; k < count; ++k) step += d[k] * load(a[k] + i);
    store(load(v + i) + (h ? load(h + i) * step : step), v + i);
  }
  for (; i < n; ++i) {
    double step = d[0] * static_cast<double>(a[0][i]);
    for (Size k = 1; k < count; ++k) step += d[k] * static_cast<double>(a[k][i]);
    v[i] += h ? h[i] * step : step;
  }
}

template <class T>
void axpy(Size n, double delta, const T* a, const double* h, double* v) {
  add<1>(n, &a, &delta, h, v);
}

template <class T>
void axpys(Size n, Size count, const T* const* a, const double* delta, const double* h, double* v) {
  Size k = 0;
  for (; k + 4 <= count; k += 4) {
    const bool still = delta[k] == 0 && delta[k + 1] == 0 && delta[k + 2] == 0 && delta[k + 3] == 0;
    if (!still) add<4>(n, a + k, delta + k, h, v);
  }
  for (; k < count; ++k)
    if (delta[k] != 0) axpy(n, delta[k], a[k], h, v);
}

template <class T>
void moments(Size n, const T* a, const double* h, const double* v, double* first, double* second,
             double* dot) {
  Wide sums[4] = {}, squares[4] = {}, products[4] = {};
  Size i = 0;
  for (; i + 4 * wide <= n; i += 4 * wide)
    for (Size l = 0; l < 4; ++l) {
      const Wide value = load(a + i + l * wide);
      const Wide weighted = h ? load(h + i + l * wide) * value : value;
      sums[l] += weighted;
      squares[l] += weighted * value;
      if (v) products[l] += value * load(v + i + l * wide);
    }
  *first = sum((sums[0] + sums[2]) + (sums[1] + sums[3]));
  *second = sum((squares[0] + squares[2]) + (squares[1] + squares[3]));
  *dot = sum((products[0] + products[2]) + (products[1] + products[3]));
  for (; i < n; ++i) {
    const double value = static_cast<double>(a[i]), weighted = h ? h[i] * value : value;
    *first += weighted;
    *second += weighted * value;
    if (v) *dot += value * v[i];
  }
}

template <class T>
constexpr shotgun::kernels::Table<T> table{dot<T>, dots<T>, axpy<T>, axpys<T>, moments<T>};

}  // namespace
