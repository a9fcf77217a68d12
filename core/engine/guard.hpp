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
  double products_work = 0;  // of Newton steps and Gram matrices: it decides nothing
  std::int64_t epochs = 0, updates = 0;
  std::int64_t besides = 0;                               // columns multiplied otherwise
  std::int64_t shot = 0;                                  // epochs of the last shot
  double rho = std::numeric_limits<double>::quiet_NaN();  // as last learnt
  int products = 15;   // that conjugate gradients may make for a Newton step
  std::int64_t P = 0;  // what the asynchronous engine was left with; 0: ask the options
};

// P from rho of the columns at hand: Theorem 3.2's P* = ceil(|W| / rho). rho is refined by one
// product per epoch while that stays below 5 % of all work; until it is known P is modest, and the
// joint step keeps any P safe.
template <Columns C>
class Guard {
 public:
  Guard(C A, std::span<const Coordinate> coordinates, const double* h, const Options& options,
        Effort& effort)
      : A_(A),
        coordinates_(coordinates),
        h_(h),
        options_(options),
        effort_(effort),
        cost_(2 * count_nonzeros(A)) {}

  // Spends what the budget (a part of all work) allows, `most` products at once; fewer than three
  // would tell nothing.
  void learn(int most, double budget) {
    const auto affordable = [&](int products) {
      return effort_.rho_work + products * cost_ <= budget * effort_.work;
    };
    if (!spectrum_ && !affordable(least)) return;
    for (int step = 0; step < std::max(most, spectrum_ ? 1 : least) && more_ && affordable(1);
         ++step) {
      if (!spectrum_) spectrum_.emplace(A_, coordinates_, h_, options_.threads, options_.seed);
      more_ = spectrum_->step() && spectrum_->error() > 1e-3 * spectrum_->rho();
      effort_.rho_work += cost_;
    }
    effort_.rho = spectrum_->rho();
  }
  std::int64_t P() const {
    constexpr std::int64_t modest = 32;
    const std::int64_t count = A_.count();
    const std::int64_t ideal = std::isnan(effort_.rho) ? modest : ideal_p(count, effort_.rho);
    return std::clamp<std::int64_t>(options_.P > 0 ? options_.P : ideal, 1, count);
  }

 private:
  static constexpr int least = 3;
  C A_;
  std::span<const Coordinate> coordinates_;
  const double* h_;
  const Options& options_;
  Effort& effort_;
  double cost_;
  std::optional<SpectralRadius<C>> spectrum_;
  bool more_ = true;
};

}  // namespace shotgun
