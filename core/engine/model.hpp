// What an engine descends on: the loss seen through packed columns, as gradient(k) and move(k,
// delta). Quadratic is the squared loss, or the Newton model of any other; Direct is the loss
// itself.
#pragma once

#include <cmath>
#include <vector>

#include "engine/update.hpp"
#include "parallel/atomic.hpp"
#include "problem/design.hpp"
#include "problem/intercept.hpp"

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
    void move(const Coordinate& c, double delta) {
      sum_g += delta * c.inv_scale * c.sum_h;
      shift -= delta * c.inv_scale * c.mean;
    }
  };

  Quadratic(C A, std::span<const Coordinate> coordinates, std::span<double> g, const double* h,
            double total_h, bool intercept)
      : A(A), coordinates(coordinates), g(g), h(h), total_h(total_h), intercept(intercept) {
    for (double v : g) running.sum_g += v;
  }

  double centre(std::int64_t k, double raw_dot, const Running& now) const {
    const Coordinate& c = coordinates[static_cast<std::size_t>(k)];
    return c.inv_scale * (raw_dot - c.mean * now.sum_g + now.shift * c.slope);
  }
  double gradient(std::int64_t k) const { return centre(k, A.dot(k, g.data()), running); }
  void move(std::int64_t k, double delta) {
    const Coordinate& c = coordinates[static_cast<std::size_t>(k)];
    A.axpy(k, delta * c.inv_scale, h, g.data());
    running.move(c, delta);
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
  double gradient_racing(std::int64_t k) {
    double dot = 0;
    A.visit(k, {0, A.rows()},
            [&](Row i, double a) { dot += a * atomic_load(g[static_cast<std::size_t>(i)]); });
    return centre(k, dot, {atomic_load(running.sum_g), atomic_load(running.shift)});
  }
  void move_racing(std::int64_t k, double delta) {
    const Coordinate& c = coordinates[static_cast<std::size_t>(k)];
    const double step = delta * c.inv_scale;
    A.visit(k, {0, A.rows()}, [&](Row i, double a) {
      atomic_add(g[static_cast<std::size_t>(i)], step * curvature(i) * a);
    });
    if (c.sum_h != 0) atomic_add(running.sum_g, step * c.sum_h);
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
  double row(std::int64_t i, double constant) const {
    const double curv = curvature(i);
    if (curv <= 0) return 0.0;
    const double v = g[static_cast<std::size_t>(i)] + constant * curv;
    return 0.5 * v * v / curv;
  }
};

// sum_i w_i L(z_i, y_i) itself: z and its gradient g, kept together. The intercept is a coordinate
// that settle() minimises over.
template <Columns C, Loss L>
class Direct {
 public:
  using Cols = C;
  static constexpr bool exact = false;

  Direct(C A, std::span<const Coordinate> coordinates, const Samples& samples, std::span<double> z,
         std::span<double> g, bool intercept)
      : A(A), coordinates(coordinates), samples(samples), z(z), g(g), intercept(intercept) {}

  double gradient(std::int64_t k) const { return scale(k) * A.dot(k, g.data()); }
  void move(std::int64_t k, double delta) {
    A.visit(k, {0, A.rows()},
            [&, step = delta * scale(k)](Row i, double a) { set(i, z[at(i)] + step * a); });
  }
  double constant() const { return constant_; }

  double rows_value(int threads) const {
    return sum_rows(threads, A.rows(), [&](std::int64_t i) { return value(i, z[at(i)]); });
  }
  double rows_gap(int threads, double scale) const {
    return sum_rows(threads, A.rows(), [&](std::int64_t i) {
      const double w = samples.weight(i);
      return w > 0 ? w * L::fenchel_young(z[at(i)], samples.target(i), scale * g[at(i)] / w) : 0.0;
    });
  }

  // Threads that race keep z only: a g stored beside it could stay stale for ever.
  double gradient_racing(std::int64_t k) {
    double dot = 0;
    A.visit(k, {0, A.rows()}, [&](Row i, double a) {
      dot += a * samples.weight(i) * L::derivative(atomic_load(z[at(i)]), samples.target(i));
    });
    return scale(k) * dot;
  }
  void move_racing(std::int64_t k, double delta) {
    A.visit(k, {0, A.rows()},
            [&, step = delta * scale(k)](Row i, double a) { atomic_add(z[at(i)], step * a); });
  }
  struct State {
    std::vector<double> z;
    double constant = 0;
  };
  void save(State& state) const {
    state.z.assign(z.begin(), z.end());
    state.constant = constant_;
  }
  void restore(const State& state) {
    std::copy(state.z.begin(), state.z.end(), z.begin());
    constant_ = state.constant;
  }

  // Brings the intercept to its minimum, and g up to date with z.
  void settle(int threads) {
    if (intercept) constant_ += minimise_intercept<L>(threads, samples, z);
    for_rows(threads, A.rows(), [&](std::int64_t i) { set(i, z[at(i)]); });
  }

  const double* curvatures() const { return samples.weights(); }
  double value(std::int64_t i, double at_z) const {
    const double w = samples.weight(i);
    return w > 0 ? w * L::value(at_z, samples.target(i)) : 0.0;
  }
  void set(std::int64_t i, double new_z) {
    z[at(i)] = new_z;
    g[at(i)] = samples.weight(i) * L::derivative(new_z, samples.target(i));
  }

  C A;
  std::span<const Coordinate> coordinates;
  const Samples& samples;
  std::span<double> z, g;
  bool intercept;

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  double scale(std::int64_t k) const { return coordinates[at(k)].inv_scale; }
  double constant_ = 0;
};

}  // namespace shotgun
