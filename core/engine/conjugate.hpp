// Conjugate gradients: the Newton step of a support.
#pragma once

#include "engine/factor.hpp"
#include "engine/normal.hpp"

namespace shotgun {

// What conjugate gradients take for the inverse: the diagonal's, and the factor's where there is
// one. A subset of its columns does, too: the inverse restricted to them is as definite.
template <Columns C>
class Preconditioner {
 public:
  Preconditioner(const Factor<C>& factor, std::span<const std::int64_t> which) : factor_(&factor) {
    for (std::int64_t k : which) place_.push_back(factor.place(k));
    buffer_.resize(static_cast<std::size_t>(factor.size()));
  }

  // out = M^-1 v, of which `diagonal` is the rest.
  void apply(std::span<const double> diagonal, std::span<const double> v, std::span<double> out) {
    std::fill(buffer_.begin(), buffer_.end(), 0.0);
    for (std::size_t k = 0; k < v.size(); ++k)
      if (inside(k)) buffer_[at(k)] = v[k];
    if (!factor_->empty()) factor_->solve(buffer_);
    for (std::size_t k = 0; k < v.size(); ++k) out[k] = inside(k) ? buffer_[at(k)] : diagonal[k] * v[k];
  }

 private:
  bool inside(std::size_t k) const { return k < place_.size() && place_[k] >= 0; }
  std::size_t at(std::size_t k) const { return static_cast<std::size_t>(place_[k]); }

  const Factor<C>* factor_;
  std::vector<std::int64_t> place_;
  std::vector<double> buffer_;
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
        conditioned_(gradient.size()),
        inverse_(gradient.size()) {
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      const double diagonal = coordinates[k].beta + coordinates[k].penalty.l2;
      inverse_[k] = diagonal > 0 ? 1 / diagonal : 0.0;
      residual[k] = inverse_[k] > 0 ? -gradient[k] : 0.0;
    }
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
    preconditioner_.apply(inverse_, residual, conditioned_);
    double norm = 0;
    for (std::size_t k = 0; k < residual.size(); ++k) norm += residual[k] * conditioned_[k];
    return norm;
  }

  std::span<const Coordinate> coordinates_;
  Preconditioner<C>& preconditioner_;
  std::vector<double> conditioned_, inverse_;
  double rho_ = 0, target_ = 0;
};

struct NewtonStep {
  std::vector<double> step, residual;
  bool accurate;
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
