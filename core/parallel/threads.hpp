// The threads: a lazy pool keyed by process id, a barrier, and loops whose results do not depend on
// how many threads run them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace shotgun {

// Spins briefly, then yields: long spins are tens of times slower when another job has the core.
class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  // A millisecond is far longer than threads that have a core each wait for one another.
  static constexpr std::chrono::milliseconds long_wait{1};
  bool long_already() const { return spins_ > 50 && Clock::now() - since_ > long_wait; }
  void pause() {
    if (++spins_ > 50) {
      if (spins_ == 51) since_ = Clock::now();
      std::this_thread::yield();
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

 private:
  int spins_ = 0;
  Clock::time_point since_;
};

// All T threads of a region meet here. A phase counter instead of a flag lets it be used again at
// once. `arrived` is read-modify-written with acq_rel, so what each thread wrote before is visible
// to all after. A thread that fails will never arrive: it breaks the barrier, and whoever waits
// there, or comes later, throws Broken.
//
// Where other programs want the cores too, a thread may have to wait for its own while all others
// wait for it: a few long waits and the region is `crowded`. No result depends on the number of
// threads, so whoever meets often leaves such a region and goes on alone.
class Barrier {
 public:
  struct Broken {};

  explicit Barrier(int threads) : threads_(threads) {}
  void wait() {
    if (threads_ == 1) return;
    const unsigned phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == threads_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    Backoff backoff;
    while (phase_.load(std::memory_order_acquire) == phase) {
      if (broken_.load(std::memory_order_acquire)) throw Broken();
      backoff.pause();
    }
    if (backoff.long_already()) long_waits_.fetch_add(1, std::memory_order_relaxed);
  }
  bool crowded() const { return long_waits_.load(std::memory_order_relaxed) >= 4; }
  void shatter() { broken_.store(true, std::memory_order_release); }

 private:
  const int threads_;
  std::atomic<bool> broken_{false};
  std::atomic<int> long_waits_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> phase_{0};
};

// One thread's place in a parallel region.
struct Team {
  int thread, threads;
  Barrier& barrier;

  // chunk(c) for c in [0, count), each on one thread; all threads call this and leave it together.
  template <class Chunk>
  void each(std::int64_t count, Chunk&& chunk) const {
    for (std::int64_t c = thread; c < count; c += threads) chunk(c);
    barrier.wait();
  }
  // On one thread, while the others wait.
  template <class Body>
  void once(Body&& body) const {
    if (thread == 0) body();
    barrier.wait();
  }
};

// Calls body(team) on `threads` threads, the caller being thread 0, waits for all, and returns how
// many there were. When the pool is busy (another Python thread's fit, or a region inside a region)
// or has just been crowded, the caller runs alone: no result depends on the number of threads. The
// first exception thrown by a thread is rethrown here, once all have left the region.
int run_region(int threads, const std::function<void(Team)>& body);

// Whether crowds are heeded, as they are unless told. Tests of threads want all that they ask for.
void heed_crowds(bool heed);

// How many threads a fit uses unless told: what threadpoolctl set, else OMP_NUM_THREADS, else the
// processors that affinity and cgroup leave to this process.
int default_threads();
void set_default_threads(int threads);  // 0 forgets

// A part of [0, size) for each thread; used only where the result does not depend on the parts.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};
inline Range share(std::int64_t size, int part, int parts) {
  return {size * part / parts, size * (part + 1) / parts};
}

// Fewer threads where the work does not pay for waking them (about 30 thousand multiply-adds each).
inline int worthwhile_threads(int threads, double work) {
  constexpr double least_work = 3e4;
  return static_cast<int>(std::clamp(work / least_work, 1.0, static_cast<double>(threads)));
}

// Runs chunk(c) for c in [0, count), each once, on whichever thread is free. Returns how many
// threads there were.
template <class Chunk>
int parallel_for(int threads, std::int64_t count, Chunk&& chunk) {
  threads = static_cast<int>(std::min<std::int64_t>(threads, count));
  if (threads <= 1) {
    for (std::int64_t c = 0; c < count; ++c) chunk(c);
    return 1;
  }
  std::atomic<std::int64_t> next{0};
  return run_region(threads, [&](Team) {
    for (std::int64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < count;) chunk(c);
  });
}

// What body(p, out) appends for p in [0, count), in the order of p.
template <class T, class Body>
std::vector<T> gather(int threads, std::int64_t count, Body&& body) {
  constexpr std::int64_t block = 4096;
  const std::int64_t blocks = (count + block - 1) / block;
  std::vector<std::vector<T>> parts(static_cast<std::size_t>(blocks));
  parallel_for(worthwhile_threads(threads, 4.0 * static_cast<double>(count)), blocks,
               [&](std::int64_t b) {
                 for (auto p = b * block; p < std::min(count, (b + 1) * block); ++p)
                   body(p, parts[static_cast<std::size_t>(b)]);
               });
  if (blocks == 1) return std::move(parts[0]);
  std::size_t total = 0;
  for (const std::vector<T>& part : parts) total += part.size();
  std::vector<T> all;
  all.reserve(total);
  for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Drops what keep() does not like, the rest in order. Without branches on what it says, which no
// processor foresees.
template <class List, class Keep>
void keep_if(int threads, List& list, Keep&& keep) {
  constexpr std::size_t block = 4096;
  std::vector<std::size_t> kept((list.size() + block - 1) / block);
  parallel_for(worthwhile_threads(threads, 4.0 * static_cast<double>(list.size())),
               static_cast<std::int64_t>(kept.size()), [&](std::int64_t b) {
                 const std::size_t first = static_cast<std::size_t>(b) * block;
                 std::size_t to = first;
                 for (std::size_t from = first; from < std::min(list.size(), first + block); ++from)
                   to += keep(list[to] = list[from]) ? 1 : 0;
                 kept[static_cast<std::size_t>(b)] = to - first;
               });
  auto to = list.begin();
  for (std::size_t b = 0; b < kept.size(); ++b) {
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(b * block);
    const auto last = from + static_cast<std::ptrdiff_t>(kept[b]);
    to = to == from ? last : std::copy(from, last, to);
  }
  list.erase(to, list.end());
}

// Fixed slabs of rows: partial sums over slabs, added in slab order, have the same bits for any
// number of threads.
class Slabs {
 public:
  explicit Slabs(std::int64_t rows)
      : rows_(rows), count_(std::clamp<std::int64_t>(rows / 500, 1, 16)) {}
  int count() const { return static_cast<int>(count_); }
  Range operator[](std::int64_t slab) const {
    return {rows_ * slab / count_, rows_ * (slab + 1) / count_};
  }

 private:
  std::int64_t rows_, count_;
};

// sum over fixed blocks of rows of part(block), in their order. Part may write to its rows.
inline constexpr std::int64_t row_block = 1024;
template <class Part>
auto sum_blocks(int threads, std::int64_t rows, Part&& part) {
  using Sum = std::invoke_result_t<Part, Range>;
  const std::int64_t blocks = (rows + row_block - 1) / row_block;
  std::vector<Sum> parts(static_cast<std::size_t>(blocks));
  parallel_for(worthwhile_threads(threads, 4.0 * static_cast<double>(rows)), blocks,
               [&](std::int64_t b) {
                 parts[static_cast<std::size_t>(b)] =
                     part(Range{b * row_block, std::min(rows, (b + 1) * row_block)});
               });
  Sum sum{};
  for (const Sum& p : parts) sum += p;
  return sum;
}
// sum over rows of term(i). Term may write to row i.
template <class Term>
auto sum_rows(int threads, std::int64_t rows, Term&& term) {
  return sum_blocks(threads, rows, [&](Range block) {
    std::invoke_result_t<Term, std::int64_t> sum{};
    for (std::int64_t i = block.begin; i < block.end; ++i) sum += term(i);
    return sum;
  });
}

template <class Body>
void for_rows(int threads, std::int64_t rows, Body&& body) {
  sum_rows(threads, rows, [&](std::int64_t i) {
    body(i);
    return 0.0;
  });
}

}  // namespace shotgun
