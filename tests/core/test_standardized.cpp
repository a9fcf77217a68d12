#include "problem/standardized.hpp"
#include "support.hpp"

using namespace testing;

namespace {

// The columns as scikit-learn's StandardScaler would hand them over, explicitly.
Example standardised(const Example& e, Doubles& mean, Doubles& scale) {
  Doubles values(e.A.dense);
  double total = 0;
  for (std::int64_t i = 0; i < e.A.n; ++i) total += e.weight(i);
  mean.assign(at(e.A.d), 0.0), scale.assign(at(e.A.d), 0.0);
  for (std::int64_t j = 0; j < e.A.d; ++j) {
    double squares = 0;
    for (std::int64_t i = 0; i < e.A.n; ++i) mean[at(j)] += e.weight(i) * e.A(i, j) / total;
    for (std::int64_t i = 0; i < e.A.n; ++i)
      squares += e.weight(i) * (e.A(i, j) - mean[at(j)]) * (e.A(i, j) - mean[at(j)]);
    scale[at(j)] = squares > 0 ? std::sqrt(squares / total) : 1.0;
    for (std::int64_t i = 0; i < e.A.n; ++i)
      values[at(j * e.A.n + i)] = (e.A(i, j) - mean[at(j)]) / scale[at(j)];
  }
  Example other{.A = Matrix<double>(e.A.n, e.A.d, std::move(values)), .y = e.y, .w = e.w};
  other.lam = e.lam, other.l2 = e.l2, other.loss = e.loss, other.intercept = e.intercept;
  return other;
}

}  // namespace

TEST_CASE("implicit standardising is explicit standardising") {
  for (const AnyLoss& loss : all_losses)
    for (bool intercept : {false, true})
      for (bool weighted : {false, true})
        for (bool dense : {false, true}) {
          Example e = make_example(60, 9, 0.5, loss, 5);
          if (weighted) {
            e.w = random_vector(60, 6);
            for (double& w : e.w) w = std::abs(w);
          }
          e.lam = 2.0, e.l2 = 0.25, e.intercept = intercept;
          Doubles mean, scale;
          const Optimum best = reference(standardised(e, mean, scale), 20'000);
          e.standardize = true;
          const Solution s = solve_example(e, Options{.tol = 1e-11}, dense);
          CAPTURE(name_of(loss));
          CAPTURE(intercept);
          CAPTURE(weighted);
          CAPTURE(dense);
          CHECK(s.objective == doctest::Approx(best.objective).epsilon(1e-9));
          double constant = best.intercept;
          for (std::size_t j = 0; j < mean.size(); ++j) {
            CHECK(weights(s)[j] == doctest::Approx(best.x[j] / scale[j]).epsilon(1e-4).scale(1.0));
            constant -= best.x[j] / scale[j] * mean[j];
          }
          CHECK(s.intercept == doctest::Approx(constant).epsilon(1e-4).scale(1.0));
        }
}

TEST_CASE("norms are those about the mean, however far the mean is from zero") {
  const auto noise = random_matrix(200, 1, 1.0, 7);
  for (double offset : {0.0, 1.0, 1e6}) {
    Doubles values(noise.dense);
    for (double& a : values) a += offset;
    const Matrix<double> A(200, 1, values);
    DenseSource<double> source(A.dense.data(), 200, 1, 200);
    const Doubles y(200);
    Watch watch(nullptr, infinity);
    PerColumn<double> dots;
    const Features<DenseColumns<double>> features(source, {y, {}, {}}, {}, true, false, y, dots, 1,
                                                  watch);
    double mean = 0, squares = 0;
    for (double a : noise.dense) mean += a / 200;
    for (double a : noise.dense) squares += (a - mean) * (a - mean);
    CHECK(features.norm2(0) == doctest::Approx(squares).epsilon(1e-8));
  }
}

TEST_CASE("columns from 1e-150 to 1e150 are scaled by powers of two and solved") {
  for (const AnyLoss& loss : all_losses)
    for (double size : {1e-150, 1e150}) {
      Example e = make_example(50, 4, 1.0, loss, 8);
      e.l2 = 0.0, e.lam = 2.0;
      const Optimum plain = reference(e);
      Doubles values(e.A.dense), factor(4, 1.0);
      for (std::size_t i = 0; i < 50; ++i) values[i] *= size;  // the first column only
      factor[0] = size;
      Example scaled{.A = Matrix<double>(50, 4, values), .y = e.y, .factor = factor};
      scaled.lam = e.lam, scaled.loss = loss;
      const Solution s = solve_example(scaled, Options{.tol = 1e-9}, true);
      CAPTURE(name_of(loss));
      CAPTURE(size);
      CHECK(s.status == Status::converged);
      CHECK(s.objective == doctest::Approx(plain.objective).epsilon(1e-7));
      CHECK(weights(s)[0] * size == doctest::Approx(plain.x[0]).epsilon(1e-3));
    }
}

TEST_CASE("a scaled column is a penalty factor (the paper's footnote in section 2)") {
  Example e = make_example(50, 6, 1.0, Squared{}, 9);
  e.lam = 3.0;
  const Doubles scale{1.0, 2.0, 0.5, 8.0, 0.1, 3.0};
  Doubles values(e.A.dense);
  for (std::size_t j = 0; j < 6; ++j)
    for (std::size_t i = 0; i < 50; ++i) values[j * 50 + i] *= scale[j];
  Example scaled{.A = Matrix<double>(50, 6, values), .y = e.y, .factor = scale};
  scaled.lam = e.lam;
  const Solution a = solve_example(e, Options{.tol = 1e-12}, true);
  const Solution b = solve_example(scaled, Options{.tol = 1e-12}, true);
  CHECK(a.objective == doctest::Approx(b.objective).epsilon(1e-10));
  for (std::size_t j = 0; j < 6; ++j)
    CHECK(weights(b)[j] * scale[j] == doctest::Approx(weights(a)[j]).epsilon(1e-5).scale(1.0));
}

TEST_CASE("the place of a number that is not finite is told") {
  for (double bad : {infinity, -infinity, std::nan("")})
    for (bool dense : {true, false}) {
      Doubles values(random_matrix(20, 3, 1.0, 10).dense);
      values[20 + 7] = bad;
      const Matrix<double> A(20, 3, values);
      AnySource source = dense ? A.dense_source() : A.sparse_source();
      const Doubles y(20, 1.0);
      Problem problem{source, Squared{}, Samples{y, {}, {}}, PenaltySpec{.lam = 1.0}};
      Watch watch(nullptr, infinity);
      try {
        solve(problem, Options{}, {}, {}, watch);
        FAIL("accepted");
      } catch (const NotFinite& e) {
        CHECK(e.row == 7);
        CHECK(e.column == 1);
      }
    }
}
