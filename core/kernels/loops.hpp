// The loops themselves. Included once by each instruction set's translation unit, which compiles it
// with its own flags. Everything here has internal linkage and includes no library template, so no
// function compiled for one instruction set can be merged by the linker with another's (ODR).
#pragma once

#include "kernels/kernels.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

using Size = std::int64_t;

// As many doubles at a time as a register holds, spelt out: left to itself, the compiler assembles
// vectors of converted floats entry by entry.
#if defined(__AVX512F__)
constexpr Size wide = 8;
#else
constexpr Size wide = 4;
#endif
using Wide = double __attribute__((vector_size(wide * sizeof(double))));
using Bits = std::uint64_t __attribute__((vector_size(wide * sizeof(double))));
template <class T>
struct Entries;
template <>
struct Entries<float> {
  using type = float __attribute__((vector_size(wide * sizeof(float))));
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
#if defined(__AVX512F__)  // else the compiler makes it of two halves
[[gnu::always_inline]] inline Wide load(const float* from) {
  return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from));
}
#endif
[[gnu::always_inline]] inline void store(const Wide& values, double* to) {
  __builtin_memcpy(to, &values, sizeof values);
}
[[gnu::always_inline]] inline double sum(const Wide& v) {
  if constexpr (wide == 8)
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
  else
    return (v[0] + v[2]) + (v[1] + v[3]);
}

// Four running vectors: enough independent chains to hide the latency of an add, and a fixed order
// of summation, so a dot product has the same bits wherever it is computed.
template <class T>
double dot(Size n, const T* a, const double* v) {
  Wide acc[4] = {};
  Size i = 0;
  for (; i + 4 * wide <= n; i += 4 * wide)
    for (Size l = 0; l < 4; ++l) acc[l] += load(a + i + l * wide) * load(v + i + l * wide);
  for (; i + wide <= n; i += wide) acc[0] += load(a + i) * load(v + i);
  double rest = 0;
  for (; i < n; ++i) rest += static_cast<double>(a[i]) * v[i];
  return sum((acc[0] + acc[2]) + (acc[1] + acc[3])) + rest;
}

// Four columns share each load of v.
template <class T>
void dot4(Size n, const T* const* a, const double* v, double* out) {
  const T *const a0 = a[0], *const a1 = a[1], *const a2 = a[2], *const a3 = a[3];
  Wide acc[4][2] = {};
  const auto step = [&](Size i, Size l) __attribute__((always_inline)) {
    const Wide vi = load(v + i);
    acc[0][l] += load(a0 + i) * vi;
    acc[1][l] += load(a1 + i) * vi;
    acc[2][l] += load(a2 + i) * vi;
    acc[3][l] += load(a3 + i) * vi;
  };
  Size i = 0;
  for (; i + 2 * wide <= n; i += 2 * wide) {
    step(i, 0);
    step(i + wide, 1);
  }
  if (i + wide <= n) {
    step(i, 0);
    i += wide;
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
  const auto step = [&](Size i, Size l) __attribute__((always_inline)) {
    const Wide value = load(a + i);
    const Wide weighted = h ? load(h + i) * value : value;
    sums[l] += weighted;
    squares[l] += weighted * value;
    if (v) products[l] += value * load(v + i);
  };
  Size i = 0;
  for (; i + 4 * wide <= n; i += 4 * wide)
    for (Size l = 0; l < 4; ++l) step(i + l * wide, l);
  for (; i + wide <= n; i += wide) step(i, 0);
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

// exp(x) for x <= 0: 2^k exp(r) with |r| <= log(2)/2, and Taylor's series for the latter. What is
// below the normal numbers becomes zero.
[[gnu::always_inline]] inline Wide exp_negative(const Wide& x) {
  constexpr double shift = 0x1.8p52;  // adding it leaves k in the last bits
  constexpr double log2_high = 0x1.62e42fefa38p-1, log2_low = 0x1.ef35793c7673p-45;
  const Wide shifted = x * 0x1.71547652b82fep0 + shift, k = shifted - shift;
  const Wide r = (x - k * log2_high) - k * log2_low;
  constexpr double series[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                               1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                               1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
  Wide sum = series[0] + Wide{};
  for (Size t = 1; t < 12; ++t) sum = sum * r + series[t];
  const Wide e = 1.0 + (r + r * r * sum);
  const Wide scaled = (Wide)((Bits)e + ((Bits)shifted << 52));
  const Wide kept = x < -708.0 ? Wide{} : scaled;
  return x == x ? kept : x;  // a NaN stays one
}

// log(1 + e) for 0 <= e <= 1: 2 artanh(s), of 1 + e or, where that is nearer to 1, of its half.
[[gnu::always_inline]] inline Wide log1p_unit(const Wide& e) {
  const auto upper = e > 0.41421356237309503;
  const Wide s = (upper ? e - 1.0 : e) / (upper ? e + 3.0 : e + 2.0), s2 = s * s;
  constexpr double series[] = {2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                               2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};
  Wide sum = series[0] + Wide{};
  for (Size t = 1; t < 10; ++t) sum = sum * s2 + series[t];
  const Wide near = 2.0 * s + s * s2 * sum;
  return upper ? near + 0x1.62e42fefa39efp-1 : near;
}

[[gnu::always_inline]] inline void logistic_wide(const double* z, const double* y, double* value,
                                                 double* derivative, double* curvature) {
  const Wide sign = load(y), margin = sign * load(z);
  const auto right = margin > 0.0;
  const Wide e = exp_negative(right ? -margin : margin), t = 1.0 + e;
  if (value) store(log1p_unit(e) - (right ? Wide{} : margin), value);
  if (derivative) store(-sign * ((right ? e : 1.0 + Wide{}) / t), derivative);
  if (curvature) store(e / (t * t), curvature);
}

void logistic(Size n, const double* z, const double* y, double* value, double* derivative,
              double* curvature) {
  const auto from = [](double* out, Size i) { return out ? out + i : nullptr; };
  Size i = 0;
  for (; i + wide <= n; i += wide)
    logistic_wide(z + i, y + i, from(value, i), from(derivative, i), from(curvature, i));
  if (i == n) return;
  double in[2][wide] = {}, out[3][wide];
  const auto rest = static_cast<unsigned long>(n - i) * sizeof(double);
  __builtin_memcpy(in[0], z + i, rest);
  __builtin_memcpy(in[1], y + i, rest);
  logistic_wide(in[0], in[1], out[0], out[1], out[2]);
  if (value) __builtin_memcpy(value + i, out[0], rest);
  if (derivative) __builtin_memcpy(derivative + i, out[1], rest);
  if (curvature) __builtin_memcpy(curvature + i, out[2], rest);
}

template <class T>
constexpr shotgun::kernels::Table<T> table{dot<T>, dots<T>, axpy<T>, axpys<T>, moments<T>};

}  // namespace
