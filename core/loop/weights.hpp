// The weights x: those that are not zero, and of every column whether it is among them.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "problem/design.hpp"
#include "problem/memory.hpp"

namespace shotgun {

class Weights {
 public:
  explicit Weights(Column count) : present_(static_cast<std::size_t>(count), 0) {}

  double operator[](Column j) const {
    if (!present_[at(j)]) return 0.0;
    const auto place = std::lower_bound(support_.begin(), support_.end(), j) - support_.begin();
    return values_[static_cast<std::size_t>(place)];
  }
  bool holds(Column j) const { return present_[at(j)]; }        // it is not zero
  std::span<const Column> support() const { return support_; }  // ascending
  std::span<const double> values() const { return values_; }    // of the support

  // x_j = values_p for j = which_p; the others stay.
  void store(std::span<const Column> which, std::span<const double> values) {
    for (Column j : which) present_[at(j)] = 0;
    std::vector<std::pair<Column, double>> all;
    for (std::size_t p = 0; p < support_.size(); ++p)
      if (present_[at(support_[p])]) all.emplace_back(support_[p], values_[p]);
    for (std::size_t p = 0; p < which.size(); ++p)
      if (values[p] != 0) all.emplace_back(which[p], values[p]);
    std::sort(all.begin(), all.end());
    support_.clear();
    values_.clear();
    for (const auto& [j, value] : all) {
      present_[at(j)] = 1;
      support_.push_back(j);
      values_.push_back(value);
    }
  }

 private:
  static std::size_t at(Column j) { return static_cast<std::size_t>(j); }

  PerColumn<unsigned char> present_;
  std::vector<Column> support_;
  std::vector<double> values_;
};

}  // namespace shotgun
