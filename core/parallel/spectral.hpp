// The spectral radius rho of the column-normalised A'A, and P* = ceil(d / rho) (Theorem 3.2).
#pragma once

#include <cmath>
#include <vector>

#include "engine/normal.hpp"
#include "engine/order.hpp"

namespace shotgun {

// Power iteration, with the best combination of all powers so far instead of the last alone
// (Lanczos): the same product A'Av per step, far fewer steps. Only the largest eigenvalue is
// wanted, which loss of orthogonality does not spoil, so three vectors are enough.
template <Columns C>
class SpectralRadius {
 public:
  // Columns are centred and scaled as the coordinates say, then divided by sqrt(beta).
  SpectralRadius(C A, std::span<const Coordinate> coordinates, const double* h, int threads,
                 std::uint64_t seed)
      : normal_(A, coordinates, h, threads),
        inverse_norm_(coordinates.size()),
        v_(coordinates.size()),
        before_(coordinates.size()) {
    Random random(seed);
    for (std::size_t k = 0; k < v_.size(); ++k) {
      inverse_norm_[k] = coordinates[k].beta > 0 ? 1 / std::sqrt(coordinates[k].beta) : 0.0;
      v_[k] = inverse_norm_[k] > 0 ? 0.5 + random.uniform() : 0.0;
    }
    normalise(v_);
  }

  // One product with A'A. False when nothing more can be learnt.
  bool step() {
    if (done_) return false;
    std::vector<double> next = product(v_);
    double along = 0;
    for (std::size_t k = 0; k < v_.size(); ++k) along += next[k] * v_[k];
    diagonal_.push_back(along);
    const double beta = off_.empty() ? 0.0 : off_.back();
    for (std::size_t k = 0; k < v_.size(); ++k) next[k] -= along * v_[k] + beta * before_[k];
    const double rest = normalise(next);
    off_.push_back(rest);
    before_ = std::exchange(v_, std::move(next));
    measure();
    done_ = rest <= 1e-14 * rho_ || diagonal_.size() >= 10 * v_.size() + 100;
    return !done_;
  }

  double rho() const { return rho_; }
  double error() const {
    return done_ ? 0.0 : error_;
  }  // bound on how far from an eigenvalue this is
  std::size_t steps() const { return diagonal_.size(); }

 private:
  static double normalise(std::vector<double>& v) {
    double squares = 0;
    for (double e : v) squares += e * e;
    const double norm = std::sqrt(squares);
    if (norm > 0)
      for (double& e : v) e /= norm;
    return norm;
  }

  // D^-1/2 A~'HA~ D^-1/2 v.
  std::vector<double> product(const std::vector<double>& v) {
    std::vector<double> scaled(v.size()), out(v.size());
    for (std::size_t k = 0; k < v.size(); ++k) scaled[k] = v[k] * inverse_norm_[k];
    normal_.apply(scaled, out);
    for (std::size_t k = 0; k < v.size(); ++k) out[k] *= inverse_norm_[k];
    return out;
  }

  // The eigenvalues of the tridiagonal matrix above x, by Sturm's sign count.
  std::size_t above(double x) const {
    std::size_t count = 0;
    double q = 1;
    for (std::size_t m = 0; m < diagonal_.size(); ++m) {
      const double off = m ? off_[m - 1] : 0.0;
      q = diagonal_[m] - x - (m ? off * off / q : 0.0);
      if (q == 0) q = 1e-300;
      count += q > 0;
    }
    return count;
  }
  double largest_eigenvalue() const {
    double lo = 0, hi = 0;
    for (std::size_t m = 0; m < diagonal_.size(); ++m)
      hi = std::max(hi, diagonal_[m] + off_[m] + (m ? off_[m - 1] : 0.0));
    for (int halving = 0; halving < 80 && hi - lo > 1e-15 * hi; ++halving) {
      const double middle = 0.5 * (lo + hi);
      (above(middle) > 0 ? lo : hi) = middle;
    }
    return 0.5 * (lo + hi);
  }

  // Ritz value, and how far it is from an eigenvalue at most: its residual.
  void measure() {
    rho_ = largest_eigenvalue();
    const std::size_t m = diagonal_.size();
    double last = 1, squares = 1, previous = 0;  // components of the eigenvector, from the first
    for (std::size_t i = 0; i + 1 < m; ++i) {
      const double next =
          ((rho_ - diagonal_[i]) * last - (i ? off_[i - 1] * previous : 0.0)) / off_[i];
      previous = last;
      last = next;
      squares += last * last;
      if (squares > 1e200) {
        last *= 1e-100;
        previous *= 1e-100;
        squares *= 1e-200;
      }
    }
    error_ = off_.back() * std::abs(last) / std::sqrt(squares);
  }

  NormalMatrix<C> normal_;
  std::vector<double> inverse_norm_, v_, before_, diagonal_, off_;
  double rho_ = 0, error_ = infinity;
  bool done_ = false;
};

// A bare ceiling would jump: rho is approached from below.
inline std::int64_t ideal_p(std::int64_t d, double rho) {
  if (!(rho > 0)) return std::max<std::int64_t>(1, d);
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(static_cast<double>(d) / rho * (1 - 1e-6))));
}

}  // namespace shotgun
