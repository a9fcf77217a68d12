// What an engine descends on: the loss seen through packed columns, as gradient(k) and move(k,
// delta). Quadratic is the squared loss, or the Newton model of any other; cdn.hpp has the loss
// itself.
#pragma once

#include <cmath>
#include <vector>

#include "engine/update.hpp"
#include "parallel/atomic.hpp"
#include "problem/design.hpp"

namespace shotgun {

// q(x) = sum_i (g_i + ...)^2 / (2 h_i): curvature h per row, gradient g kept up to date.
//
// Standardised columns a~ = (a - mean 1) inv_scale never become dense. The gradient that belongs to
// them is g + shift h, where moving x~_k by delta adds -delta inv_scale mean_k to `shift`; so
//   a~_k'(g + shift h) = inv_scale (a_k'g - mean_k sum(g) + shift slope_k)
// costs O(nnz_k) with two running scalars. An intercept is the same thing: eliminating b exactly
// centres the columns at their h-weighted means, for which slope_k = 0.
template <Columns C>
class Quadratic {
 public:
  using Cols = C;
  static constexpr bool exact = true;

  // The scalars that follow the columns' moves; engines whose threads all repeat a move keep
  // copies.
  struct Running {
    double sum_g = 0;
    double shift = 0;
    double total_h = 0;  // which does not change
    void move(const Coordinate& c, double delta) {
      sum_g += delta * c.inv_scale * c.sum_h(total_h);
      shift -= delta * c.inv_scale * c.mean;
    }
  };

  Quadratic(C A, std::span<const Coordinate> coordinates, std::span<double> g, const double* h,
            double total_h, bool intercept)
      : A(A), coordinates(coordinates), g(g), h(h), total_h(total_h), intercept(intercept) {
    running.total_h = total_h;
    for (double v : g) running.sum_g += v;
  }

  double centre(std::int64_t k, double raw_dot, const Running& now) const {
    const Coordinate& c = coordinates[static_cast<std::size_t>(k)];
    const double slope = c.inv_scale * (raw_dot - c.mean * now.sum_g + now.shift * c.slope);
    return tilt_.empty() ? slope : slope + tilt_[static_cast<std::size_t>(k)];
  }
  // a~_k'Ha~_l from a_k'Ha_l: an entry of the Gram matrix.
  double centre_product(std::int64_t k, std::int64_t l, double raw_product) const {
    const Coordinate &c = coordinates[static_cast<std::size_t>(k)],
                     &e = coordinates[static_cast<std::size_t>(l)];
    return c.inv_scale * e.inv_scale * (raw_product - c.mean * e.sum_h(total_h) - e.mean * c.slope);
  }
  double gradient(std::int64_t k) const { return centre(k, A.dot(k, g.data()), running); }
  std::vector<double> gradients(int threads) const {
    std::vector<double> all = all_dots(A, g.data(), threads);
    for (std::size_t k = 0; k < all.size(); ++k)
      all[k] = centre(static_cast<std::int64_t>(k), all[k], running);
    return all;
  }
  Move propose(std::int64_t k, double x) const { return proposal(k, x, gradient(k)); }
  void move(std::int64_t k, double delta) {
    const Coordinate& c = coordinates[static_cast<std::size_t>(k)];
    A.axpy(k, delta * c.inv_scale, h, g.data());
    running.move(c, delta);
  }
  // The whole move: it is the exact minimiser.
  Step advance(const Move& m) {
    const Coordinate& c = coordinates[static_cast<std::size_t>(m.k)];
    move(m.k, m.delta);
    return {1.0, -coordinate_change(c.penalty, m.x, m.delta, m.gradient, c.beta)};
  }

  // How much the constant term of z has changed since construction.
  double constant() const { return intercept ? -running.sum_g / total_h : running.shift; }

  // q at the current point, up to a constant: its rows' part of F.
  double rows_value(int threads) const {
    return sum_rows(threads, A.rows(), [&, c = constant()](std::int64_t i) { return row(i, c); });
  }
  // The rows' part of the duality gap at the dual point scale * gradient.
  double rows_gap(int threads, double scale) const {
    return (1 - scale) * (1 - scale) * rows_value(threads);
  }

  // What asynchronous threads do; every access to g and to the running scalars is atomic.
  Move propose_racing(std::int64_t k, double x) {
    double dot = 0;
    A.visit(k, {0, A.rows()},
            [&](Row i, double a) { dot += a * atomic_load(g[static_cast<std::size_t>(i)]); });
    return proposal(
        k, x, centre(k, dot, {atomic_load(running.sum_g), atomic_load(running.shift), total_h}));
  }
  void move_racing(std::int64_t k, double delta) {
    const Coordinate& c = coordinates[static_cast<std::size_t>(k)];
    const double step = delta * c.inv_scale;
    A.visit(k, {0, A.rows()}, [&](Row i, double a) {
      atomic_add(g[static_cast<std::size_t>(i)], step * curvature(i) * a);
    });
    if (const double sum_h = c.sum_h(total_h); sum_h != 0) atomic_add(running.sum_g, step * sum_h);
    if (c.mean != 0) atomic_add(running.shift, -step * c.mean);
  }
  // The whole of what moves, for setting back a race that went wrong.
  struct State {
    std::vector<double> g;
    Running running;
  };
  void save(State& state) const {
    state.g.assign(g.begin(), g.end());
    state.running = running;
  }
  void restore(const State& state) {
    std::copy(state.g.begin(), state.g.end(), g.begin());
    running = state.running;
  }
  void settle(int) {}

  // Adds slopes of its own to q: one for each weight, and `level` for the constant.
  void tilt(std::span<const double> slopes, double level) {
    tilt_ = slopes;
    running.sum_g = level_ = level;
  }
  bool tilted() const { return !tilt_.empty(); }
  // The model of F, up to a constant.
  double objective(std::span<const double> x, int threads) const {
    double sum = rows_value(threads) + penalty_value(x, coordinates);
    if (!tilted()) return sum;
    for (std::size_t k = 0; k < x.size(); ++k) sum += tilt_[k] * x[k];
    return sum + level_ * constant();
  }

  double curvature(std::int64_t i) const { return h ? h[i] : 1.0; }
  const double* curvatures() const { return h; }

  C A;
  std::span<const Coordinate> coordinates;
  std::span<double> g;
  const double* h;
  double total_h;
  bool intercept;
  Running running;

 private:
  Move proposal(std::int64_t k, double x, double gradient) const {
    const Coordinate& c = coordinates[static_cast<std::size_t>(k)];
    return {k, x, update(c.penalty, x, gradient, c.beta), gradient};
  }
  double row(std::int64_t i, double constant) const {
    const double curv = curvature(i);
    if (curv <= 0) return 0.0;
    const double v = g[static_cast<std::size_t>(i)] + constant * curv;
    return 0.5 * v * v / curv;
  }

  std::span<const double> tilt_;
  double level_ = 0;
};

}  // namespace shotgun
