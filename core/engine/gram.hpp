// The Gram matrix of packed columns: A~'HA~.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/model.hpp"
#include "parallel/watch.hpp"

namespace shotgun {

// Pairs of entries in a row, of all rows.
template <Columns C>
double count_pairs(const C& columns) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(columns.rows()));
  for (std::int64_t k = 0; k < columns.count(); ++k)
    columns.visit(k, {0, columns.rows()},
                  [&](Row i, double) { ++lengths[static_cast<std::size_t>(i)]; });
  double sum = 0;
  for (double length : lengths) sum += length * length / 2;
  return sum;
}

// What the lower half costs, in products with A~'HA~ of these columns; roughly, where it is above
// `most`. To see sparse columns row by row is about three products; then a pair of entries in a row
// takes about as long as an entry in a product. Dense ones and all that is done here come in
// streams.
template <Columns C>
double gram_cost(const C& columns, double most) {
  if constexpr (C::dense) return 0.15 * static_cast<double>(columns.count());
  const double nonzeros = std::max(1.0, count_nonzeros(columns));
  const double least =
      3 + nonzeros / static_cast<double>(columns.rows()) / 4;  // were all rows alike
  return least > most ? least : 3 + count_pairs(columns) / (2 * nonzeros);
}

// Sparse columns row by row, in blocks of rows that stay in cache.
template <class C>
class RowByRow {
 public:
  struct Entry {
    std::int32_t column;  // place among `which`
    typename C::Value value;
  };

  RowByRow(const C& A, std::span<const std::int64_t> which) : rows_(A.rows()), next_(which.size()) {
    double total = 1;
    for (std::int64_t k : which) {
      columns_.push_back(A.handle(k));
      total += static_cast<double>(A.nonzeros(k));
    }
    block_ = static_cast<std::int64_t>(16384 * static_cast<double>(rows_) / total) + 1;
    block_ = std::min(block_, std::min<std::int64_t>(rows_, 16384));
    end_.resize(at(block_) + 1);
  }

  // Calls body(i, entries of row i) for all rows, or until the watch stops it.
  template <class Body>
  void each(Watch& watch, Body&& body) {
    for (std::int64_t first = 0; first < rows_; first += block_) {
      watch.poll();
      if (watch.stopped()) return;
      const std::int64_t last = std::min(rows_, first + block_);
      load(first, last);
      for (auto i = first; i < last; ++i) {
        const std::size_t begin = end_[at(i - first)], end = end_[at(i - first) + 1];
        body(i, std::span<const Entry>(entries_).subspan(begin, end - begin));
      }
    }
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  // Counts, then places: end_[r + 1] is where row r begins until its entries have come.
  void load(std::int64_t first, std::int64_t last) {
    std::fill(end_.begin(), end_.end(), 0);
    const auto until = [&](std::size_t s, auto&& body) {
      const auto& column = columns_[s];
      std::int64_t p = next_[s];
      for (; p < column.size && column.rows[p] < last; ++p) body(column, p);
      return p;
    };
    for (std::size_t s = 0; s < columns_.size(); ++s)
      until(s, [&](const auto& column, std::int64_t p) { ++end_[at(column.rows[p] - first) + 1]; });
    std::partial_sum(end_.begin(), end_.end(), end_.begin());
    entries_.resize(end_.back());
    std::shift_right(end_.begin(), end_.end(), 1);
    end_[0] = 0;
    for (std::size_t s = 0; s < columns_.size(); ++s)
      next_[s] = until(s, [&](const auto& column, std::int64_t p) {
        entries_[end_[at(column.rows[p] - first) + 1]++] = {static_cast<std::int32_t>(s),
                                                            column.values[p]};
      });
  }

  std::int64_t rows_, block_ = 1;
  std::vector<Handle<C>> columns_;
  std::vector<std::int64_t> next_;  // of each column, the first entry of the next block
  std::vector<Entry> entries_;      // of a block
  std::vector<std::size_t> end_;    // of its rows, the last place and one; before them 0
};

// a_k'Ha_l row by row of A: each pair of entries in it is a term of one product. Each thread reads
// all of it and makes rows of its own, so that sums have one order.
template <Columns C, class RowOf>
void add_sparse_products(const Quadratic<C>& model, std::span<const std::int64_t> which,
                         std::int64_t first, RowOf&& row_of, int threads, Watch& watch) {
  const auto size = static_cast<std::int64_t>(which.size());
  std::vector<double> work{0.0};  // of rows of the Gram matrix
  for (auto s = first; s < size; ++s)
    work.push_back(
        work.back() +
        static_cast<double>(model.A.nonzeros(which[static_cast<std::size_t>(s)]) * (s + 1)));
  run_region(worthwhile_threads(threads, work.back() / 8), [&](const Team& team) {
    const auto from = [&](int part) {
      const double before = work.back() * part / team.threads;
      return first + (std::ranges::lower_bound(work, before) - work.begin());
    };
    const std::int64_t low = from(team.thread),
                       high = team.thread + 1 == team.threads ? size : from(team.thread + 1);
    std::vector<double*> rows;
    for (auto s = low; s < high; ++s) rows.push_back(row_of(s));
    RowByRow<C> row_by_row(model.A, which);
    row_by_row.each(watch, [&](std::int64_t i, auto entries) {
      const double h = model.curvature(i);
      for (const auto& a : entries) {
        if (a.column < low || a.column >= high) continue;
        const double weighted = h * static_cast<double>(a.value);
        double* row = rows[static_cast<std::size_t>(a.column - low)];
        for (const auto* b = entries.data(); b <= &a; ++b)
          row[b->column] += weighted * static_cast<double>(b->value);
      }
    });
  });
}

// A few columns, weighted, by all before them, some rows at a time, which stay in cache.
template <Columns C, class RowOf>
void add_dense_products(const Quadratic<C>& model, std::span<const std::int64_t> which,
                        std::int64_t first, RowOf&& row_of, int threads, Watch& watch) {
  constexpr std::int64_t few = 4, run = 64, some = 512;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const C& A = model.A;
  const auto size = static_cast<std::int64_t>(which.size());
  const std::int64_t n = A.rows(), fresh = size - first;
  const double work = static_cast<double>(n * fresh) * static_cast<double>(size) / 2;
  parallel_for(worthwhile_threads(threads, work), (fresh + few - 1) / few, [&](std::int64_t b) {
    const Range rows{first + b * few, std::min(size, first + (b + 1) * few)};
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
                     weighted[at(s - rows.begin)].data(), row_of(s) + l,
                     {i, std::min(n, i + some)});
    }
  });
}

// Rows from `first` on of the lower half, for the packed columns `which`: row_of(s) is where row s
// goes, and zero so far. False where the watch has stopped it, or float64 cannot hold it.
template <Columns C, class RowOf>
bool fill_gram(const Quadratic<C>& model, std::span<const std::int64_t> which, std::int64_t first,
               RowOf&& row_of, int threads, Watch& watch) {
  const auto size = static_cast<std::int64_t>(which.size());
  if (size == first) return true;
  if constexpr (C::dense)
    add_dense_products(model, which, first, row_of, threads, watch);
  else
    add_sparse_products(model, which, first, row_of, threads, watch);
  if (watch.stopped()) return false;
  std::vector<unsigned char> finite(which.size(), 1);
  parallel_for(worthwhile_threads(threads, static_cast<double>(size * (size - first))),
               size - first, [&](std::int64_t r) {
                 const std::int64_t s = first + r;
                 double* row = row_of(s);
                 for (std::int64_t l = 0; l <= s; ++l) {
                   row[l] = model.centre_product(which[static_cast<std::size_t>(s)],
                                                 which[static_cast<std::size_t>(l)], row[l]);
                   finite[static_cast<std::size_t>(s)] &= std::isfinite(row[l]);
                 }
               });
  return std::ranges::all_of(finite, [](unsigned char f) { return f != 0; });
}

}  // namespace shotgun
