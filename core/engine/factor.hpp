// Factor: the Gram matrix of a support, factored, for Newton steps that conjugate gradients alone
// would take long to find.
#pragma once

#include <algorithm>
#include <numeric>

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
    if (n < 1000 || n < 4 * size || size * size > 8 * nonzeros) return infinity;
    const double cubes = (C::dense ? 1.0 : 0.15) * size * size * size / 6;
    const auto products = [&](double pairs) { return (pairs + cubes) / (2 * nonzeros); };
    if constexpr (C::dense) {
      return products(0.6 * nonzeros * size / 2);
    } else {
      // Pairs of entries in a row: at least as many as if all rows were alike.
      const double least = products(2.5 * nonzeros * (nonzeros / n) / 2);
      return least > most ? least : products(2.5 * pairs(columns));
    }
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
    if constexpr (C::dense)
      fill_dense(model, which, gram, threads, watch);
    else
      fill_sparse(model, which, gram, threads, watch);
    if (watch.stopped() || !centre(model, which, gram, threads) || !gram.factor(threads, watch))
      return;
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

  static double pairs(const C& columns) {
    std::vector<std::int32_t> lengths(at(columns.rows()));
    for (std::int64_t k = 0; k < columns.count(); ++k)
      columns.visit(k, {0, columns.rows()}, [&](Row i, double) { ++lengths[at(i)]; });
    double sum = 0;
    for (double length : lengths) sum += length * length / 2;
    return sum;
  }

  // From a_k'Ha_l to a~_k'Ha~_l, and l2. Says whether all of it is finite.
  static bool centre(const Model& model, std::span<const std::int64_t> which, Cholesky& gram,
                     int threads) {
    const std::int64_t size = gram.size();
    std::vector<unsigned char> finite(at(size), 1);
    parallel_for(worthwhile_threads(threads, static_cast<double>(size * size)), size,
                 [&](std::int64_t s) {
                   double* row = gram.row(s);
                   const std::int64_t k = which[at(s)];
                   for (std::int64_t l = 0; l <= s; ++l) {
                     row[l] = model.centre_product(k, which[at(l)], row[l]);
                     finite[at(s)] &= std::isfinite(row[l]);
                   }
                   row[s] += model.coordinates[at(k)].penalty.l2;
                 });
    return std::ranges::all_of(finite, [](unsigned char f) { return f != 0; });
  }

  // a_k'Ha_l row by row of A: each pair of entries in it is a term of one product.
  static void fill_sparse(const Model& model, std::span<const std::int64_t> which, Cholesky& gram,
                          int threads, Watch& watch) {
    struct Entry {
      std::int32_t column;
      typename C::Value value;
    };
    const C& A = model.A;
    std::vector<std::int64_t> begin(at(A.rows() + 1));
    const auto visit_all = [&](auto&& body) {
      for (std::int64_t s = 0; s < gram.size(); ++s)
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
    const double work = 4 * static_cast<double>(entries.size());
    const std::int64_t runs = (gram.size() + run - 1) / run;
    parallel_for(worthwhile_threads(threads, work), runs, [&](std::int64_t r) {
      for (auto s = r * run; s < std::min(gram.size(), (r + 1) * run); ++s) {
        watch.poll();
        if (watch.stopped()) return;
        double* row = gram.row(s);
        A.visit(which[at(s)], {0, A.rows()}, [&](Row i, double a) {
          const double weighted = a * model.curvature(i);
          for (auto p = begin[at(i)]; entries[at(p)].column < s; ++p)
            row[entries[at(p)].column] += weighted * entries[at(p)].value;
          row[s] += weighted * a;
        });
      }
    });
  }

  // A few columns, weighted, by all before them, some rows at a time, which stay in cache.
  static void fill_dense(const Model& model, std::span<const std::int64_t> which, Cholesky& gram,
                         int threads, Watch& watch) {
    constexpr std::int64_t few = 4, run = 64, some = 512;
    const C& A = model.A;
    const std::int64_t n = A.rows(), size = gram.size();
    const double work = static_cast<double>(n * size) * static_cast<double>(size) / 2;
    parallel_for(worthwhile_threads(threads, work), (size + few - 1) / few, [&](std::int64_t b) {
      const Range rows{b * few, std::min(size, (b + 1) * few)};
      std::vector<std::vector<double>> weighted;
      for (auto s = rows.begin; s < rows.end; ++s) {
        const double one = 1.0;
        weighted.emplace_back(at(n));
        A.add_axpys(which.subspan(at(s), 1), &one, model.h, weighted.back().data(), {0, n});
      }
      for (std::int64_t i = 0; i < n; i += some) {
        watch.poll();
        if (watch.stopped()) return;
        for (std::int64_t l = 0; l < rows.end; l += run)
          for (auto s = std::max(l, rows.begin); s < rows.end; ++s)
            A.add_dots(which.subspan(at(l), at(std::min(run, s + 1 - l))),
                       weighted[at(s - rows.begin)].data(), gram.row(s) + l,
                       {i, std::min(n, i + some)});
      }
    });
  }

  Cholesky cholesky_;
  std::vector<std::int64_t> which_, place_;  // the columns, and of each packed one its place
  std::vector<double> diagonal_;             // of what was factored
};

}  // namespace shotgun
