// Shared doubles. The only place where threads touch the same memory without a barrier.
//
// Relaxed order is enough for the asynchronous engine: it needs each add to Ax to happen exactly
// once (fetch_add is one atomic read-modify-write, so none is lost) and each load to give some
// value that was really there, however old. It needs no order between different entries, since Alg.
// 2 allows any staleness; and everything that must be seen whole is read after a barrier, which
// orders all.
#pragma once

#include <atomic>

namespace shotgun {

inline double atomic_load(double& shared) {
  return std::atomic_ref<double>(shared).load(std::memory_order_relaxed);
}

inline void atomic_add(double& shared, double amount) {
  std::atomic_ref<double>(shared).fetch_add(amount, std::memory_order_relaxed);
}

// shared = change(shared), whoever else is at it; returns by how much it moved.
template <class Change>
double atomic_change(double& shared, Change&& change) {
  std::atomic_ref<double> ref(shared);
  double old = ref.load(std::memory_order_relaxed);
  double next = change(old);
  while (!ref.compare_exchange_weak(old, next, std::memory_order_relaxed)) next = change(old);
  return next - old;
}

}  // namespace shotgun
