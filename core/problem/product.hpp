// The product A v of packed columns.
#pragma once

#include <vector>

#include "problem/design.hpp"

namespace shotgun {

// The same bits for any number of threads: made in parts that the data alone decide. Dense columns
// are cut into slabs of rows; sparse ones, too short for that, into groups of columns, each with a
// sum of its own.
template <Columns C>
class Product {
 public:
  explicit Product(C A) : A_(A), everything_(first_columns(A.count())) {
    if constexpr (C::dense)
      cut_rows();
    else
      cut_columns();
    z_.resize(at(sums_ * A.rows()));
  }

  // z = Av. All threads of a team call this, and find it done.
  void multiply(const Team& team, const double* v) {
    const std::int64_t n = A_.rows();
    team.each(static_cast<std::int64_t>(parts_.size()), [&](std::int64_t p) {
      const Part& part = parts_[at(p)];
      double* z = z_.data() + part.sum * n;
      std::fill(z + part.rows.begin, z + part.rows.end, 0.0);
      A_.add_axpys(columns(part.columns), v + part.columns.begin, nullptr, z, part.rows);
    });
    if (sums_ == 1) return;
    team.each(blocks(), [&](std::int64_t b) {
      for (auto i = row_block(b).begin; i < row_block(b).end; ++i)
        for (std::int64_t s = 1; s < sums_; ++s) z_[at(i)] += z_[at(s * n + i)];
    });
  }
  std::span<double> z() { return {z_.data(), at(A_.rows())}; }
  std::span<const double> z() const { return {z_.data(), at(A_.rows())}; }

  // At most `most` groups of columns, of as many non-zeros each.
  std::vector<Range> groups(std::int64_t most) const {
    const double total = std::max(1.0, count_nonzeros(A_));
    std::vector<Range> all;
    double seen = 0;
    for (std::int64_t k = 0, first = 0; k < A_.count(); ++k) {
      seen += static_cast<double>(A_.nonzeros(k));
      const auto next = static_cast<double>(all.size() + 1);
      const bool full = seen * static_cast<double>(most) >= total * next;
      if (k + 1 < A_.count() && (!full || next == static_cast<double>(most))) continue;
      all.push_back({first, k + 1});
      first = k + 1;
    }
    return all;
  }
  std::span<const std::int64_t> columns(Range range) const {
    return std::span(everything_).subspan(at(range.begin), at(range.size()));
  }
  // Rows are gone through in blocks.
  std::int64_t blocks() const { return (A_.rows() + block - 1) / block; }
  Range row_block(std::int64_t b) const {
    return {b * block, std::min(A_.rows(), (b + 1) * block)};
  }

 private:
  struct Part {
    Range columns, rows;
    std::int64_t sum;  // which it adds to
  };
  void cut_rows() {
    const Slabs slabs(A_.rows());
    for (std::int64_t s = 0; s < slabs.count(); ++s)
      parts_.push_back({{0, A_.count()}, slabs[s], 0});
  }
  // Few enough that adding them up costs little.
  void cut_columns() {
    const double total = count_nonzeros(A_), n = static_cast<double>(A_.rows());
    for (Range group : groups(static_cast<std::int64_t>(std::clamp(total / (4 * n), 1.0, 8.0))))
      parts_.push_back({group, {0, A_.rows()}, static_cast<std::int64_t>(parts_.size())});
    if (parts_.empty()) parts_.push_back({{0, 0}, {0, A_.rows()}, 0});
    sums_ = static_cast<std::int64_t>(parts_.size());
  }
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  static constexpr std::int64_t block = 1024;
  C A_;
  std::vector<std::int64_t> everything_;
  std::vector<Part> parts_;
  std::int64_t sums_ = 1;
  std::vector<double> z_;
};

}  // namespace shotgun
