// Columns of A, the only view of the data that an engine has: dense or sparse, one concept.
#pragma once

#include <concepts>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "parallel/threads.hpp"

namespace shotgun {

using Column = std::int32_t;  // the index of a feature
using Row = std::int32_t;     // the index of a sample

// C: columns a_k of A in memory; k is a position among them, not a feature's index.
template <class C>
concept Columns = requires(const C& A, std::int64_t k, double* v, const double* h, Range rows,
                           std::span<const std::int64_t> list, void (*visit)(Row, double)) {
  { A.rows() } -> std::same_as<std::int64_t>;
  { A.count() } -> std::same_as<std::int64_t>;
  { A.nonzeros(k) } -> std::same_as<std::int64_t>;
  A.prefetch_handle(k);                     // column k is due in a while,
  A.prefetch_column(k);                     // and soon
  { A.dot(k, h) } -> std::same_as<double>;  // a_k'v
  A.axpy(k, 1.0, h, v);                     // v += delta h.a_k, h = 1 if null
  A.add_dots(list, h, v, rows);             // v_l += a_k'h over some rows, k = list_l
  A.add_axpys(list, h, h, v, rows);         // and v += h.(sum_l delta_l a_k) there
  A.moments(k, h, v, v);                    // sum h a, sum h a^2
  A.visit(k, rows, visit);                  // visit(i, a_ik) for the non-zeros in `rows`, ascending
};

// The list 0, 1, ..., count - 1.
inline std::vector<std::int64_t> first_columns(std::int64_t count) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

template <class C>
using Handle = typename C::Handle;

template <Columns C>
double count_nonzeros(const C& A) {
  double total = 0;
  for (std::int64_t k = 0; k < A.count(); ++k) total += static_cast<double>(A.nonzeros(k));
  return total;
}

// a_k'v for all columns, a few together.
template <Columns C>
std::vector<double> all_dots(const C& A, const double* v, int threads) {
  std::vector<double> dots(static_cast<std::size_t>(A.count()));
  constexpr std::int64_t run = 64;
  parallel_for(worthwhile_threads(threads, count_nonzeros(A)), (A.count() + run - 1) / run,
               [&](std::int64_t r) {
                 std::vector<std::int64_t> list;
                 for (auto k = r * run; k < std::min(A.count(), (r + 1) * run); ++k)
                   list.push_back(k);
                 A.add_dots(list, v, dots.data() + r * run, {0, A.rows()});
               });
  return dots;
}

}  // namespace shotgun
