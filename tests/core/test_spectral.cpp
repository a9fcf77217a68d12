#include <bit>

#include "parallel/spectral.hpp"
#include "problem/standardized.hpp"
#include "support.hpp"

using namespace testing;

namespace {

// rho of the explicit column-normalised Gram matrix, by far more power iterations than needed.
double explicit_rho(const Matrix<double>& A, bool centred) {
  Doubles B(A.dense.begin(), A.dense.end());
  for (std::int64_t j = 0; j < A.d; ++j) {
    double mean = 0, squares = 0;
    for (std::int64_t i = 0; i < A.n; ++i) mean += A(i, j) / static_cast<double>(A.n);
    for (std::int64_t i = 0; i < A.n; ++i) {
      double& b = B[at(j * A.n + i)];
      if (centred) b -= mean;
      squares += b * b;
    }
    for (std::int64_t i = 0; i < A.n; ++i) B[at(j * A.n + i)] /= std::sqrt(squares);
  }
  Doubles v(at(A.d), 1.0);
  v[0] = 1.5;
  double rho = 0;
  for (int step = 0; step < 20'000; ++step) {
    Doubles z(at(A.n)), next(at(A.d));
    for (std::int64_t j = 0; j < A.d; ++j)
      for (std::int64_t i = 0; i < A.n; ++i) z[at(i)] += B[at(j * A.n + i)] * v[at(j)];
    double squares = 0;
    for (std::int64_t j = 0; j < A.d; ++j) {
      for (std::int64_t i = 0; i < A.n; ++i) next[at(j)] += B[at(j * A.n + i)] * z[at(i)];
      squares += next[at(j)] * next[at(j)];
    }
    const double before = std::exchange(rho, std::sqrt(squares));
    for (std::int64_t j = 0; j < A.d; ++j) v[at(j)] = next[at(j)] / rho;
    if (std::abs(rho - before) < 1e-15 * rho) break;
  }
  return rho;
}

double radius(const Matrix<double>& A, bool dense, bool centred, int threads, double tol) {
  const Doubles y(at(A.n));
  AnySource source = dense ? A.dense_source() : A.sparse_source();
  Problem problem{source, Squared{}, Samples{y, {}, {}}, PenaltySpec{}, centred, false};
  Watch watch(nullptr, infinity);
  return spectrum(problem, Options{.threads = threads}, tol, watch).rho;
}

}  // namespace

TEST_CASE("rho is the largest eigenvalue of the normalised Gram matrix") {
  for (bool dense : {true, false})
    for (bool centred : {false, true})
      for (std::uint64_t seed : {1, 2, 3}) {
        const auto A = random_matrix(30, 25, 0.5, seed);
        const double rho = radius(A, dense, centred, 1, 1e-10);
        const double exact = explicit_rho(A, centred);
        CHECK(rho == doctest::Approx(exact).epsilon(1e-9));
      }
}

TEST_CASE("rho is known to the accuracy asked for") {
  const auto A = random_matrix(200, 150, 0.3, 4);
  const double exact = explicit_rho(A, false);
  for (double tol : {1e-2, 1e-4, 1e-6}) {
    const double rho = radius(A, true, false, 1, tol);
    CHECK(std::abs(rho - exact) <= 2 * tol * exact);
    CHECK(rho <= exact * (1 + 1e-9));  // from below
  }
}

TEST_CASE("orthogonal columns have rho = 1 and P* = d") {
  Doubles values(100);
  for (std::int64_t j = 0; j < 10; ++j) values[at(11 * j)] = static_cast<double>(j + 1);
  const Matrix<double> A(10, 10, values);
  const double rho = radius(A, true, false, 1, 1e-6);
  CHECK(rho == doctest::Approx(1.0).epsilon(1e-12));
  CHECK(ideal_p(10, rho) == 10);
}

TEST_CASE("columns all alike have rho = d and P* = 1") {
  Doubles values;
  const Doubles column = random_vector(12, 5);
  for (int j = 0; j < 7; ++j)
    for (double a : column) values.push_back(a * (j + 1));
  const Matrix<double> A(12, 7, values);
  const double rho = radius(A, true, false, 1, 1e-6);
  CHECK(rho == doctest::Approx(7.0).epsilon(1e-10));
  CHECK(ideal_p(7, rho) == 1);
}

TEST_CASE("P* is the ceiling of d / rho and forgives rounding") {
  CHECK(ideal_p(4096, 2047.8) == 3);
  CHECK(ideal_p(1024, 6.4967) == 158);
  CHECK(ideal_p(100, 25.0) == 4);
  CHECK(ideal_p(100, 25.0 * (1 - 1e-8)) == 4);
  CHECK(ideal_p(5, 0.0) == 5);
  CHECK(ideal_p(1, 1.0) == 1);
}

TEST_CASE("rho has the same bits for any number of threads") {
  const auto A = random_matrix(700, 300, 0.5, 6);
  for (bool dense : {true, false}) {
    const auto one = std::bit_cast<std::uint64_t>(radius(A, dense, true, 1, 1e-6));
    for (int threads : {2, 4})
      CHECK(std::bit_cast<std::uint64_t>(radius(A, dense, true, threads, 1e-6)) == one);
  }
}

TEST_CASE("zero columns do not count") {
  auto values = random_matrix(20, 5, 1.0, 7).dense;
  const Matrix<double> A(20, 5, values);
  values.resize(160);
  const Matrix<double> padded(20, 8, values);
  CHECK(radius(padded, true, false, 1, 1e-9) ==
        doctest::Approx(radius(A, true, false, 1, 1e-9)).epsilon(1e-8));
}
