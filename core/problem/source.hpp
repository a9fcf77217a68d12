// A as a whole, wherever it lives. Scanning columns and packing columns is most of what the
// working-set loop asks of the data; what only some homes can do has an answer for the others.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "parallel/watch.hpp"
#include "problem/csc.hpp"
#include "problem/dense.hpp"
#include "problem/memory.hpp"
#include "problem/penalty.hpp"

namespace shotgun {

// What columns are packed into: the same kind, their values rounded to float32. An engine that
// works on them computes a step, in float64; what the step achieved is always computed from A
// itself.
template <class C>
struct LightOf;
template <class T>
struct LightOf<DenseColumns<T>> {
  using type = DenseColumns<float>;
};
template <class T, class Index>
struct LightOf<SparseColumns<T, Index>> {
  using type = SparseColumns<float>;
};
template <class C>
using Light = typename LightOf<C>::type;

// The Newton model of F on columns that stay elsewhere: rows with gradient g and curvature h (none:
// one), columns less their means (zero where an intercept takes care of them) times inv_scale,
// weights x and what penalises them, all with one l2. F has this `gap`; of the model's, some is
// `enough`.
struct FarModel {
  std::span<const Column> which;
  std::span<const double> x, means, inv_scale;
  std::span<const Penalty> penalties;
  const double *g, *h;
  bool intercept;
  double gap, enough;
};
// Where to go from there: the weights, and what that adds to z, the constant included.
struct Proposal {
  std::vector<double> goal, dz;
};

template <class C>
class Source {
 public:
  static constexpr double tiny = std::numeric_limits<double>::denorm_min();

  virtual ~Source() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t cols() const = 0;
  virtual double nonzeros() const = 0;

  // out_p = a_j'v for j = which_p (every column, in order, where `which` is empty).
  virtual void scan(int threads, const double* v, std::span<const Column> which, double* out,
                    Watch& watch) const = 0;
  // sum_i w_i a_ij, sum_i w_i a_ij^2 and a_j'v for every column: the first scan, and all that must
  // be known of a column beforehand, in one pass. The sums of columns [first, last) are handed to
  // tell(first, last, sums) while the cache still has them; returns what that adds up to, in the
  // columns' order. Squares are zero only where a column is known to hold nothing, and the smallest
  // number there is where they vanish otherwise.
  using Tell = std::function<double(Column first, Column last, const double* sums)>;
  virtual double survey(int threads, const double* w, const double* v, double* squares,
                        double* dots, Watch& watch, const Tell& tell) const = 0;
  // Appends handles to light copies of the columns `which`, in memory where an engine runs fast; a
  // column is copied once. Handles are valid while *this lives.
  virtual void pack(int threads, std::span<const Column> which,
                    std::vector<Handle<Light<C>>>& out) = 0;
  // Appends handles to the columns where they are.
  virtual void borrow(std::span<const Column> which, std::vector<Handle<C>>& out) = 0;
  // Whether so many columns can be here at once. If not, others do what is done with them: they add
  // sum_k steps_k a_k to z, for k in `which`, and solve their blocks of the Newton model.
  virtual bool fits(std::span<const Column>) const { return true; }
  virtual void add_columns(std::span<const Column>, std::span<const double>, double*) const {}
  virtual Proposal propose(const FarModel&) { return {}; }
  // The first rows of the same matrix, where they are cheaper to read than all of them; and into
  // how many such parts it is worth dividing the rows.
  virtual std::unique_ptr<Source<C>> head(std::int64_t) const { return nullptr; }
  virtual std::int64_t head_divisor() const { return 4; }

  std::shared_ptr<const void> owner;  // of the memory that it reads, if it lives no longer
};

// Calls visit(first, last) on runs of columns, in parallel, asking the watch between runs; returns
// the sum of what it returns, in order.
template <class Visit>
double for_columns(int threads, std::int64_t count, double work, Watch& watch, Visit&& visit) {
  const std::int64_t run = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(count) / std::max(1.0, work / 2e5)), 1, 4096);
  std::vector<double> parts(static_cast<std::size_t>((count + run - 1) / run));
  watch.saw_threads(parallel_for(worthwhile_threads(threads, work),
                                 static_cast<std::int64_t>(parts.size()), [&](std::int64_t r) {
                                   if (watch.stopped()) return;
                                   parts[static_cast<std::size_t>(r)] =
                                       visit(r * run, std::min(count, (r + 1) * run));
                                   watch.poll();
                                 }));
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Light copies of dense columns, each made once.
class LightDense {
 public:
  // Appends the copies of `which`; at(j) is where column j is.
  template <class At>
  void pack(int threads, std::int64_t rows, std::span<const Column> which, At&& at,
            std::vector<const float*>& out) {
    std::vector<std::pair<Column, float*>> fresh;
    for (Column j : which)
      if (packed_.emplace(j, nullptr).second) fresh.emplace_back(j, nullptr);
    // On cache lines, but not all at the same distance from a page: they would share cache sets.
    std::size_t stride = (static_cast<std::size_t>(rows) + 15) / 16 * 16;
    if (stride % 1024 == 0) stride += 16;
    auto& piece = pieces_.emplace_back(stride * fresh.size());
    for (std::size_t k = 0; k < fresh.size(); ++k)
      packed_[fresh[k].first] = fresh[k].second = piece.data() + k * stride;
    const double work = static_cast<double>(rows) * static_cast<double>(fresh.size());
    parallel_for(worthwhile_threads(threads, work), static_cast<std::int64_t>(fresh.size()),
                 [&](std::int64_t k) {
                   const auto [j, to] = fresh[static_cast<std::size_t>(k)];
                   const auto* from = at(j);
                   std::transform(from, from + rows, to,
                                  [](auto a) { return static_cast<float>(a); });
                 });
    for (Column j : which) out.push_back(packed_[j]);
  }

 private:
  std::deque<Memory<float>> pieces_;
  std::unordered_map<Column, const float*> packed_;
};

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
      return 0.0;
    });
  }
  double survey(int threads, const double* w, const double* v, double* squares, double* dots,
                Watch& watch, const typename Source<C>::Tell& tell) const override {
    const auto& table = kernels::active_table<T>();
    return for_columns(
        threads, cols_, 3 * work(cols_), watch, [&](std::int64_t first, std::int64_t last) {
          std::vector<double> sums(static_cast<std::size_t>(last - first));
          for (auto j = first; j < last; ++j) {
            table.moments(rows_, at({}, j), w, v, &sums[static_cast<std::size_t>(j - first)],
                          squares + j, dots + j);
            if (squares[j] == 0) squares[j] = Source<C>::tiny;
          }
          return tell(static_cast<Column>(first), static_cast<Column>(last), sums.data());
        });
  }
  void pack(int threads, std::span<const Column> which,
            std::vector<Handle<Light<C>>>& out) override {
    if constexpr (std::is_same_v<C, Light<C>>) return borrow(which, out);
    light_.pack(threads, rows_, which, [&](Column j) { return values_ + stride_ * j; }, out);
  }
  void borrow(std::span<const Column> which, std::vector<Handle<C>>& out) override {
    for (std::size_t p = 0; p < which.size(); ++p)
      out.push_back(at(which, static_cast<std::int64_t>(p)));
  }
  std::unique_ptr<Source<C>> head(std::int64_t rows) const override {
    return std::make_unique<DenseSource<T>>(values_, rows, cols_, stride_);
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
  LightDense light_;
};

}  // namespace shotgun
