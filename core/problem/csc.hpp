// Sparse columns: compressed, rows ascending within a column.
#pragma once

#include <algorithm>

#include "problem/design.hpp"

namespace shotgun {

// Index: int32, or int64 where that is how the caller keeps the rows, which are read in place.
template <class T, class Index = Row>
struct SparseColumn {
  const T* values;
  const Index* rows;
  std::int64_t size;
};

// Four running sums hide the latency of the adds; longer unrolling does not pay for short columns.
// What is left over goes through the same four, times 0 or 1: most columns are short, and no
// processor foresees how short the next one is.
template <class T, class Index>
[[gnu::always_inline]] inline double sparse_dot(const T* values, const Index* rows,
                                                std::int64_t size, const double* v) {
  if (size == 0) return 0;
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::int64_t p = 0;
  for (; p + 4 <= size; p += 4) {
    s0 += static_cast<double>(values[p]) * v[rows[p]];
    s1 += static_cast<double>(values[p + 1]) * v[rows[p + 1]];
    s2 += static_cast<double>(values[p + 2]) * v[rows[p + 2]];
    s3 += static_cast<double>(values[p + 3]) * v[rows[p + 3]];
  }
  static constexpr double take[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}};
  const double* const some = take[size - p];
  const std::int64_t last = size - 1, a = std::min(p, last), b = std::min(p + 1, last),
                     c = std::min(p + 2, last);
  s0 += some[0] * static_cast<double>(values[a]) * v[rows[a]];
  s1 += some[1] * static_cast<double>(values[b]) * v[rows[b]];
  s2 += some[2] * static_cast<double>(values[c]) * v[rows[c]];
  return (s0 + s1) + (s2 + s3);
}

// sum_i w_i a_i, sum_i w_i a_i^2 and a'v of one column; without v no third. Two running sums of
// each, likewise.
struct Moments {
  double sum = 0, squares = 0, dot = 0;
  template <class T, class Index>
  [[gnu::always_inline]] void add(const SparseColumn<T, Index>& a, std::int64_t p, double take,
                                  const double* w, const double* v) {
    const double value = take * static_cast<double>(a.values[p]);
    const double weighted = w ? w[a.rows[p]] * value : value;
    sum += weighted;
    squares += weighted * value;
    if (v) dot += value * v[a.rows[p]];
  }
};
template <class T, class Index>
[[gnu::always_inline]] inline Moments sparse_moments(const SparseColumn<T, Index>& a,
                                                     const double* w, const double* v) {
  Moments even, odd;
  if (a.size == 0) return even;
  std::int64_t p = 0;
  for (; p + 2 <= a.size; p += 2) {
    even.add(a, p, 1, w, v);
    odd.add(a, p + 1, 1, w, v);
  }
  even.add(a, a.size - 1, p < a.size ? 1 : 0, w, v);
  return {even.sum + odd.sum, even.squares + odd.squares, even.dot + odd.dot};
}

template <class T, class Index = Row>
class SparseColumns {
 public:
  using Handle = SparseColumn<T, Index>;  // what a view is made of
  using Value = T;
  static constexpr bool dense = false;

  SparseColumns(std::int64_t rows, std::span<const Handle> columns)
      : rows_(rows), columns_(columns) {}

  std::int64_t rows() const { return rows_; }
  const Handle& handle(std::int64_t k) const { return columns_[static_cast<std::size_t>(k)]; }
  std::int64_t count() const { return static_cast<std::int64_t>(columns_.size()); }
  std::int64_t nonzeros(std::int64_t k) const { return at(k).size; }

  // Random order misses the cache on the handle, then on the entries: ask for both ahead of time.
  // always_inline, since GCC takes a call that only prefetches for one that does nothing.
  [[gnu::always_inline]] void prefetch_handle(std::int64_t k) const { __builtin_prefetch(&at(k)); }
  [[gnu::always_inline]] void prefetch_column(std::int64_t k) const {
    __builtin_prefetch(at(k).values);
    __builtin_prefetch(at(k).values + 8);
    __builtin_prefetch(at(k).values + 16);
    __builtin_prefetch(at(k).rows);
    __builtin_prefetch(at(k).rows + 16);
  }

  double dot(std::int64_t k, const double* v) const {
    return sparse_dot(at(k).values, at(k).rows, at(k).size, v);
  }
  void axpy(std::int64_t k, double delta, const double* h, double* v) const {
    scatter(at(k), delta, h, v);
  }

  void add_dots(std::span<const std::int64_t> list, const double* v, double* out, Range r) const {
    for (std::int64_t k : list) {
      const Handle a = within(k, r);
      *out++ += sparse_dot(a.values, a.rows, a.size, v);
    }
  }
  void add_axpys(std::span<const std::int64_t> list, const double* delta, const double* h,
                 double* v, Range r) const {
    for (std::size_t l = 0; l < list.size(); ++l)
      if (delta[l] != 0) scatter(within(list[l], r), delta[l], h, v);
  }

  void moments(std::int64_t k, const double* h, double* sum, double* squares) const {
    const Moments m = sparse_moments(at(k), h, nullptr);
    *sum = m.sum;
    *squares = m.squares;
  }
  template <class Visit>
  void visit(std::int64_t k, Range r, Visit&& visit) const {
    const Handle a = within(k, r);
    for (std::int64_t p = 0; p < a.size; ++p)
      visit(static_cast<Row>(a.rows[p]), static_cast<double>(a.values[p]));
  }

 private:
  const Handle& at(std::int64_t k) const { return columns_[static_cast<std::size_t>(k)]; }

  // The part of column k whose rows lie in r.
  Handle within(std::int64_t k, Range r) const {
    const Handle a = at(k);
    if (r.begin == 0 && r.end == rows_) return a;
    const Index* first = std::lower_bound(a.rows, a.rows + a.size, static_cast<Index>(r.begin));
    const Index* last = std::lower_bound(first, a.rows + a.size, static_cast<Index>(r.end));
    return {a.values + (first - a.rows), first, last - first};
  }
  static void scatter(const Handle& a, double delta, const double* h, double* v) {
    if (h)
      for (std::int64_t p = 0; p < a.size; ++p)
        v[a.rows[p]] += delta * h[a.rows[p]] * static_cast<double>(a.values[p]);
    else
      for (std::int64_t p = 0; p < a.size; ++p)
        v[a.rows[p]] += delta * static_cast<double>(a.values[p]);
  }

  std::int64_t rows_;
  std::span<const Handle> columns_;
};

static_assert(Columns<SparseColumns<double>> && Columns<SparseColumns<float, std::int64_t>>);

}  // namespace shotgun
