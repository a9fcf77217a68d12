// Sparse columns on disk: scans read them from one end to the other, packs only those that they
// want.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "problem/sparse_source.hpp"

namespace shotgun::disk {

// What a tile's files hold is not what was written there.
struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A part of a file. It stays open between reads unless too many others do.
class File {
 public:
  File(std::string path, std::int64_t offset);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;

  const std::string& path() const { return path_; }
  // Bytes [at, at + count) of the part; throws where the file ends before.
  void read(std::int64_t at, void* to, std::size_t count) const;

 private:
  std::string path_;
  int descriptor_;  // none where it is negative
  std::int64_t offset_;
};

// Of numbers [at, at + count) of an array: checksums of parts add up to the whole's, in any order.
// Every step on the way of a number can be undone, so that no change of it goes unseen; the second
// round keeps changes of two highest bits from cancelling.
template <class T>
std::uint64_t checksum(const T* numbers, std::int64_t count, std::int64_t at) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> bits;
    static_assert(sizeof bits == sizeof(T));
    __builtin_memcpy(&bits, numbers + i, sizeof bits);
    const std::uint64_t key = (static_cast<std::uint64_t>(at + i) * 0x9E3779B97F4A7C15u) | 1u;
    std::uint64_t term = (bits + 1ull) * key;
    term = (term ^ (term >> 32)) * 0xD6E8FEB86659FD93u;
    sum += term ^ (term >> 32);
  }
  return sum;
}

// Whole columns, `first` being the first of them.
struct Tile {
  Column first;
  std::optional<File> values;  // none where all are one
  File rows;
  std::uint64_t values_checksum, rows_checksum;
};

// A home of columns (see InMemory).
template <class T>
class OnDisk {
 public:
  using Columns = SparseColumns<T>;
  // starts: where each column begins among all entries, and where the last one ends.
  OnDisk(std::vector<Tile> tiles, std::vector<std::int64_t> starts, std::int64_t rows)
      : tiles_(std::make_shared<std::vector<Tile>>(std::move(tiles))),
        starts_(std::move(starts)),
        rows_(rows),
        nonzeros_(starts_.back()),
        sums_(tiles_->size()),
        kept_(rows) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  std::int64_t nonzeros() const { return nonzeros_; }
  std::int64_t size(Column j) const { return end(j) - start(j); }

  // The same columns up to a row: as rows ascend, their first entries, and nothing else is read.
  OnDisk head(std::int64_t rows) const {
    OnDisk some(*this, rows);
    std::vector<Row> first;
    for (Column j = 0; j < cols(); ++j) {
      std::int64_t count = std::min(size(j), rows);
      if (size(j) < rows_) {  // else it has every row
        const Tile& tile = tile_of(j);
        first.resize(static_cast<std::size_t>(count));
        tile.rows.read((start(j) - start(tile.first)) * static_cast<std::int64_t>(sizeof(Row)),
                       first.data(), first.size() * sizeof(Row));
        count = std::ranges::lower_bound(first, rows) - first.begin();
      }
      some.ends_.push_back(start(j) + count);
      some.nonzeros_ += count;
    }
    return some;
  }

  template <class Visit>
  void each(std::span<const Column> which, std::int64_t first, std::int64_t last,
            Visit&& visit) const {
    runs(which, first, last, [&](const Tile& tile, const Entries& e, auto begin, auto end) {
      for (auto p = begin; p < end; ++p) visit(p, column(tile, e, at(which, p)));
    });
  }
  template <class Visit>
  void survey(std::int64_t first, std::int64_t last, Visit&& visit) const {
    runs({}, first, last, [&](const Tile& tile, const Entries& e, auto begin, auto end) {
      if (ends_.empty()) add_checksums(tile, e);
      for (auto p = begin; p < end; ++p) {
        const Handle<Columns> a = column(tile, e, static_cast<Column>(p));
        if (!std::is_sorted(a.rows, a.rows + a.size, std::less_equal<Row>())) damaged(tile.rows);
        visit(p, a);
      }
    });
  }
  void surveyed() const {
    for (std::size_t t = 0; t < sums_.size(); ++t) {
      const Tile& tile = (*tiles_)[t];
      const auto values = sums_[t].values.exchange(0), rows = sums_[t].rows.exchange(0);
      if (rows != tile.rows_checksum) damaged(tile.rows);
      if (tile.values && values != tile.values_checksum) damaged(*tile.values);
    }
  }

  void expect(std::span<const Column>) const {}
  // Read once, and kept.
  void borrow(std::span<const Column> which, std::vector<Handle<Columns>>& out) {
    kept_.keep(which, [&](std::span<const Column> fresh, auto&& visit) {
      each(fresh, 0, static_cast<std::int64_t>(fresh.size()), visit);
    });
    kept_.lend(which, out);
  }

 private:
  struct Entries {
    std::int64_t begin;  // among all
    std::vector<T> values;
    std::vector<Row> rows;
    std::int64_t count() const { return static_cast<std::int64_t>(rows.size()); }
  };
  struct Sums {
    std::atomic<std::uint64_t> values = 0, rows = 0;
  };
  // Entries that are read in one go, and those between columns that are not worth a call of their
  // own.
  static constexpr std::int64_t most = 1 << 18, gap = 1 << 10;

  // What `head` fills: the whole has its checksums, a part has none.
  OnDisk(const OnDisk& whole, std::int64_t rows)
      : tiles_(whole.tiles_), starts_(whole.starts_), rows_(rows), nonzeros_(0), kept_(rows) {}

  std::int64_t start(Column j) const { return starts_[static_cast<std::size_t>(j)]; }
  std::int64_t end(Column j) const {
    return ends_.empty() ? start(j + 1) : ends_[static_cast<std::size_t>(j)];
  }
  static Column at(std::span<const Column> which, std::int64_t p) {
    return which.empty() ? static_cast<Column>(p) : which[static_cast<std::size_t>(p)];
  }
  // Nothing that a file says is used as an address before it is checked: it may change while it is
  // read.
  Handle<Columns> column(const Tile& tile, const Entries& e, Column j) const {
    const auto from = start(j) - e.begin;
    std::uint32_t largest = 0;
    for (Row i : std::span(e.rows).subspan(static_cast<std::size_t>(from),
                                           static_cast<std::size_t>(size(j))))
      largest = std::max(largest, static_cast<std::uint32_t>(i));
    if (size(j) > 0 && largest >= rows_) damaged(tile.rows);
    return {e.values.data() + from, e.rows.data() + from, size(j)};
  }

  // Calls body(tile, entries, begin, end) for runs [begin, end) of columns that lie close together.
  template <class Body>
  void runs(std::span<const Column> which, std::int64_t first, std::int64_t last,
            Body&& body) const {
    Entries entries;
    for (auto begin = first; begin < last;) {
      const Tile& tile = tile_of(at(which, begin));
      const Column beyond =
          &tile == &tiles_->back() ? static_cast<Column>(cols()) : (&tile)[1].first;
      const auto from = start(at(which, begin));
      auto end = begin + 1;
      while (end < last && at(which, end) > at(which, end - 1) && at(which, end) < beyond &&
             start(at(which, end)) - this->end(at(which, end - 1)) <= gap &&
             this->end(at(which, end)) - from <= most)
        ++end;
      read(tile, from, this->end(at(which, end - 1)), entries);
      body(tile, entries, begin, end);
      begin = end;
    }
  }
  const Tile& tile_of(Column j) const {
    const auto after = std::ranges::upper_bound(*tiles_, j, {}, &Tile::first);
    return *(after - 1);
  }
  void add_checksums(const Tile& tile, const Entries& e) const {
    const auto inside = e.begin - start(tile.first);
    Sums& sums = sums_[static_cast<std::size_t>(&tile - tiles_->data())];
    if (tile.values) sums.values += checksum(e.values.data(), e.count(), inside);
    sums.rows += checksum(e.rows.data(), e.count(), inside);
  }
  void read(const Tile& tile, std::int64_t begin, std::int64_t end, Entries& to) const {
    const auto inside = begin - start(tile.first);
    const auto count = static_cast<std::size_t>(end - begin);
    to.begin = begin;
    to.rows.resize(count);
    to.values.resize(count, T{1});
    tile.rows.read(inside * static_cast<std::int64_t>(sizeof(Row)), to.rows.data(),
                   count * sizeof(Row));
    if (tile.values)
      tile.values->read(inside * static_cast<std::int64_t>(sizeof(T)), to.values.data(),
                        count * sizeof(T));
    else
      std::ranges::fill(to.values, T{1});
  }
  [[noreturn]] static void damaged(const File& file) {
    throw Damaged(file.path() + " is damaged: it does not hold what was written");
  }

  std::shared_ptr<const std::vector<Tile>> tiles_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> ends_;  // of columns that are not whole
  std::int64_t rows_, nonzeros_;
  mutable std::vector<Sums> sums_;  // of the survey that is under way
  Kept<Columns> kept_;
};

}  // namespace shotgun::disk

namespace shotgun {

template <class T>
using DiskSource = SparseSource<disk::OnDisk<T>>;

}  // namespace shotgun
