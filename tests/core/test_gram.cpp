#include "problem/gram.hpp"
#include "support.hpp"

using namespace testing;

TEST_CASE_TEMPLATE("A'HA is what the rows say, and symmetric", T, double, float) {
  const auto A = random_matrix<T>(1300, 70, 0.7, 41);
  Doubles h = random_vector(A.n, 42);
  for (double& e : h) e *= e;
  for (const double* weights : std::initializer_list<const double*>{nullptr, h.data()}) {
    const Doubles found = gram(A.dense_columns(), weights);
    for (std::int64_t k = 0; k < A.d; ++k)
      for (std::int64_t l = 0; l < A.d; ++l) {
        double sum = 0;
        for (std::int64_t i = 0; i < A.n; ++i)
          sum += (weights ? h[at(i)] : 1.0) * static_cast<double>(A(i, k)) *
                 static_cast<double>(A(i, l));
        CHECK(close(found[at(k * A.d + l)], sum, 1e-12, 100.0));
        CHECK(found[at(k * A.d + l)] == found[at(l * A.d + k)]);
      }
  }
}
