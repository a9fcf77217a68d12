// The order in which an epoch visits the coordinates.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/update.hpp"

namespace shotgun {

// SplitMix64 (Steele, Lea, Flood 2014): every seed gives a good stream, on every platform the same.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }  // in [0, 1)
  std::int64_t below(std::int64_t size) {
    return static_cast<std::int64_t>(uniform() * static_cast<double>(size));
  }
  void shuffle(std::span<std::int64_t> order) {
    for (std::size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1],
                order[static_cast<std::size_t>(below(static_cast<std::int64_t>(left)))]);
  }

 private:
  std::uint64_t state_;
};

// Each coordinate once per epoch: in a fresh random order, or always first to last.
class Order {
 public:
  Order(std::int64_t count, bool cyclic, std::uint64_t seed)
      : order_(static_cast<std::size_t>(count)), cyclic_(cyclic), random_(seed) {
    std::iota(order_.begin(), order_.end(), 0);
  }
  std::span<const std::int64_t> next() {
    if (!cyclic_) random_.shuffle(order_);
    return order_;
  }
  // Nothing to learn from a move: each coordinate's turn comes whatever it did.
  static void saw(const Move&, const Penalty&) {}
  // Epochs without progress after which there is none to be made.
  static std::int64_t patience() { return 1; }

 private:
  std::vector<std::int64_t> order_;
  bool cyclic_;
  Random random_;
};

}  // namespace shotgun
