// Decimal numbers: correctly rounded, whatever the locale, and fast where they are short. Eight
// bytes behind the number must be readable.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace shotgun {

// The digits at p, at most eight of them, appended to value; returns how many there were. Without
// branches on their number, which no processor foresees.
inline int append_digits(const char* p, std::uint64_t& value) {
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::array<std::uint64_t, 9> power{
      1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
  std::uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  bytes ^= 0x3030303030303030;
  const std::uint64_t other = ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;
  const int count = std::countr_zero(other) / 8;
  if (count == 0) return 0;
  bytes <<= 64 - 8 * count;
  bytes = bytes * 10 + (bytes >> 8);  // two digits in every other byte
  constexpr std::uint64_t pairs = 0x000000FF000000FF;
  bytes = ((bytes & pairs) * 0x000F424000000064 + ((bytes >> 16) & pairs) * 0x0000271000000001);
  value = value * power[static_cast<std::size_t>(count)] + (bytes >> 32);
  return count;
}

// All digits at p. Returns where they end; value has overflown if there are more than 19.
inline const char* parse_digits(const char* p, std::uint64_t& value) {
  for (;;) {
    const int count = append_digits(p, value);
    p += count;
    if (count < 8) return p;
  }
}

// [begin, end) is a number without sign that has the form of one. Nothing if it is too large.
inline std::optional<double> round_decimal(const char* begin, const char* end) {
  double value = 0;
  if (std::from_chars(begin, end, value).ec != std::errc::result_out_of_range) return value;
  // Too large, or so small that it is zero: told by the position of the first digit that counts.
  std::int64_t position = 0, exponent = 0;
  bool seen = false, fraction = false, negative = false;
  const char* p = begin;
  for (; p < end && (*p | 32) != 'e'; ++p) {
    if (*p == '.') {
      fraction = true;
    } else {
      seen |= *p != '0';
      position += seen == fraction ? 0 : seen ? 1 : -1;
    }
  }
  for (; p < end; ++p) {
    negative |= *p == '-';
    if (*p >= '0' && *p <= '9' && exponent < (std::int64_t{1} << 50))
      exponent = exponent * 10 + (*p - '0');
  }
  if (position + (negative ? -exponent : exponent) > 0) return std::nullopt;
  return 0.0;
}

// The finite number at p, and p behind it; nothing, and p anywhere, if there is none.
inline std::optional<double> parse_number(const char*& p) {
  const bool negative = *p == '-';
  p += *p == '-' || *p == '+';
  const char* const begin = p;
  std::uint64_t digits = 0;
  p = parse_digits(p, digits);
  std::int64_t count = p - begin, power = 0;
  if (*p == '.') {
    const char* const point = p++;
    p = parse_digits(p, digits);
    power = point + 1 - p;
    count -= power;
  }
  if (count == 0) return std::nullopt;
  bool plain = count <= 19 && digits <= (std::uint64_t{1} << 53);
  if ((*p | 32) == 'e') {
    const bool down = *++p == '-';
    p += *p == '-' || *p == '+';
    std::uint64_t exponent = 0;
    const char* const first = p;
    p = parse_digits(p, exponent);
    if (p == first) return std::nullopt;
    plain &= p - first <= 8;
    if (plain)
      power += down ? -static_cast<std::int64_t>(exponent) : static_cast<std::int64_t>(exponent);
  }
  // Both factors are exact, so that there is one rounding only.
  static constexpr double exact[]{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  double value = static_cast<double>(static_cast<std::int64_t>(digits));
  if (plain && power <= 0 && power >= -22) {
    value /= exact[-power];
  } else if (plain && power > 0 && power <= 22) {
    value *= exact[power];
  } else {
    const std::optional<double> rounded = round_decimal(begin, p);
    if (!rounded) return std::nullopt;
    value = *rounded;
  }
  return negative ? -value : value;
}

}  // namespace shotgun
