// Sparse columns that somebody else has: scans are asked for, columns that matter are fetched once.
#pragma once

#include "problem/sparse_source.hpp"

namespace shotgun {

// Who has them. What these throw ends the fit.
template <class T>
struct Answers {
  using Visit = std::function<void(std::int64_t p, const Handle<SparseColumns<T>>& column)>;
  // As of Source, but for all sums at once.
  std::function<void(const double* v, std::span<const Column> which, double* out)> scan;
  std::function<void(const double* w, const double* v, double* sums, double* squares, double* dots)>
      survey;
  // Calls visit(p, column which_p) for all of them.
  std::function<void(std::span<const Column> which, const Visit& visit)> columns;
};

// A home of columns (see InMemory), of which those are here that were expected.
template <class T>
class Remote {
 public:
  using Columns = SparseColumns<T>;
  Remote(Answers<T> ask, std::int64_t rows, std::int64_t cols, std::int64_t nonzeros)
      : ask_(std::move(ask)), rows_(rows), cols_(cols), nonzeros_(nonzeros) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nonzeros() const { return nonzeros_; }
  std::int64_t size(Column j) const { return kept_[j].size; }
  const Answers<T>& ask() const { return ask_; }

  void expect(std::span<const Column> which) { kept_.keep(which, ask_.columns); }
  template <class Visit>
  void each(std::span<const Column> which, std::int64_t first, std::int64_t last,
            Visit&& visit) const {
    for (auto p = first; p < last; ++p) visit(p, kept_[which[static_cast<std::size_t>(p)]]);
  }
  void borrow(std::span<const Column> which, std::vector<Handle<Columns>>& out) {
    expect(which);
    kept_.lend(which, out);
  }

 private:
  Answers<T> ask_;
  std::int64_t rows_, cols_, nonzeros_;
  Kept<T> kept_;
};

template <class T>
class RemoteSource final : public PackingSource<Remote<T>> {
 public:
  using C = SparseColumns<T>;
  using PackingSource<Remote<T>>::PackingSource;

  void scan(int, const double* v, std::span<const Column> which, double* out,
            Watch& watch) const override {
    this->home_.ask().scan(v, which, out);
    watch.poll();
  }
  double survey(int, const double* w, const double* v, double* squares, double* dots, Watch& watch,
                const typename Source<C>::Tell& tell) const override {
    std::vector<double> sums(static_cast<std::size_t>(this->cols()));
    this->home_.ask().survey(w, v, sums.data(), squares, dots);
    watch.poll();
    return tell(0, static_cast<Column>(this->cols()), sums.data());
  }
};

}  // namespace shotgun
