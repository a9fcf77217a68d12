// Checks and conversions of what users hand over: once, in parallel, before any engine reads it.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "parallel/threads.hpp"
#include "parallel/watch.hpp"
#include "problem/memory.hpp"

namespace shotgun {

struct Structure {
  bool valid = true, canonical = true;  // canonical: strictly ascending within each line
  std::string problem;
};

// Whether all indices of a part are in [0, width). Without branches, so that it is a vector loop.
template <class Index>
bool all_below(const Index* indices, Range part, std::int64_t width) {
  std::make_unsigned_t<Index> largest = 0;
  for (auto p = part.begin; p < part.end; ++p)
    largest = std::max(largest, static_cast<std::make_unsigned_t<Index>>(indices[p]));
  return part.size() == 0 ||
         static_cast<std::uint64_t>(largest) < static_cast<std::uint64_t>(width);
}

// Whether each of the lines ascends: there are no more descents than where a new line begins.
template <class Index>
bool ascending(const Index* starts, Range lines, const Index* indices) {
  const std::int64_t begin = starts[lines.begin], end = starts[lines.end];
  std::int64_t descents = 0;
  for (auto p = begin + 1; p < end; ++p) descents += indices[p] <= indices[p - 1];
  if (descents == 0) return true;
  for (auto l = lines.begin + 1; l < lines.end; ++l) {  // none for lines without entries
    const std::int64_t p = std::clamp<std::int64_t>(starts[l], begin + 1, end - 1);
    descents -= (starts[l] > begin) & (starts[l] < starts[l + 1]) & (indices[p] <= indices[p - 1]);
  }
  return descents == 0;
}

// Compressed lines (columns of CSC, rows of CSR): starts monotone from 0 to nnz, indices in [0,
// width). Starts are checked before anything is read through them.
template <class Index>
Structure check_structure(const Index* starts, std::int64_t lines, const Index* indices,
                          std::int64_t nnz, std::int64_t width, int threads, Watch& watch) {
  auto bad = [](std::string what) { return Structure{false, false, std::move(what)}; };
  if (starts[0] != 0) return bad("indptr[0] is " + std::to_string(starts[0]) + ", not 0");
  if (starts[lines] > nnz)
    return bad("indptr[-1] is " + std::to_string(starts[lines]) + " but there are " +
               std::to_string(nnz) + " indices");
  if (const Index* drop = std::is_sorted_until(starts, starts + lines + 1);
      drop != starts + lines + 1)
    return bad("indptr decreases at position " + std::to_string(drop - starts));
  std::atomic<bool> inside{true}, canonical{true};
  if (lines == 0) return {};
  const std::int64_t run = std::clamp<std::int64_t>((lines << 17) / (nnz + lines), 1, 2048);
  parallel_for(worthwhile_threads(threads, static_cast<double>(nnz + lines)),
               (lines + run - 1) / run, [&](std::int64_t r) {
                 if (watch.stopped()) return;
                 const Range part{r * run, std::min(lines, (r + 1) * run)};
                 if (!all_below(indices, {starts[part.begin], starts[part.end]}, width))
                   inside.store(false, std::memory_order_relaxed);
                 if (!ascending(starts, part, indices))
                   canonical.store(false, std::memory_order_relaxed);
                 watch.poll();
               });
  if (inside.load()) return {true, canonical.load(), {}};
  const Index* outside = std::find_if(indices, indices + starts[lines], [&](Index i) {
    return i < 0 || static_cast<std::int64_t>(i) >= width;
  });
  return bad("indices[" + std::to_string(outside - indices) + "] is " + std::to_string(*outside) +
             ", outside [0, " + std::to_string(width) + ")");
}

template <class T, class Index>
struct CompressedColumns {
  std::unique_ptr<T[]> values;
  std::unique_ptr<Index[]> rows, starts;
  std::int64_t nnz = 0;
};

// CSR -> CSC. Each thread counts, then places, its own run of rows; the runs are placed in order,
// so rows ascend and the result does not depend on the number of threads.
template <class T, class Index>
CompressedColumns<T, Index> csr_to_csc(const T* values, const Index* columns, const Index* starts,
                                       std::int64_t n, std::int64_t d, int threads, Watch& watch) {
  const std::int64_t nnz = starts[n];
  const auto size = [](std::int64_t count, std::size_t each) {
    return count * static_cast<std::int64_t>(each);
  };
  const std::int64_t parts =
      affordable_parts(size(nnz, sizeof(T) + sizeof(Index)), size(d, sizeof(Index)));
  threads = worthwhile_threads(static_cast<int>(std::min<std::int64_t>(threads, parts)),
                               static_cast<double>(nnz));
  CompressedColumns<T, Index> out{
      std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(nnz)),
      std::make_unique_for_overwrite<Index[]>(static_cast<std::size_t>(nnz)),
      std::make_unique<Index[]>(static_cast<std::size_t>(d + 1)), nnz};
  const std::int64_t often =
      std::max<std::int64_t>(1, 200'000 * n / std::max<std::int64_t>(1, nnz));
  auto keep_on = [&](std::int64_t row) {
    if (row % often == 0) watch.poll();
    return !watch.stopped();
  };
  std::vector<std::vector<Index>> next(static_cast<std::size_t>(threads));
  auto rows_of = [&](std::int64_t part) { return share(n, static_cast<int>(part), threads); };
  parallel_for(threads, threads, [&](std::int64_t part) {
    auto& count = next[static_cast<std::size_t>(part)];
    count.assign(static_cast<std::size_t>(d), 0);
    const Range rows = rows_of(part);
    for (std::int64_t i = rows.begin; i < rows.end && keep_on(i); ++i)
      for (Index p = starts[i]; p < starts[i + 1]; ++p)
        ++count[static_cast<std::size_t>(columns[p])];
  });
  Index total = 0;
  for (std::int64_t j = 0; j < d; ++j) {
    out.starts[static_cast<std::size_t>(j)] = total;
    for (auto& count : next) total += std::exchange(count[static_cast<std::size_t>(j)], total);
  }
  out.starts[static_cast<std::size_t>(d)] = total;
  if (watch.stopped()) return out;
  parallel_for(threads, threads, [&](std::int64_t part) {
    auto& at = next[static_cast<std::size_t>(part)];
    const Range rows = rows_of(part);
    for (std::int64_t i = rows.begin; i < rows.end && keep_on(i); ++i)
      for (Index p = starts[i]; p < starts[i + 1]; ++p) {
        const auto q = static_cast<std::size_t>(at[static_cast<std::size_t>(columns[p])]++);
        out.values[q] = values[p];
        out.rows[q] = static_cast<Index>(i);
      }
  });
  return out;
}

// C order -> Fortran order, in square tiles that stay in cache.
template <class T>
std::unique_ptr<T[]> to_fortran(const T* values, std::int64_t n, std::int64_t d,
                                std::int64_t stride, int threads, Watch& watch) {
  auto out = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(n * d));
  constexpr std::int64_t tile = 32, tall = 8192;
  const std::int64_t across = (d + tile - 1) / tile, down = (n + tall - 1) / tall;
  const double work = static_cast<double>(n) * static_cast<double>(d);
  parallel_for(worthwhile_threads(threads, work), across * down, [&](std::int64_t piece) {
    if (watch.stopped()) return;
    watch.poll();
    const std::int64_t j0 = piece % across * tile, j1 = std::min(d, j0 + tile);
    const std::int64_t first = piece / across * tall, last = std::min(n, first + tall);
    for (std::int64_t i0 = first; i0 < last; i0 += tile)
      for (std::int64_t j = j0; j < j1; ++j)
        for (std::int64_t i = i0; i < std::min(last, i0 + tile); ++i)
          out[static_cast<std::size_t>(j * n + i)] = values[i * stride + j];
  });
  return out;
}

}  // namespace shotgun
