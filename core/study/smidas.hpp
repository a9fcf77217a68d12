// Stochastic mirror descent made sparse (SMIDAS: Shalev-Shwartz, Tewari 2009): gradient steps and
// shrinkage happen to theta = f(x), and x follows it through the inverse of the p-norm link f.
#pragma once

#include <span>

#include "problem/design.hpp"
#include "problem/losses/logistic.hpp"
#include "study/stochastic.hpp"

namespace shotgun::study {

// The gradient of 1/2 ||v||_r^2: sign(v_j) |v_j|^(r-1) / ||v||_r^(r-2). That of the dual norm's
// exponent, 1/r + 1/s = 1, is its inverse. Relative to the largest entry, so that nothing
// overflows.
inline void link(std::span<const double> v, double r, std::span<double> out) {
  double largest = 0, sum = 0;
  for (double e : v) largest = std::max(largest, std::abs(e));
  for (std::size_t j = 0; j < v.size(); ++j) {
    const double part = std::abs(v[j]) / largest;
    out[j] = v[j] == 0 ? 0.0 : std::copysign(std::pow(part, r - 1), v[j]);
    if (v[j] != 0) sum += out[j] * std::copysign(part, v[j]);
  }
  const double scale = sum > 0 ? largest * std::pow(sum, 2 / r - 1) : 0.0;
  for (double& e : out) e *= scale;
}

// The link's exponent on the side of theta, as its authors recommend: 2 ln d. At 2 the link is the
// identity, and the method is stochastic gradient descent.
inline double mirror_exponent(std::size_t d) {
  return std::max(2.0, 2 * std::log(static_cast<double>(d)));
}

class Smidas {
 public:
  Smidas(std::span<const double> x, Schedule schedule)
      : schedule_(std::move(schedule)),
        p_(mirror_exponent(x.size())),
        x_(x.begin(), x.end()),
        theta_(x.size()) {
    link(x_, p_ / (p_ - 1), theta_);
  }

  // As in Sgd; every weight moves at each step, so a step costs d powers.
  template <Columns R>
  void run(const R& rows, std::span<const double> y, std::int64_t steps, Watch& watch) {
    schedule_.run(steps, watch, [&](std::int64_t i, double rate) {
      step(rows, i, y[static_cast<std::size_t>(i)], rate);
    });
  }

  double p() const { return p_; }
  const std::vector<double>& x() const { return x_; }
  const std::vector<double>& theta() const { return theta_; }

 private:
  template <Columns R>
  void step(const R& rows, std::int64_t i, double y, double rate) {
    const double slope = Logistic::at(rows.dot(i, x_.data()), y).derivative;
    rows.axpy(i, -rate * slope, nullptr, theta_.data());
    for (double& e : theta_) e = shrunk(e, rate * schedule_.lam);
    link(theta_, p_, x_);
  }

  Schedule schedule_;
  double p_;
  std::vector<double> x_, theta_;
};

}  // namespace shotgun::study
