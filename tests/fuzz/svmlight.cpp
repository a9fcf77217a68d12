// Any bytes: the reader ends, touches no memory but its own, and says the same whatever the number
// of threads, the windows and the place of the text. The first byte chooses the options.
#include "io/svmlight.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace {

using namespace shotgun;
using Columns = CompressedColumns<double, std::int32_t>;

struct Outcome {
  svmlight::Table<double> table;
  std::string error;
};

Outcome read(std::span<const char> bytes, svmlight::Options options) {
  Watch watch(nullptr, std::numeric_limits<double>::infinity());
  Outcome out;
  try {
    out.table = svmlight::read<double>(svmlight::in_memory(bytes), options, watch);
  } catch (const svmlight::Malformed& e) {
    out.error = std::to_string(e.line) + ":" + std::to_string(e.column) + ": " + e.what();
  }
  return out;
}

void require(bool fact) {
  if (!fact) std::abort();
}

void check_sound(const svmlight::Table<double>& table) {
  const auto& A = std::get<Columns>(table.A);
  const auto d = static_cast<std::size_t>(table.features);
  require(A.starts[0] == 0 && A.starts[d] == A.nnz);
  for (std::size_t j = 0; j < d; ++j)
    for (auto p = A.starts[j]; p < A.starts[j + 1]; ++p) {
      const auto q = static_cast<std::size_t>(p);
      require(std::isfinite(A.values[q]) && A.rows[q] >= 0 && A.rows[q] < table.rows);
      require(p == A.starts[j] || A.rows[q - 1] < A.rows[q]);
    }
}

void check_same(const svmlight::Table<double>& one, const svmlight::Table<double>& other) {
  const auto &A = std::get<Columns>(one.A), &B = std::get<Columns>(other.A);
  require(one.rows == other.rows && one.features == other.features && A.nnz == B.nnz);
  require(one.zero_based == other.zero_based && one.qid_line == other.qid_line);
  const auto d = static_cast<std::size_t>(one.features), nnz = static_cast<std::size_t>(A.nnz);
  require(std::equal(A.starts.get(), A.starts.get() + d + 1, B.starts.get()));
  require(std::equal(A.rows.get(), A.rows.get() + nnz, B.rows.get()));
  require(std::equal(A.values.get(), A.values.get() + nnz, B.values.get()));
  require(std::equal(one.y.get(), one.y.get() + one.rows, other.y.get()));
  require(!one.weights == !other.weights);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const char> text(reinterpret_cast<const char*>(data) + 1, size - 1);
  svmlight::Options options;
  if (data[0] & 1) options.zero_based = (data[0] & 2) != 0;
  options.features = data[0] & 4 ? 12 : 5000;  // a larger index costs memory, not thought
  const Outcome plain = read(text, options);
  options.threads = 3;
  options.grain = 1;
  options.window = 5;
  const Outcome pieces = read(text, options);
  require(plain.error == pieces.error);
  if (!plain.error.empty()) return 0;
  check_sound(plain.table);
  check_same(plain.table, pieces.table);
  return 0;
}
