#include <atomic>
#include <bit>

#include "support.hpp"

using namespace testing;

TEST_CASE_TEMPLATE("dense and sparse columns are the same columns", T, double, float) {
  const auto A = random_matrix<T>(67, 9, 0.4, 1);
  const auto dense = A.dense_columns();
  const auto sparse = A.sparse_columns();
  const Doubles v = random_vector(A.n, 2), h = random_vector(A.n, 3);
  CHECK(dense.rows() == sparse.rows());
  CHECK(dense.count() == sparse.count());
  for (std::int64_t k = 0; k < A.d; ++k) {
    CHECK(close(dense.dot(k, v.data()), sparse.dot(k, v.data()), 1e-13, 1.0));
    for (const double* curvature : {static_cast<const double*>(nullptr), h.data()}) {
      Doubles a = v, b = v;
      dense.axpy(k, 0.7, curvature, a.data());
      sparse.axpy(k, 0.7, curvature, b.data());
      for (std::int64_t i = 0; i < A.n; ++i) CHECK(close(a[at(i)], b[at(i)], 1e-15, 10.0));
      double sums[2], squares[2];
      dense.moments(k, curvature, &sums[0], &squares[0]);
      sparse.moments(k, curvature, &sums[1], &squares[1]);
      CHECK(close(sums[0], sums[1], 1e-13, 10.0));
      CHECK(close(squares[0], squares[1], 1e-13, 10.0));
    }
  }
}

TEST_CASE_TEMPLATE("row ranges add up to whole columns", T, double, float) {
  const auto A = random_matrix<T>(101, 70, 0.3, 4);  // more columns than the dense chunk of 64
  const Doubles v = random_vector(A.n, 5), delta = random_vector(A.d, 6);
  const std::vector<std::int64_t> all = first_columns(A.d);
  const std::vector<Range> ranges{{0, 0}, {0, 1}, {1, 40}, {40, 100}, {100, 101}, {101, 101}};
  auto check = [&](const auto& columns) {
    Doubles dots(at(A.d)), sum = v, whole = v;
    columns.add_axpys(all, delta.data(), nullptr, whole.data(), {0, A.n});
    std::int64_t visited = 0, stored = 0;
    for (Range r : ranges) {
      columns.add_dots(all, v.data(), dots.data(), r);
      columns.add_axpys(all, delta.data(), nullptr, sum.data(), r);
      for (std::int64_t k = 0; k < A.d; ++k)
        columns.visit(k, r, [&](Row i, double a) {
          CHECK(i >= r.begin);
          CHECK(i < r.end);
          CHECK(a == static_cast<double>(A(i, k)));
          ++visited;
        });
    }
    for (std::int64_t k = 0; k < A.d; ++k) {
      CHECK(close(dots[at(k)], columns.dot(k, v.data()), 1e-12, 10.0));
      stored += columns.nonzeros(k);
    }
    for (std::int64_t i = 0; i < A.n; ++i) CHECK(close(sum[at(i)], whole[at(i)], 1e-13, 10.0));
    CHECK(visited == stored);
  };
  check(A.dense_columns());
  check(A.sparse_columns());
}

TEST_CASE_TEMPLATE("any list of columns may be multiplied, in any order", T, double, float) {
  const auto A = random_matrix<T>(50, 30, 0.5, 9);
  const Doubles v = random_vector(A.n, 10), delta = random_vector(4, 11);
  const std::vector<std::int64_t> list{7, 29, 0, 7};
  auto check = [&](const auto& columns) {
    Doubles dots(4, 1.0), sum = v, one_by_one = v;
    columns.add_dots(list, v.data(), dots.data(), {0, A.n});
    columns.add_axpys(list, delta.data(), nullptr, sum.data(), {0, A.n});
    for (std::size_t l = 0; l < 4; ++l) {
      CHECK(close(dots[l], 1.0 + columns.dot(list[l], v.data()), 1e-12, 10.0));
      columns.axpy(list[l], delta[l], nullptr, one_by_one.data());
    }
    for (std::int64_t i = 0; i < A.n; ++i) CHECK(close(sum[at(i)], one_by_one[at(i)], 1e-13, 10.0));
  };
  check(A.dense_columns());
  check(A.sparse_columns());
}

TEST_CASE_TEMPLATE("a source scans the columns it was given, lends them, and packs them as float32",
                   T, double, float) {
  const auto A = random_matrix<T>(300, 40, 0.2, 7);
  const Doubles v = random_vector(A.n, 8), w(at(A.n), 0.5);
  const std::vector<std::int64_t> wide_rows(A.rows.begin(), A.rows.end());
  const std::vector<std::int64_t> wide_starts(A.starts.begin(), A.starts.end());
  DenseSource<T> dense(A.dense.data(), A.n, A.d, A.n);
  CscSource<T, std::int32_t> narrow(A.values().data(), A.rows.data(), A.starts.data(), A.n, A.d);
  CscSource<T, std::int64_t> wide(A.values().data(), wide_rows.data(), wide_starts.data(), A.n,
                                  A.d);
  const std::vector<Column> some{3, 0, 17, 39};
  auto check = [&](auto& source) {
    using C = typename std::remove_reference_t<decltype(source)>::C;
    Watch watch(nullptr, infinity);
    Doubles all(at(A.d)), few(some.size()), sums(at(A.d)), squares(at(A.d)), dots(at(A.d));
    source.scan(2, v.data(), {}, all.data(), watch);
    source.scan(2, v.data(), some, few.data(), watch);
    const double total =
        source.survey(2, w.data(), v.data(), squares.data(), dots.data(), watch,
                      [&](Column first, Column last, const double* part) {
                        std::copy(part, part + (last - first), sums.begin() + first);
                        return std::accumulate(part, part + (last - first), 0.0);
                      });
    CHECK(close(total, std::accumulate(sums.begin(), sums.end(), 0.0), 1e-13, 10.0));
    std::vector<Handle<C>> handles;
    source.borrow(some, handles);
    const C borrowed(A.n, handles);
    std::vector<Handle<Light<C>>> light, again;
    source.pack(2, some, light);
    source.pack(2, std::span<const Column>(some).first(2), again);
    const Light<C> packed(A.n, light), repacked(A.n, again);
    for (std::size_t p = 0; p < some.size(); ++p) {
      const auto k = static_cast<std::int64_t>(p);
      CHECK(few[p] == all[at(some[p])]);
      CHECK(close(dots[at(some[p])], all[at(some[p])], 1e-13, 10.0));
      CHECK(close(borrowed.dot(k, v.data()), all[at(some[p])], 1e-13, 10.0));
      CHECK(close(packed.dot(k, v.data()), all[at(some[p])], 1e-6, 10.0));
      if (p < 2) CHECK(repacked.dot(k, v.data()) == packed.dot(k, v.data()));
      double sum = 0, square = 0;
      borrowed.moments(k, w.data(), &sum, &square);
      CHECK(close(sum, sums[at(some[p])], 1e-13, 10.0));
      CHECK(close(square, squares[at(some[p])], 1e-13, 10.0));
    }
  };
  check(dense);
  check(narrow);
  check(wide);
}

TEST_CASE("a survey adds up what it is told in the columns' order, on any number of threads") {
  const auto A = random_matrix<double>(500, 4000, 0.1, 11);
  const Doubles v = random_vector(A.n, 12);
  DenseSource<double> dense(A.dense.data(), A.n, A.d, A.n);
  CscSource<double, std::int32_t> sparse(A.values().data(), A.rows.data(), A.starts.data(), A.n,
                                         A.d);
  auto check = [&](auto& source) {
    std::vector<std::uint64_t> bits;
    for (int threads : {1, 2, 8}) {
      Watch watch(nullptr, infinity);
      Doubles squares(at(A.d)), dots(at(A.d));
      std::atomic<int> told{0};
      const double total = source.survey(threads, nullptr, v.data(), squares.data(), dots.data(),
                                         watch, [&](Column first, Column last, const double* sums) {
                                           ++told;
                                           return std::accumulate(sums, sums + (last - first), 0.0);
                                         });
      CHECK(told > 1);
      bits.push_back(std::bit_cast<std::uint64_t>(total));
    }
    CHECK(bits[1] == bits[0]);
    CHECK(bits[2] == bits[0]);
  };
  check(dense);
  check(sparse);
}
