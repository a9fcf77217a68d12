// The lines of svmlight text: what may stand in them, told to a sink as it comes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "io/number.hpp"

namespace shotgun::svmlight {

// Thrown where the text is not as it should be.
struct Fault {
  const char* place;
  std::string expected;
};

inline bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
inline bool ends_line(char c) { return c == '\n' || c == '#'; }

inline const char* skip_blanks(const char* p) {
  while (blank(*p)) ++p;
  return p;
}

// The first byte that is neither in a number nor in index:value: a blank, '\n', '#', a few others.
inline const char* skip_token(const char* p) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  for (;; p += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    const std::uint64_t less = (bytes - ones * '+') & ~bytes & (ones * 0x80);
    if (less) return p + std::countr_zero(less) / 8;
  }
}

// Tells the sink of every line the label, then every index:value.
template <class Sink>
class Parser {
 public:
  explicit Parser(Sink& sink) : sink_(sink) {}

  // Whole lines, the last of which ends in '\n', too.
  void operator()(const char* p, const char* end) {
    while (p < end) {
      p = skip_blanks(p);
      if (!ends_line(*p)) p = sample(p);
      if (*p == '#')
        p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
      ++p;
    }
  }

 private:
  const char* sample(const char* p) {
    p = next_token(sink_.label(p));
    if (*p == 'q') p = next_token(qid(p));
    const char* const first = p;
    bool ascending = true;
    for (std::size_t next = 0; !ends_line(*p);) {
      const char* const place = p;
      const std::size_t index = parse_index(p);
      ascending &= index >= next;
      next = index + 1;
      p = next_token(sink_.entry(index, place, p));
    }
    if (!ascending) refuse_duplicates(first);
    return p;
  }

  static const char* next_token(const char* p) {
    if (!blank(*p) && !ends_line(*p)) throw Fault{p, "a blank"};
    return skip_blanks(p);
  }

  const char* qid(const char* p) {
    const bool named = std::strncmp(p, "qid:", 4) == 0;
    const char* const number = named ? p + 4 + (p[4] == '-') : p;
    std::uint64_t ignored = 0;
    const char* const end = parse_digits(number, ignored);
    if (end == number) throw Fault{p, "index:value or qid:number"};
    sink_.qid(p);
    return end;
  }

  // Moves p from the index to the value.
  std::size_t parse_index(const char*& p) {
    const char* const place = p;
    std::uint64_t index = 0;
    for (int count = 8; count == 8; p += count) {
      count = append_digits(p, index);
      if (index > sink_.largest()) throw Fault{place, sink_.indices()};
    }
    if (p == place || *p != ':') throw Fault{place, "index:value"};
    ++p;
    return index;
  }

  void refuse_duplicates(const char* p) {
    std::vector<std::pair<std::size_t, const char*>> entries;
    while (!ends_line(*p)) {
      const char* const place = p;
      const std::size_t index = parse_index(p);
      entries.emplace_back(index, place);
      p = skip_blanks(skip_token(p));
    }
    std::sort(entries.begin(), entries.end());
    const auto same = [](auto& a, auto& b) { return a.first == b.first; };
    const auto twice = std::adjacent_find(entries.begin(), entries.end(), same);
    if (twice != entries.end()) throw Fault{twice[1].second, "no index twice in a line"};
  }

  Sink& sink_;
};

}  // namespace shotgun::svmlight
