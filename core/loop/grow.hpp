// Over samples: few of them tell most of what many do (the paper's section 5).
#pragma once

#include "loop/working_set.hpp"

namespace shotgun {

template <Columns C, Loss L>
Solution solve_growing(const Task<C, L>& task, const Callback& callback);

// How many of the first rows to fit before all of them; 0: none.
template <Columns C, Loss L>
std::int64_t rows_to_begin_with(const Task<C, L>& task) {
  if (!task.options.working_set || L::quadratic || !std::isfinite(L::beta)) return 0;
  const std::int64_t least = (task.returns > 0 ? 8 : 16) * task.A.cols();  // for a rough fit 8
  const std::int64_t few = std::max(task.A.rows() / task.A.head_divisor(), least);
  return few <= task.A.rows() / 4 ? few : 0;
}

// The fit of `few` rows, begun in the same way: lam in proportion, and rough, as it ends where the
// other rows will change more than it would.
template <Columns C, Loss L>
Solution fit_fewer_samples(const Task<C, L>& task, Source<C>& head, const Observed<L>& samples,
                           double part, const Callback& callback) {
  Task<C, L> fewer{head,         samples,    task.spec, task.intercept, task.standardize,
                   task.options, task.watch, 0.1};
  fewer.spec.lam *= part;
  fewer.spec.l2 *= part;
  fewer.options.tol = std::max(task.options.tol, 1e-3);
  fewer.options.max_epochs = std::min<std::int64_t>(40, task.options.max_epochs / 2);
  Solution fit = solve_growing(fewer, callback);
  for (TraceRow& row : fit.trace) row.passes *= head.nonzeros() / std::max(1.0, task.A.nonzeros());
  return fit;
}

// The fit of the first part, if there are many more samples than features. What is wrong with it
// the survey of all finds, too, and names.
template <Columns C, Loss L>
Start begin_with_fewer(const Task<C, L>& task, const Callback& callback) try {
  const std::int64_t few = rows_to_begin_with(task);
  const std::unique_ptr<Source<C>> head = few > 0 ? task.A.head(few) : nullptr;
  if (!head) return {};
  const Observed<L> samples{task.samples.head(few), task.samples.loss};
  const double part = samples.total_weight() / task.samples.total_weight();
  if (!(part > 0)) return {};
  Start start;
  start.rows = few;
  start.fit = fit_fewer_samples(task, *head, samples, part, callback);
  start.Ax.resize(task.samples.y.size());
  start.looked =
      add_columns(task.A, start.fit.support, start.fit.weights, start.Ax, task.options.threads);
  return start;
} catch (const NotFinite&) {
  return {};
} catch (const Overflow&) {
  return {};
}

// The fit of all samples, from there.
template <Columns C, Loss L>
Solution solve_growing(const Task<C, L>& task, const Callback& callback) {
  return WorkingSet<C, L>(task, begin_with_fewer(task, callback)).solve({}, callback);
}

}  // namespace shotgun
