// Any files in place of a tile: what reads columns on disk says that they are damaged, or computes
// what a slow look at them says; no row that does not exist is ever an address.
#include "io/disk.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "bytes.hpp"

namespace {

using namespace shotgun;

// A file that is in memory.
struct Written {
  int descriptor;
  explicit Written(const void* bytes, std::size_t size) : descriptor(memfd_create("tile", 0)) {
    require(descriptor >= 0);
    require(write(descriptor, bytes, size) == static_cast<ssize_t>(size));
  }
  ~Written() { close(descriptor); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }
};

struct Tile {
  std::int64_t n;
  std::vector<std::int64_t> starts{0};
  std::vector<Row> rows;
  std::vector<double> values;

  explicit Tile(Bytes& bytes) : n(1 + bytes.next() % 16) {
    for (int j = 1 + bytes.next() % 8; j > 0; --j)
      starts.push_back(starts.back() + bytes.next() % 8);
    for (std::int64_t p = 0; p < starts.back(); ++p) {
      const auto byte = bytes.next();
      rows.push_back(byte < 250 ? byte % 18 : static_cast<Row>(bytes.next() * 0x01010101u));
      values.push_back(byte % 3 ? static_cast<double>(byte) : std::nan(""));
    }
  }
  bool row_exists(std::size_t p) const { return rows[p] >= 0 && rows[p] < n; }
  bool sound() const {
    for (std::size_t j = 1; j < starts.size(); ++j)
      for (auto p = starts[j - 1]; p < starts[j]; ++p) {
        const auto q = static_cast<std::size_t>(p);
        if (!row_exists(q) || (p > starts[j - 1] && rows[q] <= rows[q - 1])) return false;
      }
    return true;
  }
  double dot(std::size_t j, const std::vector<double>& v, bool ones) const {
    double sum = 0;
    for (auto p = starts[j]; p < starts[j + 1]; ++p) {
      const auto q = static_cast<std::size_t>(p);
      sum += (ones ? 1.0 : values[q]) * v[static_cast<std::size_t>(rows[q])];
    }
    return sum;
  }
};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-9 * std::abs(b);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes{data, data + size};
  const auto flags = bytes.next();
  const Tile tile(bytes);
  const bool ones = flags & 1, cut = flags & 2, wrong = flags & 4;
  const std::size_t missing = cut && !tile.rows.empty() ? 1 + bytes.next() % 4 : 0;
  const Written rows(tile.rows.data(), tile.rows.size() * sizeof(Row) - missing);
  const Written values(tile.values.data(), tile.values.size() * sizeof(double));
  const auto count = tile.starts.back();
  std::vector<disk::Tile> tiles;
  tiles.push_back({0, ones ? std::nullopt : std::optional(disk::File(values.path(), 0)),
                   disk::File(rows.path(), 0), disk::checksum(tile.values.data(), count, 0),
                   disk::checksum(tile.rows.data(), count, 0) + wrong});
  DiskSource<double> source(std::move(tiles), tile.starts, tile.n);
  const auto d = tile.starts.size() - 1;
  std::vector<double> v(static_cast<std::size_t>(tile.n)), squares(d), dots(d + 1);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i + 1);
  Watch watch(nullptr, std::numeric_limits<double>::infinity());
  try {
    source.survey(2, nullptr, v.data(), squares.data(), dots.data(), watch,
                  [](Column, Column, const double*) { return 0.0; });
    require(tile.sound() && !missing && !wrong);
    for (std::size_t j = 0; j < d; ++j) require(same(dots[j], tile.dot(j, v, ones)));
  } catch (const disk::Damaged&) {
    require(!tile.sound() || missing || wrong);
  }
  const std::vector<Column> some{0, static_cast<Column>(d - 1)};
  for (const std::span<const Column> which : {std::span<const Column>(), std::span(some)}) try {
      source.scan(2, v.data(), which, dots.data(), watch);
      for (std::size_t p = 0; p < (which.empty() ? d : which.size()); ++p) {
        const auto j = which.empty() ? p : static_cast<std::size_t>(which[p]);
        require(same(dots[p], tile.dot(j, v, ones)));
      }
      std::vector<Handle<SparseColumns<double>>> lent;
      source.borrow(some, lent);
    } catch (const disk::Damaged&) {
    }
  return 0;
}
