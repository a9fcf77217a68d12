// The simplest coordinate descent that one would write by hand: dot, soft threshold, axpy. What the
// core's inner loop is measured against; see kernels.py. Nothing here is clever on purpose.
#include <cmath>
#include <cstdint>

namespace {

double soft_threshold(double v, double lam) {
  if (v > lam) return v - lam;
  if (v < -lam) return v + lam;
  return 0;
}

}  // namespace

// `order` holds the coordinates of all epochs one after another; r = y - Ax is kept up to date.
extern "C" void csc_epochs(int64_t updates, const int64_t* order, const double* values,
                           const int32_t* rows, const int32_t* starts, const double* norm2,
                           double lam, double* x, double* r) {
  for (int64_t t = 0; t < updates; ++t) {
    const int64_t j = order[t];
    double dot = 0;
    for (int32_t p = starts[j]; p < starts[j + 1]; ++p) dot += values[p] * r[rows[p]];
    if (norm2[j] == 0) continue;
    const double next = soft_threshold(norm2[j] * x[j] + dot, lam) / norm2[j];
    const double delta = next - x[j];
    if (delta == 0) continue;
    x[j] = next;
    for (int32_t p = starts[j]; p < starts[j + 1]; ++p) r[rows[p]] -= delta * values[p];
  }
}

extern "C" void dense_epochs(int64_t updates, const int64_t* order, int64_t n, const double* values,
                             const double* norm2, double lam, double* x, double* r) {
  for (int64_t t = 0; t < updates; ++t) {
    const int64_t j = order[t];
    const double* a = values + j * n;
    double dot = 0;
    for (int64_t i = 0; i < n; ++i) dot += a[i] * r[i];
    if (norm2[j] == 0) continue;
    const double next = soft_threshold(norm2[j] * x[j] + dot, lam) / norm2[j];
    const double delta = next - x[j];
    if (delta == 0) continue;
    x[j] = next;
    for (int64_t i = 0; i < n; ++i) r[i] -= delta * a[i];
  }
}

// Reads everything once; integers, so that the compiler may use vectors.
extern "C" uint64_t read_all(int64_t size, const uint64_t* values) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += values[i];
  return sum;
}
