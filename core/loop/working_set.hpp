// The loop: scan, certify, screen, select, pack, shoot, for any loss, engine and home of the data.
#pragma once

#include "engine/choose.hpp"
#include "loop/candidates.hpp"
#include "loop/certificate.hpp"
#include "loop/follow.hpp"
#include "loop/lengthen.hpp"
#include "loop/progress.hpp"
#include "loop/shoot.hpp"
#include "loop/task.hpp"

namespace shotgun {

template <Columns C, Loss L>
class WorkingSet {
 public:
  explicit WorkingSet(const Task<C, L>& task, Start start = {})
      : WorkingSet(task, start, {},
                   first_gradient(task.samples, start.Ax, task.intercept, task.options.threads)) {}
  WorkingSet(const WorkingSet&) = delete;  // its parts refer to each other

  Solution solve(std::span<const double> x0, const Callback& callback) {
    start(x0);
    pathwise_ = x0.empty() && options_.working_set && L::quadratic;
    if (begun_.rows > 0 && go_on() == Status::stopped) return finish(Status::stopped);
    Solution fit = finish(descend(callback));
    if (!watch_.stopped()) screen();  // by the last gap, the smallest
    fit.n_screened = active_.screened();
    fit.open = std::move(active_).take();
    return fit;
  }

  // One fit after the other, each from where the last one ended.
  std::vector<Solution> path(const Grid& grid, const Callback& callback) {
    start({});
    const std::vector<double> lams = grid.lams.empty() ? grid.below(largest_lambda()) : grid.lams;
    const double null_loss = point_.loss();
    if (!grid.x0.empty()) start_from(grid.x0);
    double last = grid.x0.empty() ? lams.front() : grid.last;
    std::vector<Solution> fits;
    for (std::size_t k = 0; k < lams.size(); ++k) {
      begin();
      retune(lams[k], grid.l2s.empty() ? features_.spec().l2 : grid.l2s[k],
             std::exchange(last, lams[k]));
      if (!L::quadratic) lengthen(point_, options_.threads);
      fits.push_back(finish(descend(callback)));
      if (watch_.stopped() || fits.back().status == Status::stopped) break;
      if (point_.loss() <= (1 - grid.deviance) * null_loss) break;
    }
    return fits;
  }

  // The smallest lam at which every penalised weight stays where it starts.
  double lambda_max() {
    start({});
    return largest_lambda();
  }

 private:
  // c is filled by the survey that the features make, on the way, of u.
  WorkingSet(const Task<C, L>& t, Start& start, PerColumn<double> c, std::vector<double> u)
      : A_(t.A),
        options_(t.options),
        watch_(t.watch),
        begun_(std::move(start)),
        features_(A_, t.samples, t.spec, t.intercept, t.standardize, u, c, options_.threads,
                  watch_),
        scan_(A_, features_, t.samples, std::move(c), std::move(u), options_.threads, watch_),
        point_(A_, t.samples, features_, options_.threads, watch_),
        active_(features_, scan_, point_, options_.working_set, options_.threads, watch_),
        certificate_(features_, scan_, point_, active_, options_.threads),
        W_(A_, point_, !options_.working_set),
        outside_(features_, scan_, point_, active_, W_, options_.threads),
        engine_(choose_engine(options_.engine, C::dense, L::quadratic, A_.rows() >= A_.cols(),
                              features_.shared())),
        returns_(t.returns),
        follow_(static_cast<double>(A_.rows()), static_cast<double>(features_.count()),
                A_.nonzeros()) {
    effort_.work = A_.nonzeros();
    effort_.P = options_.P;
  }

  Status descend(const Callback& callback) {
    for (;; ++row_.round) {
      if (!settled_) timed(row_.scan, [&] { scan(); });
      watch_.poll();
      if (watch_.stopped()) return reason();
      timed(row_.certify, [&] { certify(); });
      if (report(callback)) return Status::stopped;
      if (settled_ || (converged() && !follow_.on_the_way(features_.spec().lam)))
        return Status::converged;
      if (stalled()) return Status::precision;
      if (effort_.epochs >= options_.max_epochs) return Status::max_epochs;
      if (const double first = larger_lambda(); first > 0) {
        if (approach(first, callback) == Status::stopped) return Status::stopped;
        continue;
      }
      Choice choice;
      timed(row_.screen, [&] { screen(); });
      timed(row_.select, [&] { choice = select(); });
      timed(row_.pack, [&] { pack(choice); });
      timed(row_.shoot, [&] { shoot(choice); });
    }
  }

  // The paper's pathwise scheme: where far more columns than there are samples want to move, most
  // for what others will explain, a rough fit at a larger lam comes first, so that the real one
  // starts with the columns that matter. That lam, or 0 where there is no need for it; asked for
  // once, before anything has moved.
  double larger_lambda() {
    if (!std::exchange(pathwise_, false)) return 0;
    const auto violating = std::ranges::count_if(voices_, [&](const Voice& v) {
      return features_.penalty(v.j).violation(point_.x(v.j), v.c) > 0;
    });
    if (violating <= 2 * point_.rows()) return 0;
    const double largest =
        largest_lambda(voices_.size(), [&](std::size_t p) { return voices_[p]; });
    const double lam = features_.spec().lam, first = std::sqrt(lam) * std::sqrt(largest);
    return first > lam ? first : 0;
  }
  Status approach(double first, const Callback& callback) {
    const double lam = features_.spec().lam, l2 = features_.spec().l2;
    const double lower = certificate_.lower();
    ++row_.round;
    retune(first, l2, first);
    tol_ = std::max(options_.tol, 1e-2);
    const Status status = descend(callback);
    tol_ = options_.tol;
    W_.restart();
    retune(lam, l2, lam);
    follow_.arrived(lam);
    certificate_.restart(lower);
    return status;
  }

  // From where a fit of fewer samples has ended; unless those are not like the others, and F is no
  // lower there. They go on telling the curvature of all.
  Status go_on() {
    Solution& fit = begun_.fit;
    if (!fit.trace.empty()) looked_before_ -= fit.trace.back().passes * A_.nonzeros();
    effort_.products_work += begun_.looked;
    trace_ = std::move(fit.trace);
    row_.round = fit.n_rounds + (fit.status == Status::stopped ? 0 : 1);
    effort_.epochs += fit.n_epochs;
    effort_.updates += fit.n_updates;
    if (features_.standardize() && !features_.surveyed()) {
      if (!A_.fits(fit.support)) return fit.status;
      features_.look_at(A_, point_.samples(), fit.support);
    }
    std::vector<double> x(static_cast<std::size_t>(features_.count()));
    for (std::size_t p = 0; p < fit.support.size(); ++p)
      x[static_cast<std::size_t>(fit.support[p])] = fit.weights[p];
    start_from(x, begun_.Ax);
    if (!(point_.objective() < null_objective_))
      start({});
    else if (C::dense && models_newton(engine_, features_))
      point_.trust(begun_.rows);
    begun_.Ax = {};
    return fit.status;
  }

  // Another fit: what the last one spent and told is not its own.
  void begin() {
    effort_.epochs = effort_.updates = effort_.besides = 0;
    looked_before_ = looked();
    row_ = {};
    trace_.clear();
    began_ = watch_.seconds();
  }

  // The same point, another lam: what is known of the columns stays, what was decided does not. The
  // sequential strong rule (Tibshirani et al. 2012) expects no c to change by more than lam does:
  // columns with |c_j| < 2 lam_j - last_j will stay at zero. Those it wrongly leaves out the next
  // scan finds.
  void retune(double lam, double l2, double last) {
    expectation_ = lam > 0 ? std::min(1.0, 2 - last / lam) : 1.0;
    features_.set_strength(lam, l2);
    active_.awaken();
    const auto support = static_cast<std::int64_t>(point_.support().size());
    if (2 * support < W_.size() && (!follow_.follows() || gram_size() > 1)) W_.clear();
    W_.forget_penalties();
    point_.reprice();
    certificate_.restart();
    progress_ = {};
  }

  double largest_lambda() {
    if (!std::exchange(scanned_, true)) scan_.move_to(point_.dual_candidate());
    const std::span<const Column> active = active_.columns();
    scan_.refresh({active.begin(), active.end()});
    return largest_lambda(active.size(),
                          [&](std::size_t p) { return Voice{active[p], scan_.c(active[p], p)}; });
  }
  template <class VoiceAt>
  double largest_lambda(std::size_t count, VoiceAt&& voice) const {
    double largest = 0;
    for (std::size_t p = 0; p < count; ++p) {
      const auto [j, c] = voice(p);
      const Penalty penalty = features_.penalty(j);
      const double pull = -c - penalty.l2 * point_.x(j);
      const bool can_move = pull > 0 ? point_.x(j) < penalty.hi : point_.x(j) > penalty.lo;
      if (const double unit = features_.lambda_unit(j); unit > 0 && can_move)
        largest = std::max(largest, std::abs(pull) / unit);
    }
    return largest;
  }

  // F0, the scale of the stop: x = 0, or the nearest that the bounds allow, with the intercept and
  // the weights of factor 0 at their optimum. Then x0, if there is one.
  void start(std::span<const double> x0) {
    if (!point_.support().empty() || !features_.alike() || features_.penalty(0).clamp(0.0) != 0)
      point_.set_all([&](Column j) { return features_.penalty(j).clamp(0.0); });
    scanned_ = point_.support().empty() && begun_.rows == 0;
    point_.refresh();
    std::vector<Column> unpenalised;
    for (Column j : features_.alike() ? std::span<const Column>() : active_.columns())
      if (features_.spec().lam > 0 && features_.spec().factor[j] == 0) unpenalised.push_back(j);
    if (!unpenalised.empty()) {
      scanned_ = false;
      minimise_over(unpenalised);
    }
    null_objective_ = point_.objective();
    if (!std::isfinite(null_objective_)) throw Overflow{};
    const double unit = rounding_unit(point_.rows());
    negligible_ = options_.tol > 0 ? unit * unit * energy() : 0.0;
    if (x0.empty()) return;
    start_from(x0);
    if (!std::isfinite(point_.objective())) start({});
  }
  // Each time to a small part of an F that was larger, until it is no smaller; but there need not
  // be a minimum.
  void minimise_over(const std::vector<Column>& few) {
    double objective = infinity;
    for (int pass = 0; pass < 5 && point_.objective() < (1 - 1e-8) * objective; ++pass) {
      objective = point_.objective();
      Effort effort;
      Packed<C> packed = point_.borrow(few);
      const std::vector<double> before = packed.x;
      const double constant = point_.constant();
      const bool followed = shoot_packed(point_, packed, Engine::newton, options_,
                                         {objective, 1e-13 * objective, 1000}, effort, watch_);
      effort_.work += effort.work;
      effort_.products_work += effort.products_work;
      point_.settle(packed, before, constant, objective, followed);
      if (watch_.stopped()) return;
    }
  }
  // Ax0, where it is known, need not be computed, and the survey has scanned its gradient; unless
  // some weights cannot be those, or centring adds a constant of its own.
  void start_from(std::span<const double> x0, std::span<const double> Ax0 = {}) {
    bool same = !Ax0.empty();
    point_.set_all([&](Column j) {
      const Penalty penalty = features_.penalty(j);
      const double start = x0[static_cast<std::size_t>(j)] / features_.inv_scale(j);
      const double x = penalty.clamp(penalty.excluded() || active_.at_rest(j) ? 0.0 : start);
      same = same && x == start;
      return x;
    });
    point_.refresh(same ? Ax0 : std::span<const double>());
    scanned_ = same && point_.free().empty() && (features_.intercept() || !features_.standardize());
  }

  double energy() const {
    const Samples& samples = point_.samples();
    return sum_rows(options_.threads, samples.size(), [&](std::int64_t i) {
      const double size = std::abs(samples.target(i)) + std::abs(samples.shift(i));
      return L::quadratic ? samples.weight(i) * size * size : 0.0;
    });
  }

  // c = A~'u, up to date for every column that may have a say in the certificate: those that are
  // not plainly at zero, and those that might violate; for every one, where the Newton model takes
  // its slopes from here. The only pass over A; the first was made while the columns' norms were
  // taken.
  void scan() {
    active_.reawaken([&](Column j) { return W_.holds(j); });
    std::vector<double> u = point_.dual_candidate();
    if (std::exchange(scanned_, false))
      scan_.replace(std::move(u));
    else
      scan_.move_to(std::move(u));
    std::vector<Column> near = gather<Column>(
        options_.threads, active_.size(),
        [&, plain = features_.plain(), all = point_.trusts_few()](std::int64_t p,
                                                                  std::vector<Column>& out) {
          const Column j = active_.columns()[static_cast<std::size_t>(p)];
          if (all || point_.moved(j) || (plain ? scan_.may_exceed(j, *plain) : has_a_say(j)))
            out.push_back(j);
        });
    scan_work_ = A_.nonzeros() * static_cast<double>(scan_.refresh(std::move(near))) /
                 static_cast<double>(features_.count());
    effort_.work += scan_work_;
    if (watch_.stopped()) return;  // what was not looked at has no gradient
    voices_ = gather<Voice>(
        options_.threads, scan_.known_count(),
        [&, plain = features_.plain(), c = scan_.known()](std::int64_t p, std::vector<Voice>& out) {
          const auto [j, gradient] = c(static_cast<std::size_t>(p));
          if (!plain || std::abs(gradient) > *plain || point_.moved(j))
            out.push_back({j, gradient});
        });
  }
  bool has_a_say(Column j) const {
    const Penalty penalty = features_.penalty(j);
    return !penalty.silent_within() || scan_.may_exceed(j, penalty.lam);
  }

  // At so many entries of A.
  double looked() const {
    return effort_.work + effort_.rho_work + effort_.products_work + point_.looked();
  }
  // The round's row of the trace; true if the callback wants to stop.
  bool report(const Callback& callback) {
    row_.epochs = effort_.epochs;
    row_.updates = effort_.updates;
    row_.passes = (looked() - looked_before_) / std::max(1.0, A_.nonzeros());
    row_.working_set = W_.size();
    row_.active = active_.size();
    row_.P = std::max<std::int64_t>(1, effort_.P);
    row_.rho = effort_.rho;
    row_.threads = watch_.most_threads();
    row_.objective = point_.objective();
    row_.gap = certificate_.gap();
    row_.lam = features_.spec().lam;
    row_.samples = point_.rows();
    row_.seconds = watch_.seconds() - began_;
    trace_.push_back(row_);
    row_ = {.round = row_.round};
    return callback && callback(trace_.back());
  }

  // gap <= tol * F0; an F0 that is nothing but the targets' rounding counts as zero.
  double tolerance() const { return std::max(tol_ * null_objective_, negligible_); }
  bool converged() const { return certificate_.gap() <= tolerance(); }
  // No step lowers F any more: rounds without progress in F or in the gap.
  bool stalled() {
    progress_.note(point_.objective(), certificate_.gap(), 1e-6 * tol_ * null_objective_);
    return progress_.idle() >=
           (W_.elsewhere().empty() ? 3 : 10);  // steps of many blocks gain little each
  }
  Status reason() const {
    return watch_.reason() == Watch::Reason::deadline ? Status::deadline : Status::interrupted;
  }

  // The gap; after the last shot of a rough fit only what is left to do for it.
  void certify() {
    if (settled_)
      certificate_.tighten();
    else
      certificate_.certify(voices_);
  }

  // Drops the columns whose optimal weight is known and already there.
  void screen() {
    if (!options_.working_set || !std::isfinite(L::beta) || !certificate_.by_gap()) return;
    active_.screen(certificate_.scale(), screening_radius(L::beta, certificate_.here()));
  }

  // Everything at once where no working set is wanted, or where A is dense and tall and a scan
  // costs as much as an epoch.
  Choice select() {
    const bool all = !options_.working_set || (C::dense && point_.rows() >= features_.count());
    const double expectation = row_.round == 0 ? expectation_ : 1.0;
    auto candidates = all               ? outside_.everyone()
                      : expectation < 1 ? outside_.foreseen(expectation)
                                        : outside_.known();
    Choice choice = choose_columns(std::move(candidates), static_cast<std::size_t>(W_.size()),
                                   point_.rows(), expectation < 1);
    choice.rough = choice.rough && !all;
    return choice;
  }

  void pack(Choice& choice) {
    W_.extend(active_.columns(), std::move(choice.columns), progress_.idle() > 0);
  }

  // Until the packed problem is ten times better than the whole was, or good enough. F never rises:
  // a shot that rounding spoilt is taken back.
  void shoot(const Choice& choice) {
    if (!W_.elsewhere().empty()) shoot_elsewhere();
    W_.visit([&](auto& packed) {
      if (packed.which.empty()) return follow_.arrived(features_.spec().lam);
      // Ten times better is much where shots are dear and little where scans are; and if all
      // columns are here, nothing outside can object, only what light copies have let drift, which
      // prox-Newton sets right by itself.
      const bool whole = options_.working_set && W_.size() >= active_.size();
      const bool cheap = shot_work_ < scan_work_;
      const double better = whole ? (L::quadratic ? 1e-3 : 1e-6) : cheap ? 0.01 : 0.1;
      const double ambition = better * std::pow(0.1, progress_.idle());
      const double enough = 0.5 * std::pow(0.1, progress_.idle()) * tol_ * null_objective_;
      const double target =
          std::max({ambition * certificate_.gap(), enough, 0.01 * certificate_.rounding()});
      const std::vector<double> before = packed.x;
      const double constant = point_.constant();
      const double objective = point_.objective();
      const double work = effort_.work;
      settled_ = whole && returns_ > 0;
      const bool followed = !follow(packed) && descend_packed(packed, target, choice.rough);
      follow_.arrived(features_.spec().lam);
      shot_work_ = effort_.work - work;
      point_.settle(packed, before, constant, objective + certificate_.rounding(), followed);
    });
  }

  template <Columns K>
  bool descend_packed(Packed<K>& packed, double target, bool rough) {
    std::int64_t most = std::min<std::int64_t>(rough ? (L::quadratic ? 3 : 2) : options_.max_epochs,
                                               options_.max_epochs - effort_.epochs);
    if (may_follow(packed)) most = std::min(most, follow_.patience(W_.size()));
    const std::int64_t updates = effort_.updates + effort_.besides;
    if (point_.trusts_few()) point_.tell_slopes(scan_.exactly(packed.which));
    const bool followed =
        shoot_packed(point_, packed, engine_, options_,
                     {certificate_.gap(), target, most, settled_ ? returns_ : 0}, effort_, watch_);
    follow_.descended(effort_.updates + effort_.besides - updates);
    return followed;
  }

  // Blocks of a working set that does not fit here, each by who has it, from the same Ax. Their
  // steps are cheap beside what travels for them, and the gap is far larger than what they leave.
  void shoot_elsewhere() {
    const double care = std::pow(0.1, 3 + progress_.idle());
    const double gap = certificate_.gap();
    point_.step_elsewhere(W_.elsewhere(), gap, care * std::max(gap, tol_ * null_objective_));
    point_.refresh();
    effort_.epochs += 1;
    effort_.updates += W_.size();
  }

  // The Gram matrix of the working set, in units of A.
  double gram_size() const {
    const auto size = static_cast<double>(W_.size());
    return size * size / A_.nonzeros();
  }
  // The homotopy knows no bounds.
  template <Columns K>
  bool may_follow(const Packed<K>& packed) {
    return L::quadratic && options_.engine == Engine::automatic && follow_.fits(gram_size()) &&
           std::ranges::none_of(packed.which, [&](Column j) {
             const Penalty p = features_.penalty(j);
             return p.lo != -infinity || p.hi != infinity;
           });
  }
  // To the minimum, exactly, where it is time for that. Where it fails, descent has been long, and
  // conjugate gradients may know better.
  template <Columns K>
  bool follow(Packed<K>& packed) {
    if constexpr (L::quadratic) {
      if (!may_follow(packed) || !follow_.ready()) return false;
      if (progress_.idle() > 0) follow_.give_up();  // it led nowhere
      const PenaltySpec& spec = features_.spec();
      if (!follow_.follows() || !follow_(point_.newton_model(packed), packed, spec.lam, spec.l2,
                                         options_.threads, watch_)) {
        engine_ = Engine::newton;
        return false;
      }
      effort_.epochs += 1;
      effort_.updates += static_cast<std::int64_t>(packed.which.size());
      return true;
    }
    return false;
  }

  Solution finish(Status status) {
    certificate_.tighten();
    Solution s;
    s.lam = features_.spec().lam;
    s.size = features_.count();
    for (Column j : point_.support()) {
      s.support.push_back(j);
      s.weights.push_back(features_.original(j, point_.x(j)));
    }
    s.intercept = point_.constant();
    s.objective = point_.objective();
    s.gap = certificate_.gap();
    s.null_objective = null_objective_;
    s.tolerance = tolerance();
    s.status = status;
    s.certified_by_gap = certificate_.by_gap();
    s.n_rounds = row_.round;
    s.n_epochs = effort_.epochs;
    s.n_updates = effort_.updates;
    s.n_screened = active_.screened();
    s.P = std::max<std::int64_t>(1, effort_.P);
    s.rho = effort_.rho;
    s.engine = engine_;
    s.seconds = watch_.seconds() - began_;
    s.trace = std::move(trace_);
    return s;
  }

  template <class Body>
  void timed(double& seconds, Body&& body) {
    const double begin = watch_.seconds();
    body();
    seconds += watch_.seconds() - begin;
  }

  Source<C>& A_;
  const Options options_;
  Watch& watch_;
  Start begun_;
  Features<C> features_;
  Scan<C> scan_;
  Point<C, L> point_;
  Active<C, L> active_;
  Certificate<C, L> certificate_;
  Pack<C, L> W_;
  Candidates<C, L> outside_;
  Engine engine_;
  Effort effort_;
  std::vector<Voice> voices_;  // of the active columns, those with a say in the gap
  double null_objective_ = 0, negligible_ = 0;
  double began_ = 0;          // when this fit did
  double looked_before_ = 0;  // of the path's other fits, less that on fewer samples
  double tol_ = options_.tol;
  double expectation_ = 1;  // part of lam at which a column is expected to move
  double scan_work_ = 0, shot_work_ = infinity;  // of the last scan and the last shot
  bool scanned_ = false;                         // the scan is of this point
  const double returns_;   // a step that gains less than this part of the shot is the last
  bool settled_ = false;   // the shot was the last, for that reason
  bool pathwise_ = false;  // a larger lam may come first
  Follower follow_;
  Progress progress_;
  TraceRow row_;
  std::vector<TraceRow> trace_;
};

}  // namespace shotgun
