// What fuzz targets share: the bytes of an input, and facts that must hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

inline void require(bool fact) {
  if (!fact) std::abort();
}

// One after the other; zeros where there are no more.
struct Bytes {
  const std::uint8_t* at;
  const std::uint8_t* end;

  std::uint8_t next() { return at < end ? *at++ : 0; }
  // Small numbers most of the time; now and then any.
  template <class Index>
  Index number() {
    const auto byte = next();
    if (byte < 250) return static_cast<Index>(byte % 32);
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < sizeof(Index); ++k) bits = bits << 8 | next();
    return static_cast<Index>(bits);
  }
};
