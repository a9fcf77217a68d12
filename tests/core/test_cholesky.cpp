#include "engine/cholesky.hpp"
#include "parallel/watch.hpp"
#include "support.hpp"

using namespace testing;

namespace {

// B'B for the columns of B, and its factor.
struct Gram {
  Gram(std::int64_t n, std::vector<Doubles> columns, int threads) : B(std::move(columns)), n(n) {
    factor = Cholesky(size());
    for (std::int64_t i = 0; i < size(); ++i)
      for (std::int64_t j = 0; j <= i; ++j) factor.row(i)[j] = entry(i, j);
    CHECK(factor.factor(threads, watch));
  }
  std::int64_t size() const { return static_cast<std::int64_t>(B.size()); }
  double entry(std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t r = 0; r < n; ++r) sum += B[at(i)][at(r)] * B[at(j)][at(r)];
    return sum;
  }

  std::vector<Doubles> B;
  std::int64_t n;
  Watch watch{nullptr, infinity};
  Cholesky factor;
};

std::vector<Doubles> random_columns(std::int64_t n, std::int64_t count) {
  Random random(5);
  std::vector<Doubles> columns(at(count), Doubles(at(n)));
  for (Doubles& column : columns)
    for (double& v : column) v = normal(random);
  return columns;
}

}  // namespace

TEST_CASE("a factor solves, in one tile and in many, to the same bits for any number of threads") {
  for (std::int64_t size : {1, 7, 32, 33, 200, 331}) {
    const Gram gram(2 * size, random_columns(2 * size, size), 1);
    Doubles v(at(size));
    for (std::int64_t i = 0; i < size; ++i) v[at(i)] = std::cos(static_cast<double>(i));
    Doubles solved = v;
    gram.factor.solve(solved);
    double worst = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < size; ++j) sum += gram.entry(i, j) * solved[at(j)];
      worst = std::max(worst, std::abs(sum - v[at(i)]));
    }
    CHECK(worst < 1e-10);
    const Gram same(2 * size, random_columns(2 * size, size), 3);
    Doubles again = v;
    same.factor.solve(again);
    CHECK(again == solved);
  }
}

TEST_CASE("a column that others say is left out, and it is known how they say it") {
  std::vector<Doubles> columns = random_columns(150, 100);
  for (std::size_t r = 0; r < 150; ++r) {
    columns[30][r] = 2 * columns[3][r] - columns[20][r];
    columns[90][r] = columns[70][r];
    columns[95][r] = 0;
  }
  const Gram gram(150, columns, 2);
  for (std::int64_t i = 0; i < 100; ++i)
    CHECK(gram.factor.said(i) == (i == 30 || i == 90 || i == 95));
  const Doubles how = gram.factor.combination(30);
  REQUIRE(how.size() == 30);
  for (std::size_t i = 0; i < 30; ++i)
    CHECK(std::abs(how[i] - (i == 3 ? 2.0 : i == 20 ? -1.0 : 0.0)) < 1e-9);
  Doubles v(100, 1.0);
  gram.factor.solve(v);
  for (std::size_t i : {30, 90, 95}) CHECK(v[i] == 0);
  double sum = 0;  // the equations of the others hold
  for (std::int64_t j = 0; j < 100; ++j) sum += gram.entry(50, j) * v[at(j)];
  CHECK(close(sum, 1.0, 1e-8));
}
