// Shared doubles. The only place where threads touch the same memory without a barrier.
//
// Relaxed order is enough for the asynchronous engine, which needs two things only:
// - Each add to Ax, and each change of x, happens exactly once, so that Ax is A x (up to rounding)
//   when the threads have met. A read-modify-write acts on the last value of its location in any
//   memory order: none is lost, and the sum does not depend on who came first.
// - Each load gives a value that was really there, however old, and whatever the values of other
//   entries. Alg. 2 computes P updates from one Ax; a stale one is as if P were larger, and what
//   that may cost is the guard's business.
// No entry says anything about another one, so there is nothing to acquire or to release while
// threads race. What must be seen whole is read where they have met: a region publishes what was
// written before it by the release of its call, which workers acquire, and each worker's end is a
// release that the caller acquires before it goes on (threads.cpp). Only then does the guard look
// at F, and sets x and Ax back if need be: plain accesses, which nobody races with.
// tests/test_interleavings.py tries all of this on small problems.
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
