// A point: the weights x and all that follows from them.
#pragma once

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "engine/model.hpp"
#include "engine/newton.hpp"
#include "loop/packed.hpp"
#include "loop/weights.hpp"
#include "problem/intercept.hpp"
#include "problem/standardized.hpp"

namespace shotgun {

// Ax and the best intercept, the gradient and F of the weights; Newton models of F on packed
// columns, and the steps that follow them.
template <Columns C, Loss L>
class Point {
 public:
  Point(Source<C>& A, const Observed<L>& samples, const Features<C>& features, int threads,
        Watch& watch)
      : A_(A),
        samples_(samples),
        features_(features),
        threads_(threads),
        watch_(watch),
        x_(features.count()),
        z_(at(samples.size())),
        g_(z_.size()),
        h_(L::quadratic ? 0 : z_.size()) {
    const Column different = features.alike() && !features.held_free(0) ? 0 : features.count();
    for (Column j = 0; j < different; ++j)
      if (features.held_free(j)) free_.push_back(j);
  }

  double x(Column j) const { return x_[j]; }
  bool moved(Column j) const { return x_.holds(j); }  // x(j) is not zero
  // Sets every weight; refresh() must follow.
  template <class Value>
  void set_all(Value&& value) {
    std::vector<Column> all(at(features_.count()));
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> values;
    for (Column j : all) values.push_back(value(j));
    x_.store(all, values);
  }
  std::span<const Column> support() const { return x_.support(); }  // ascending
  std::span<const double> z() const { return z_; }
  std::span<double> z() { return z_; }
  std::span<double> g() { return g_; }
  double constant() const {
    return constant_;
  }  // of z: the intercept, and what centring takes away
  double objective() const { return objective_; }
  std::span<const Column> free() const { return free_; }
  const Features<C>& features() const { return features_; }
  const Observed<L>& samples() const { return samples_; }
  std::int64_t rows() const { return samples_.size(); }
  double looked() const { return looked_; }  // at so many entries of A, for z

  // z, the best intercept and free weights, the gradient and F: afresh from x, in float64. Ax may
  // be known.
  void refresh(std::span<const double> Ax = {}) {
    linear_predictor(Ax);
    complete();
  }
  // How large what z is a sum of may be, in the norm of W; and how far steps have carried z since
  // it was computed from x.
  double reach() const {
    double sum = std::abs(constant_) * std::sqrt(features_.total_weight());
    for (std::size_t p = 0; p < support().size(); ++p)
      sum += std::abs(x_.values()[p]) * features_.raw_norm(support()[p]);
    return sum;
  }
  double travelled() const { return travelled_; }

  // The largest curvature of the losses; the largest there is at z, where nothing bounds it.
  double beta() const {
    if (std::isfinite(L::beta)) return L::beta;
    double largest = 0;
    for (std::int64_t i = 0; i < rows(); ++i)
      if (const double w = samples_.weight(i); w > 0)
        largest = std::max(largest, samples_.curvature(i, z_[at(i)]) / w);
    return largest;
  }

  // F afresh, after lam has changed.
  void reprice() { objective_ = value(); }
  // The losses' part of F.
  double loss() const {
    return samples_.total(threads_, [&](std::int64_t i) { return z_[at(i)]; });
  }

  // The columns themselves, and their weights.
  Packed<C> borrow(std::span<const Column> which) {
    Packed<C> packed;
    extend(packed, which, false);
    return packed;
  }
  // Adds columns, as light copies or the columns themselves; those that are there keep their place
  // and all that is known of them.
  template <Columns K>
  void extend(Packed<K>& packed, std::span<const Column> which, bool light) {
    if constexpr (std::is_same_v<K, Light<C>>)
      if (light) A_.pack(threads_, which, packed.handles);
    if constexpr (std::is_same_v<K, C>)
      if (!light) A_.borrow(which, packed.handles);
    packed.light = light;
    packed.which.insert(packed.which.end(), which.begin(), which.end());
    packed.x.clear();
    for (Column j : packed.which) packed.x.push_back(x(j));
  }

  // What an engine needs to know of the packed columns under curvature h. For the squared loss that
  // is what the survey of A found, and does not change.
  template <Columns K>
  void describe(Packed<K>& packed, const double* h, double total_h) {
    describe(packed, K(rows(), packed.handles), h, total_h);
  }
  template <Columns K>
  void describe(Packed<K>& packed, const K& columns, const double* h, double total_h) {
    if constexpr (L::quadratic) {
      for (auto k = packed.coordinates.size(); k < packed.which.size(); ++k)
        packed.coordinates.push_back(features_.coordinate(packed.which[k]));
    } else {
      packed.gram = {};
      packed.compressed = {};
      packed.coordinates.resize(packed.which.size());
      constexpr std::int64_t run = 32;
      parallel_for(worthwhile_threads(threads_, count_nonzeros(columns)),
                   (columns.count() + run - 1) / run, [&](std::int64_t r) {
                     for (auto k = r * run; k < std::min(columns.count(), (r + 1) * run); ++k) {
                       const Column j = packed.which[at(k)];
                       packed.coordinates[at(k)] = make_coordinate(
                           columns, k, h, total_h, features_.intercept(), features_.fixed_mean(j),
                           features_.inv_scale(j), features_.penalty(j));
                     }
                   });
    }
  }

  // The Newton model of F at z (for the squared loss F itself) on packed columns. It moves g.
  template <Columns K>
  Quadratic<K> newton_model(Packed<K>& packed) {
    gradient();
    const double* h = curvature();
    const double total_h = h ? sum_rows(threads_, rows(), [&](std::int64_t i) { return h[i]; })
                             : static_cast<double>(rows());
    describe(packed, h, total_h);
    return Quadratic<K>(K(rows(), packed.handles), packed.coordinates, g_, h, total_h,
                        features_.intercept());
  }

  // From now on the first few rows tell the curvature of all; 0: all do.
  void trust(std::int64_t few) {
    few_ = few;
    told_.clear();
  }
  bool trusts_few() const { return few_ > 0; }
  // The slopes at this point of the columns that are about to be packed; empty if not known.
  void tell_slopes(std::vector<double> slopes) { told_ = std::move(slopes); }
  bool told() const { return !told_.empty(); }
  // The Newton model whose slopes are those of all rows, its curvature that of the first few, for
  // as much as they stand for: rows of gradient zero, tilted. That of all, where a column is all
  // but absent from the few.
  template <Columns K>
  Quadratic<K> model_of_few(Packed<K>& packed) {
    gradient();
    const double* h = curvature();
    const auto sum = [&](const double* v, std::int64_t count) {
      return sum_rows(threads_, count, [&](std::int64_t i) { return v[i]; });
    };
    const double total_h = sum(h, rows()), part = sum(h, few_) / total_h;
    few_h_.assign(h, h + few_);
    for (double& v : few_h_) v /= part;
    const K columns(few_, packed.handles);
    describe(packed, columns, few_h_.data(), total_h);
    for (std::size_t k = 0; k < packed.which.size(); ++k) {
      const double usual = features_.norm2(packed.which[k]) * total_h / features_.total_weight();
      if (packed.coordinates[k].beta >= 0.01 * usual) continue;
      trust(0);
      return newton_model(packed);
    }
    few_g_.assign(at(few_), 0.0);
    const double level = sum(g_.data(), rows());
    slopes_ = std::exchange(told_, {});
    const bool centred = !slopes_.empty();  // a~'g; the model centres by itself, and wants a'g
    if (!centred) slopes_ = all_dots(K(rows(), packed.handles), g_.data(), threads_);
    for (std::size_t k = 0; k < slopes_.size(); ++k) {
      const Coordinate& c = packed.coordinates[k];
      slopes_[k] = centred ? slopes_[k] + c.inv_scale * c.mean * level : c.inv_scale * slopes_[k];
    }
    Quadratic<K> model(columns, packed.coordinates, few_g_, few_h_.data(), total_h,
                       features_.intercept());
    model.tilt(slopes_, level);
    return model;
  }

  // Moves the packed weights towards `goal` and z with them, by the longest step 1, 1/2, 1/4, ...
  // that keeps a hundredth of what the slope promises (Armijo). `constant` is what the full step
  // adds to the constant of z. Returns the step, of length 0 if none lowers F.
  template <Columns K>
  Step step_towards(Packed<K>& packed, std::span<const double> goal, double constant) {
    std::vector<double> lengths;
    double centring = 0;  // of the step itself: what an engine keeps may be off by roundings of x
    for (std::size_t k = 0; k < goal.size(); ++k) {
      const Coordinate& c = packed.coordinates[k];
      lengths.push_back(std::abs(goal[k] - packed.x[k]));
      centring -= (goal[k] - packed.x[k]) * c.inv_scale * c.mean;
    }
    if (!features_.intercept()) constant = centring;
    const Step made = search(packed.x, goal, change_of_z(packed, goal, constant),
                             [&](std::size_t k) { return packed.coordinates[k].penalty; });
    if (made.length == 0) return made;  // `constant` may be NaN, where there is no curvature
    constant_ += made.length * constant;
    ++steps_;
    travelled_ += made.length * std::abs(constant) * std::sqrt(features_.total_weight());
    for (std::size_t k = 0; k < goal.size(); ++k)
      travelled_ += made.length * lengths[k] * features_.raw_norm(packed.which[k]);
    return made;
  }

  // The same for columns that stay elsewhere, whose holders solve their blocks of the Newton model,
  // each as if it were alone: the d-GLMNET of Trofimov and Genkin (2015). What a holder adds to the
  // constant is found again by refresh(), which must follow.
  Step step_elsewhere(std::span<const Column> which, double gap, double enough) {
    // On the scale on which all have the same l2.
    std::vector<double> from, means, inv_scale, units;
    std::vector<Penalty> penalties;
    for (Column j : which) {
      const double unit = features_.standardize() ? 1.0 : features_.inv_scale(j);
      const Penalty p = features_.penalty(j);
      units.push_back(unit);
      from.push_back(x(j) * unit);
      means.push_back(features_.intercept() ? 0.0 : features_.fixed_mean(j));
      inv_scale.push_back(features_.inv_scale(j) / unit);
      penalties.push_back({p.lam / unit, features_.spec().l2, p.lo * unit, p.hi * unit});
    }
    gradient();
    const Proposal there = A_.propose({which, from, means, inv_scale, penalties, g_.data(),
                                       curvature(), features_.intercept(), gap, enough});
    const Step made =
        search(from, there.goal, there.dz, [&](std::size_t k) { return penalties[k]; });
    for (std::size_t k = 0; k < which.size(); ++k)
      from[k] = features_.penalty(which[k]).clamp(from[k] / units[k]);
    x_.store(which, from);
    return made;
  }

  // Takes over the packed weights; those of `before` again if F, computed from them, is above
  // `most`. If z has followed them by few steps, no longer than x is, it is as good as new.
  template <Columns K>
  void settle(Packed<K>& packed, const std::vector<double>& before, double constant, double most,
              bool followed) {
    store(packed);
    bool exact = followed && steps_ <= 4 && travelled_ < reach();
    if (exact) exact = fit_intercept();
    if (exact)
      complete();
    else
      refresh();
    if (objective_ <= most) return;
    packed.x = before;
    constant_ = constant;
    store(packed);
    refresh();
  }
  // The same without a look at F.
  template <Columns K>
  void store(const Packed<K>& packed) {
    store(packed.which, packed.x);
  }
  void store(std::span<const Column> which, std::span<const double> x) { x_.store(which, x); }

  // The dual candidate: the gradient, orthogonal to the constant column if there is an intercept.
  // Its sum is at rounding level; the heavier sign gives way, which stays inside every conjugate's
  // domain.
  std::vector<double> dual_candidate() {
    std::vector<double> u(g_);
    if (!features_.intercept()) return u;
    double up = 0, down = 0;
    for (double v : u) (v > 0 ? up : down) += std::abs(v);
    const double heavier = up > down ? 1 : -1, less = std::min(up, down) / std::max(up, down);
    for (double& v : u)
      if (v * heavier > 0) v *= less;
    return u;
  }

  // The rows' brackets of the gap at scale * u.
  double rows_gap(std::span<const double> u, double scale) const {
    return sum_rows(threads_, rows(), [&](std::int64_t i) {
      return samples_.fenchel_young(i, z_[at(i)], scale * u[at(i)]);
    });
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  double value() const {
    double sum = loss();
    for (std::size_t p = 0; p < support().size(); ++p)
      sum += features_.penalty(support()[p]).value(x_.values()[p]);
    return sum;
  }
  // Of the losses at z; out(rows) says where they go.
  template <class Out>
  void curves(Out&& out) const {
    sum_blocks(threads_, rows(), [&](Range r) {
      samples_.curves(r.begin, r.size(), &z_[at(r.begin)], out(r));
      return 0.0;
    });
  }
  void gradient() {
    curves([&](Range r) { return Curves{.derivative = &g_[at(r.begin)]}; });
  }
  // A model of a loss whose curvature has no bound says nothing about what is far away.
  double longest_step(std::span<const double> dz) const {
    if (std::isfinite(L::beta)) return 1.0;
    double largest = 0;
    for (std::int64_t i = 0; i < rows(); ++i)
      if (samples_.weight(i) > 0) largest = std::max(largest, std::abs(dz[at(i)]));
    return std::min(1.0, 8.0 / largest);
  }
  // Of F's rows, kept away from zero so that a Newton step stays finite: by a small part of what is
  // usual among them, which where all classes are told apart is far less than beta.
  const double* curvature() {
    if constexpr (L::quadratic) {
      return samples_.weights();
    } else {
      curves([&](Range r) { return Curves{.curvature = &h_[at(r.begin)]}; });
      const double mean = sum_rows(threads_, rows(), [&](std::int64_t i) { return h_[at(i)]; }) /
                          features_.total_weight();
      const double usual = std::isfinite(L::beta) ? std::max(mean, 1e-3 * L::beta) : mean;
      for_rows(threads_, rows(), [&](std::int64_t i) {
        h_[at(i)] = std::max(h_[at(i)], 1e-4 * usual * samples_.weight(i));
      });
      return h_.data();
    }
  }

  // The longest of the steps 1, 1/2, 1/4, ... towards goal that keeps a hundredth of what the slope
  // promises; x and z follow it.
  template <class PenaltyOf>
  Step search(std::span<double> x, std::span<const double> goal, std::span<const double> dz,
              PenaltyOf&& penalty_of) {
    auto penalty = [&](double t) {
      double sum = 0;
      for (std::size_t k = 0; k < goal.size(); ++k)
        sum += penalty_of(k).change(x[k], t * (goal[k] - x[k]));
      return sum;
    };
    gradient();
    const double promised = penalty(1.0) + sum_rows(threads_, rows(), [&](std::int64_t i) {
                              return g_[at(i)] * dz[at(i)];
                            });
    const Step made = backtrack(
        promised,
        [&](double t) {
          return penalty(t) + samples_.total(threads_, [&](std::int64_t i) {
            return z_[at(i)] + t * dz[at(i)];
          });
        },
        longest_step(dz));
    const double t = made.length;
    if (t == 0) return made;
    for_rows(threads_, rows(), [&](std::int64_t i) { z_[at(i)] += t * dz[at(i)]; });
    for (std::size_t k = 0; k < goal.size(); ++k)
      x[k] = t == 1.0 ? goal[k] : penalty_of(k).clamp(x[k] + t * (goal[k] - x[k]));
    return made;
  }

  void complete() {
    minimise_free();
    gradient();
    objective_ = value();
  }
  void linear_predictor(std::span<const double> Ax = {}) {
    if (!features_.intercept() || !std::isfinite(constant_)) constant_ = 0;
    std::vector<double> steps;
    for (std::size_t k = 0; k < support().size(); ++k) {
      const Column j = support()[k];
      steps.push_back(x_.values()[k] * features_.inv_scale(j));
      if (!features_.intercept()) constant_ -= steps.back() * features_.fixed_mean(j);
    }
    predict(steps, Ax);
    if (fit_intercept()) return;
    predict(steps, Ax);  // again, without the rounding of a constant that has become much smaller
    fit_intercept();
  }
  // The best intercept; false if the constant has become much smaller by it.
  bool fit_intercept() {
    if (!features_.intercept()) return true;
    const double before = constant_;
    constant_ += minimise_intercept(threads_, samples_, z_);
    return std::abs(before) <= 2 * (std::abs(constant_) + largest(z_));
  }
  static double largest(std::span<const double> v) {
    double most = 0;
    for (double one : v) most = std::max(most, std::abs(one));
    return most;
  }
  void predict(std::span<const double> steps, std::span<const double> Ax) {
    steps_ = 0;
    travelled_ = 0;
    for_rows(threads_, rows(), [&](std::int64_t i) {
      z_[at(i)] = constant_ + samples_.shift(i) + (Ax.empty() ? 0.0 : Ax[at(i)]);
    });
    if (Ax.empty()) looked_ += add_columns(A_, support(), steps, z_, threads_);
  }
  template <Columns K>
  std::vector<double> change_of_z(const Packed<K>& packed, std::span<const double> goal,
                                  double constant) const {
    std::vector<double> steps, dz(z_.size(), constant);
    for (std::size_t k = 0; k < goal.size(); ++k)
      steps.push_back((goal[k] - packed.x[k]) * packed.coordinates[k].inv_scale);
    add_columns(K(rows(), packed.handles), steps, dz, threads_);
    return dz;
  }

  // Newton's method over the weights that nothing penalises, the intercept with them, so that the
  // gradient becomes orthogonal to their columns, as the dual demands.
  void minimise_free() {
    if (free_.empty()) return;
    Packed<C> packed = borrow(free_);
    const std::vector<double> before = packed.x;
    const double constant = constant_, objective = value();
    for (int step = 0; step < 50 && !watch_.stopped(); ++step) {
      Quadratic<C> model = newton_model(packed);
      std::vector<double> slope, goal = packed.x;
      for (std::size_t k = 0; k < free_.size(); ++k)
        slope.push_back(model.gradient(static_cast<std::int64_t>(k)));
      NormalMatrix<C> normal(model.A, model.coordinates, model.h, threads_);
      const auto [move, residual, finished, products] =
          newton_step(normal, model.coordinates, slope, {packed.factor, {}, model.coordinates},
                      2 * static_cast<int>(free_.size()) + 10, 1e-15, watch_);
      looked_ += (2 * products + 4) * count_nonzeros(model.A);
      for (std::size_t k = 0; k < free_.size(); ++k) {
        goal[k] += move[k];
        model.running.move(model.coordinates[k], move[k]);
      }
      if (step_towards(packed, goal, model.constant()).length == 0) break;
    }
    store(packed);
    linear_predictor();  // z followed the steps; of x itself it may be another
    if (value() <= objective * (1 + 1e-9)) return;
    packed.x = before;
    constant_ = constant;
    store(packed);
    linear_predictor();
  }

  Source<C>& A_;
  const Observed<L>& samples_;
  const Features<C>& features_;
  int threads_;
  Watch& watch_;
  Weights x_;
  std::vector<double> z_, g_, h_;
  std::int64_t few_ = 0;
  std::vector<double> few_g_, few_h_, slopes_, told_;
  std::vector<Column> free_;
  double constant_ = 0, objective_ = infinity;
  int steps_ = 0;  // since z was computed from x
  double travelled_ = 0, looked_ = 0;
};

}  // namespace shotgun
