// Anderson extrapolation: the best combination of an engine's last iterates.
#pragma once

#include <array>
#include <cmath>

#include "engine/epoch.hpp"
#include "engine/model.hpp"

namespace shotgun {

// Wraps an engine that visits the coordinates in a fixed order. Close to the optimum its epochs are
// an affine map of x, whose fixed point a few iterates determine well (Bertrand, Massias 2021). g
// is linear in x, so the extrapolated point costs no product with A; it is kept only if F is lower
// there.
template <class Model, class Engine>
class Anderson {
 public:
  Anderson(Model& model, Engine engine, int threads)
      : model_(model), engine_(std::move(engine)), threads_(threads) {}

  std::int64_t P() const { return engine_.P(); }
  // Columns at rest are visited once in that many epochs.
  static std::int64_t patience() { return 1 + cycles * static_cast<std::int64_t>(depth); }
  static bool ready() { return true; }
  static bool uses_rho() { return false; }
  static bool gradual() { return true; }

  // Epochs over all columns until they hardly change the support; then, in turns, two cycles over
  // those that are not at rest, each ended by an extrapolation, and one epoch over all.
  Epoch operator()(std::span<double> x, std::int64_t epochs, Watch& watch) {
    Epoch total;
    if (support_.empty()) settled(x);
    for (std::int64_t e = 0; e < epochs && !watch.stopped(); ++e) {
      const bool all = cycle_ == 0;
      if (all) engine_.wake();
      const Epoch epoch = engine_(x, 1, watch);
      total.decrease += epoch.decrease;
      total.updates += epoch.updates;
      if (all && !settled(x)) continue;
      if (all) {
        engine_.rest(x);
        cycle_ = cycles;
        filled_ = 0;
      }
      remember(x);
      if (filled_ <= depth || watch.stopped()) continue;
      total.decrease += extrapolate(x);
      --cycle_;
      filled_ = 0;
      remember(x);
    }
    return total;
  }

 private:
  static constexpr std::size_t depth = 5;
  static constexpr int cycles = 2;
  struct Iterate {
    std::vector<double> x, g;
    typename Model::Running running;
  };

  // Whether all but a few weights are zero or not as they were when last asked.
  bool settled(std::span<const double> x) {
    std::size_t changed = 0, nonzero = 0;
    support_.resize(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      const bool moved = x[k] != 0;
      changed += support_[k] != moved;
      nonzero += moved;
      support_[k] = moved;
    }
    return 20 * changed <= nonzero;
  }

  void remember(std::span<const double> x) {
    Iterate& it = iterates_[filled_++];
    it.x.assign(x.begin(), x.end());
    it.g.assign(model_.g.begin(), model_.g.end());
    it.running = model_.running;
  }

  // min |sum_i c_i (x_i+1 - x_i)| subject to sum_i c_i = 1: solve (U'U) c = 1 and normalise.
  bool coefficients(std::array<double, depth>& c) const {
    std::array<std::array<double, depth + 1>, depth> system{};
    double trace = 0;
    for (std::size_t i = 0; i < depth; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double dot = 0;
        for (std::size_t k = 0; k < iterates_[0].x.size(); ++k)
          dot += (iterates_[i + 1].x[k] - iterates_[i].x[k]) *
                 (iterates_[j + 1].x[k] - iterates_[j].x[k]);
        system[i][j] = system[j][i] = dot;
        if (i == j) trace += dot;
      }
    for (std::size_t i = 0; i < depth; ++i) {
      system[i][i] += 1e-12 * trace;
      system[i][depth] = 1;
    }
    for (std::size_t p = 0; p < depth; ++p) {  // Gauss, on a positive definite matrix
      if (!(system[p][p] > 0)) return false;
      for (std::size_t i = p + 1; i < depth; ++i) {
        const double factor = system[i][p] / system[p][p];
        for (std::size_t j = p; j <= depth; ++j) system[i][j] -= factor * system[p][j];
      }
    }
    double sum = 0;
    for (std::size_t p = depth; p-- > 0;) {
      c[p] = system[p][depth];
      for (std::size_t j = p + 1; j < depth; ++j) c[p] -= system[p][j] * c[j];
      c[p] /= system[p][p];
      sum += c[p];
    }
    for (double& v : c) v /= sum;
    return std::isfinite(1 / sum) && sum != 0;
  }

  double extrapolate(std::span<double> x) {
    std::array<double, depth> c;
    if (!coefficients(c)) return 0;
    const double before = model_.objective(x, threads_);
    auto mix = [&](auto part) {
      double sum = 0;
      for (std::size_t i = 0; i < depth; ++i) sum += c[i] * part(iterates_[i + 1]);
      return sum;
    };
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = mix([&](const Iterate& it) { return it.x[k]; });
      if (x[k] != model_.coordinates[k].penalty.clamp(x[k])) return go_back(x);
    }
    for_rows(threads_, model_.A.rows(), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      model_.g[at] = mix([&](const Iterate& it) { return it.g[at]; });
    });
    model_.running.sum_g = mix([](const Iterate& it) { return it.running.sum_g; });
    model_.running.shift = mix([](const Iterate& it) { return it.running.shift; });
    const double after = model_.objective(x, threads_);
    return after < before ? before - after : go_back(x);
  }
  double go_back(std::span<double> x) {
    const Iterate& last = iterates_[depth];
    std::copy(last.x.begin(), last.x.end(), x.begin());
    std::copy(last.g.begin(), last.g.end(), model_.g.begin());
    model_.running = last.running;
    return 0;
  }

  Model& model_;
  Engine engine_;
  int threads_;
  std::array<Iterate, depth + 1> iterates_;
  std::size_t filled_ = 0;
  std::vector<char> support_;  // after the last epoch over all columns
  int cycle_ = 0;              // cycles left before all columns are visited again
};

}  // namespace shotgun
