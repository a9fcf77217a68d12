#include "parallel/threads.hpp"

#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace shotgun {
namespace {

using Body = std::function<void(Team)>;

std::atomic<bool> heeding_crowds{true};

class Pool {
 public:
  explicit Pool(pid_t owner) : owner_(owner) {}
  pid_t owner() const { return owner_; }

  // The number of threads that ran, 0 when the pool is already running a region.
  int try_run(int threads, const Body& body) {
    if (in_use_.test_and_set(std::memory_order_acquire)) return 0;
    if (resting()) {
      in_use_.clear(std::memory_order_release);
      return 0;
    }
    threads = grow(threads);
    start(threads, body);
    execute(0);
    Backoff backoff;
    while (running_.load(std::memory_order_acquire) != 0) backoff.pause();
    if (barrier_->crowded() && heeding_crowds.load(std::memory_order_relaxed))
      rest_until_ = Backoff::Clock::now() + rest;
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    in_use_.clear(std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return threads;
  }

 private:
  // After a region that was crowded its caller works alone for a while: long enough that the time
  // lost on finding out again is small beside it.
  static constexpr std::chrono::milliseconds rest{100};
  bool resting() {
    if (rest_until_ == Backoff::Clock::time_point{}) return false;
    if (Backoff::Clock::now() < rest_until_) return true;
    rest_until_ = {};
    return false;
  }

  // What workers wait for: a new generation, and how many threads it takes.
  struct Call {
    std::uint32_t generation = 0;
    int threads = 0;
  };

  // The number of threads that can really be had: a system that refuses more, or has no memory for
  // them, is not an error.
  int grow(int threads) {
    try {
      while (workers_ < threads - 1) {
        const std::uint32_t seen = call_.load(std::memory_order_relaxed).generation;
        std::thread([this, id = workers_ + 1, seen] { work(id, seen); }).detach();
        ++workers_;
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    return std::min(threads, workers_ + 1);
  }

  void start(int threads, const Body& body) {
    body_ = &body;
    barrier_.emplace(threads);
    running_.store(threads - 1, std::memory_order_relaxed);
    bool asleep;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      call_.store({call_.load(std::memory_order_relaxed).generation + 1, threads},
                  std::memory_order_release);
      asleep = sleepers_ > 0;
    }
    if (asleep) wake_.notify_all();
  }

  void execute(int thread) {
    try {
      (*body_)({thread, call_.load(std::memory_order_relaxed).threads, *barrier_});
    } catch (...) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      barrier_->shatter();  // after the reason is kept, which those who find it broken must not be
    }
  }

  void work(int id, std::uint32_t seen) {
    for (;;) {
      const Call call = next_call(seen);
      seen = call.generation;
      if (id >= call.threads) continue;
      execute(id);
      running_.fetch_sub(1, std::memory_order_release);
    }
  }

  // Regions often follow each other within microseconds, and waking a sleeping thread costs tens of
  // them: so a worker watches out for a while before it sleeps, giving way to whoever wants its
  // core.
  Call next_call(std::uint32_t seen) {
    Backoff backoff;
    for (int look = 0; look < 300; ++look) {
      if (const Call call = call_.load(std::memory_order_acquire); call.generation != seen)
        return call;
      backoff.pause();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    ++sleepers_;
    wake_.wait(lock, [&] { return call_.load(std::memory_order_relaxed).generation != seen; });
    --sleepers_;
    return call_.load(std::memory_order_acquire);
  }

  const pid_t owner_;
  std::atomic_flag in_use_;  // not a mutex: a signal handler may ask again from the same thread
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<Call> call_{Call{}};
  int sleepers_ = 0;  // guarded by the mutex
  int workers_ = 0;
  const Body* body_ = nullptr;
  std::optional<Barrier> barrier_;
  Backoff::Clock::time_point rest_until_;  // of whoever has the pool
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

void heed_crowds(bool heed) { heeding_crowds.store(heed, std::memory_order_relaxed); }

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
