// Stochastic gradient descent for sparse logistic regression, as the paper's section 4.2 has it:
// each step follows the gradient of one sample, then shrinks every weight (Langford, Li, Zhang
// 2009, with no threshold above which weights are spared).
#pragma once

#include <span>

#include "problem/design.hpp"
#include "problem/losses/logistic.hpp"
#include "study/stochastic.hpp"

namespace shotgun::study {

// Shrinking by a, then by b, is shrinking by a + b. So a weight that no sample touches owes its
// shrinkage until one does, and a step costs no more than the sample's non-zeros.
class Sgd {
 public:
  Sgd(std::span<const double> x, Schedule schedule)
      : schedule_(std::move(schedule)), x_(x.begin(), x.end()), paid_(x.size()) {}

  // `rows` are the columns of A'.
  template <Columns R>
  void run(const R& rows, std::span<const double> y, std::int64_t steps, Watch& watch) {
    schedule_.run(steps, watch, [&](std::int64_t i, double rate) {
      step(rows, i, y[static_cast<std::size_t>(i)], rate);
    });
  }

  // Looking leaves no trace: what is owed stays owed.
  std::vector<double> x() const {
    std::vector<double> now = x_;
    for (std::size_t j = 0; j < now.size(); ++j) now[j] = shrunk(now[j], owed_ - paid_[j]);
    return now;
  }

 private:
  template <Columns R>
  void step(const R& rows, std::int64_t i, double y, double rate) {
    if constexpr (R::dense)
      pay_all(owed_);
    else
      rows.visit(i, {0, rows.rows()},
                 [&](Row j, double) { pay(static_cast<std::size_t>(j), owed_); });
    const double slope = Logistic::at(rows.dot(i, x_.data()), y).derivative;
    rows.axpy(i, -rate * slope, nullptr, x_.data());
    owed_ += rate * schedule_.lam;
  }
  // `owed` by value, for vectors: the compiler cannot know that no weight lives where owed_ does.
  void pay_all(double owed) {
    for (std::size_t j = 0; j < x_.size(); ++j) pay(j, owed);
  }
  void pay(std::size_t j, double owed) {
    x_[j] = shrunk(x_[j], owed - paid_[j]);
    paid_[j] = owed;
  }

  Schedule schedule_;
  std::vector<double> x_, paid_;
  double owed_ = 0;  // the shrinkage of all steps so far; paid_: what each weight has had of it
};

}  // namespace shotgun::study
