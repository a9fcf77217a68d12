// Factor: the Gram matrix of a support, factored, for Newton steps that conjugate gradients alone
// would take long to find.
#pragma once

#include <algorithm>

#include "engine/cholesky.hpp"
#include "engine/gram.hpp"

namespace shotgun {

// Of A~'HA~ + diag(l2) on some of the packed columns, as it was when it was made. A model's h and
// its support change little from one Newton step to the next: conjugate gradients that are
// preconditioned by it need few products, and by one that is new, one.
template <Columns C>
class Factor {
 public:
  using Model = Quadratic<C>;

  // What making it costs, in products with A~'HA~ of these columns; roughly, where it is above
  // `most`. Never worth it for few samples, where products are cheap; nor where they are not
  // several for each column: then columns are nearly collinear, and of an exact step most weights
  // cross zero; nor where it would be many times larger than the columns.
  static double cost(const C& columns, double most) {
    const auto size = static_cast<double>(columns.count()), n = static_cast<double>(columns.rows());
    const double nonzeros = std::max(1.0, count_nonzeros(columns));
    if (n < 1000 || n < 4 * size || size * size > 8 * nonzeros) return infinity;
    const double cubes = (C::dense ? 1.0 : 0.15) * size * size * size / 6;
    return gram_cost(columns, most) + cubes / (2 * nonzeros);
  }

  bool empty() const { return size() == 0; }
  std::int64_t size() const { return cholesky_.size(); }
  // Whether it was made of these very columns.
  bool is_of(std::span<const std::int64_t> which) const {
    return std::ranges::equal(which_, which);
  }

  // Of the packed columns `which`. Empty afterwards if the watch stops it, or float64 cannot hold
  // it.
  void make(const Model& model, std::span<const std::int64_t> which, int threads, Watch& watch) {
    clear();
    Cholesky gram(static_cast<std::int64_t>(which.size()));
    const auto row_of = [&](std::int64_t s) { return gram.row(s); };
    if (!fill_gram(model, which, 0, row_of, threads, watch)) return;
    for (std::int64_t s = 0; s < gram.size(); ++s)
      gram.row(s)[s] += model.coordinates[at(which[at(s)])].penalty.l2;
    if (!gram.factor(threads, watch)) return;
    cholesky_ = std::move(gram);
    which_.assign(which.begin(), which.end());
    place_.assign(at(model.A.count()), nowhere);
    for (std::int64_t s = 0; s < size(); ++s) {
      const Coordinate& c = model.coordinates[at(which[at(s)])];
      diagonal_.push_back(c.beta + c.penalty.l2);
      if (!said(s)) place_[at(which[at(s)])] = s;
    }
  }
  void clear() { *this = {}; }

  // Where a packed column is in it, or nowhere.
  static constexpr std::int64_t nowhere = -1;
  std::int64_t place(std::int64_t k) const {
    return at(k) < place_.size() ? place_[at(k)] : nowhere;
  }
  double diagonal(std::int64_t place) const { return diagonal_[at(place)]; }
  void solve(std::span<double> v) const { cholesky_.solve(v); }
  // Of the columns that it was made of: whether those before one say it, and how.
  bool said(std::int64_t s) const { return cholesky_.said(s); }
  std::vector<double> combination(std::int64_t s) const { return cholesky_.combination(s); }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  Cholesky cholesky_;
  std::vector<std::int64_t> which_, place_;  // the columns, and of each packed one its place
  std::vector<double> diagonal_;             // of what was factored
};

}  // namespace shotgun
