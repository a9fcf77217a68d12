// Packed columns: what engines work on.
#pragma once

#include "engine/block.hpp"
#include "engine/compressed.hpp"
#include "engine/factor.hpp"
#include "engine/homotopy.hpp"
#include "problem/product.hpp"
#include "problem/source.hpp"

namespace shotgun {

// Columns fetched for an engine, their weights, and what the engine knows of them.
template <Columns C>
struct Packed {
  std::vector<Column> which;
  std::vector<Handle<C>> handles;
  std::vector<Coordinate> coordinates;
  std::vector<double> x;
  GramCache gram;
  Factor<C> factor;
  Homotopy<C> homotopy;
  Compressed<C> compressed;
  bool light = false;  // copies, in float32
  double looked = 0;   // at so many entries of them, by engines
};

// v += sum_k steps_k a_k
template <Columns K>
void add_columns(const K& columns, std::span<const double> steps, std::span<double> v,
                 int threads) {
  Product<K> product(columns);
  run_region(worthwhile_threads(threads, count_nonzeros(columns)),
             [&](const Team& team) { product.multiply(team, steps.data()); });
  for_rows(threads, columns.rows(), [&](std::int64_t i) {
    v[static_cast<std::size_t>(i)] += product.z()[static_cast<std::size_t>(i)];
  });
}
// The same for the columns `which` of A, wherever they are; returns how many entries that took.
template <Columns C>
double add_columns(Source<C>& A, std::span<const Column> which, std::span<const double> steps,
                   std::span<double> v, int threads) {
  if (!A.fits(which)) {
    A.add_columns(which, steps, v.data());
    return A.nonzeros() * static_cast<double>(which.size()) / static_cast<double>(A.cols());
  }
  std::vector<Handle<C>> handles;
  A.borrow(which, handles);
  const C columns(A.rows(), handles);
  add_columns(columns, steps, v, threads);
  return count_nonzeros(columns);
}

}  // namespace shotgun
