// Any compressed lines: the checker says of them what a slow look says, reads nothing but them, and
// those that it lets pass are turned from rows to columns without a loss.
#include <limits>
#include <vector>

#include "bytes.hpp"
#include "problem/convert.hpp"

namespace {

using namespace shotgun;

template <class Index>
bool looks_valid(const std::vector<Index>& starts, const std::vector<Index>& indices,
                 std::int64_t width) {
  if (starts[0] != 0 || starts.back() > static_cast<std::int64_t>(indices.size())) return false;
  for (std::size_t l = 1; l < starts.size(); ++l)
    if (starts[l] < starts[l - 1]) return false;
  for (Index p = 0; p < starts.back(); ++p)
    if (const auto i = indices[static_cast<std::size_t>(p)]; i < 0 || i >= width) return false;
  return true;
}

template <class Index>
bool ascends(const std::vector<Index>& starts, const std::vector<Index>& indices) {
  for (std::size_t l = 1; l < starts.size(); ++l)
    for (Index p = starts[l - 1] + 1; p < starts[l]; ++p)
      if (indices[static_cast<std::size_t>(p)] <= indices[static_cast<std::size_t>(p - 1)])
        return false;
  return true;
}

template <class Index>
void transpose(const std::vector<Index>& starts, const std::vector<Index>& indices,
               std::int64_t width) {
  const auto lines = static_cast<std::int64_t>(starts.size()) - 1;
  Watch watch(nullptr, std::numeric_limits<double>::infinity());
  std::vector<double> values(indices.size());
  for (std::size_t p = 0; p < values.size(); ++p) values[p] = static_cast<double>(p);
  const auto turned =
      csr_to_csc(values.data(), indices.data(), starts.data(), lines, width, 2, watch);
  require(turned.nnz == starts.back() &&
          turned.starts[static_cast<std::size_t>(width)] == turned.nnz);
  for (std::int64_t j = 0; j < width; ++j)
    for (auto q = turned.starts[static_cast<std::size_t>(j)];
         q < turned.starts[static_cast<std::size_t>(j + 1)]; ++q) {
      const auto entry = static_cast<std::size_t>(turned.values[static_cast<std::size_t>(q)]);
      const auto row = static_cast<std::size_t>(turned.rows[static_cast<std::size_t>(q)]);
      require(indices[entry] == j);
      require(starts[row] <= static_cast<Index>(entry) &&
              static_cast<Index>(entry) < starts[row + 1]);
    }
}

template <class Index>
void look(Bytes bytes) {
  const std::size_t lines = bytes.next() % 16, entries = bytes.next() % 64;
  const std::int64_t width = 1 + bytes.next() % 32;
  std::vector<Index> starts(lines + 1), indices(entries);
  for (Index& start : starts) start = bytes.number<Index>();
  if (bytes.next() % 4) std::sort(starts.begin(), starts.end());
  if (bytes.next() % 4) starts[0] = 0;
  for (Index& index : indices) index = bytes.number<Index>();
  Watch watch(nullptr, std::numeric_limits<double>::infinity());
  const auto count = static_cast<std::int64_t>(entries);
  for (int threads : {1, 3}) {
    const Structure found = check_structure(starts.data(), static_cast<std::int64_t>(lines),
                                            indices.data(), count, width, threads, watch);
    require(found.valid == looks_valid(starts, indices, width));
    require(found.valid == found.problem.empty());
    if (!found.valid) continue;
    require(found.canonical == ascends(starts, indices));
    transpose(starts, indices, width);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes{data + 1, data + size};
  if (data[0] & 1)
    look<std::int64_t>(bytes);
  else
    look<std::int32_t>(bytes);
  return 0;
}
