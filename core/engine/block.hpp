// Block: P coordinates at once without interference. Theorem 3.1's second term is known exactly
// once the block's Gram matrix is, so it is solved instead of suffered: coordinate descent inside
// the block runs on A_B'HA_B, and Ax is touched once.
#pragma once

#include "engine/epoch.hpp"
#include "engine/guard.hpp"

namespace shotgun {

// About 64 thousand entries of A between two barriers, and a Gram matrix that pays for itself
// within a few epochs: it costs P/2 products per column, where an epoch costs two.
inline std::int64_t default_block(std::int64_t rows) {
  return std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(1, rows), 8, 32);
}

// The Gram matrices of the blocks, kept from shot to shot while the packed columns only grow.
struct GramCache {
  std::int64_t P = 0, columns = 0;  // block size, and how many columns are done
  std::vector<double> values;
};

template <Columns C>
class Block {
 public:
  using Model = Quadratic<C>;

  // Makes the Gram matrices that the cache lacks, in parallel over blocks.
  Block(Model& model, std::int64_t P, GramCache& cache, int threads, Watch& watch)
      : model_(model), P_(P), slabs_(model.A.rows()), threads_(threads), gram_(cache.values) {
    const std::int64_t count = model.A.count();
    blocks_ = (count + P_ - 1) / P_;
    const std::int64_t done =
        cache.P == P_ ? cache.columns / P_ : 0;  // a part-filled block is redone
    gram_.resize(static_cast<std::size_t>(blocks_ * P_ * P_));
    for (auto& buffer : partial_) buffer.resize(static_cast<std::size_t>(slabs_.count() * P_));
    nonzeros_ = count_nonzeros(model.A) / static_cast<double>(count);
    const double work =
        static_cast<double>(blocks_ - done) * static_cast<double>(P_ * P_) * nonzeros_ / 2;
    watch.saw_threads(
        parallel_for(worthwhile_threads(threads_, work), blocks_ - done, [&](std::int64_t b) {
          if (watch.stopped()) return;
          fill_gram(done + b);
          watch.poll();
        }));
    lists_.resize(static_cast<std::size_t>(blocks_));
    wake();
    cache.P = P_;
    cache.columns = watch.stopped() ? 0 : count;
  }
  std::int64_t P() const { return P_; }
  // Epochs without progress after which there is none to be made.
  static std::int64_t patience() { return 1; }

  // From now on all columns take part in a sweep; or only those whose weight is not at rest at
  // zero.
  void wake() {
    for (std::int64_t b = 0; b < blocks_; ++b) {
      auto& list = lists_[static_cast<std::size_t>(b)];
      list.resize(static_cast<std::size_t>(size(b)));
      std::iota(list.begin(), list.end(), first(b));
    }
  }
  void rest(std::span<const double> x) {
    for (auto& list : lists_)
      std::erase_if(list, [&](std::int64_t k) {
        return x[static_cast<std::size_t>(k)] == 0 && coordinate(k).penalty.lam > 0;
      });
  }

  // `epochs` sweeps over all blocks, first to last. One barrier per block: each thread owns slabs
  // of rows, repeats the small solve by itself, updates its rows of g and at once takes its part of
  // the next block's gradient.
  Epoch operator()(std::span<double> x, std::int64_t epochs, Watch& watch) {
    Epoch epoch;
    const double per_block = nonzeros_ * static_cast<double>(P_);
    const int threads = per_block > 4e3 ? threads_ : 1;
    const std::int64_t steps = blocks_ * epochs;
    std::int64_t begin = 0;  // a region that is crowded ends early, and the next one goes on
    while (begin < steps && !watch.stopped())
      watch.saw_threads(
          run_steps(std::min(threads, slabs_.count()), x, begin, steps, epoch, watch));
    return epoch;
  }

 private:
  // Steps from `begin`, which follows them, to at most `end`; returns how many threads there were.
  int run_steps(int threads, std::span<double> x, std::int64_t& begin, std::int64_t end,
                Epoch& epoch, Watch& watch) {
    halt_[0] = halt_[1] = false;
    return run_region(threads, [&, first = begin](Team team) {
      const auto size = static_cast<std::size_t>(P_);
      Local local{{x.begin(), x.end()},      model_.running,
                  std::vector<double>(size), std::vector<double>(size),
                  std::vector<double>(size), epoch};
      std::int64_t step = first;
      accumulate(team, step % blocks_, static_cast<int>(step % 2));
      for (; step < end; ++step) {
        team.barrier.wait();
        if (halt_[step % 2]) break;
        const std::int64_t b = step % blocks_;
        solve(b, static_cast<int>(step % 2), local);
        apply(team, b, local);
        if (team.thread == 0) {
          watch.poll();
          halt_[(step + 1) % 2] = watch.stopped() || team.barrier.crowded();
        }
        if (step + 1 < end)
          accumulate(team, (step + 1) % blocks_, static_cast<int>((step + 1) % 2));
      }
      if (team.thread == 0) {
        std::copy(local.x.begin(), local.x.end(), x.begin());
        model_.running = local.running;
        epoch = local.epoch;
        begin = step;
      }
    });
  }

  // What every thread computes for itself, to the same bits.
  struct Local {
    std::vector<double> x;
    typename Model::Running running;
    std::vector<double> gradient, delta, step;
    Epoch epoch;
  };

  std::int64_t first(std::int64_t b) const { return b * P_; }
  std::int64_t size(std::int64_t b) const { return std::min(P_, model_.A.count() - first(b)); }
  double* gram(std::int64_t b) { return gram_.data() + first(b) * P_; }

  // a~_k'Ha~_l for the columns of one block: dense ones a few rows at a time, which stay in cache.
  void fill_gram(std::int64_t b) {
    const std::int64_t k0 = first(b), count = size(b), n = model_.A.rows();
    const std::int64_t step = C::dense ? 2048 : n;
    std::vector<double> column(static_cast<std::size_t>(n));
    std::vector<std::int64_t> list(static_cast<std::size_t>(count));
    std::iota(list.begin(), list.end(), k0);
    std::fill_n(gram(b), count * P_, 0.0);
    for (std::int64_t i = 0; i < n; i += step)
      for (std::int64_t k = 0; k < count; ++k)
        add_gram_row(b, k, list, {i, std::min(n, i + step)}, column);
    for (std::int64_t k = 0; k < count; ++k) centre_gram_row(b, k);
  }
  // Adds sum_i h_i a_ik a_il over some rows for all l <= k; `column` is zero before and after.
  void add_gram_row(std::int64_t b, std::int64_t k, std::span<const std::int64_t> list, Range rows,
                    std::vector<double>& column) {
    const double one = 1.0;
    const std::int64_t which = list[static_cast<std::size_t>(k)];
    model_.A.add_axpys({&which, 1}, &one, model_.h, column.data(), rows);
    model_.A.add_dots(list.first(static_cast<std::size_t>(k + 1)), column.data(), gram(b) + k * P_,
                      rows);
    if constexpr (C::dense)
      std::fill(column.begin() + rows.begin, column.begin() + rows.end, 0.0);
    else
      model_.A.visit(which, rows, [&](Row i, double) { column[static_cast<std::size_t>(i)] = 0; });
  }
  void centre_gram_row(std::int64_t b, std::int64_t k) {
    double *Q = gram(b), *row = Q + k * P_;
    for (std::int64_t l = 0; l <= k; ++l) {
      row[l] = model_.centre_product(first(b) + k, first(b) + l, row[l]);
      Q[l * P_ + k] = row[l];
    }
    row[k] = coordinate(first(b) + k).beta;
  }

  // A few columns at a time through all of a thread's rows, as memory is read fastest in long
  // streams.
  void accumulate(Team team, std::int64_t b, int turn) {
    const std::span<const std::int64_t> list = lists_[static_cast<std::size_t>(b)];
    const Range slabs = share(slabs_.count(), team.thread, team.threads);
    constexpr std::size_t few = 4;
    for (std::size_t l = 0; l < list.size(); l += few) {
      const auto some = list.subspan(l, std::min(few, list.size() - l));
      for (auto s = slabs.begin; s < slabs.end; ++s) {
        double* out = partial_[turn].data() + s * P_ + static_cast<std::int64_t>(l);
        std::fill_n(out, some.size(), 0.0);
        model_.A.add_dots(some, model_.g.data(), out, slabs_[s]);
      }
    }
  }

  // Coordinate descent on the block's own quadratic, until its updates are small beside the first
  // sweep's or a few sweeps have been made: the next epoch corrects what is left.
  void solve(std::int64_t b, int turn, Local& local) {
    const auto& list = lists_[static_cast<std::size_t>(b)];
    for (std::size_t l = 0; l < list.size(); ++l) {
      double sum = 0;
      for (int s = 0; s < slabs_.count(); ++s)
        sum += partial_[turn][static_cast<std::size_t>(s * P_) + l];
      local.gradient[place(b, list[l])] = model_.centre(list[l], sum, local.running);
    }
    std::fill(local.delta.begin(), local.delta.end(), 0.0);
    double before = 0;
    constexpr int sweeps = 4;
    for (int again = 0; again < sweeps; ++again) {
      const double decrease = inner_sweep(b, local);
      local.epoch.decrease += decrease;
      if (again == 0) before = decrease;
      if (decrease <= 1e-3 * before) break;
    }
    for (std::size_t l = 0; l < list.size(); ++l) {
      const Coordinate& c = coordinate(list[l]);
      const double delta = local.delta[place(b, list[l])];
      local.running.move(c, delta);
      local.step[l] = delta * c.inv_scale;
    }
    local.epoch.updates += static_cast<std::int64_t>(list.size());
  }

  double inner_sweep(std::int64_t b, Local& local) {
    double decrease = 0;
    for (std::int64_t k : lists_[static_cast<std::size_t>(b)]) {
      const Coordinate& c = coordinate(k);
      double& x = local.x[static_cast<std::size_t>(k)];
      const double gradient = local.gradient[place(b, k)];
      const double delta = update(c.penalty, x, gradient, c.beta);
      if (delta == 0) continue;
      decrease -= coordinate_change(c.penalty, x, delta, gradient, c.beta);
      x += delta;
      local.delta[place(b, k)] += delta;
      const double* row = gram(b) + static_cast<std::int64_t>(place(b, k)) * P_;
      for (std::int64_t m = 0; m < P_; ++m)
        local.gradient[static_cast<std::size_t>(m)] += delta * row[m];
    }
    return decrease;
  }

  void apply(Team team, std::int64_t b, const Local& local) {
    const Range slabs = share(slabs_.count(), team.thread, team.threads);
    for (auto s = slabs.begin; s < slabs.end; ++s)
      model_.A.add_axpys(lists_[static_cast<std::size_t>(b)], local.step.data(), model_.h,
                         model_.g.data(), slabs_[s]);
  }

  std::size_t place(std::int64_t b, std::int64_t k) const {
    return static_cast<std::size_t>(k - first(b));
  }
  const Coordinate& coordinate(std::int64_t k) const {
    return model_.coordinates[static_cast<std::size_t>(k)];
  }

  Model& model_;
  std::int64_t P_, blocks_ = 0;
  Slabs slabs_;
  int threads_;
  double nonzeros_ = 0;  // average per column
  std::vector<double>& gram_;
  std::vector<std::vector<std::int64_t>> lists_;  // per block, the columns that take part
  std::vector<double> partial_[2];
  bool halt_[2] = {false, false};
};

}  // namespace shotgun
