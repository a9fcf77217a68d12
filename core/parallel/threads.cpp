#include "parallel/threads.hpp"

#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace shotgun {
namespace {

using Body = std::function<void(Team)>;

class Pool {
 public:
  explicit Pool(pid_t owner) : owner_(owner) {}
  pid_t owner() const { return owner_; }

  // The number of threads that ran, 0 when the pool is already running a region.
  int try_run(int threads, const Body& body) {
    if (in_use_.test_and_set(std::memory_order_acquire)) return 0;
    threads = grow(threads);
    start(threads, body);
    execute(0);
    Backoff backoff;
    while (running_.load(std::memory_order_acquire) != 0) backoff.pause();
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    in_use_.clear(std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return threads;
  }

 private:
  // The number of threads that can really be had: a system that refuses more is not an error.
  int grow(int threads) {
    try {
      while (workers_ < threads - 1) {
        std::thread([this, id = workers_ + 1, seen = generation_] { work(id, seen); }).detach();
        ++workers_;
      }
    } catch (const std::system_error&) {
    }
    return std::min(threads, workers_ + 1);
  }

  void start(int threads, const Body& body) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      body_ = &body;
      threads_ = threads;
      barrier_.emplace(threads);
      running_.store(threads - 1, std::memory_order_relaxed);
      ++generation_;
    }
    wake_.notify_all();
  }

  void execute(int thread) {
    try {
      (*body_)({thread, threads_, *barrier_});
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void work(int id, std::uint64_t seen) {
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return generation_ != seen; });
        seen = generation_;
        if (id >= threads_) continue;
      }
      execute(id);
      running_.fetch_sub(1, std::memory_order_release);
    }
  }

  const pid_t owner_;
  std::atomic_flag in_use_;  // not a mutex: a signal handler may ask again from the same thread
  std::mutex mutex_;
  std::condition_variable wake_;
  std::uint64_t generation_ = 0;
  int workers_ = 0;
  int threads_ = 0;
  const Body* body_ = nullptr;
  std::optional<Barrier> barrier_;
  std::atomic<int> running_{0};
  std::exception_ptr failure_;
};

// A fork copies the pool's memory but not its threads, and perhaps a locked mutex: the child leaves
// the copy alone and makes its own. Pools live until the process ends, so that a thread that is
// still running at exit never touches freed memory.
Pool& pool() {
  static std::atomic<Pool*> current{nullptr};
  Pool* mine = current.load(std::memory_order_acquire);
  const pid_t pid = getpid();
  while (!mine || mine->owner() != pid) {
    auto fresh = std::make_unique<Pool>(pid);
    if (current.compare_exchange_strong(mine, fresh.get(), std::memory_order_acq_rel))
      mine = fresh.release();
  }
  return *mine;
}

int allowed_processors() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) count = CPU_COUNT(&set);
  std::ifstream cgroup("/sys/fs/cgroup/cpu.max");
  std::string quota;
  if (double period = 0; cgroup >> quota >> period && quota != "max" && period > 0)
    count = std::min(count, static_cast<int>(std::stod(quota) / period + 0.999));
#endif
  return std::max(1, count);
}

std::atomic<int> chosen_threads{0};

}  // namespace

int run_region(int threads, const Body& body) {
  if (threads > 1)
    if (const int ran = pool().try_run(threads, body)) return ran;
  Barrier alone(1);
  body({0, 1, alone});
  return 1;
}

int default_threads() {
  if (const int chosen = chosen_threads.load(std::memory_order_relaxed)) return chosen;
  if (const char* omp = std::getenv("OMP_NUM_THREADS"))
    if (const int wish = std::atoi(omp); wish > 0) return wish;
  return allowed_processors();
}

void set_default_threads(int threads) {
  chosen_threads.store(std::max(0, threads), std::memory_order_relaxed);
}

}  // namespace shotgun
