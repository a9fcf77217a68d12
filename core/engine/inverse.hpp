// The inverse of a symmetric positive definite matrix whose rows come and go.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/symmetric.hpp"

namespace shotgun {

// H = H0 + sum_t s_t w_t w_t': a row that comes or goes is one more term, and only every few dozen
// of them are added up into H0, in one pass over it. Rows have slots; one that has gone is zero
// throughout and waits for another to take it.
class Inverse {
 public:
  std::int64_t slots() const { return settled_.size(); }

  // H v
  std::vector<double> times(std::span<const double> v, int threads) const {
    std::vector<double> product = settled_.times(v, [](std::int64_t) { return true; }, threads);
    for (const Term& term : terms_) add(term, dot(term.w, v), product);
    return product;
  }

  // What H has more, or less, after a row has come or gone: scale w w'.
  struct Term {
    double scale;
    std::vector<double> w;
    std::int64_t slot;  // of that row
  };

  // The matrix gets one more row, with `row` at the slots that are taken and `diagonal`. Nothing
  // happens where it would be singular.
  std::optional<Term> insert(std::span<const double> row, double diagonal, int threads) {
    std::vector<double> w = times(row, threads);
    const double rest = diagonal - dot(w, row);  // what the other rows leave of it
    if (!(rest > 1e-11 * diagonal)) return std::nullopt;
    const std::int64_t slot = free_slot(threads);
    w.resize(at(slots()));
    for (double& value : w) value = -value;
    w[at(slot)] = 1;
    return push({1 / rest, std::move(w), slot}, threads);
  }

  // The matrix loses the row in `slot`.
  Term erase(std::int64_t slot, int threads) {
    std::vector<double> column(at(slots()));
    for (std::int64_t i = 0; i < slots(); ++i) column[at(i)] = settled_(i, slot);
    for (const Term& term : terms_) add(term, term.w[at(slot)], column);
    const double diagonal = column[at(slot)];
    gone_.push_back(slot);
    return push({-1 / diagonal, std::move(column), slot}, threads);
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  double dot(std::span<const double> w, std::span<const double> v) const {
    return table_->dot(static_cast<std::int64_t>(std::min(w.size(), v.size())), w.data(), v.data());
  }
  void add(const Term& term, double length, std::vector<double>& to) const {
    const auto size = std::min(term.w.size(), to.size());
    table_->axpy(static_cast<std::int64_t>(size), term.scale * length, term.w.data(), nullptr,
                 to.data());
  }

  std::int64_t free_slot(int threads) {
    if (free_.empty() && gone_.size() >= 64) settle(threads);
    if (!free_.empty()) {
      const std::int64_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    for (Term& term : terms_) term.w.push_back(0.0);
    settled_.grow();
    return slots() - 1;
  }

  Term push(Term term, int threads) {
    terms_.push_back(term);
    if (terms_.size() == most) settle(threads);
    return term;
  }

  // H0 takes over the terms; slots that are gone become zero, and free.
  void settle(int threads) {
    std::vector<const double*> w;
    std::vector<double> scales;
    for (const Term& term : terms_) {
      w.push_back(term.w.data());
      scales.push_back(term.scale);
    }
    settled_.add(scales, w, threads);
    for (std::int64_t slot : gone_) settled_.clear(slot);
    free_.insert(free_.end(), gone_.begin(), gone_.end());
    gone_.clear();
    terms_.clear();
  }

  static constexpr std::size_t most = 32;
  Symmetric settled_;  // H0
  std::vector<Term> terms_;
  std::vector<std::int64_t> gone_, free_;
  const kernels::Table<double>* table_ = &kernels::active_table<double>();
};

}  // namespace shotgun
