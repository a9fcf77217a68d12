// Conjugate gradients: the Newton step of a support.
#pragma once

#include <cmath>
#include <utility>

#include "engine/factor.hpp"
#include "engine/normal.hpp"

namespace shotgun {

// What conjugate gradients take for the inverse of A~'HA~ + diag(l2) on some columns: that of the
// diagonal, and a factor's where there is one. A subset of its columns does, too: the inverse
// restricted to them is as definite. And of other curvatures: to the diagonal of now.
template <Columns C>
class Preconditioner {
 public:
  Preconditioner(const Factor<C>& factor, std::span<const std::int64_t> which,
                 std::span<const Coordinate> coordinates)
      : factor_(factor), buffer_(static_cast<std::size_t>(factor.size())) {
    for (std::size_t s = 0; s < coordinates.size(); ++s) {
      const double diagonal = coordinates[s].beta + coordinates[s].penalty.l2;
      inverse_.push_back(diagonal > 0 ? 1 / diagonal : 0.0);
      if (const std::int64_t place = factor.empty() ? -1 : factor.place(which[s]); place >= 0)
        inside_.push_back({s, static_cast<std::size_t>(place),
                           std::sqrt(factor.diagonal(place) * inverse_.back())});
    }
  }
  std::span<const double> inverse() const { return inverse_; }  // of the diagonal

  // out = M^-1 v
  void apply(std::span<const double> v, std::span<double> out) {
    for (std::size_t s = 0; s < v.size(); ++s) out[s] = inverse_[s] * v[s];
    if (inside_.empty()) return;
    std::fill(buffer_.begin(), buffer_.end(), 0.0);
    for (const Inside& i : inside_) buffer_[i.place] = i.scale * v[i.s];
    factor_.solve(buffer_);
    for (const Inside& i : inside_) out[i.s] = i.scale * buffer_[i.place];
  }

 private:
  // One of the columns that the factor has.
  struct Inside {
    std::size_t s, place;
    double scale;
  };

  const Factor<C>& factor_;
  std::vector<double> inverse_, buffer_;
  std::vector<Inside> inside_;
};

// Conjugate gradients for (A~'HA~ + diag(l2)) step = -gradient, preconditioned by the diagonal, and
// by a factor where there is one. Every iterate is a descent direction.
template <Columns C>
class ConjugateGradients {
 public:
  ConjugateGradients(std::span<const Coordinate> coordinates, std::span<const double> gradient,
                     Preconditioner<C>& preconditioner, double accuracy)
      : search(gradient.size()),
        product(gradient.size()),
        step(gradient.size()),
        residual(gradient.size()),
        coordinates_(coordinates),
        preconditioner_(preconditioner),
        inverse_(preconditioner.inverse()),
        conditioned_(gradient.size()) {
    for (std::size_t k = 0; k < gradient.size(); ++k)
      residual[k] = inverse_[k] > 0 ? -gradient[k] : 0.0;
    rho_ = condition();
    search = conditioned_;
    target_ = accuracy * accuracy * rho_;
  }

  // Whether the residual is still more than `accuracy` of the gradient.
  bool more() const { return rho_ > target_; }

  // Goes on from `product`, A~'HA~ search. False where there is nothing to go on with: a direction
  // in which the columns together, of which each has its curvature alone, all but cancel has none
  // that float64 could tell, and a step along it would be rounding, times anything.
  bool advance() {
    double curvature = 0, alone = 0;
    for (std::size_t k = 0; k < step.size(); ++k) {
      product[k] = inverse_[k] > 0 ? product[k] + coordinates_[k].penalty.l2 * search[k] : 0.0;
      curvature += search[k] * product[k];
      if (inverse_[k] > 0) alone += search[k] * search[k] / inverse_[k];
    }
    if (!(curvature > 1e-14 * alone)) return false;
    const double length = rho_ / curvature;
    for (std::size_t k = 0; k < step.size(); ++k) {
      step[k] += length * search[k];
      residual[k] -= length * product[k];
    }
    const double before = std::exchange(rho_, condition());
    for (std::size_t k = 0; k < step.size(); ++k)
      search[k] = conditioned_[k] + rho_ / before * search[k];
    return more();
  }

  std::vector<double> search, product, step, residual;

 private:
  // The residual's norm in that of the preconditioner.
  double condition() {
    preconditioner_.apply(residual, conditioned_);
    double norm = 0;
    for (std::size_t k = 0; k < residual.size(); ++k) norm += residual[k] * conditioned_[k];
    return norm;
  }

  std::span<const Coordinate> coordinates_;
  Preconditioner<C>& preconditioner_;
  std::span<const double> inverse_;  // of the diagonal
  std::vector<double> conditioned_;
  double rho_ = 0, target_ = 0;
};

struct NewtonStep {
  std::vector<double> step, residual;
  bool finished;  // accurate, or without anything to go on with
  int products;
};

// The Newton step, by at most `most` products. A region that is crowded ends early, and the next
// one goes on.
template <Columns C>
NewtonStep newton_step(NormalMatrix<C>& normal, std::span<const Coordinate> coordinates,
                       std::span<const double> gradient, Preconditioner<C> preconditioner, int most,
                       double accuracy, Watch& watch) {
  ConjugateGradients<C> cg(coordinates, gradient, preconditioner, accuracy);
  bool more = cg.more();
  int made = 0;
  while (made < most && more) {
    bool stay = true;
    run_region(normal.threads(), [&](const Team& team) {
      while (stay) {
        normal.apply(team, cg.search, cg.product);
        team.once([&] {
          watch.poll();
          more = cg.advance() && !watch.stopped();
          stay = ++made < most && more && !team.barrier.crowded();
        });
      }
    });
  }
  return {std::move(cg.step), std::move(cg.residual), !more, made};
}

}  // namespace shotgun
