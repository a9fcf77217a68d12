// Sparse columns as a whole, wherever they live: a home says where.
#pragma once

#include "problem/kept.hpp"
#include "problem/source.hpp"

namespace shotgun {

// Compressed columns as scipy keeps them, in memory.
template <class T, class Index>
class InMemory {
 public:
  using Columns = SparseColumns<T, Index>;
  InMemory(const T* values, const Index* rows, const Index* starts, std::int64_t n, std::int64_t d)
      : values_(values),
        indices_(rows),
        starts_(starts),
        rows_(n),
        cols_(d),
        nonzeros_(starts[d]) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nonzeros() const { return nonzeros_; }
  std::int64_t size(Column j) const { return end(j) - starts_[j]; }

  // The same columns up to a row: as rows ascend, their first entries.
  InMemory head(std::int64_t rows) const {
    InMemory some(*this);
    some.rows_ = rows;
    some.nonzeros_ = 0;
    some.ends_.clear();
    for (Column j = 0; j < cols_; ++j) {
      const Index* beyond = std::lower_bound(indices_ + starts_[j], indices_ + end(j), rows);
      some.ends_.push_back(static_cast<Index>(beyond - indices_));
      some.nonzeros_ += some.size(j);
    }
    return some;
  }

  // Calls visit(p, column which_p) for p in [first, last); every column, in order, where `which` is
  // empty. What it sees lives as long as the call.
  template <class Visit>
  void each(std::span<const Column> which, std::int64_t first, std::int64_t last,
            Visit&& visit) const {
    for (auto p = first; p < last; ++p)
      visit(p, column(which.empty() ? static_cast<Column>(p) : which[static_cast<std::size_t>(p)]));
  }
  // Of all columns: the pass that finds out what is wrong with them. Nothing is, in memory.
  template <class Visit>
  void survey(std::int64_t first, std::int64_t last, Visit&& visit) const {
    each({}, first, last, visit);
  }
  void surveyed() const {}

  // The columns that will be visited next: whoever is far away fetches them in one go.
  void expect(std::span<const Column>) const {}
  void borrow(std::span<const Column> which, std::vector<Handle<Columns>>& out) const {
    for (Column j : which) out.push_back(column(j));
  }

 private:
  Handle<Columns> column(Column j) const {
    return {values_ + starts_[j], indices_ + starts_[j], size(j)};
  }
  Index end(Column j) const {
    return ends_.empty() ? starts_[j + 1] : ends_[static_cast<std::size_t>(j)];
  }

  const T* values_;
  const Index *indices_, *starts_;
  std::vector<Index> ends_;  // of columns that are not whole
  std::int64_t rows_, cols_, nonzeros_;
};

// What sources of sparse columns share: light copies, each made once.
template <class Home>
class PackingSource : public Source<typename Home::Columns> {
 public:
  using C = typename Home::Columns;
  template <class... Arguments>
  explicit PackingSource(Arguments&&... arguments) : home_(std::forward<Arguments>(arguments)...) {}

  std::int64_t rows() const override { return home_.rows(); }
  std::int64_t cols() const override { return home_.cols(); }
  double nonzeros() const override { return static_cast<double>(home_.nonzeros()); }

  void pack(int threads, std::span<const Column> which,
            std::vector<Handle<Light<C>>>& out) override {
    std::vector<Column> fresh;
    for (Column j : which)
      if (packed_.emplace(j, Handle<Light<C>>{}).second) fresh.push_back(j);
    std::ranges::sort(fresh);
    if (!fresh.empty()) copy(threads, fresh);
    for (Column j : which) out.push_back(packed_.at(j));
  }
  void borrow(std::span<const Column> which, std::vector<Handle<C>>& out) override {
    home_.borrow(which, out);
  }

 protected:
  Home home_;

 private:
  // Light copies of the columns `fresh`, in one new piece.
  void copy(int threads, std::span<const Column> fresh) {
    home_.expect(fresh);
    std::vector<std::int64_t> starts{0};
    for (Column j : fresh) starts.push_back(starts.back() + home_.size(j));
    const auto total = static_cast<std::size_t>(starts.back());
    Row* rows = rows_pieces_.emplace_back(total).data();
    float* values = pieces_.emplace_back(total).data();
    constexpr std::int64_t run = 64;
    const auto count = static_cast<std::int64_t>(fresh.size());
    parallel_for(worthwhile_threads(threads, static_cast<double>(total)), (count + run - 1) / run,
                 [&](std::int64_t r) {
                   home_.each(fresh, r * run, std::min(count, (r + 1) * run),
                              [&](std::int64_t k, const Handle<C>& a) {
                                const std::int64_t at = starts[static_cast<std::size_t>(k)];
                                std::transform(a.rows, a.rows + a.size, rows + at,
                                               [](auto i) { return static_cast<Row>(i); });
                                std::transform(
                                    a.values, a.values + a.size, values + at,
                                    [](auto value) { return static_cast<float>(value); });
                                packed_.find(fresh[static_cast<std::size_t>(k)])->second = {
                                    values + at, rows + at, a.size};
                              });
                 });
  }

  std::deque<Memory<Row>> rows_pieces_;
  std::deque<Memory<float>> pieces_;
  std::unordered_map<Column, Handle<Light<C>>> packed_;
};

// A home whose columns are visited here, one by one.
template <class Home>
class SparseSource final : public PackingSource<Home> {
 public:
  using C = typename Home::Columns;
  using PackingSource<Home>::PackingSource;
  using PackingSource<Home>::cols, PackingSource<Home>::nonzeros;

  void scan(int threads, const double* v, std::span<const Column> which, double* out,
            Watch& watch) const override {
    const auto count = which.empty() ? cols() : static_cast<std::int64_t>(which.size());
    const double work = nonzeros() * static_cast<double>(count) / static_cast<double>(cols());
    for_columns(threads, count, work + 4.0 * static_cast<double>(count), watch,
                [&](std::int64_t first, std::int64_t last) {
                  home_.each(which, first, last, [&](std::int64_t p, const Handle<C>& a) {
                    out[p] = sparse_dot(a.values, a.rows, a.size, v);
                  });
                  return 0.0;
                });
  }
  double survey(int threads, const double* w, const double* v, double* squares, double* dots,
                Watch& watch, const typename Source<C>::Tell& tell) const override {
    const double total = for_columns(
        threads, cols(), 2 * nonzeros() + 4.0 * static_cast<double>(cols()), watch,
        [&](std::int64_t first, std::int64_t last) {
          std::vector<double> sums(static_cast<std::size_t>(last - first));
          home_.survey(first, last, [&](std::int64_t j, const Handle<C>& a) {
            const Moments m = sparse_moments(a, w, v);
            sums[static_cast<std::size_t>(j - first)] = m.sum;
            squares[j] = (m.squares == 0) & (a.size > 0) ? Source<C>::tiny : m.squares;
            dots[j] = m.dot;
          });
          return tell(static_cast<Column>(first), static_cast<Column>(last), sums.data());
        });
    if (!watch.stopped()) home_.surveyed();
    return total;
  }
  std::unique_ptr<Source<C>> head(std::int64_t rows) const override {
    return std::make_unique<SparseSource<Home>>(home_.head(rows));
  }

 private:
  using PackingSource<Home>::home_;
};

template <class T, class Index>
using CscSource = SparseSource<InMemory<T, Index>>;

}  // namespace shotgun
