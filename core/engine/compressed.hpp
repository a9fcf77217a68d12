// Compressed: many samples of few columns, as few samples.
#pragma once

#include <cmath>
#include <vector>

#include "engine/cholesky.hpp"
#include "engine/gram.hpp"
#include "engine/symmetric.hpp"
#include "problem/dense.hpp"

namespace shotgun {

// With the Gram matrix A~'HA~ = LL' and L g' = A~'g, a step s changes a quadratic model to
//   q = |g' + L's|^2 / 2 + constant:
// the rows of L are the columns of a problem with as many samples as columns, and the same minimum.
// One more sample, where all columns are zero, keeps the constant, so that the gap is the same,
// too. Where samples are many and columns few, all engines are far quicker there.
template <Columns C>
class Compressed {
 public:
  using Model = Quadratic<C>;
  using Small = DenseColumns<double>;

  // What it takes to see these columns, in products with A~'HA~; roughly, where it is above `most`.
  // Infinite where it would not be much smaller than they are, or where samples are so few that all
  // is quick anyway.
  double cost(const C& columns, double most) const {
    const auto size = static_cast<double>(columns.count()), old = static_cast<double>(gram_.size());
    if (columns.rows() < 1000 || 2 * size * size > count_nonzeros(columns)) return infinity;
    return size > old ? (1 - old * old / (size * size)) * gram_cost(columns, most) : 0.0;
  }

  // Takes in the columns that are new, and the gradient of now. False, and empty again, where the
  // watch has stopped it, or float64 cannot hold it.
  bool take(const Model& model, int threads, Watch& watch) {
    if (!extend(model, threads, watch)) {
      *this = {};
      return false;
    }
    g_ = model.gradients(threads);
    factor_.divide(g_);
    double square = 0;
    for (double v : g_) square += v * v;
    g_.push_back(std::sqrt(std::max(0.0, 2 * model.rows_value(threads) - square)));
    coordinates_.clear();
    for (std::size_t s = 0; s < beta_.size(); ++s)
      coordinates_.push_back({model.coordinates[s].penalty, beta_[s]});
    return true;
  }

  Quadratic<Small> model() {
    const auto rows = static_cast<std::int64_t>(g_.size());
    return {Small(rows, columns_), coordinates_, g_, nullptr, static_cast<double>(rows), false};
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  // Columns that differ by a millionth of their length are still two.
  static constexpr double own = 1e-12;

  bool extend(const Model& model, int threads, Watch& watch) {
    const std::int64_t old = gram_.size(), size = model.A.count();
    if (size == old) return true;
    while (gram_.size() < size) gram_.grow();
    const auto row_of = [&](std::int64_t s) { return gram_.row(s).data(); };
    if (!fill_gram(model, first_columns(size), old, row_of, threads, watch)) return false;
    factor_ = Cholesky(size, own);
    for (std::int64_t s = 0; s < size; ++s) std::ranges::copy(gram_.row(s), factor_.row(s));
    if (!factor_.factor(threads, watch)) return false;
    values_.assign(at(size * (size + 1)), 0.0);
    columns_.clear();
    beta_.clear();
    for (std::int64_t s = 0; s < size; ++s) {
      const double* row = factor_.row(s);
      double* column = values_.data() + s * (size + 1);
      std::copy_n(row, s + 1, column);
      columns_.push_back(column);
      beta_.push_back(std::inner_product(row, row + s + 1, row, 0.0));
    }
    return true;
  }

  Symmetric gram_;
  Cholesky factor_;
  std::vector<double> values_;          // the rows of L, with zeros after each,
  std::vector<const double*> columns_;  // where each begins,
  std::vector<double> beta_;            // and the squares of their lengths
  std::vector<Coordinate> coordinates_;
  std::vector<double> g_;  // g', and what no column changes
};

}  // namespace shotgun
