#include "fit.hpp"
#include "loop/scan.hpp"

using namespace testing;

namespace {

double exact(const Example& e, std::int64_t j, std::span<const double> u,
             const Features<DenseColumns<double>>& f) {
  double sum = 0;
  const auto column = static_cast<Column>(j);
  for (std::int64_t i = 0; i < e.A.n; ++i)
    sum += (e.A(i, j) - f.mean(column)) * f.inv_scale(column) * u[at(i)];
  return sum;
}

}  // namespace

TEST_CASE("what a scan has not looked at again is at most its bound") {
  for (bool standardize : {false, true})
    for (bool intercept : {false, true}) {
      Example e = make_example(80, 30, 0.7, Squared{}, 5);
      e.w = random_vector(80, 6);
      for (double& w : e.w) w = std::max(0.0, w);
      const Samples samples = e.samples();
      DenseSource<double> A(e.A.dense.data(), e.A.n, e.A.d, e.A.n);
      Watch watch(nullptr, infinity);
      // As gradients are: nothing where there is no weight, and no sum with an intercept.
      auto make_u = [&](std::uint64_t seed) {
        Doubles u = random_vector(80, seed);
        double sum = 0, total = 0;
        for (std::size_t i = 0; i < u.size(); ++i) {
          u[i] *= e.w[i];
          sum += u[i];
          total += e.w[i];
        }
        for (std::size_t i = 0; intercept && i < u.size(); ++i) u[i] -= sum / total * e.w[i];
        return u;
      };
      const Doubles u = make_u(7);
      PerColumn<double> dots;
      const Features<DenseColumns<double>> features(A, samples, e.penalty(), intercept, standardize,
                                                    u, dots, 1, watch);
      Scan<DenseColumns<double>> scan(A, features, samples, dots, u, 1, watch);
      const std::vector<Column> some{1, 4, 9};
      for (std::uint64_t step = 0; step < 4; ++step) {
        for (Column j = 0; j < 30; ++j) {
          const double now = exact(e, j, scan.u(), features);
          CHECK(std::abs(now) <= scan.bound(j) * (1 + 1e-12));
          for (double radius : {0.0, 0.3, 2.0}) {
            const double reach = 0.7 * std::abs(now) + radius * std::sqrt(features.norm2(j));
            CHECK(scan.may_exceed(j, 0.999 * reach, 0.7, radius));
            if (step == 0) CHECK(!scan.may_exceed(j, 1.001 * reach + 1e-9, 0.7, radius));
          }
          if (step == 0) CHECK(close(scan.c(j), now, 1e-11, 10.0));
        }
        const double before = scan.bound(1);
        scan.move_to(make_u(20 + step));
        CHECK(scan.bound(1) > before);
        CHECK(scan.refresh(some) == 3);
        CHECK(scan.refresh(some) == 0);
        CHECK(scan.refresh({1, 2, 9}) == 1);
        for (Column j : {1, 2, 9}) {
          const double now = exact(e, j, scan.u(), features);
          CHECK(close(scan.c(j), now, 1e-11, 10.0));
          CHECK(close(scan.bound(j), std::abs(now), 1e-5, 10.0));
        }
        CHECK(scan.c(4) == scan.bound(4));
        if (step == 2) {  // most of them: drift is counted anew
          std::vector<Column> most(20);
          std::iota(most.begin(), most.end(), 0);
          scan.move_to(make_u(40));
          CHECK(scan.refresh(most) == 20);
        }
      }
    }
}

TEST_CASE("a number that is rounded up is not below, and never denormal") {
  for (double v : {0.0, 1e-320, 1e-300, -1e-300, 1e-40, -1e-40, 3e-30, -3e-30, 0.1, -0.1, 1e300}) {
    const float up = rounded_up(v);
    CHECK(static_cast<double>(up) >= v);
    CHECK((std::isnormal(up) || std::isinf(up)));
    if (std::abs(v) > 1e-30 && std::abs(v) < 1e38) CHECK(std::abs(up - v) <= 4e-7 * std::abs(v));
  }
  CHECK(std::isnan(rounded_up(std::nan(""))));
}

TEST_CASE("a bound that leaves the range of double decides nothing") {
  for (double size : {1e98, 1e-99}) {
    Doubles values(100, size), u(100, 1e60 / size);
    DenseSource<double> A(values.data(), 100, 1, 100);
    const Doubles y(100);
    const Samples samples{y, {}, {}};
    Watch watch(nullptr, infinity);
    PerColumn<double> dots;
    const Features<DenseColumns<double>> features(A, samples, {}, false, false, u, dots, 1, watch);
    const Scan<DenseColumns<double>> scan(A, features, samples, dots, u, 1, watch);
    const double c = std::abs(scan.c(0)), norm = std::sqrt(features.norm2(0));
    for (double radius : {1e62, 1e100, 1e-100})
      for (double limit : {1.5 * c, c + 0.9 * radius * norm})
        if (c + radius * norm > limit) CHECK(scan.may_exceed(0, limit, 1.0, radius));
  }
}

TEST_CASE("slopes are exact for columns that the scan was asked for, or not told at all") {
  Fit fit(make_example(80, 30, 0.7, Squared{}, 5));
  fit.move(3, 0.5);
  fit.scan.move_to(fit.point.dual_candidate());
  fit.scan.refresh({2, 5, 9});
  const std::vector<Column> asked{9, 2};
  const Doubles slopes = fit.scan.exactly(asked);
  REQUIRE(slopes.size() == 2);
  CHECK(slopes[0] == fit.scan.c(9));
  CHECK(slopes[1] == fit.scan.c(2));
  CHECK(fit.scan.exactly(std::vector<Column>{2, 4}).empty());
}
