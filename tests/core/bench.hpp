// A problem as an engine sees it.
#pragma once

#include <optional>

#include "engine/model.hpp"
#include "parallel/watch.hpp"
#include "problem/standardized.hpp"
#include "support.hpp"

namespace testing {

// The squared loss on all columns of an example, as an engine sees it.
template <Columns C>
struct Bench {
  Bench(const Example& e, C A) : e(e), g(e.y), h(e.w.empty() ? nullptr : e.w.data()), x(at(e.A.d)) {
    double total = 0, y_sum = 0;
    for (std::int64_t i = 0; i < e.A.n; ++i) {
      total += e.weight(i);
      y_sum += e.weight(i) * e.y[at(i)];
    }
    const double b = e.intercept ? y_sum / total : 0.0;
    for (std::int64_t i = 0; i < e.A.n; ++i) g[at(i)] = e.weight(i) * (b - e.y[at(i)]);
    for (std::int64_t k = 0; k < e.A.d; ++k)
      coordinates.push_back(
          make_coordinate(A, k, h, total, e.intercept, 0.0, 1.0, e.penalty_of(k)));
    model.emplace(A, coordinates, g, h, total, e.intercept);
  }
  double value() const {
    double sum = model->rows_value(1);
    for (std::int64_t k = 0; k < e.A.d; ++k) sum += e.penalty_of(k).value(x[at(k)]);
    return sum;
  }

  const Example& e;
  Doubles g;
  const double* h;
  Doubles x;
  std::vector<Coordinate> coordinates;
  std::optional<Quadratic<C>> model;
  Watch watch{nullptr, infinity};
};

}  // namespace testing
