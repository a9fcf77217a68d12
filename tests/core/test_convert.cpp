#include "problem/convert.hpp"
#include "support.hpp"

using namespace testing;

namespace {

struct Rows {
  Doubles values;
  std::vector<std::int32_t> columns, starts{0};
};
Rows compress_rows(const Matrix<double>& A) {
  Rows r;
  for (std::int64_t i = 0; i < A.n; ++i) {
    for (std::int64_t j = 0; j < A.d; ++j)
      if (A(i, j) != 0) {
        r.values.push_back(A(i, j));
        r.columns.push_back(static_cast<std::int32_t>(j));
      }
    r.starts.push_back(static_cast<std::int32_t>(r.columns.size()));
  }
  return r;
}

Structure check(std::vector<std::int32_t> starts, std::vector<std::int32_t> indices,
                std::int64_t width) {
  Watch watch(nullptr, infinity);
  return check_structure(starts.data(), static_cast<std::int64_t>(starts.size()) - 1,
                         indices.data(), static_cast<std::int64_t>(indices.size()), width, 2,
                         watch);
}

}  // namespace

TEST_CASE("rows become columns, the same for any number of threads") {
  for (auto [n, d] : {std::pair<std::int64_t, std::int64_t>{500, 300}, {7, 1}, {1, 9}}) {
    const auto A = random_matrix(n, d, 0.7, 1);
    const Rows r = compress_rows(A);
    Watch watch(nullptr, infinity);
    for (int threads : {1, 2, 3}) {
      const auto out =
          csr_to_csc(r.values.data(), r.columns.data(), r.starts.data(), n, d, threads, watch);
      REQUIRE(out.nnz == static_cast<std::int64_t>(A.values().size()));
      CHECK(std::equal(A.values().begin(), A.values().end(), out.values.get()));
      CHECK(std::equal(A.rows.begin(), A.rows.end(), out.rows.get()));
      CHECK(std::equal(A.starts.begin(), A.starts.end(), out.starts.get()));
    }
  }
}

TEST_CASE("parts with memory of their own are as many as a quarter of the matrix pays for") {
  CHECK(affordable_parts(400 << 20, 10 << 20) == 10);
  CHECK(affordable_parts(400 << 20, 1 << 30) == 1);
  CHECK(affordable_parts(0, 0) > 1000);
}

TEST_CASE("C order becomes Fortran order, also with a stride") {
  const std::int64_t n = 130, d = 77, stride = 80;
  const auto A = random_matrix(n, d, 1.0, 2);
  Doubles rows(at(n * stride));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < d; ++j) rows[at(i * stride + j)] = A(i, j);
  Watch watch(nullptr, infinity);
  for (int threads : {1, 2}) {
    const auto out = to_fortran(rows.data(), n, d, stride, threads, watch);
    CHECK(std::equal(A.dense.begin(), A.dense.end(), out.get()));
  }
}

TEST_CASE("a sound structure is valid, and canonical when its indices ascend") {
  CHECK(check({0, 2, 2, 3}, {0, 4, 2}, 5).valid);
  CHECK(check({0, 2, 2, 3}, {0, 4, 2}, 5).canonical);
  CHECK(check({0, 2}, {4, 0}, 5).valid);
  CHECK_FALSE(check({0, 2}, {4, 0}, 5).canonical);  // unsorted
  CHECK_FALSE(check({0, 2}, {3, 3}, 5).canonical);  // duplicate
}

TEST_CASE("a broken structure is refused, and what is wrong is named") {
  CHECK(check({1, 2}, {0, 0}, 5).problem.find("indptr[0]") != std::string::npos);
  CHECK(check({0, 3}, {0, 1}, 5).problem.find("indptr[-1]") != std::string::npos);
  CHECK(check({0, 2, 1, 2}, {0, 1}, 5).problem.find("decreases") != std::string::npos);
  CHECK(check({0, 2}, {0, 5}, 5).problem.find("outside") != std::string::npos);
  CHECK(check({0, 2}, {-1, 3}, 5).problem.find("indices[0]") != std::string::npos);
  for (const Structure& s : {check({0, 900, 2}, {0, 1}, 5), check({0, -4, 2}, {0, 1}, 5)})
    CHECK_FALSE(s.valid);  // never read through
}

TEST_CASE("a matrix without lines is sound") {
  Watch watch(nullptr, infinity);
  const std::int32_t start = 0;
  const Structure found = check_structure(&start, 0, &start, 0, 3, 1, watch);
  CHECK(found.valid);
  CHECK(found.canonical);
}
