// Why P threads are less than P times as fast (section 4.3: the memory wall). Updates of the
// asynchronous engine with one cost removed at a time, and what the machine could do at best.
#pragma once

#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "engine/order.hpp"
#include "engine/update.hpp"
#include "kernels/kernels.hpp"
#include "parallel/atomic.hpp"
#include "problem/design.hpp"
#include "problem/memory.hpp"

namespace shotgun::study {

// How an update of a weight reaches Ax.
enum class Write {
  atomic,    // as the paper timed it: shared, every add an atomic operation
  plain,     // shared, but an add is a load and a store, so that some are lost
  private_,  // each thread has an Ax of its own: nothing is shared
  none       // not at all: Ax is only read
};

struct Variant {
  Write write = Write::atomic;
  bool random = true;  // columns; else in order
};

struct Cost {
  double seconds = 0;
  int threads = 1;                                   // that really ran
  std::int64_t updates = 0, entries = 0;             // the latter are those of A that were visited,
  std::int64_t written = 0;                          // and those of Ax that were written
  double bytes_A = 0, bytes_Ax = 0, operations = 0;  // per update
  double moved = 0;                                  // sum of |delta|: updates that really happened
};

template <class Body>
double seconds_of(Body&& body) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <Columns C>
constexpr std::size_t entry_bytes() {
  if constexpr (C::dense)
    return sizeof(*Handle<C>{});
  else
    return sizeof(*Handle<C>::values) + sizeof(*Handle<C>::rows);
}

// Epochs of Lasso updates from x = 0.
template <Columns C>
class MemoryWall {
 public:
  MemoryWall(C A, std::span<const double> y, double lam)
      : A_(A), y_(y), penalty_{.lam = lam}, squares_(static_cast<std::size_t>(A.count())) {
    double sum;
    for (std::int64_t k = 0; k < A.count(); ++k) A.moments(k, nullptr, &sum, &squares_[at(k)]);
  }

  Cost epoch(Variant variant, int threads, std::uint64_t seed) {
    x_.assign(at(A_.count()), 0.0);
    g_.assign(variant.write == Write::private_ ? at(threads) : 1, {});
    for (std::vector<double>& g : g_)
      for (double y : y_) g.push_back(-y);
    std::vector<Cost> parts(at(threads));
    Cost cost;
    cost.seconds = seconds_of([&] {
      cost.threads = run_region(
          threads, [&](Team team) { parts[at(team.thread)] = shoot(variant, team, seed); });
    });
    for (const Cost& part : parts) {
      cost.updates += part.updates;
      cost.entries += part.entries;
      cost.written += part.written;
      cost.moved += part.moved;
    }
    const auto per_update = 1 / static_cast<double>(cost.updates);
    const auto read = static_cast<double>(cost.entries), wrote = static_cast<double>(cost.written);
    cost.bytes_A = per_update * read * static_cast<double>(entry_bytes<C>());
    cost.bytes_Ax = per_update * (read + wrote) * sizeof(double);
    cost.operations = per_update * 2 * (read + wrote);
    return cost;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  Cost shoot(Variant variant, Team team, std::uint64_t seed) {
    switch (variant.write) {
      case Write::atomic:
        return shoot<Write::atomic>(variant.random, team, seed);
      case Write::plain:
        return shoot<Write::plain>(variant.random, team, seed);
      case Write::private_:
        return shoot<Write::private_>(variant.random, team, seed);
      default:
        return shoot<Write::none>(variant.random, team, seed);
    }
  }
  // One thread's share of the epoch.
  template <Write write>
  Cost shoot(bool random_order, Team team, std::uint64_t seed) {
    Cost cost;
    std::vector<double>& g = g_[write == Write::private_ ? at(team.thread) : 0];
    Random random(seed + static_cast<std::uint64_t>(team.thread));
    const Range mine = share(A_.count(), team.thread, team.threads);
    for (std::int64_t t = mine.begin; t < mine.end; ++t) {
      const std::int64_t k = random_order ? random.below(A_.count()) : t;
      const double x = atomic_load(x_[at(k)]);
      const double delta = update(penalty_, x, dot<write>(k, g), squares_[at(k)]);
      cost.entries += A_.nonzeros(k);
      if (delta == 0) continue;
      move<write>(x_[at(k)], delta);
      if constexpr (write != Write::none) {
        add<write>(k, delta, g);
        cost.written += A_.nonzeros(k);
      }
      cost.moved += std::abs(delta);
    }
    cost.updates = mine.size();
    return cost;
  }

  // Loads that race with stores must be atomic, which leaves them scalar; where nothing races the
  // kernels do it.
  template <Write write>
  double dot(std::int64_t k, std::vector<double>& g) const {
    if constexpr (write == Write::private_ || write == Write::none) return A_.dot(k, g.data());
    double sum = 0;
    A_.visit(k, {0, A_.rows()}, [&](Row i, double a) { sum += a * atomic_load(g[at(i)]); });
    return sum;
  }
  template <Write write>
  void add(std::int64_t k, double delta, std::vector<double>& g) const {
    if constexpr (write == Write::private_) return A_.axpy(k, delta, nullptr, g.data());
    A_.visit(k, {0, A_.rows()}, [&](Row i, double a) { move<write>(g[at(i)], delta * a); });
  }
  template <Write write>
  static void move(double& shared, double amount) {
    if constexpr (write == Write::atomic) return atomic_add(shared, amount);
    std::atomic_ref<double>(shared).store(atomic_load(shared) + amount, std::memory_order_relaxed);
  }

  C A_;
  std::span<const double> y_;
  Penalty penalty_;
  std::vector<double> squares_, x_;
  std::vector<std::vector<double>> g_;
};

// The least of a few runs of body(team) on all threads.
template <class Body>
double least_seconds(int threads, Body&& body) {
  double least = infinity;
  for (int pass = 0; pass < 5; ++pass)
    least = std::min(least, seconds_of([&] { run_region(threads, body); }));
  return least;
}

// Bytes per second that `threads` threads read in order from `bytes` of memory. Integers, so that
// the compiler may use vectors.
inline double read_speed(std::int64_t bytes, int threads) {
  const std::int64_t words = bytes / 8;
  Memory<std::uint64_t> memory(static_cast<std::size_t>(words));
  std::fill(memory.data(), memory.data() + words, 1);
  std::atomic<std::uint64_t> total{0};
  const double seconds = least_seconds(threads, [&](Team team) {
    const Range mine = share(words, team.thread, team.threads);
    total +=
        std::accumulate(memory.data() + mine.begin, memory.data() + mine.end, std::uint64_t{0});
  });
  return total == 0 ? 0.0 : static_cast<double>(8 * words) / seconds;
}

// Multiplications and additions per second of dot products that stay in the first cache.
inline double arithmetic_speed(int threads) {
  constexpr std::int64_t size = 1024, repeats = 5'000;
  std::atomic<double> total{0};
  const double seconds = least_seconds(threads, [&](Team) {
    std::vector<double> a(size, 1.0), v(size, 1.0);
    double sum = 0;
    for (std::int64_t r = 0; r < repeats; ++r) {
      v[0] = sum;
      sum = 1e-3 * kernels::active_table<double>().dot(size, a.data(), v.data());
    }
    total += sum;
  });
  return total > 0 ? 2.0 * size * repeats * threads / seconds : 0.0;
}

// Seconds until a load from `bytes` of memory answers when nothing foretells its address: each
// entry holds the place of the next, all on one random cycle (Sattolo's).
inline double latency(std::int64_t bytes) {
  constexpr std::int64_t line = 16, hops = 1'000'000;  // one entry per cache line
  const std::int64_t lines = bytes / (line * 4);
  std::vector<std::uint32_t> place(static_cast<std::size_t>(lines));
  std::iota(place.begin(), place.end(), 0u);
  Random random(0);
  for (std::size_t left = place.size() - 1; left > 0; --left)
    std::swap(place[left],
              place[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(left)))]);
  Memory<std::uint32_t> memory(static_cast<std::size_t>(lines * line));
  for (std::int64_t l = 0; l < lines; ++l)
    memory.data()[l * line] = place[static_cast<std::size_t>(l)];
  std::uint32_t here = 0;
  const double seconds = seconds_of([&] {
    for (std::int64_t h = 0; h < hops; ++h) here = memory.data()[here * line];
  });
  return here < lines ? seconds / hops : 0.0;
}

}  // namespace shotgun::study
