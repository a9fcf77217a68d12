// Coordinate descent Newton (CDN: Yuan et al. 2010), the paper's section 4.2: steps on the loss
// itself.
#pragma once

#include <cmath>
#include <vector>

#include "engine/update.hpp"
#include "parallel/atomic.hpp"
#include "problem/design.hpp"
#include "problem/penalty.hpp"
#include "problem/samples.hpp"

namespace shotgun {

// sum_i f_i(z_i): z and what belongs to it, kept together. A step takes the curvature at hand
// instead of the bound beta, and a line search makes up for it. Only z is kept, never exp(z).
// Without centring or intercept: those are the Newton model's.
template <Columns C, Loss L>
class Cdn {
 public:
  using Cols = C;
  static constexpr bool exact = false;

  Cdn(C A, std::span<const Coordinate> coordinates, const Observed<L>& samples, std::span<double> z,
      std::span<double> g, int threads)
      : A(A),
        coordinates(coordinates),
        samples(samples),
        z(z),
        g(g),
        value_(z.size()),
        h_(z.size()) {
    settle(threads);
  }

  double gradient(std::int64_t k) const { return scale(k) * A.dot(k, g.data()); }
  std::vector<double> gradients(int threads) const {
    std::vector<double> all = all_dots(A, g.data(), threads);
    for (std::size_t k = 0; k < all.size(); ++k) all[k] *= scale(static_cast<std::int64_t>(k));
    return all;
  }
  Move propose(std::int64_t k, double x) const {
    double sum, squares;
    A.moments(k, h_.data(), &sum, &squares);
    return proposal(k, x, gradient(k), scale(k) * scale(k) * squares);
  }
  // The line search keeps what it computed of the last step it tried, which is the one it takes.
  Step advance(const Move& m) {
    const double by = m.delta * scale(m.k);
    const Step step = search(m, [&](double t) {
      tried_.clear();
      double sum = 0;
      A.visit(m.k, all(), [&](Row i, double a) {
        if (t == 0) return void(sum += value_[at(i)]);
        tried_.push_back(samples.at(i, z[at(i)] + t * by * a));
        sum += tried_.back().value;
      });
      return sum;
    });
    if (step.length > 0)
      A.visit(m.k, all(), [&, p = tried_.begin()](Row i, double a) mutable {
        z[at(i)] += step.length * by * a;
        keep(i, *p++);
      });
    return step;
  }

  double rows_value(int threads) const {
    return sum_rows(threads, A.rows(), [&](std::int64_t i) { return value_[at(i)]; });
  }
  double objective(std::span<const double> x, int threads) const {
    return rows_value(threads) + penalty_value(x, coordinates);
  }
  static bool tilted() { return false; }
  double rows_gap(int threads, double scale) const {
    return sum_rows(threads, A.rows(), [&](std::int64_t i) {
      return samples.fenchel_young(i, z[at(i)], scale * g[at(i)]);
    });
  }

  // Threads that race keep z only: a g stored beside it could stay stale for ever.
  Move propose_racing(std::int64_t k, double x) {
    double slope = 0, curvature = 0;
    A.visit(k, all(), [&](Row i, double a) {
      const Curve c = samples.at(i, atomic_load(z[at(i)]));
      slope += a * c.derivative;
      curvature += a * a * c.curvature;
    });
    Move m = proposal(k, x, scale(k) * slope, scale(k) * scale(k) * curvature);
    if (m.delta != 0)
      m.delta *= search(m, [&, by = m.delta * scale(k)](double t) {
                   double sum = 0;
                   A.visit(k, all(), [&](Row i, double a) {
                     sum += samples.value(i, atomic_load(z[at(i)]) + t * by * a);
                   });
                   return sum;
                 }).length;
    return m;
  }
  void move_racing(std::int64_t k, double delta) {
    A.visit(k, all(),
            [&, by = delta * scale(k)](Row i, double a) { atomic_add(z[at(i)], by * a); });
  }
  using State = std::vector<double>;
  void save(State& state) const { state.assign(z.begin(), z.end()); }
  void restore(const State& state) { std::copy(state.begin(), state.end(), z.begin()); }

  // Brings all that belongs to z up to date with it.
  void settle(int threads) {
    for_rows(threads, A.rows(), [&](std::int64_t i) { set(i, z[at(i)]); });
  }

  const double* curvatures() const { return samples.weights(); }
  // f_i where dz would take it.
  double value(std::int64_t i, double dz) const {
    return dz == 0 ? value_[at(i)] : samples.value(i, z[at(i)] + dz);
  }
  // And f_i' there.
  double slope(std::int64_t i, double dz) const {
    return dz == 0 ? g[at(i)] : samples.derivative(i, z[at(i)] + dz);
  }
  void set(std::int64_t i, double new_z) {
    z[at(i)] = new_z;
    keep(i, samples.at(i, new_z));
  }

  C A;
  std::span<const Coordinate> coordinates;
  const Observed<L>& samples;
  std::span<double> z, g;

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  Range all() const { return {0, A.rows()}; }
  double scale(std::int64_t k) const { return coordinates[at(k)].inv_scale; }
  void keep(std::int64_t i, const Curve& c) {
    value_[at(i)] = c.value;
    g[at(i)] = c.derivative;
    h_[at(i)] = c.curvature;
  }

  // The bound on it keeps a curvature that has all but vanished from asking for a step without end.
  Move proposal(std::int64_t k, double x, double gradient, double curvature) const {
    const Coordinate& c = coordinates[at(k)];
    const double least = (std::isfinite(L::beta) ? 1e-6 * L::beta : 1e-9) * c.beta;
    return {k, x, update(c.penalty, x, gradient, std::max(curvature, least)), gradient};
  }
  // rows(t) is the value of the column's rows after a step t.
  template <class Rows>
  Step search(const Move& m, Rows&& rows) const {
    const Penalty& p = coordinates[at(m.k)].penalty;
    const double promised = m.delta * m.gradient + p.change(m.x, m.delta);
    return backtrack(promised, [&](double t) { return rows(t) + p.change(m.x, t * m.delta); });
  }

  std::vector<double> value_, h_;
  std::vector<Curve> tried_;
};

}  // namespace shotgun
