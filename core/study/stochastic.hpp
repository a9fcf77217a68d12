// What the stochastic methods share: which sample comes next, and how long the step is.
#pragma once

#include <cmath>
#include <vector>

#include "engine/order.hpp"
#include "parallel/watch.hpp"

namespace shotgun::study {

// Each sample once per pass, every pass in a fresh random order.
class Passes {
 public:
  Passes(std::vector<std::int64_t> samples, std::uint64_t seed)
      : samples_(std::move(samples)), next_(samples_.size()), random_(seed) {}

  std::int64_t next() {
    if (next_ == samples_.size()) {
      random_.shuffle(samples_);
      next_ = 0;
    }
    return samples_[next_++];
  }

 private:
  std::vector<std::int64_t> samples_;
  std::size_t next_;
  Random random_;
};

// The same for all steps, or falling as 1 / sqrt(t).
class Rate {
 public:
  Rate(double first, bool decays) : first_(first), decays_(decays) {}
  double next() {
    ++t_;
    return decays_ ? first_ / std::sqrt(static_cast<double>(t_)) : first_;
  }

 private:
  double first_;
  bool decays_;
  std::int64_t t_ = 0;
};

// The steps of a stochastic method. Each sees one sample's loss and that sample's share of the
// penalty: lam / n.
struct Schedule {
  Passes passes;
  Rate rate;
  double lam;  // of one sample

  // step(i, rate), `steps` times; the next call goes on where this one ends.
  template <class Step>
  void run(std::int64_t steps, Watch& watch, Step&& step) {
    for (std::int64_t t = 0; t < steps && !watch.stopped(); ++t) {
      const std::int64_t i = passes.next();
      step(i, rate.next());
      if (t % 16 == 0) watch.poll();
    }
  }
};

// Nearer to zero by `amount`, but not beyond.
inline double shrunk(double x, double amount) {
  return std::copysign(std::max(std::abs(x) - amount, 0.0), x);
}

}  // namespace shotgun::study
