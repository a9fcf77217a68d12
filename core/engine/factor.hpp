// Factor: the Gram matrix of a support, factored, for Newton steps that conjugate gradients alone
// would take long to find.
#pragma once

#include "engine/cholesky.hpp"
#include "engine/model.hpp"

namespace shotgun {

// Of A~'HA~ + diag(l2) on some of the packed columns, as it was when it was made. A model's h and
// its support change little from one Newton step to the next: conjugate gradients that are
// preconditioned by it need few products, and by one that is new, one.
template <Columns C>
class Factor {
 public:
  using Model = Quadratic<C>;

  // What making it costs, in products with A~'HA~ of these columns; roughly, where it is above
  // `most`. A sparse product waits for memory at each entry, dense ones and all that is done here
  // come in streams. Never worth it for few samples, where products are cheap; nor where they are
  // not several for each column: then columns are nearly collinear, and of an exact step most
  // weights cross zero; nor where it would be many times larger than the columns.
  static double cost(const C& columns, double most) {
    const auto size = static_cast<double>(columns.count()), n = static_cast<double>(columns.rows());
    const double nonzeros = std::max(1.0, count_nonzeros(columns));
    if (n < 1000 || n < 4 * size || size * size > 16 * nonzeros) return infinity;
    const double cubes = (C::dense ? 1.0 : 0.1) * size * size * size / 6;
    const auto products = [&](double pairs) { return (pairs + cubes) / (2 * nonzeros); };
    if constexpr (C::dense) {
      return products(0.6 * nonzeros * size / 2);
    } else {
      // Pairs of entries in a row: at least as many as if all rows were alike.
      const double least = products(2.5 * nonzeros * (nonzeros / n) / 2);
      return least > most ? least : products(2.5 * pairs(columns));
    }
  }

  bool empty() const { return cholesky_.size() == 0; }

  // Of the packed columns `which`.
  void make(const Model& model, std::span<const std::int64_t> which, int threads, Watch& watch) {
    cholesky_ = Cholesky(static_cast<std::int64_t>(which.size()));
    if constexpr (C::dense)
      fill_dense(model, which, threads, watch);
    else
      fill_sparse(model, which, threads, watch);
    for (std::int64_t s = 0; s < size(); ++s) {
      double* row = cholesky_.row(s);
      const std::int64_t k = which[at(s)];
      for (std::int64_t l = 0; l <= s; ++l) row[l] = model.centre_product(k, which[at(l)], row[l]);
      row[s] += model.coordinates[at(k)].penalty.l2;
    }
    if (watch.stopped() || !cholesky_.factor(threads, watch)) return clear();
    place_.assign(at(model.A.count()), nowhere);
    for (std::int64_t s = 0; s < size(); ++s)
      if (!cholesky_.said(s)) place_[at(which[at(s)])] = s;
  }
  void clear() {
    cholesky_ = {};
    place_.clear();
  }

  // Where a packed column is in it, or nowhere.
  static constexpr std::int64_t nowhere = -1;
  std::int64_t place(std::int64_t k) const {
    return at(k) < place_.size() ? place_[at(k)] : nowhere;
  }
  std::int64_t size() const { return cholesky_.size(); }
  // Of the columns that it was made of: whether those before one say it, and how.
  bool said(std::int64_t s) const { return cholesky_.said(s); }
  std::vector<double> combination(std::int64_t s) const { return cholesky_.combination(s); }
  void solve(std::span<double> v) const { cholesky_.solve(v); }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  static double pairs(const C& columns) {
    std::vector<std::int32_t> lengths(at(columns.rows()));
    for (std::int64_t k = 0; k < columns.count(); ++k)
      columns.visit(k, {0, columns.rows()}, [&](Row i, double) { ++lengths[at(i)]; });
    double sum = 0;
    for (double length : lengths) sum += length * length / 2;
    return sum;
  }

  // a_k'Ha_l row by row of A: each pair of entries in it is a term of one product.
  void fill_sparse(const Model& model, std::span<const std::int64_t> which, int threads,
                   Watch& watch) {
    struct Entry {
      std::int32_t column;
      typename C::Value value;
    };
    const C& A = model.A;
    std::vector<std::int64_t> begin(at(A.rows() + 1));
    const auto visit_all = [&](auto&& body) {
      for (std::int64_t s = 0; s < size(); ++s)
        A.visit(which[at(s)], {0, A.rows()}, [&](Row i, double a) { body(at(i), s, a); });
    };
    visit_all([&](std::size_t i, std::int64_t, double) { ++begin[i + 1]; });
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<Entry> entries(at(begin.back()));
    std::vector<std::int64_t> end(begin.begin(), begin.end() - 1);
    visit_all([&](std::size_t i, std::int64_t s, double a) {
      entries[at(end[i]++)] = {static_cast<std::int32_t>(s), static_cast<typename C::Value>(a)};
    });
    constexpr std::int64_t run = 16;
    parallel_for(worthwhile_threads(threads, 4 * static_cast<double>(entries.size())),
                 (size() + run - 1) / run, [&](std::int64_t r) {
                   for (auto s = r * run; s < std::min(size(), (r + 1) * run); ++s) {
                     double* row = cholesky_.row(s);
                     A.visit(which[at(s)], {0, A.rows()}, [&](Row i, double a) {
                       const double weighted = a * model.curvature(i);
                       for (auto p = begin[at(i)]; entries[at(p)].column < s; ++p)
                         row[entries[at(p)].column] += weighted * entries[at(p)].value;
                       row[s] += weighted * a;
                     });
                   }
                   watch.poll();
                 });
  }

  // A few columns, weighted, by all before them, some rows at a time, which stay in cache.
  void fill_dense(const Model& model, std::span<const std::int64_t> which, int threads,
                  Watch& watch) {
    constexpr std::int64_t few = 16, run = 64, some = 512;
    const C& A = model.A;
    const std::int64_t n = A.rows();
    const double work = static_cast<double>(n * size()) * static_cast<double>(size()) / 2;
    parallel_for(worthwhile_threads(threads, work), (size() + few - 1) / few, [&](std::int64_t b) {
      const Range rows{b * few, std::min(size(), (b + 1) * few)};
      std::vector<double> weighted(at(few * n));
      const double one = 1.0;
      for (auto s = rows.begin; s < rows.end; ++s)
        A.add_axpys(which.subspan(at(s), 1), &one, model.h, weighted.data() + (s - rows.begin) * n,
                    {0, n});
      for (std::int64_t i = 0; i < n && !watch.stopped(); i += some) {
        for (std::int64_t l = 0; l < rows.end; l += run)
          for (auto s = std::max(l, rows.begin); s < rows.end; ++s)
            A.add_dots(which.subspan(at(l), at(std::min(run, s + 1 - l))),
                       weighted.data() + (s - rows.begin) * n, cholesky_.row(s) + l,
                       {i, std::min(n, i + some)});
        watch.poll();
      }
    });
  }

  Cholesky cholesky_;
  std::vector<std::int64_t> place_;  // of each packed column
};

}  // namespace shotgun
