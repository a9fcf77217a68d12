// Columns that somebody else has: scans are asked for, columns that matter are fetched once.
#pragma once

#include "problem/sparse_source.hpp"

namespace shotgun {

// Who has them. What these throw ends the fit.
template <class C>
struct Answers {
  using Visit = std::function<void(std::int64_t p, const Handle<C>& column)>;
  using Fetch = std::function<void(std::span<const Column> which, const Visit& visit)>;
  // As of Source, but for all sums at once.
  std::function<void(const double* v, std::span<const Column> which, double* out)> scan;
  std::function<void(const double* w, const double* v, double* sums, double* squares, double* dots)>
      survey;
  // Calls visit(p, column which_p) for all of them.
  Fetch columns;
  // What a column takes here, and how much all may take together; nothing where all may come.
  std::vector<double> bytes;
  double most = infinity;
  // As of Source, for columns that do not fit.
  std::function<void(std::span<const Column> which, std::span<const double> steps, double* z)> add;
  std::function<Proposal(const FarModel& model)> propose;
  std::function<std::unique_ptr<Source<C>>(std::int64_t rows)> head;
};

// A home of sparse columns (see InMemory), of which those are here that were expected.
template <class T>
class Remote {
 public:
  using Columns = SparseColumns<T>;
  Remote(typename Answers<Columns>::Fetch fetch, std::int64_t rows, std::int64_t cols,
         std::int64_t nonzeros)
      : fetch_(std::move(fetch)), rows_(rows), cols_(cols), nonzeros_(nonzeros), kept_(rows) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nonzeros() const { return nonzeros_; }
  std::int64_t size(Column j) const { return kept_[j].size; }

  void expect(std::span<const Column> which) { kept_.keep(which, fetch_); }
  template <class Visit>
  void each(std::span<const Column> which, std::int64_t first, std::int64_t last,
            Visit&& visit) const {
    for (auto p = first; p < last; ++p) visit(p, kept_[which[static_cast<std::size_t>(p)]]);
  }
  void borrow(std::span<const Column> which, std::vector<Handle<Columns>>& out) {
    expect(which);
    kept_.lend(which, out);
  }
  const Kept<Columns>& kept() const { return kept_; }

 private:
  typename Answers<Columns>::Fetch fetch_;
  std::int64_t rows_, cols_, nonzeros_;
  Kept<Columns> kept_;
};

// The same of dense ones.
template <class T>
class RemoteDense : public Source<DenseColumns<T>> {
 public:
  using C = DenseColumns<T>;
  RemoteDense(typename Answers<C>::Fetch fetch, std::int64_t rows, std::int64_t cols, std::int64_t)
      : fetch_(std::move(fetch)), rows_(rows), cols_(cols), kept_(rows) {}

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  double nonzeros() const override {
    return static_cast<double>(rows_) * static_cast<double>(cols_);
  }
  void pack(int threads, std::span<const Column> which,
            std::vector<Handle<Light<C>>>& out) override {
    if constexpr (std::is_same_v<C, Light<C>>) {
      borrow(which, out);
    } else {
      kept_.keep(which, fetch_);
      light_.pack(threads, rows_, which, [&](Column j) { return kept_[j]; }, out);
    }
  }
  void borrow(std::span<const Column> which, std::vector<Handle<C>>& out) override {
    kept_.keep(which, fetch_);
    kept_.lend(which, out);
  }
  const Kept<C>& kept() const { return kept_; }

 private:
  typename Answers<C>::Fetch fetch_;
  std::int64_t rows_, cols_;
  Kept<C> kept_;
  LightDense light_;
};

template <class Base>
class Asking final : public Base {
 public:
  using C = typename Base::C;
  Asking(Answers<C> ask, std::int64_t rows, std::int64_t cols, std::int64_t nonzeros)
      : Base(ask.columns, rows, cols, nonzeros), ask_(std::move(ask)) {}

  void scan(int, const double* v, std::span<const Column> which, double* out,
            Watch& watch) const override {
    ask_.scan(v, which, out);
    watch.poll();
  }
  double survey(int, const double* w, const double* v, double* squares, double* dots, Watch& watch,
                const typename Source<C>::Tell& tell) const override {
    std::vector<double> sums(static_cast<std::size_t>(this->cols()));
    ask_.survey(w, v, sums.data(), squares, dots);
    watch.poll();
    return tell(0, static_cast<Column>(this->cols()), sums.data());
  }
  // Beside those that are here.
  bool fits(std::span<const Column> which) const override {
    if (ask_.bytes.empty()) return true;
    double bytes = 0;
    auto count = [&](Column j) { bytes += ask_.bytes[static_cast<std::size_t>(j)]; };
    const Kept<C>& here = kept();
    here.each(count);
    for (Column j : which)
      if (!here.has(j)) count(j);
    return bytes <= ask_.most;
  }
  void add_columns(std::span<const Column> which, std::span<const double> steps,
                   double* z) const override {
    ask_.add(which, steps, z);
  }
  Proposal propose(const FarModel& model) override { return ask_.propose(model); }
  std::unique_ptr<Source<C>> head(std::int64_t rows) const override {
    return ask_.head ? ask_.head(rows) : nullptr;
  }
  // A round costs more than its operations.
  std::int64_t head_divisor() const override { return 16; }

 private:
  const Kept<C>& kept() const {
    if constexpr (C::dense)
      return Base::kept();
    else
      return this->home_.kept();
  }

  Answers<C> ask_;
};

template <class C>
using RemoteSource = Asking<std::conditional_t<C::dense, RemoteDense<typename C::Value>,
                                               PackingSource<Remote<typename C::Value>>>>;

}  // namespace shotgun
