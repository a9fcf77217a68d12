#include "kernels/kernels.hpp"
#include "support.hpp"

using namespace testing;

namespace {

// The instruction sets that this processor runs.
std::vector<const kernels::Instructions*> sets() {
  std::vector<const kernels::Instructions*> sets{&kernels::baseline(), &kernels::avx2(),
                                                 &kernels::avx512()};
  std::erase_if(sets, [](const kernels::Instructions* set) { return !kernels::runs(*set); });
  return sets;
}
template <class T>
const kernels::Table<T>& table(const kernels::Instructions& set) {
  if constexpr (sizeof(T) == 8)
    return set.f64;
  else
    return set.f32;
}

const std::vector<std::int64_t> sizes{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 1023};

}  // namespace

TEST_CASE_TEMPLATE("every instruction set computes dot products, any length", T, double, float) {
  for (const auto* set : sets())
    for (std::int64_t n : sizes) {
      const auto A = random_matrix<T>(n, 1, 1.0, 3);
      const Doubles v = random_vector(n, 4);
      long double exact = 0, size = 1;
      for (std::int64_t i = 0; i < n; ++i) {
        exact += static_cast<long double>(A(i, 0)) * v[at(i)];
        size += std::abs(A(i, 0) * v[at(i)]);
      }
      CHECK(close(table<T>(*set).dot(n, A.dense.data(), v.data()), static_cast<double>(exact),
                  1e-15, static_cast<double>(size)));
    }
}

TEST_CASE_TEMPLATE("many dots at once are the single ones, added to what is there", T, double,
                   float) {
  for (const auto* set : sets())
    for (std::int64_t n : sizes)
      for (std::int64_t count = 0; count < 10; ++count) {
        const auto A = random_matrix<T>(n, count, 1.0, 5);
        const Doubles v = random_vector(n, 6);
        Doubles out(at(count), 2.0);
        table<T>(*set).dots(n, count, A.dense_handles.data(), v.data(), out.data());
        for (std::int64_t k = 0; k < count; ++k)
          CHECK(out[at(k)] ==
                doctest::Approx(2.0 + table<T>(*set).dot(n, A.dense_handles[at(k)], v.data()))
                    .epsilon(1e-12)
                    .scale(10.0));
      }
}

TEST_CASE_TEMPLATE("axpy and axpys add columns, with and without curvature", T, double, float) {
  for (const auto* set : sets())
    for (std::int64_t n : sizes)
      for (std::int64_t count : {1, 2, 4, 5, 9}) {
        const auto A = random_matrix<T>(n, count, 1.0, 7);
        const Doubles h = random_vector(n, 8), before = random_vector(n, 9);
        Doubles delta = random_vector(count, 10);
        if (count > 4) std::fill(delta.begin(), delta.begin() + 4, 0.0);
        for (const double* curvature : {static_cast<const double*>(nullptr), h.data()}) {
          Doubles expected = before, together = before, single = before;
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t k = 0; k < count; ++k)
              expected[at(i)] += (curvature ? h[at(i)] : 1.0) * delta[at(k)] * A(i, k);
          table<T>(*set).axpys(n, count, A.dense_handles.data(), delta.data(), curvature,
                               together.data());
          for (std::int64_t k = 0; k < count; ++k)
            table<T>(*set).axpy(n, delta[at(k)], A.dense_handles[at(k)], curvature, single.data());
          for (std::int64_t i = 0; i < n; ++i) {
            CHECK(close(together[at(i)], expected[at(i)], 1e-14, 10.0));
            CHECK(close(single[at(i)], expected[at(i)], 1e-14, 10.0));
          }
        }
      }
}

TEST_CASE_TEMPLATE("moments are the sums of h a, h a^2 and a v", T, double, float) {
  for (const auto* set : sets())
    for (std::int64_t n : sizes) {
      const auto A = random_matrix<T>(n, 1, 1.0, 11);
      const Doubles h = random_vector(n, 12), v = random_vector(n, 15);
      for (const double* curvature : {static_cast<const double*>(nullptr), h.data()}) {
        double first = 0, second = 0, product = 0, sum = -1, squares = -1, dot = -1, none = -1;
        for (std::int64_t i = 0; i < n; ++i) {
          const double a = static_cast<double>(A(i, 0)), weight = curvature ? h[at(i)] : 1.0;
          first += weight * a;
          second += weight * a * a;
          product += a * v[at(i)];
        }
        table<T>(*set).moments(n, A.dense.data(), curvature, nullptr, &sum, &squares, &none);
        CHECK(none == 0);
        table<T>(*set).moments(n, A.dense.data(), curvature, v.data(), &sum, &squares, &dot);
        CHECK(close(dot, product, 1e-13, static_cast<double>(n)));
        CHECK(close(sum, first, 1e-13, static_cast<double>(n)));
        CHECK(close(squares, second, 1e-13, static_cast<double>(n)));
      }
    }
}

TEST_CASE_TEMPLATE("a dot product has the same bits wherever its column starts", T, double, float) {
  const std::int64_t n = 101;
  const auto A = random_matrix<T>(n, 1, 1.0, 13);
  const Doubles v = random_vector(n, 14);
  for (const auto* set : sets()) {
    const double here = table<T>(*set).dot(n, A.dense.data(), v.data());
    for (std::size_t offset = 1; offset < 5; ++offset) {
      std::vector<T> moved(offset + A.dense.size());
      std::copy(A.dense.begin(), A.dense.end(),
                moved.begin() + static_cast<std::ptrdiff_t>(offset));
      CHECK(table<T>(*set).dot(n, moved.data() + offset, v.data()) == here);
    }
  }
}

TEST_CASE("every instruction set computes the logistic loss to a few units in the last place") {
  Doubles z, y;
  for (double m = -700; m <= 700; m += 0.37)
    for (double scale : {1.0, 1e-2, 1e-5}) {
      z.push_back(scale * m);
      y.push_back(z.size() % 3 == 0 ? -1.0 : 1.0);
    }
  for (const auto* set : sets())
    for (std::int64_t n :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, static_cast<std::int64_t>(z.size())}) {
      Doubles value(at(n)), derivative(at(n)), curvature(at(n));
      set->logistic(n, z.data(), y.data(), value.data(), derivative.data(), curvature.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const long double margin = y[at(i)] * z[at(i)], e = std::exp(-std::abs(margin));
        const long double wrong = (margin > 0 ? e : 1.0L) / (1 + e);
        const auto exact = [](double found, long double truth) {
          return std::abs(found - truth) <= 6 * 0x1p-53L * std::abs(truth);
        };
        CHECK(exact(value[at(i)], std::log1p(e) - std::min(margin, 0.0L)));
        CHECK(exact(derivative[at(i)], -y[at(i)] * wrong));
        CHECK(exact(curvature[at(i)], e / ((1 + e) * (1 + e))));
      }
    }
}

TEST_CASE("the logistic loss overflows nowhere, keeps a NaN, and leaves out what is not wanted") {
  const double inf = infinity, nan = std::numeric_limits<double>::quiet_NaN();
  const Doubles z{1e4, -1e4, inf, -inf, nan, 0.0}, y{1, 1, 1, 1, 1, 1};
  for (const auto* set : sets()) {
    Doubles value(6), derivative(6), curvature(6);
    set->logistic(6, z.data(), y.data(), value.data(), nullptr, nullptr);
    set->logistic(6, z.data(), y.data(), nullptr, derivative.data(), nullptr);
    set->logistic(6, z.data(), y.data(), nullptr, nullptr, curvature.data());
    CHECK((value[0] == 0 && value[1] == 1e4 && value[2] == 0 && value[3] == inf));
    CHECK((derivative[0] == 0 && derivative[1] == -1 && derivative[2] == 0 && derivative[3] == -1));
    CHECK((curvature[0] == 0 && curvature[1] == 0 && curvature[5] == 0.25));
    CHECK((std::isnan(value[4]) && std::isnan(derivative[4]) && std::isnan(curvature[4])));
  }
}
