#include "study/sgd.hpp"
#include "study/smidas.hpp"
#include "support.hpp"

using namespace testing;
using namespace shotgun::study;

namespace {

double norm(const Doubles& v, double r) {
  double largest = 0, sum = 0;
  for (double e : v) largest = std::max(largest, std::abs(e));
  for (double e : v) sum += std::pow(std::abs(e) / largest, r);
  return largest * std::pow(sum, 1 / r);
}
Doubles linked(const Doubles& v, double r) {
  Doubles out(v.size());
  link(v, r, out);
  return out;
}
void check_close(const Doubles& a, const Doubles& b, double relative) {
  for (std::size_t j = 0; j < a.size(); ++j) CHECK(close(a[j], b[j], relative, norm(b, 2) * 1e-3));
}

}  // namespace

TEST_CASE("the links of dual norms are each other's inverse, and keep the norm") {
  for (std::int64_t d : {2, 10, 1000})
    for (double scale : {1e-200, 1.0, 1e200}) {
      Doubles x = random_vector(d, 3);
      for (double& e : x) e *= scale;
      x[0] = 0;
      const double p = mirror_exponent(at(d)), q = p / (p - 1);
      const Doubles theta = linked(x, q);
      check_close(linked(theta, p), x, 1e-11);
      check_close(linked(linked(x, p), q), x, 1e-11);
      CHECK(theta[0] == 0);
      CHECK(close(norm(theta, p), norm(x, q), 1e-12));
      double product = 0;
      for (std::size_t j = 0; j < x.size(); ++j) product += theta[j] / scale * (x[j] / scale);
      CHECK(close(std::sqrt(product), norm(x, q) / scale, 1e-12));
    }
  CHECK(linked(Doubles(5), 7.0) == Doubles(5));
}

TEST_CASE("the link is the gradient of half the squared norm") {
  const Doubles x = random_vector(8, 4), slopes = linked(x, 1.3);
  for (std::size_t j = 0; j < x.size(); ++j) {
    Doubles up = x, down = x;
    up[j] += 1e-6, down[j] -= 1e-6;
    const double up_norm = norm(up, 1.3), down_norm = norm(down, 1.3);
    CHECK(close((up_norm * up_norm - down_norm * down_norm) / 4e-6, slopes[j], 1e-6, 1e-2));
  }
}

TEST_CASE("x and theta are each other's image after every step") {
  const Matrix<double> rows = random_matrix(25, 60, 0.3, 7);  // a column per sample
  Doubles y(60, 1.0);
  for (std::size_t i = 0; i < y.size(); i += 2) y[i] = -1.0;
  Smidas smidas(random_vector(25, 8), {Passes(first_columns(60), 1), Rate(0.05, true), 0.01});
  Watch watch(nullptr, infinity);
  for (int t = 0; t < 50; ++t) {
    check_close(linked(smidas.theta(), smidas.p()), smidas.x(), 1e-10);
    check_close(linked(smidas.x(), smidas.p() / (smidas.p() - 1)), smidas.theta(), 1e-10);
    smidas.run(rows.dense_columns(), y, 1, watch);
  }
}

TEST_CASE("where the exponent is 2 mirror descent is gradient descent") {
  const Matrix<double> rows = random_matrix(2, 50, 0.7, 9);
  Doubles y;
  for (std::int64_t i = 0; i < 50; ++i) y.push_back(rows(0, i) > 0 ? 1.0 : -1.0);
  const Schedule schedule{Passes(first_columns(50), 1), Rate(0.2, false), 0.03};
  Smidas smidas(Doubles(2), schedule);
  Sgd sgd(Doubles(2), schedule);
  CHECK(smidas.p() == 2);
  Watch watch(nullptr, infinity);
  smidas.run(rows.sparse_columns(), y, 170, watch);
  sgd.run(rows.sparse_columns(), y, 170, watch);
  check_close(smidas.x(), sgd.x(), 1e-10);
  CHECK(sgd.x()[0] > 0.1);
}
