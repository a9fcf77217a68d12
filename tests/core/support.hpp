// What the tests share: matrices kept dense and compressed at once, whole problems, F written the
// obvious way, and its minimum found the obvious way.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/order.hpp"
#include "loop/solve.hpp"
#include "problem/csc.hpp"
#include "problem/dense.hpp"
#include "problem/losses/losses.hpp"
#include "problem/sparse_source.hpp"

namespace testing {

using namespace shotgun;
using Doubles = std::vector<double>;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
inline bool close(double a, double b, double relative, double scale = 0) {
  return std::abs(a - b) <= relative * std::max({std::abs(a), std::abs(b), scale});
}
inline double normal(Random& random) {  // near enough: twelve uniforms
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

// The same numbers twice: in Fortran order and in compressed columns.
template <class T>
class Matrix {
 public:
  Matrix(std::int64_t n, std::int64_t d, std::vector<T> values)
      : n(n), d(d), dense(std::move(values)), starts{0} {
    for (std::int64_t j = 0; j < d; ++j) {
      for (std::int64_t i = 0; i < n; ++i)
        if (const T a = (*this)(i, j); a != 0) {
          values_.push_back(a);
          rows.push_back(static_cast<Row>(i));
        }
      starts.push_back(static_cast<std::int32_t>(rows.size()));
    }
    for (std::int64_t j = 0; j < d; ++j) {
      const auto begin = starts[at(j)], end = starts[at(j + 1)];
      dense_handles.push_back(dense.data() + j * n);
      sparse_handles.push_back({values_.data() + begin, rows.data() + begin, end - begin});
    }
  }
  Matrix(const Matrix& other) : Matrix(other.n, other.d, other.dense) {}
  Matrix(Matrix&&) = default;

  T operator()(std::int64_t i, std::int64_t j) const { return dense[at(j * n + i)]; }
  DenseColumns<T> dense_columns() const { return {n, dense_handles}; }
  SparseColumns<T> sparse_columns() const { return {n, sparse_handles}; }
  AnySource dense_source() const {
    return std::unique_ptr<Source<DenseColumns<T>>>(
        std::make_unique<DenseSource<T>>(dense.data(), n, d, n));
  }
  AnySource sparse_source() const {
    return std::unique_ptr<Source<SparseColumns<T>>>(std::make_unique<CscSource<T, std::int32_t>>(
        values_.data(), rows.data(), starts.data(), n, d));
  }
  const std::vector<T>& values() const { return values_; }

  std::int64_t n, d;
  std::vector<T> dense;

 private:
  std::vector<T> values_;

 public:
  std::vector<Row> rows;
  std::vector<std::int32_t> starts;
  std::vector<const T*> dense_handles;
  std::vector<SparseColumn<T>> sparse_handles;
};

template <class T = double>
Matrix<T> random_matrix(std::int64_t n, std::int64_t d, double density, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> values(at(n * d));
  for (T& a : values)
    if (random.uniform() < density) a = static_cast<T>(normal(random));
  return {n, d, std::move(values)};
}
// Every weight of a solution, zeros too.
inline Doubles weights(const Solution& s) {
  Doubles all(at(s.size));
  for (std::size_t k = 0; k < s.support.size(); ++k) all[at(s.support[k])] = s.weights[k];
  return all;
}

inline Doubles random_vector(std::int64_t size, std::uint64_t seed) {
  Random random(seed);
  Doubles v(at(size));
  for (double& e : v) e = normal(random);
  return v;
}

// A whole problem, with everything that F may have in it.
struct Example {
  Matrix<double> A;
  Doubles y, w{}, offset{}, factor{}, lo{}, hi{};
  double lam = 0, l2 = 0;
  AnyLoss loss = Squared{};
  bool intercept = false, standardize = false;

  Samples samples() const { return {y, w, offset}; }
  PenaltySpec penalty() const { return {lam, l2, {1.0, factor}, {-infinity, lo}, {infinity, hi}}; }
  double weight(std::int64_t i) const { return w.empty() ? 1.0 : w[at(i)]; }
  Penalty penalty_of(std::int64_t j) const {
    const double f = factor.empty() ? 1.0 : factor[at(j)];
    return {f == infinity ? infinity : lam * f, l2, lo.empty() ? -infinity : lo[at(j)],
            hi.empty() ? infinity : hi[at(j)]};
  }
};

const std::vector<AnyLoss> all_losses{Squared{}, Logistic{}, SquaredHinge{}, Huber{}, Poisson{}};

inline std::string_view name_of(const AnyLoss& loss) {
  return std::visit([](const auto& l) { return l.name; }, loss);
}
inline Curve loss_at(const AnyLoss& loss, double z, double y) {
  return std::visit([&](const auto& l) { return l.at(z, y); }, loss);
}
// A score as the target that the losses want: itself, its sign, or a count around its exponential.
inline double target(Targets kind, double score) {
  if (kind == Targets::classes) return score > 0 ? 1.0 : -1.0;
  return kind == Targets::counts ? std::round(std::exp(std::min(0.5 * score, 4.0))) : score;
}

// y from a sparse truth and noise.
inline Example make_example(std::int64_t n, std::int64_t d, double density, const AnyLoss& loss,
                            std::uint64_t seed) {
  Example e{.A = random_matrix(n, d, density, seed), .y = random_vector(n, seed + 1), .loss = loss};
  for (std::int64_t j = 0; j < std::min<std::int64_t>(d, 5); ++j)
    for (std::int64_t i = 0; i < n; ++i) e.y[at(i)] += (j % 2 ? -2.0 : 2.0) * e.A(i, j);
  const Targets kind = std::visit([](const auto& l) { return l.targets; }, loss);
  for (double& v : e.y) v = target(kind, v);
  return e;
}

inline Doubles predictor(const Example& e, const Doubles& x, double b) {
  Doubles z(at(e.A.n), b);
  for (std::int64_t i = 0; i < e.A.n; ++i) {
    if (!e.offset.empty()) z[at(i)] += e.offset[at(i)];
    for (std::int64_t j = 0; j < e.A.d; ++j) z[at(i)] += e.A(i, j) * x[at(j)];
  }
  return z;
}

// F as the issue states it, without standardising.
inline double objective(const Example& e, const Doubles& x, double b) {
  const Doubles z = predictor(e, x, b);
  double sum = 0;
  for (std::int64_t i = 0; i < e.A.n; ++i)
    if (e.weight(i) > 0) sum += e.weight(i) * loss_at(e.loss, z[at(i)], e.y[at(i)]).value;
  for (std::int64_t j = 0; j < e.A.d; ++j) sum += e.penalty_of(j).value(x[at(j)]);
  return sum;
}

struct Optimum {
  Doubles x;
  double intercept = 0, objective = 0;
};

// Plain cyclic coordinate descent with a curvature that bounds the loss from above, beta or, where
// there is none, the one at hand doubled until it does: slow, simple, sure.
inline Optimum reference(const Example& e, int epochs = 4000) {
  const double beta = std::visit([](const auto& l) { return l.beta; }, e.loss);
  const std::int64_t n = e.A.n, d = e.A.d;
  Optimum o{.x = Doubles(at(d))};
  for (std::int64_t j = 0; j < d; ++j) o.x[at(j)] = e.penalty_of(j).clamp(0.0);
  Doubles z = predictor(e, o.x, 0.0);
  auto entry = [&](std::int64_t i, std::int64_t j) { return j < d ? e.A(i, j) : 1.0; };
  auto loss = [&](std::int64_t j, double step) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (e.weight(i) > 0)
        sum += e.weight(i) * loss_at(e.loss, z[at(i)] + step * entry(i, j), e.y[at(i)]).value;
    return sum;
  };
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double moved = 0;
    for (std::int64_t j = 0; j < d + (e.intercept ? 1 : 0); ++j) {
      double slope = 0, curvature = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const Curve c = loss_at(e.loss, z[at(i)], e.y[at(i)]);
        slope += e.weight(i) * entry(i, j) * c.derivative;
        curvature +=
            (std::isfinite(beta) ? beta : c.curvature) * e.weight(i) * entry(i, j) * entry(i, j);
      }
      double& x = j < d ? o.x[at(j)] : o.intercept;
      const Penalty p = j < d ? e.penalty_of(j) : Penalty{};
      auto step = [&] { return curvature > 0 ? p.prox(curvature * x - slope, curvature) - x : 0; };
      if (!std::isfinite(beta))
        for (const double here = loss(j, 0); std::abs(step()) > 1e-7; curvature *= 2)
          if (loss(j, step()) <= here + step() * (slope + 0.5 * curvature * step())) break;
      const double by = step();
      for (std::int64_t i = 0; i < n; ++i) z[at(i)] += by * entry(i, j);
      moved = std::max(moved, std::abs(by));
      x += by;
    }
    if (moved < 1e-14) break;
  }
  o.objective = objective(e, o.x, o.intercept);
  return o;
}

inline Solution solve_example(const Example& e, const Options& options, bool dense,
                              std::span<const double> x0 = {}) {
  AnySource source = dense ? e.A.dense_source() : e.A.sparse_source();
  Problem problem{source, e.loss, e.samples(), e.penalty(), e.intercept, e.standardize};
  Watch watch(nullptr, infinity);
  return solve(problem, options, x0, {}, watch);
}

}  // namespace testing
