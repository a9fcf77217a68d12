// Whether to go on: Ctrl-C, a deadline. Asked from deep inside the loops, answered cheaply. It also
// sees how many threads really worked, for the trace.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace shotgun {

class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Reason { none, interrupted, deadline };

  // `interrupted` is called on the thread that made the watch only, every few hundredths of a
  // second.
  explicit Watch(std::function<bool()> interrupted, double deadline_seconds)
      : interrupted_(std::move(interrupted)), deadline_(deadline_seconds) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  Reason reason() const { return reason_.load(std::memory_order_relaxed); }
  bool stopped() const { return reason() != Reason::none; }

  // Costs a clock reading; call it after every hundred thousand multiply-adds or so.
  void poll() {
    if (std::this_thread::get_id() != owner_ || stopped()) return;
    const double now = seconds();
    if (now > deadline_) reason_.store(Reason::deadline, std::memory_order_relaxed);
    if (now < next_) return;
    next_ = now + 0.05;
    if (interrupted_ && interrupted_())
      reason_.store(Reason::interrupted, std::memory_order_relaxed);
  }

  void saw_threads(int threads) { most_threads_ = std::max(most_threads_, threads); }
  int most_threads() { return std::exchange(most_threads_, 1); }  // since last asked

 private:
  int most_threads_ = 1;
  std::function<bool()> interrupted_;
  double deadline_;
  double next_ = 0.05;
  Clock::time_point start_ = Clock::now();
  std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<Reason> reason_{Reason::none};
};

}  // namespace shotgun
