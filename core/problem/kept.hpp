// Columns that were fetched once and are kept, for homes that cannot lend their own.
#pragma once

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "problem/csc.hpp"
#include "problem/dense.hpp"

namespace shotgun {

// A column's own copy.
template <class C>
struct Copied;
template <class T>
struct Copied<SparseColumns<T>> {
  Copied(const Handle<SparseColumns<T>>& a, std::int64_t)
      : values(a.values, a.values + a.size), rows(a.rows, a.rows + a.size) {}
  Handle<SparseColumns<T>> handle() const {
    return {values.data(), rows.data(), static_cast<std::int64_t>(rows.size())};
  }
  std::vector<T> values;
  std::vector<Row> rows;
};
template <class T>
struct Copied<DenseColumns<T>> {
  Copied(const T* a, std::int64_t rows) : values(a, a + rows) {}
  const T* handle() const { return values.data(); }
  std::vector<T> values;
};

template <class C>
class Kept {
 public:
  explicit Kept(std::int64_t rows) : rows_(rows) {}

  // Keeps those of `which` that are not here yet: fetch(fresh, visit), which calls
  // visit(p, column fresh_p), is asked for them in ascending order.
  template <class Fetch>
  void keep(std::span<const Column> which, Fetch&& fetch) {
    std::vector<Column> fresh;
    for (Column j : which)
      if (!columns_.contains(j)) fresh.push_back(j);
    std::ranges::sort(fresh);
    fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
    if (fresh.empty()) return;
    fetch(std::span<const Column>(fresh), [&](std::int64_t p, const Handle<C>& a) {
      columns_[fresh[static_cast<std::size_t>(p)]] = pieces_.emplace_back(a, rows_).handle();
    });
  }
  const Handle<C>& operator[](Column j) const { return columns_.at(j); }
  bool has(Column j) const { return columns_.contains(j); }
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [j, column] : columns_) visit(j);
  }
  void lend(std::span<const Column> which, std::vector<Handle<C>>& out) const {
    for (Column j : which) out.push_back(columns_.at(j));
  }

 private:
  std::int64_t rows_;
  std::deque<Copied<C>> pieces_;
  std::unordered_map<Column, Handle<C>> columns_;
};

}  // namespace shotgun
