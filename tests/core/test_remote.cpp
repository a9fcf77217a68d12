#include "problem/remote.hpp"
#include "support.hpp"

using namespace testing;

namespace {

template <class C>
const Handle<C>& handle(const Matrix<double>& A, Column j) {
  if constexpr (C::dense)
    return A.dense_handles[at(j)];
  else
    return A.sparse_handles[at(j)];
}

// Somebody who has a matrix: what was asked of him, and how many columns he has handed out.
template <class C>
struct Holder {
  const Matrix<double>& A;
  std::vector<int> handed = std::vector<int>(at(A.d));
  int proposals = 0;

  double dot(const double* v, Column j) const {
    double sum = 0;
    for (std::int64_t i = 0; i < A.n; ++i) sum += v[i] * A(i, j);
    return sum;
  }
  void survey(const double* w, const double* v, double* sums, double* squares, double* dots) const {
    for (Column j = 0; j < A.d; ++j) {
      sums[j] = squares[j] = 0;
      for (std::int64_t i = 0; i < A.n; ++i) {
        const double weighted = (w ? w[i] : 1.0) * A(i, j);
        sums[j] += weighted;
        squares[j] += weighted * A(i, j);
      }
      dots[j] = dot(v, j);
    }
  }

  // The minimum of the model over blocks of three columns, each alone, by many epochs.
  Proposal propose(const FarModel& model) {
    ++proposals;
    Proposal all{Doubles(model.x.begin(), model.x.end()), Doubles(at(A.n))};
    for (std::size_t first = 0; first < model.which.size(); first += 3) {
      Doubles dz(at(A.n));
      for (int epoch = 0; epoch < 200; ++epoch)
        for (std::size_t k = first; k < std::min(first + 3, model.which.size()); ++k)
          move(model, k, all.goal[k], dz);
      for (std::int64_t i = 0; i < A.n; ++i) all.dz[at(i)] += dz[at(i)];
    }
    return all;
  }
  void move(const FarModel& model, std::size_t k, double& x, Doubles& dz) const {
    double slope = 0, curvature = 0;
    for (std::int64_t i = 0; i < A.n; ++i) {
      const double a = entry(model, k, i), h = model.h ? model.h[i] : 1.0;
      slope += a * (model.g[i] + h * dz[at(i)]);
      curvature += h * a * a;
    }
    const double step = model.penalties[k].prox(curvature * x - slope, curvature) - x;
    x += step;
    for (std::int64_t i = 0; i < A.n; ++i) dz[at(i)] += step * entry(model, k, i);
  }
  double entry(const FarModel& model, std::size_t k, std::int64_t i) const {
    return model.inv_scale[k] * (A(i, model.which[k]) - model.means[k]);
  }

  AnySource source(double most) {
    Answers<C> ask;
    ask.scan = [this](const double* v, std::span<const Column> which, double* out) {
      const auto count = which.empty() ? at(A.d) : which.size();
      for (std::size_t p = 0; p < count; ++p)
        out[p] = dot(v, which.empty() ? static_cast<Column>(p) : which[p]);
    };
    ask.survey = [this](auto... told) { survey(told...); };
    ask.columns = [this](std::span<const Column> which, const typename Answers<C>::Visit& visit) {
      for (std::size_t p = 0; p < which.size(); ++p) {
        ++handed[at(which[p])];
        visit(static_cast<std::int64_t>(p), handle<C>(A, which[p]));
      }
    };
    ask.bytes = Doubles(at(A.d), 1.0);
    ask.most = most;
    ask.add = [this](std::span<const Column> which, std::span<const double> steps, double* z) {
      for (std::size_t p = 0; p < which.size(); ++p)
        for (std::int64_t i = 0; i < A.n; ++i) z[i] += steps[p] * A(i, which[p]);
    };
    ask.propose = [this](const FarModel& model) { return propose(model); };
    return std::unique_ptr<Source<C>>(std::make_unique<RemoteSource<C>>(
        std::move(ask), A.n, A.d, static_cast<std::int64_t>(A.values().size())));
  }
};

Solution fit(const Example& e, AnySource source, double tol = 1e-8) {
  Watch watch(nullptr, infinity);
  Problem problem{source, e.loss, e.samples(), e.penalty(), e.intercept, e.standardize};
  return solve(problem, {.threads = 2, .tol = tol}, {}, {}, watch);
}

template <class C>
void check_remote(const Example& e) {
  const Solution here = fit(e, C::dense ? e.A.dense_source() : e.A.sparse_source());
  Holder<C> holder{e.A};
  const Solution there = fit(e, holder.source(infinity));
  CHECK(there.status == Status::converged);
  CHECK(there.objective == doctest::Approx(here.objective).epsilon(1e-8));
  CHECK(*std::ranges::max_element(holder.handed) == 1);
  CHECK(holder.proposals == 0);

  Holder<C> far{e.A};
  const Solution blocks = fit(e, far.source(4), 1e-6);
  CHECK(blocks.status == Status::converged);
  CHECK(blocks.gap <= 1e-6 * blocks.null_objective);
  CHECK(blocks.objective == doctest::Approx(here.objective).epsilon(1e-6));
  CHECK(far.proposals > 0);
}

}  // namespace

TEST_CASE("columns that others have make the same fit, handed over once or worked on in blocks") {
  for (const AnyLoss& loss : all_losses) {
    CAPTURE(name_of(loss));
    Example e = make_example(50, 20, 0.5, loss, 7);
    e.lam = 2;
    check_remote<SparseColumns<double>>(e);
    check_remote<DenseColumns<double>>(e);
    e.l2 = 0.5;
    e.lo = Doubles(20, -0.3);
    e.hi = Doubles(20, 0.4);
    e.intercept = e.standardize = true;
    check_remote<SparseColumns<double>>(e);
    e.intercept = false;
    check_remote<SparseColumns<double>>(e);
  }
}
