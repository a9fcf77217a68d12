// The loops themselves. Included once by each instruction set's translation unit, which compiles it
// with its own flags. Everything here has internal linkage and includes no library template, so no
// function compiled for one instruction set can be merged by the linker with another's (ODR).
#pragma once

#include "kernels/kernels.hpp"

namespace {

using Size = std::int64_t;

// Sixteen running sums: enough independent chains to hide the latency of an add, and a fixed order
// of summation, so a dot product has the same bits wherever it is computed.
constexpr Size lanes = 16;

inline double sum_lanes(const double* acc) {
  double pair[8];
  for (Size l = 0; l < 8; ++l) pair[l] = acc[l] + acc[l + 8];
  return ((pair[0] + pair[4]) + (pair[2] + pair[6])) + ((pair[1] + pair[5]) + (pair[3] + pair[7]));
}

template <class T>
double dot(Size n, const T* __restrict a, const double* __restrict v) {
  double acc[lanes] = {};
  Size i = 0;
  for (; i + lanes <= n; i += lanes)
    for (Size l = 0; l < lanes; ++l) acc[l] += static_cast<double>(a[i + l]) * v[i + l];
  for (Size l = 0; i < n; ++i, ++l) acc[l] += static_cast<double>(a[i]) * v[i];
  return sum_lanes(acc);
}

// Four columns share each load of v.
template <class T>
void dot4(Size n, const T* const* a, const double* __restrict v, double* __restrict out) {
  const T *const a0 = a[0], *const a1 = a[1], *const a2 = a[2], *const a3 = a[3];
  constexpr Size width = 8;
  double acc[4][width] = {};
  Size i = 0;
  for (; i + width <= n; i += width)
    for (Size l = 0; l < width; ++l) {
      acc[0][l] += static_cast<double>(a0[i + l]) * v[i + l];
      acc[1][l] += static_cast<double>(a1[i + l]) * v[i + l];
      acc[2][l] += static_cast<double>(a2[i + l]) * v[i + l];
      acc[3][l] += static_cast<double>(a3[i + l]) * v[i + l];
    }
  for (Size l = 0; i < n; ++i, ++l)
    for (Size k = 0; k < 4; ++k) acc[k][l] += static_cast<double>(a[k][i]) * v[i];
  for (Size k = 0; k < 4; ++k)
    out[k] += ((acc[k][0] + acc[k][4]) + (acc[k][2] + acc[k][6])) +
              ((acc[k][1] + acc[k][5]) + (acc[k][3] + acc[k][7]));
}

template <class T>
void dots(Size n, Size count, const T* const* a, const double* v, double* out) {
  Size k = 0;
  for (; k + 4 <= count; k += 4) dot4(n, a + k, v, out + k);
  for (; k < count; ++k) out[k] += dot(n, a[k], v);
}

template <class T>
void axpy(Size n, double delta, const T* __restrict a, const double* __restrict h,
          double* __restrict v) {
  if (h)
    for (Size i = 0; i < n; ++i) v[i] += delta * h[i] * static_cast<double>(a[i]);
  else
    for (Size i = 0; i < n; ++i) v[i] += delta * static_cast<double>(a[i]);
}

template <class T>
void axpy4(Size n, const T* const* a, const double* delta, const double* __restrict h,
           double* __restrict v) {
  const double d0 = delta[0], d1 = delta[1], d2 = delta[2], d3 = delta[3];
  const T* __restrict a0 = a[0], * __restrict a1 = a[1], * __restrict a2 = a[2], * __restrict a3 = a[3];
  if (h)
    for (Size i = 0; i < n; ++i)
      v[i] += h[i] * ((d0 * static_cast<double>(a0[i]) + d1 * static_cast<double>(a1[i])) +
                      (d2 * static_cast<double>(a2[i]) + d3 * static_cast<double>(a3[i])));
  else
    for (Size i = 0; i < n; ++i)
      v[i] += (d0 * static_cast<double>(a0[i]) + d1 * static_cast<double>(a1[i])) +
              (d2 * static_cast<double>(a2[i]) + d3 * static_cast<double>(a3[i]));
}

template <class T>
void axpys(Size n, Size count, const T* const* a, const double* delta, const double* h, double* v) {
  Size k = 0;
  for (; k + 4 <= count; k += 4) {
    const bool still = delta[k] == 0 && delta[k + 1] == 0 && delta[k + 2] == 0 && delta[k + 3] == 0;
    if (!still) axpy4(n, a + k, delta + k, h, v);
  }
  for (; k < count; ++k)
    if (delta[k] != 0) axpy(n, delta[k], a[k], h, v);
}

template <class T>
void moments(Size n, const T* __restrict a, const double* __restrict h, double* sum,
             double* sum_of_squares) {
  double first[lanes] = {}, second[lanes] = {};
  auto add = [&](Size i, Size l) {
    const double value = static_cast<double>(a[i]), weighted = h ? h[i] * value : value;
    first[l] += weighted;
    second[l] += weighted * value;
  };
  Size i = 0;
  for (; i + lanes <= n; i += lanes)
    for (Size l = 0; l < lanes; ++l) add(i + l, l);
  for (Size l = 0; i < n; ++i, ++l) add(i, l);
  *sum = sum_lanes(first);
  *sum_of_squares = sum_lanes(second);
}

template <class T>
constexpr shotgun::kernels::Table<T> table{dot<T>, dots<T>, axpy<T>, axpys<T>, moments<T>};

}  // namespace
