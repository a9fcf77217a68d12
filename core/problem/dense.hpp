// Dense columns: one pointer each, so that a working set is any choice of columns, copied or not.
#pragma once

#include "kernels/kernels.hpp"
#include "problem/design.hpp"

namespace shotgun {

template <class T>
class DenseColumns {
 public:
  using Handle = const T*;  // what a view is made of
  using Value = T;
  static constexpr bool dense = true;

  DenseColumns(std::int64_t rows, std::span<const T* const> columns)
      : rows_(rows), columns_(columns) {}

  std::int64_t rows() const { return rows_; }
  const Handle& handle(std::int64_t k) const { return columns_[static_cast<std::size_t>(k)]; }
  std::int64_t count() const { return static_cast<std::int64_t>(columns_.size()); }
  std::int64_t nonzeros(std::int64_t) const { return rows_; }

  [[gnu::always_inline]] void prefetch_handle(std::int64_t k) const {
    __builtin_prefetch(&columns_[static_cast<std::size_t>(k)]);
  }
  [[gnu::always_inline]] void prefetch_column(std::int64_t k) const { __builtin_prefetch(at(k)); }

  double dot(std::int64_t k, const double* v) const { return table_->dot(rows_, at(k), v); }
  void axpy(std::int64_t k, double delta, const double* h, double* v) const {
    table_->axpy(rows_, delta, at(k), h, v);
  }

  void add_dots(std::span<const std::int64_t> list, const double* v, double* out, Range r) const {
    const T* shifted[chunk];
    for (std::size_t l = 0; l < list.size(); l += chunk) {
      const auto some = list.subspan(l, std::min(chunk, list.size() - l));
      shift(some, r, shifted);
      table_->dots(r.size(), static_cast<std::int64_t>(some.size()), shifted, v + r.begin, out + l);
    }
  }
  void add_axpys(std::span<const std::int64_t> list, const double* delta, const double* h,
                 double* v, Range r) const {
    const T* shifted[chunk];
    for (std::size_t l = 0; l < list.size(); l += chunk) {
      const auto some = list.subspan(l, std::min(chunk, list.size() - l));
      shift(some, r, shifted);
      table_->axpys(r.size(), static_cast<std::int64_t>(some.size()), shifted, delta + l,
                    h ? h + r.begin : nullptr, v + r.begin);
    }
  }

  void moments(std::int64_t k, const double* h, double* sum, double* squares) const {
    double nothing;
    table_->moments(rows_, at(k), h, nullptr, sum, squares, &nothing);
  }
  template <class Visit>
  void visit(std::int64_t k, Range r, Visit&& visit) const {
    const T* a = at(k);
    for (std::int64_t i = r.begin; i < r.end; ++i)
      visit(static_cast<Row>(i), static_cast<double>(a[i]));
  }

 private:
  static constexpr std::size_t chunk = 64;
  const T* at(std::int64_t k) const { return columns_[static_cast<std::size_t>(k)]; }
  void shift(std::span<const std::int64_t> list, Range r, const T** out) const {
    for (std::int64_t k : list) *out++ = at(k) + r.begin;
  }

  std::int64_t rows_;
  std::span<const T* const> columns_;
  const kernels::Table<T>* table_ = &kernels::active_table<T>();
};

static_assert(Columns<DenseColumns<double>> && Columns<DenseColumns<float>>);

}  // namespace shotgun
