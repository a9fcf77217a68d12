// The guard: how many updates at once, from the data.
#pragma once

#include <optional>

#include "loop/solution.hpp"
#include "parallel/spectral.hpp"

namespace shotgun {

// What the fit has spent so far, in multiply-adds: decisions are made from it, never from the
// clock, so that they are the same on every machine and for any number of threads.
struct Effort {
  double work = 0, rho_work = 0;
  std::int64_t epochs = 0, updates = 0;
  std::int64_t P = 0;  // what the asynchronous engine was left with; 0: ask the options
};

// P from rho of the columns at hand: Theorem 3.2's P* = ceil(|W| / rho). rho is refined by one
// product per epoch while that stays below 5 % of all work; until it is known P is modest, and the
// joint step keeps any P safe.
template <Columns C>
class Guard {
 public:
  Guard(C A, std::span<const Coordinate> coordinates, const double* h, const Options& options)
      : A_(A), coordinates_(coordinates), h_(h), options_(options), cost_(2 * count_nonzeros(A)) {}

  // Spends what the budget allows, `most` products at once.
  void learn(Effort& effort, int most) {
    for (int step = 0; step < most && more_ && effort.rho_work + cost_ <= 0.05 * effort.work;
         ++step) {
      if (!spectrum_) spectrum_.emplace(A_, coordinates_, h_, options_.threads, options_.seed);
      more_ = spectrum_->step() && spectrum_->error() > 1e-3 * spectrum_->rho();
      effort.rho_work += cost_;
    }
  }
  // NaN until a few products have been made.
  double rho() const {
    const bool known = spectrum_ && (spectrum_->steps() >= 3 || !more_);
    return known ? spectrum_->rho() : std::numeric_limits<double>::quiet_NaN();
  }
  std::int64_t P() const {
    constexpr std::int64_t modest = 32;
    const std::int64_t count = A_.count();
    const std::int64_t ideal = std::isnan(rho()) ? modest : ideal_p(count, rho());
    return std::clamp<std::int64_t>(options_.P > 0 ? options_.P : ideal, 1, count);
  }

 private:
  C A_;
  std::span<const Coordinate> coordinates_;
  const double* h_;
  const Options& options_;
  double cost_;
  std::optional<SpectralRadius<C>> spectrum_;
  bool more_ = true;
};

}  // namespace shotgun
