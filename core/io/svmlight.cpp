#include "io/svmlight.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "io/lines.hpp"
#include "io/number.hpp"
#include "problem/memory.hpp"

namespace shotgun::svmlight {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // rows, and features
constexpr std::size_t padding = 16;  // behind a window: eight bytes are looked at together

[[noreturn]] void changed() { throw std::runtime_error("the text changed while it was read"); }

// Where a pass is.
struct Place {
  Range part;                    // of the text, in whole lines
  const char* window = nullptr;  // what it sees of the text now,
  std::int64_t begin = 0;        // and the position of that

  std::int64_t position(const char* p) const { return begin + (p - window); }
};

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// First pass: how many lines, and how many entries of each index.
struct Count : Place {
  Count(Range part, std::int64_t largest, bool given)
      : Place{part}, limit(static_cast<std::size_t>(largest)), given(given) {}

  std::size_t largest() const { return limit; }
  std::string indices() const {
    return "an index of at most " + std::to_string(limit) +
           (given ? "" : " unless the number of features is given");
  }
  const char* label(const char* p) {
    const char* const end = skip_token(p);
    if (std::find(p, end, ',') != end)
      throw Fault{p, "one label (lines of several labels cannot be read)"};
    std::int64_t& first = std::find(p, end, ':') == end ? plain : weighted;
    first = std::min(first, position(p));
    ++rows;
    return end;
  }
  void qid(const char* p) { first_qid = std::min(first_qid, position(p)); }
  const char* entry(std::size_t index, const char*, const char* value) {
    if (index >= entries.size())
      entries.resize(std::max(index + 1, std::min(entries.size() * 5 / 4, limit + 1)));
    ++entries[index];
    return skip_token(value);
  }

  void flush() {}

  // As if the next part were a part of this one.
  void join(const Count& next) {
    part.end = next.part.end;
    rows += next.rows;
    entries.resize(std::max(entries.size(), next.entries.size()));
    for (std::size_t j = 0; j < next.entries.size(); ++j) entries[j] += next.entries[j];
  }

  std::size_t limit;
  bool given;  // the number of features
  std::vector<std::uint32_t> entries;
  std::int64_t rows = 0;
  std::int64_t plain = never, weighted = never, first_qid = never;  // where first seen
};

// Second pass: every number to its place.
template <class T, class Index>
struct Fill : Place {
  std::size_t largest() const { return base + features - 1; }
  std::string indices() const {
    return "an index from " + std::to_string(base) + " to " + std::to_string(largest());
  }
  const char* label(const char* p) {
    if (row == row_end) changed();
    y[row] = finite(p, "a finite number or number:weight", weights ? ':' : ' ');
    if (weights) {
      const char* const place = ++p;
      weights[row] = finite(p, "a finite weight", ' ');
      if (weights[row] < 0) throw Fault{place, "a weight of at least 0"};
    }
    ++row;
    return p;
  }
  void qid(const char*) {}
  const char* entry(std::size_t index, const char* place, const char* p) {
    const std::size_t j = index - base;
    if (index < base) throw Fault{place, "an index of at least 1"};
    if (j >= features) throw Fault{place, indices()};
    const T value = static_cast<T>(finite(p, "index:value with a finite value", ' ', place));
    if constexpr (std::is_same_v<T, float>)
      if (!std::isfinite(value)) throw Fault{place, "a value within float32"};
    __builtin_prefetch(&next[j], 1);
    pending[waiting++] = {j, static_cast<Index>(row - 1), value};
    if (waiting == pending.size()) flush();
    return p;
  }

  // Memory is waited for by many entries at once, not by one after the other.
  void flush() {
    for (std::size_t k = 0; k < waiting; ++k) {
      pending[k].place = static_cast<std::size_t>(next[pending[k].place]++);
      if (pending[k].place >= end) changed();
      __builtin_prefetch(&values[pending[k].place], 1);
      __builtin_prefetch(&rows[pending[k].place], 1);
    }
    for (std::size_t k = 0; k < waiting; ++k) {
      values[pending[k].place] = pending[k].value;
      rows[pending[k].place] = pending[k].row;
    }
    waiting = 0;
  }

  // The number at p, which `last` may end besides what ends a token.
  static double finite(const char*& p, const char* expected, char last,
                       const char* place = nullptr) {
    const char* const begin = p;
    const std::optional<double> number = parse_number(p);
    if (!number || !(blank(*p) || ends_line(*p) || *p == last))
      throw Fault{place ? place : begin, expected};
    return *number;
  }
  std::size_t base, features;
  T* values;
  Index* rows;
  std::size_t end;  // of both
  double *y, *weights;
  std::int64_t row, row_end;
  std::vector<Index> next;  // of each column, where the next entry goes

  struct Entry {
    std::size_t place;  // the column, then the position
    Index row;
    T value;
  };
  std::array<Entry, 64> pending = {};
  std::size_t waiting = 0;
};

// What is wrong at a position of the text.
struct Problem {
  std::int64_t position;
  std::string what;
};

// What stands at a place, up to the next blank; in plain ASCII, as any byte may be there.
std::string found(const char* p) {
  std::string text;
  for (int count = 0; !blank(*p) && *p != '\n' && count < 40; ++p, ++count) {
    const auto byte = static_cast<unsigned char>(*p);
    constexpr std::string_view hex = "0123456789abcdef";
    if (byte > ' ' && byte < 127)
      text += *p;
    else
      text.append("\\x").append(1, hex[byte / 16]).append(1, hex[byte % 16]);
  }
  return text.empty() ? "the end of the line" : "'" + text + "'";
}

Problem describe(const Fault& fault, std::int64_t position) {
  return {position, "expected " + fault.expected + ", not " + found(fault.place)};
}

Malformed malformed(const Text& text, const Problem& problem) {
  std::int64_t line = 1, begin = 0;
  std::vector<char> window(1 << 16);
  for (std::int64_t at = 0; at < problem.position;) {
    const auto size = static_cast<std::size_t>(
        std::min<std::int64_t>(problem.position - at, static_cast<std::int64_t>(window.size())));
    text.read(at, window.data(), size);
    for (std::size_t i = 0; i < size; ++i)
      if (window[i] == '\n') ++line, begin = at + static_cast<std::int64_t>(i) + 1;
    at += static_cast<std::int64_t>(size);
  }
  return {problem.what, line, problem.position - begin + 1};
}

// The begin of the first line that begins at or behind a position.
std::int64_t next_line(const Text& text, std::int64_t position) {
  if (position == 0) return 0;
  std::vector<char> window(1 << 12);
  for (std::int64_t at = position - 1; at < text.size;) {
    const auto size = static_cast<std::size_t>(
        std::min<std::int64_t>(text.size - at, static_cast<std::int64_t>(window.size())));
    text.read(at, window.data(), size);
    if (const void* end = std::memchr(window.data(), '\n', size))
      return at + (static_cast<const char*>(end) - window.data()) + 1;
    at += static_cast<std::int64_t>(size);
  }
  return text.size;
}

// All lines of a part to the sink, a window at a time. A line longer than that widens the window.
template <class Sink, class Stop>
void read_part(const Text& text, std::int64_t width, Sink& sink, Stop&& stop) {
  std::vector<char> window;
  for (sink.begin = sink.part.begin; sink.begin < sink.part.end && !stop();) {
    std::int64_t size = std::min(width, sink.part.end - sink.begin);
    window.resize(static_cast<std::size_t>(size) + 1 + padding);
    text.read(sink.begin, window.data(), static_cast<std::size_t>(size));
    char* end = window.data() + size;
    if (sink.begin + size < sink.part.end) {
      while (end > window.data() && end[-1] != '\n') --end;
      if (end == window.data()) {
        width *= 2;
        continue;
      }
      size = end - window.data();
    } else if (end[-1] != '\n') {
      *end++ = '\n';
    }
    std::fill_n(end, padding, '\0');
    sink.window = window.data();
    try {
      Parser<Sink>{sink}(window.data(), end);
    } catch (const Fault& fault) {
      throw describe(fault, sink.position(fault.place));
    }
    sink.flush();
    sink.begin += size;
  }
}

// Runs the sinks over their parts; of what they find wrong the first is thrown.
template <class Sink>
void run(const Text& text, const Options& options, std::vector<Sink>& sinks, Watch& watch) {
  std::vector<std::optional<Problem>> problems(sinks.size());
  std::atomic<std::int64_t> first{static_cast<std::int64_t>(sinks.size())};
  parallel_for(options.threads, first.load(), [&](std::int64_t s) {
    Sink& sink = sinks[static_cast<std::size_t>(s)];
    try {
      read_part(text, options.window, sink, [&] {
        watch.poll();
        return watch.stopped() || first.load(std::memory_order_relaxed) < s;
      });
    } catch (const Problem& problem) {
      problems[static_cast<std::size_t>(s)] = problem;
      std::int64_t known = first.load();
      while (s < known && !first.compare_exchange_weak(known, s)) continue;
    }
  });
  for (const auto& problem : problems)
    if (problem) throw malformed(text, *problem);
}

// The largest index in some places of the text. A guess at how many there are: for memory only.
std::int64_t glimpse(const Text& text) {
  std::uint64_t largest = 0;
  std::vector<char> window(1 << 14);
  for (int place = 0; place < 8; ++place) {
    const std::int64_t begin = share(text.size, place, 8).begin;
    const auto size = static_cast<std::size_t>(
        std::min<std::int64_t>(text.size - begin, static_cast<std::int64_t>(window.size())));
    text.read(begin, window.data(), size);
    std::uint64_t digits = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const bool digit = window[i] >= '0' && window[i] <= '9';
      if (window[i] == ':') largest = std::max(largest, digits);
      digits = !digit ? 0 : std::min<std::uint64_t>(most, 10 * digits + (window[i] - '0'));
    }
  }
  return static_cast<std::int64_t>(largest);
}

// A few parts for each thread, so that none waits long for the slowest; but no more than whose
// counters fit into half the size of the text, which A will hardly be below.
std::vector<Count> count(const Text& text, const Options& options, Watch& watch) {
  const int wanted = std::max(options.threads, std::min(4 * options.threads, 16));
  auto parts = std::clamp<std::int64_t>(text.size / options.grain, 1, wanted);
  // A mistyped index must not ask for all the memory there is.
  const std::int64_t sane =
      std::min(most, (std::int64_t{1} << 24) + std::min(most, text.size) * 16);
  const std::int64_t limit = options.features.value_or(sane);
  const std::int64_t width = parts > 1 ? std::min(limit, glimpse(text)) : 0;
  parts = std::min(parts, affordable_parts(2 * text.size, 4 * width));
  std::vector<Count> counts;
  for (int p = 0; p < parts; ++p) {
    const Range part = share(text.size, p, static_cast<int>(parts));
    counts.emplace_back(Range{next_line(text, part.begin), next_line(text, part.end)}, limit,
                        options.features.has_value());
    counts.back().entries.reserve(static_cast<std::size_t>(width + width / 4 + 1));
  }
  run(text, options, counts, watch);
  for (Count& c : counts)  // they have grown by leaps
    while (!c.entries.empty() && c.entries.back() == 0) c.entries.pop_back();
  return counts;
}

// What the first pass tells of the whole; returns the number of entries.
template <class T>
std::int64_t survey(const Text& text, const Options& options, const std::vector<Count>& counts,
                    Table<T>& table) {
  std::int64_t nnz = 0, end = 0, plain = never, weighted = never, qid = never;
  bool zero = false;
  for (const Count& c : counts) {
    table.rows += c.rows;
    for (const std::uint32_t entries : c.entries) nnz += entries;
    end = std::max(end, static_cast<std::int64_t>(c.entries.size()));
    zero |= !c.entries.empty() && c.entries[0] > 0;
    plain = std::min(plain, c.plain);
    weighted = std::min(weighted, c.weighted);
    qid = std::min(qid, c.first_qid);
  }
  if (table.rows > most) throw std::length_error("more than 2147483647 samples");
  if (plain != never && weighted != never)
    throw malformed(text, {std::max(plain, weighted),
                           plain < weighted ? "expected a label without weight, as before"
                                            : "expected label:weight, as before"});
  table.zero_based = options.zero_based.value_or(zero);
  table.features = options.features.value_or(std::max<std::int64_t>(0, end - !table.zero_based));
  table.y = std::make_unique<double[]>(static_cast<std::size_t>(table.rows));
  if (weighted != never)
    table.weights = std::make_unique<double[]>(static_cast<std::size_t>(table.rows));
  if (qid != never) table.qid_line = malformed(text, {qid, {}}).line;
  return nnz;
}

// Every part will have a cursor for each column.
void join_parts(std::vector<Count>& counts, std::int64_t bytes, std::int64_t per_part) {
  while (static_cast<std::int64_t>(counts.size()) > affordable_parts(bytes, per_part)) {
    std::vector<Count> joined;
    for (std::size_t p = 0; p < counts.size(); ++p)
      if (p % 2 == 0) {
        joined.push_back(std::move(counts[p]));
      } else {
        joined.back().join(counts[p]);
        counts[p].entries = {};
      }
    counts = std::move(joined);
  }
}

// Uninitialised, on huge pages if it is large: entries are written in any order.
template <class T>
std::unique_ptr<T[]> large_array(std::int64_t size) {
  auto array = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(size));
  Pages::prefer_huge(array.get(), static_cast<std::size_t>(size) * sizeof(T));
  return array;
}

// Where columns start, and where in them each part's entries do.
template <class T, class Index>
void start_columns(const std::vector<Count>& counts, Index* starts,
                   std::vector<Fill<T, Index>>& fills) {
  const std::size_t features = fills[0].features, base = fills[0].base;
  Index total = 0;
  for (std::size_t j = 0; j < features; ++j) {
    starts[j] = total;
    for (std::size_t p = 0; p < counts.size(); ++p) {
      fills[p].next[j] = total;
      if (j + base < counts[p].entries.size())
        total += static_cast<Index>(counts[p].entries[j + base]);
    }
  }
  starts[features] = total;
}

// Whether the second pass has found what the first one had counted; seen from the last part.
template <class T, class Index>
bool complete(const std::vector<Fill<T, Index>>& fills, const Index* starts) {
  const auto& next = fills.back().next;
  return std::all_of(fills.begin(), fills.end(), [](auto& f) { return f.row == f.row_end; }) &&
         std::equal(next.begin(), next.end(), starts + 1);
}

template <class T, class Index>
void fill(const Text& text, const Options& options, std::vector<Count> counts, std::int64_t nnz,
          Table<T>& table, Watch& watch) {
  join_parts(counts, nnz * static_cast<std::int64_t>(sizeof(T) + sizeof(Index)),
             table.features * static_cast<std::int64_t>(sizeof(Index)));
  const auto features = static_cast<std::size_t>(table.features);
  CompressedColumns<T, Index> A{large_array<T>(nnz), large_array<Index>(nnz),
                                std::make_unique_for_overwrite<Index[]>(features + 1), nnz};
  std::vector<Fill<T, Index>> fills;
  std::int64_t row = 0;
  for (const Count& c : counts) {
    fills.push_back({{c.part},
                     table.zero_based ? 0u : 1u,
                     features,
                     A.values.get(),
                     A.rows.get(),
                     static_cast<std::size_t>(nnz),
                     table.y.get(),
                     table.weights.get(),
                     row,
                     row + c.rows,
                     std::vector<Index>(features)});
    row += c.rows;
  }
  start_columns(counts, A.starts.get(), fills);
  counts.clear();
  run(text, options, fills, watch);
  if (!watch.stopped() && !complete(fills, A.starts.get())) changed();
  table.A = std::move(A);
}

}  // namespace

Text in_memory(std::span<const char> bytes) {
  return {static_cast<std::int64_t>(bytes.size()),
          [bytes](std::int64_t at, char* to, std::size_t count) {
            std::memcpy(to, bytes.data() + at, count);
          }};
}

Text in_file(int descriptor, std::int64_t size) {
  return {size, [descriptor](std::int64_t at, char* to, std::size_t count) {
            while (count > 0) {
              const ssize_t got = pread(descriptor, to, count, at);
              if (got < 0 && errno == EINTR) continue;
              if (got < 0) throw std::system_error(errno, std::generic_category());
              if (got == 0) changed();
              at += got, to += got, count -= static_cast<std::size_t>(got);
            }
          }};
}

template <class T>
Table<T> read(const Text& text, const Options& options, Watch& watch) {
  Table<T> table;
  std::vector<Count> counts = count(text, options, watch);
  if (watch.stopped()) return table;
  const std::int64_t nnz = survey(text, options, counts, table);
  if (nnz <= most)
    fill<T, std::int32_t>(text, options, std::move(counts), nnz, table, watch);
  else
    fill<T, std::int64_t>(text, options, std::move(counts), nnz, table, watch);
  return table;
}

template Table<float> read(const Text&, const Options&, Watch&);
template Table<double> read(const Text&, const Options&, Watch&);

}  // namespace shotgun::svmlight
