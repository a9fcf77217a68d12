// A as a whole, wherever it lives. Scanning columns and packing columns is all that the working-set
// loop asks of the data.
#pragma once

#include <deque>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "loop/watch.hpp"
#include "problem/csc.hpp"
#include "problem/dense.hpp"

namespace shotgun {

template <class C>
class Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t cols() const = 0;
  virtual double nonzeros() const = 0;

  // out_p = a_j'v for j = which_p (every column, in order, where `which` is empty).
  virtual void scan(int threads, const double* v, std::span<const Column> which, double* out,
                    Watch& watch) const = 0;
  // sum_i w_i a_ij, sum_i w_i a_ij^2 and a_j'v for every column: the first scan, and all that must
  // be known of a column beforehand, in one pass.
  virtual void survey(int threads, const double* w, const double* v, double* sum, double* squares,
                      double* dots, Watch& watch) const = 0;
  virtual bool empty(Column j) const = 0;  // known to hold no non-zero
  // Handles to the columns `which` in memory where an engine runs fast; valid while *this lives.
  virtual void pack(std::span<const Column> which, std::vector<Handle<C>>& out) = 0;
  // Handles without a copy, if there are any.
  virtual bool borrow(std::span<const Column> which, std::vector<Handle<C>>& out) const = 0;
};

// Calls visit(first, last) on runs of columns, in parallel, asking the watch between runs.
template <class Visit>
void for_columns(int threads, std::int64_t count, double work, Watch& watch, Visit&& visit) {
  const std::int64_t run = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(count) / std::max(1.0, work / 2e5)), 1, 4096);
  const std::int64_t runs = (count + run - 1) / run;
  watch.saw_threads(parallel_for(worthwhile_threads(threads, work), runs, [&](std::int64_t r) {
    if (watch.stopped()) return;
    visit(r * run, std::min(count, (r + 1) * run));
    watch.poll();
  }));
}

// Fortran-order memory.
template <class T>
class DenseSource final : public Source<DenseColumns<T>> {
 public:
  using C = DenseColumns<T>;
  DenseSource(const T* values, std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : values_(values), rows_(rows), cols_(cols), stride_(stride) {}

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  double nonzeros() const override {
    return static_cast<double>(rows_) * static_cast<double>(cols_);
  }

  void scan(int threads, const double* v, std::span<const Column> which, double* out,
            Watch& watch) const override {
    const auto count = which.empty() ? cols_ : static_cast<std::int64_t>(which.size());
    for_columns(threads, count, work(count), watch, [&](std::int64_t first, std::int64_t last) {
      std::vector<const T*> columns;
      for (auto p = first; p < last; ++p) columns.push_back(at(which, p));
      std::fill(out + first, out + last, 0.0);
      C(rows_, columns).add_dots(first_columns(last - first), v, out + first, {0, rows_});
    });
  }
  void survey(int threads, const double* w, const double* v, double* sum, double* squares,
              double* dots, Watch& watch) const override {
    const auto& table = kernels::active_table<T>();
    for_columns(threads, cols_, 3 * work(cols_), watch, [&](std::int64_t first, std::int64_t last) {
      for (auto j = first; j < last; ++j) {
        table.moments(rows_, at({}, j), w, sum + j, squares + j);
        dots[j] = table.dot(rows_, at({}, j), v);
      }
    });
  }
  bool empty(Column) const override { return false; }
  // A dense column is contiguous where it is.
  void pack(std::span<const Column> which, std::vector<Handle<C>>& out) override {
    borrow(which, out);
  }
  bool borrow(std::span<const Column> which, std::vector<Handle<C>>& out) const override {
    for (std::size_t p = 0; p < which.size(); ++p)
      out.push_back(at(which, static_cast<std::int64_t>(p)));
    return true;
  }

 private:
  double work(std::int64_t count) const {
    return static_cast<double>(rows_) * static_cast<double>(count);
  }
  const T* at(std::span<const Column> which, std::int64_t p) const {
    return values_ + stride_ * (which.empty() ? p : which[static_cast<std::size_t>(p)]);
  }
  const T* values_;
  std::int64_t rows_, cols_, stride_;
};

// Compressed columns as scipy keeps them.
template <class T, class Index>
class CscSource final : public Source<SparseColumns<T>> {
 public:
  using C = SparseColumns<T>;
  CscSource(const T* values, const Index* rows, const Index* starts, std::int64_t n, std::int64_t d)
      : values_(values), indices_(rows), starts_(starts), rows_(n), cols_(d) {}

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  double nonzeros() const override { return static_cast<double>(starts_[cols_]); }

  void scan(int threads, const double* v, std::span<const Column> which, double* out,
            Watch& watch) const override {
    const auto count = which.empty() ? cols_ : static_cast<std::int64_t>(which.size());
    const double work = nonzeros() * static_cast<double>(count) / static_cast<double>(cols_);
    for_columns(threads, count, work + 4.0 * static_cast<double>(count), watch,
                [&](std::int64_t first, std::int64_t last) {
                  for (auto p = first; p < last; ++p) {
                    const Index j = which.empty()
                                        ? static_cast<Index>(p)
                                        : static_cast<Index>(which[static_cast<std::size_t>(p)]);
                    out[p] = sparse_dot(values_ + starts_[j], indices_ + starts_[j],
                                        starts_[j + 1] - starts_[j], v);
                  }
                });
  }
  void survey(int threads, const double* w, const double* v, double* sum, double* squares,
              double* dots, Watch& watch) const override {
    for_columns(threads, cols_, 2 * nonzeros() + 4.0 * static_cast<double>(cols_), watch,
                [&](std::int64_t first, std::int64_t last) {
                  for (auto j = first; j < last; ++j) {
                    double s = 0, q = 0, c = 0;
                    for (Index p = starts_[j]; p < starts_[j + 1]; ++p) {
                      const double a = static_cast<double>(values_[p]);
                      const double weighted = w ? w[indices_[p]] * a : a;
                      s += weighted;
                      q += weighted * a;
                      c += a * v[indices_[p]];
                    }
                    sum[j] = s;
                    squares[j] = q;
                    dots[j] = c;
                  }
                });
  }
  bool empty(Column j) const override { return starts_[j] == starts_[j + 1]; }

  // Copies the columns that have not been copied before into one new contiguous piece.
  void pack(std::span<const Column> which, std::vector<Handle<C>>& out) override {
    std::int64_t fresh = 0;
    for (Column j : which)
      if (!packed_.contains(j)) fresh += starts_[j + 1] - starts_[j];
    auto& piece = fresh > 0 ? pieces_.emplace_back(fresh) : nothing_;
    std::int64_t at = 0;
    for (Column j : which) {
      if (auto known = packed_.find(j); known != packed_.end()) {
        out.push_back(known->second);
        continue;
      }
      const std::int64_t begin = starts_[j], size = starts_[j + 1] - begin;
      std::copy_n(values_ + begin, size, piece.values.get() + at);
      std::transform(indices_ + begin, indices_ + begin + size, piece.rows.get() + at,
                     [](Index i) { return static_cast<Row>(i); });
      out.push_back({piece.values.get() + at, piece.rows.get() + at, size});
      packed_.emplace(j, out.back());
      at += size;
    }
  }
  bool borrow(std::span<const Column> which, std::vector<Handle<C>>& out) const override {
    if constexpr (std::is_same_v<Index, Row>) {
      for (Column j : which)
        out.push_back({values_ + starts_[j], indices_ + starts_[j], starts_[j + 1] - starts_[j]});
      return true;
    }
    return false;
  }

 private:
  struct Piece {
    explicit Piece(std::int64_t size)
        : values(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(size))),
          rows(std::make_unique_for_overwrite<Row[]>(static_cast<std::size_t>(size))) {}
    std::unique_ptr<T[]> values;
    std::unique_ptr<Row[]> rows;
  };
  const T* values_;
  const Index *indices_, *starts_;
  std::int64_t rows_, cols_;
  std::deque<Piece> pieces_;
  Piece nothing_{0};
  std::unordered_map<Column, Handle<C>> packed_;
};

}  // namespace shotgun
