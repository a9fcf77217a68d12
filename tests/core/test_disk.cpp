#include <sys/resource.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "io/disk.hpp"
#include "support.hpp"

using namespace testing;

namespace {

// A matrix in files of a few columns each, behind a header as .npy files have one.
struct Stored {
  static constexpr std::int64_t header = 128;

  Stored(const Matrix<double>& A, std::vector<Column> firsts) : A(A), firsts(std::move(firsts)) {
    std::filesystem::create_directories(folder);
    for (std::size_t t = 0; t < this->firsts.size(); ++t) {
      const auto [begin, end] = entries(t);
      write(path(t, "values"), A.values().data() + begin, end - begin);
      write(path(t, "rows"), A.rows.data() + begin, end - begin);
    }
  }
  ~Stored() { std::filesystem::remove_all(folder); }

  std::pair<std::int64_t, std::int64_t> entries(std::size_t t) const {
    const auto last = t + 1 < firsts.size() ? firsts[t + 1] : static_cast<Column>(A.d);
    return {A.starts[at(firsts[t])], A.starts[at(last)]};
  }
  std::string path(std::size_t t, const char* what) const {
    return (folder / (what + std::to_string(t))).string();
  }
  template <class T>
  static void write(const std::string& path, const T* numbers, std::int64_t count) {
    std::ofstream file(path, std::ios::binary);
    file.write(std::string(header, '.').data(), header);
    file.write(reinterpret_cast<const char*>(numbers),
               count * static_cast<std::streamsize>(sizeof(T)));
  }

  std::unique_ptr<DiskSource<double>> open() const {
    std::vector<disk::Tile> tiles;
    for (std::size_t t = 0; t < firsts.size(); ++t) {
      const auto [begin, end] = entries(t);
      tiles.push_back({firsts[t], disk::File(path(t, "values"), header),
                       disk::File(path(t, "rows"), header),
                       disk::checksum(A.values().data() + begin, end - begin, 0),
                       disk::checksum(A.rows.data() + begin, end - begin, 0)});
    }
    return std::make_unique<DiskSource<double>>(
        std::move(tiles), std::vector<std::int64_t>(A.starts.begin(), A.starts.end()), A.n);
  }

  const Matrix<double>& A;
  std::vector<Column> firsts;
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("shotgun" + std::to_string(std::rand()));
};

std::vector<double> survey(Source<SparseColumns<double>>& source, const Doubles& v) {
  Watch watch(nullptr, infinity);
  Doubles all(at(3 * source.cols()));
  double* sums = all.data() + 2 * source.cols();
  source.survey(2, nullptr, v.data(), all.data(), all.data() + source.cols(), watch,
                [&](Column first, Column last, const double* part) {
                  std::copy(part, part + (last - first), sums + first);
                  return 0.0;
                });
  return all;
}

// Bytes that this process has asked of files so far.
std::int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::int64_t count = 0;
  file >> name >> count;
  REQUIRE(name == "rchar:");
  return count;
}

void overwrite(const std::string& path, std::int64_t where, const void* bytes,
               std::streamsize count) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(where);
  file.write(static_cast<const char*>(bytes), count);
}

}  // namespace

TEST_CASE("columns on disk have the bits of those in memory") {
  const auto A = random_matrix<double>(1500, 300, 0.6, 21);  // enough for two threads
  const Doubles v = random_vector(A.n, 22);
  const Stored stored(A, {0, 1, 130, 299});
  const auto on_disk = stored.open();
  CscSource<double, std::int32_t> in_memory(A.values().data(), A.rows.data(), A.starts.data(), A.n,
                                            A.d);
  CHECK(survey(*on_disk, v) == survey(in_memory, v));
  std::vector<Column> some{299, 0, 131, 129, 128, 5};
  for (Column j = 0; j < 300; ++j) some.push_back(j);
  Watch watch(nullptr, infinity);
  auto answers = [&](auto& source) {
    Doubles out(some.size());
    source.scan(2, v.data(), some, out.data(), watch);
    std::vector<Handle<SparseColumns<double>>> borrowed;
    std::vector<Handle<SparseColumns<float>>> packed;
    source.borrow(some, borrowed);
    source.pack(2, some, packed);
    source.pack(2, some, packed);
    for (const auto& a : borrowed) out.push_back(sparse_dot(a.values, a.rows, a.size, v.data()));
    for (const auto& a : packed) out.push_back(sparse_dot(a.values, a.rows, a.size, v.data()));
    return out;
  };
  CHECK(answers(*on_disk) == answers(in_memory));
  CHECK(watch.most_threads() == 2);
}

TEST_CASE("the first rows on disk are those in memory, and those of rows that were cut off") {
  const auto A = random_matrix<double>(600, 90, 0.4, 31);
  const Stored stored(A, {0, 1, 50});
  const auto on_disk = stored.open();
  CscSource<double, std::int32_t> in_memory(A.values().data(), A.rows.data(), A.starts.data(), A.n,
                                            A.d);
  for (std::int64_t rows : {0, 1, 37, 600}) {
    Doubles few;
    for (std::int64_t j = 0; j < A.d; ++j)
      for (std::int64_t i = 0; i < rows; ++i) few.push_back(A(i, j));
    const Matrix<double> cut(rows, A.d, few);
    CscSource<double, std::int32_t> expected(cut.values().data(), cut.rows.data(),
                                             cut.starts.data(), rows, A.d);
    const Doubles v = random_vector(rows, 32);
    for (const auto& head :
         {on_disk->head(rows), in_memory.head(rows), on_disk->head((A.n + rows) / 2)->head(rows)}) {
      CHECK(head->rows() == rows);
      CHECK(head->nonzeros() == expected.nonzeros());
      CHECK(survey(*head, v) == survey(expected, v));
    }
  }
}

TEST_CASE("a tile that has changed since it was written is found out, and named") {
  const auto A = random_matrix<double>(50, 40, 0.5, 23);
  const Doubles v = random_vector(A.n, 24);
  const Stored stored(A, {0, 20});
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(stored.path(1, "values")));
  auto names = [&](const std::string& file) {
    try {
      survey(*stored.open(), v);
    } catch (const disk::Damaged& e) {
      return std::string(e.what()).find(file) == 0;
    }
    return false;
  };
  CHECK_NOTHROW(survey(*stored.open(), v));
  SUBCASE("one bit of a value") {
    const double value = -A.values()[at(stored.entries(1).first)];
    overwrite(stored.path(1, "values"), Stored::header, &value, sizeof value);
    CHECK(names(stored.path(1, "values")));
  }
  SUBCASE("two signs") {
    for (int i : {0, 1}) {
      const double value = -A.values()[at(stored.entries(1).first + i)];
      overwrite(stored.path(1, "values"), Stored::header + 8 * i, &value, sizeof value);
    }
    CHECK(names(stored.path(1, "values")));
  }
  SUBCASE("a row that A does not have") {
    for (const Row row : {Row{50}, Row{-1}}) {
      overwrite(stored.path(0, "rows"), Stored::header, &row, sizeof row);
      CHECK(names(stored.path(0, "rows")));
    }
  }
  SUBCASE("its end") {
    std::filesystem::resize_file(stored.path(1, "values"), static_cast<std::uintmax_t>(size - 1));
    CHECK(names(stored.path(1, "values")));
  }
}

TEST_CASE("packs and scans of some columns read these alone, and what is borrowed once") {
  const auto A = random_matrix<double>(4000, 100, 0.5, 28);
  const Doubles v = random_vector(A.n, 29);
  const Stored stored(A, {0, 40, 90});
  const auto on_disk = stored.open();
  const std::vector<Column> some{3, 50, 97};
  std::int64_t wanted = 0;
  for (Column j : some) wanted += 12 * (A.starts[at(j + 1)] - A.starts[at(j)]);
  constexpr std::int64_t counting = 2048;  // bytes of /proc/self/io itself
  auto reads = [](auto&& act) {
    const auto before = bytes_read();
    act();
    return bytes_read() - before;
  };
  auto close_to = [](std::int64_t bytes, std::int64_t expected) {
    return bytes >= expected && bytes <= expected + counting;
  };
  Watch watch(nullptr, infinity);
  Doubles out(some.size());
  std::vector<Handle<SparseColumns<float>>> packed;
  std::vector<Handle<SparseColumns<double>>> borrowed;
  CHECK(close_to(reads([&] { on_disk->scan(1, v.data(), some, out.data(), watch); }), wanted));
  CHECK(close_to(reads([&] { on_disk->pack(1, some, packed); }), wanted));
  on_disk->borrow(some, borrowed);
  CHECK(close_to(reads([&] { on_disk->borrow(some, borrowed); }), 0));
  CHECK(close_to(reads([&] { survey(*on_disk, v); }), 12 * A.starts.back()));
}

TEST_CASE("there may be more tiles than a process may open files") {
  const auto A = random_matrix<double>(20, 400, 0.5, 26);
  const Doubles v = random_vector(A.n, 27);
  std::vector<Column> firsts(400);
  std::iota(firsts.begin(), firsts.end(), 0);
  const Stored stored(A, firsts);
  rlimit usual;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const rlimit few{320, usual.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  CHECK_NOTHROW(survey(*stored.open(), v));
  CHECK_NOTHROW(survey(*stored.open(), v));  // the first has closed what it kept
  setrlimit(RLIMIT_NOFILE, &usual);
}

TEST_CASE("checksums of parts add up to that of the whole") {
  const Doubles v = random_vector(100, 25);
  CHECK(disk::checksum(v.data(), 37, 0) + disk::checksum(v.data() + 37, 63, 37) ==
        disk::checksum(v.data(), 100, 0));
}
