#include "problem/product.hpp"
#include "support.hpp"

using namespace testing;

TEST_CASE_TEMPLATE("Av is what the rows say, with the same bits for any number of threads", C,
                   DenseColumns<double>, SparseColumns<double>) {
  const auto A = random_matrix<double>(3000, 200, 0.3, 5);
  const Doubles v = random_vector(A.d, 6);
  const auto columns = [&] {
    if constexpr (C::dense)
      return A.dense_columns();
    else
      return A.sparse_columns();
  }();
  Product<C> product(columns);
  Doubles first;
  for (int threads : {1, 2, 3, 8}) {
    run_region(threads, [&](const Team& team) { product.multiply(team, v.data()); });
    const Doubles z(product.z().begin(), product.z().end());
    if (first.empty()) first = z;
    CHECK(z == first);
  }
  for (std::int64_t i = 0; i < A.n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < A.d; ++j) sum += A(i, j) * v[at(j)];
    CHECK(close(first[at(i)], sum, 1e-12, 10.0));
  }
}

TEST_CASE("groups hold all columns, in order, and are never more than asked for") {
  for (double filled : {0.0, 0.5, 1.0}) {  // the first so many columns
    Doubles values(50 * 40);
    for (std::size_t p = 0; p < static_cast<std::size_t>(filled * 2000); ++p) values[p] = 1.0;
    const Matrix<double> A(50, 40, values);
    const Product<SparseColumns<double>> product(A.sparse_columns());
    for (std::int64_t most : {1, 3, 8, 32}) {
      std::int64_t end = 0;
      const auto groups = product.groups(most);
      CHECK(static_cast<std::int64_t>(groups.size()) <= most);
      for (const Range& group : groups) {
        CHECK(group.begin == end);
        CHECK(group.size() > 0);
        end = group.end;
      }
      CHECK(end == 40);
    }
  }
}
