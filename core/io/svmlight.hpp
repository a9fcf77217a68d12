// Reads svmlight/LIBSVM text, `label index:value index:value ... # comment` a line, straight into
// compressed columns: one pass counts, a second one fills. Both run over parts of the text in
// parallel, and parts are placed in order: the result does not depend on how many there are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>

#include "parallel/watch.hpp"
#include "problem/convert.hpp"

namespace shotgun::svmlight {

// Where the text is: read(at, to, count) copies `count` bytes that begin at position `at`.
struct Text {
  std::int64_t size;
  std::function<void(std::int64_t at, char* to, std::size_t count)> read;
};
Text in_memory(std::span<const char> bytes);  // which must live as long
Text in_file(int descriptor, std::int64_t size);

struct Options {
  std::optional<bool> zero_based = {};        // unless given: whether there is an index 0
  std::optional<std::int64_t> features = {};  // unless given: as many as the largest index tells
  int threads = 1;
  std::int64_t grain = 1 << 18;   // bytes for which a thread is worth its waking
  std::int64_t window = 1 << 17;  // bytes that a thread reads at a time: they stay in its cache
};

// What is wrong with the text, and where; lines and columns count from 1.
struct Malformed : std::runtime_error {
  Malformed(const std::string& what, std::int64_t line, std::int64_t column)
      : std::runtime_error(what), line(line), column(column) {}
  std::int64_t line, column;
};

template <class T>
struct Table {
  // int64 only for more entries than int32 can count
  std::variant<CompressedColumns<T, std::int32_t>, CompressedColumns<T, std::int64_t>> A;
  std::int64_t rows = 0, features = 0;
  std::unique_ptr<double[]> y, weights;  // weights only of lines `label:weight ...`
  bool zero_based = false;
  std::int64_t qid_line = 0;  // the first line with a qid, which is ignored; 0: none
};

// T: float or double. Whole unless the watch has stopped it.
template <class T>
Table<T> read(const Text& text, const Options& options, Watch& watch);

}  // namespace shotgun::svmlight
