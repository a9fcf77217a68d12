// Homotopy: from the minimum for one lam to that for a smaller one, exactly.
#pragma once

#include "engine/gram.hpp"
#include "engine/inverse.hpp"

namespace shotgun {

// For the squared loss the minimiser is a piecewise linear function of lam (Osborne, Presnell,
// Turlach 2000): along a piece the signs stay, and it ends where a weight reaches zero or a
// gradient reaches lam. On the low end of a path, where almost as many weights as there are samples
// are not zero, a piece costs less than the hundreds of epochs that descent needs.
//
// x need not be a minimum where the way begins: the gradient that it lacks, p, fades along the way
// as lam does, so that there is one where it ends. With t from 0 to 1,
//   g(t) - (1 - t) p + lam(t) sign = 0 on the support S, hence x_S' = -Q_SS^-1 (p + lam' sign).
template <Columns C>
class Homotopy {
 public:
  using Model = Quadratic<C>;

  // Moves x to the minimum over the model's columns, from where it is for `ratio` times their lam.
  // Says whether it got there; x has not moved otherwise. (It cannot where the support has all rank
  // and would have to lose a column for each that joins.) The model's gradient does not follow.
  bool operator()(const Model& model, std::span<double> x, double ratio, int threads,
                  Watch& watch) {
    threads_ = threads;
    const std::vector<double> gradient = model.gradients(threads);
    if (!gather(model, x, gradient, ratio, watch)) return false;
    align(watch);
    std::vector<double> way;
    double t = 0;
    for (std::size_t piece = 0; piece < 10 * here_.size() + 100 && !watch.stopped(); ++piece) {
      if (piece % 16 == 0) way = inverse_.times(pull_, threads_);  // afresh, now and then
      spread(way);
      const Event event = next(1 - t);
      advance(event.length);
      t += event.length;
      if (event.who == nobody) break;
      cross(event.who, way);
      watch.poll();
    }
    if (t < 1 || !arrived()) return false;
    for (std::int64_t r : here_) x[at(columns_[at(r)])] = weight_[at(r)].x;
    return true;
  }

  bool fresh() const { return columns_.empty(); }
  // The inverse is that of the penalties of when its columns joined. With another l2 it still leads
  // towards the minimum, but not all the way.
  void renew() {
    inverse_ = {};
    for (Weight& w : weight_) w.slot = nobody;
  }

 private:
  static constexpr std::int64_t nobody = -1;
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  // A column that takes part.
  struct Weight {
    double x = 0, gradient = 0;  // the latter less what is to fade
    double fading = 0;           // p
    double lam = 0, lam_slope = 0, l2 = 0;
    double sign = 0;
    double x_slope = 0, gradient_slope = 0;
    std::int64_t slot = nobody;  // in the inverse, while it is in the support
    bool wanted = false;         // there, where the way begins
    bool said = false;           // by the support already: its gradient goes with theirs
    bool inside() const { return slot != nobody; }
    double pull() const { return -(fading + lam_slope * sign); }
    // How far to go until it leaves the support, or joins it.
    double until() const {
      if (said) return infinity;
      if (inside()) return lam > 0 && sign * x_slope < 0 ? std::max(0.0, -x / x_slope) : infinity;
      const double up = gradient_slope - lam_slope, down = -gradient_slope - lam_slope;
      return std::max(0.0, std::min(up > 0 ? (lam - gradient) / up : infinity,
                                    down > 0 ? (lam + gradient) / down : infinity));
    }
    // Whether its own condition holds; what the support already says need not have the same lam.
    bool minimal() const {
      const double slope = x == 0 ? std::max(0.0, std::abs(gradient) - lam) : gradient + lam * sign;
      return std::isfinite(x) && (!said || std::abs(slope) <= 1e-6 * lam);
    }
    void move(double length) {
      x += length * x_slope;
      gradient += length * gradient_slope;
      lam += length * lam_slope;
    }
  };
  // What ends a piece: a column that leaves the support or joins it.
  struct Event {
    double length;
    std::int64_t who = nobody;
  };

  // The columns that are in the support or, by the strong rule, may join it. False where their Gram
  // matrix cannot be had.
  bool gather(const Model& model, std::span<const double> x, std::span<const double> gradient,
              double ratio, Watch& watch) {
    place_.resize(at(model.A.count()), nobody);
    here_.clear();
    const double near = std::min(2 - ratio, 0.95);
    for (std::int64_t k = 0; k < model.A.count(); ++k) {
      const Penalty& p = model.coordinates[at(k)].penalty;
      if (x[at(k)] == 0 && std::abs(gradient[at(k)]) < near * p.lam) continue;
      if (place_[at(k)] == nobody) {
        place_[at(k)] = static_cast<std::int64_t>(columns_.size());
        columns_.push_back(k);
      }
      here_.push_back(place_[at(k)]);
    }
    const std::int64_t old = gram_.size();
    while (gram_.size() < static_cast<std::int64_t>(columns_.size())) gram_.grow();
    const auto row_of = [&](std::int64_t r) { return gram_.row(r).data(); };
    if (!fill_gram(model, columns_, old, row_of, threads_, watch)) return false;
    std::vector<std::int64_t> slots(columns_.size(), nobody);
    for (std::size_t r = 0; r < weight_.size(); ++r) slots[r] = weight_[r].slot;
    weight_.assign(columns_.size(), {});
    for (std::size_t r = 0; r < slots.size(); ++r) weight_[r].slot = slots[r];
    for (std::int64_t r : here_) {
      const auto k = at(columns_[at(r)]);
      begin(weight_[at(r)], model.coordinates[k].penalty, x[k], gradient[k], ratio);
    }
    return true;
  }
  static void begin(Weight& w, const Penalty& p, double x, double gradient, double ratio) {
    w.x = x;
    w.l2 = p.l2;
    w.lam = ratio * p.lam;
    w.lam_slope = p.lam - w.lam;
    w.sign = p.lam == 0 ? 0.0 : x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
    const double slope = gradient + p.l2 * x;
    w.wanted = x != 0 || p.lam == 0;
    w.gradient = w.wanted ? -w.lam * w.sign : std::clamp(slope, -w.lam, w.lam);
    w.fading = slope - w.gradient;
  }

  // The inverse becomes that of the support.
  void align(Watch& watch) {
    pull_.assign(at(inverse_.slots()), 0.0);
    for (Weight& w : weight_) {
      if (!w.inside() || w.wanted) continue;
      inverse_.erase(w.slot, threads_);
      w.slot = nobody;
      watch.poll();
      if (watch.stopped()) return;
    }
    for (std::int64_t r : here_) {
      watch.poll();
      if (watch.stopped()) return;
      Weight& w = weight_[at(r)];
      if (w.wanted && !w.inside()) w.said = !insert(r);
      if (w.inside()) pull_[at(w.slot)] = w.pull();
    }
  }
  std::optional<Inverse::Term> insert(std::int64_t r) {
    std::vector<double> row(at(inverse_.slots()));
    for (std::int64_t l : here_)
      if (weight_[at(l)].inside()) row[at(weight_[at(l)].slot)] = gram_(r, l);
    const auto term = inverse_.insert(row, gram_(r, r) + weight_[at(r)].l2, threads_);
    pull_.resize(at(inverse_.slots()));
    if (term) weight_[at(r)].slot = term->slot;
    return term;
  }

  // The slopes of the weights, and of the gradients that belong to no weight in the support.
  void spread(std::span<const double> way) {
    std::vector<double> x_slope(at(gram_.size()));
    std::vector<unsigned char> outside(at(gram_.size()));
    for (std::int64_t r : here_) {
      Weight& w = weight_[at(r)];
      w.x_slope = x_slope[at(r)] = w.inside() ? way[at(w.slot)] : 0.0;
      outside[at(r)] = !w.inside();
    }
    const std::vector<double> slopes =
        gram_.times(x_slope, [&](std::int64_t r) { return outside[at(r)]; }, threads_);
    for (std::int64_t r : here_)
      weight_[at(r)].gradient_slope = slopes[at(r)] + weight_[at(r)].fading;
  }

  // Where the piece ends: after `left` at the latest.
  Event next(double left) const {
    Event first{left};
    for (std::int64_t r : here_)
      if (const double length = weight_[at(r)].until(); length < first.length) first = {length, r};
    return first;
  }
  void advance(double length) {
    for (std::int64_t r : here_) weight_[at(r)].move(length);
  }

  bool arrived() const {
    return std::ranges::all_of(here_, [&](std::int64_t r) { return weight_[at(r)].minimal(); });
  }

  // The column leaves the support or joins it, and the way turns.
  void cross(std::int64_t r, std::vector<double>& way) {
    Weight& w = weight_[at(r)];
    if (w.inside()) {
      w.x = 0;
      w.gradient = -w.lam * w.sign;
      turn(inverse_.erase(w.slot, threads_), way);
      pull_[at(w.slot)] = way[at(w.slot)] = 0;
      w.slot = nobody;
      return;
    }
    w.sign = w.gradient > 0 ? -1.0 : 1.0;
    const auto term = insert(r);
    w.said = !term;
    if (w.said) return;
    pull_[at(w.slot)] = w.pull();
    way.resize(pull_.size());
    turn(*term, way);
  }
  void turn(const Inverse::Term& term, std::vector<double>& way) const {
    double along = 0;
    for (std::size_t i = 0; i < term.w.size(); ++i) along += term.w[i] * pull_[i];
    for (std::size_t i = 0; i < term.w.size(); ++i) way[i] += term.scale * along * term.w[i];
  }

  int threads_ = 1;
  std::vector<std::int64_t> columns_;  // those seen so far, as places among the packed
  std::vector<std::int64_t> place_;    // of the packed ones among those
  Symmetric gram_;                     // of the columns seen so far
  std::vector<Weight> weight_;         // of each of them
  std::vector<std::int64_t> here_;     // those that take part now
  Inverse inverse_;                    // of the support's Gram matrix
  std::vector<double> pull_;           // where the weights are drawn, by slot
};

}  // namespace shotgun
