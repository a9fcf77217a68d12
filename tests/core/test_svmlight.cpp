#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "io/number.hpp"
#include "io/svmlight.hpp"
#include "support.hpp"

using namespace testing;

namespace {

std::optional<double> number(std::string text) {
  const std::size_t size = text.size();
  text.append(8, '\0');
  const char* p = text.data();
  const std::optional<double> value = parse_number(p);
  return p == text.data() + size ? value : std::nullopt;
}

template <class T = double>
svmlight::Table<T> read(const std::string& text, svmlight::Options options = {}) {
  Watch watch(nullptr, infinity);
  return svmlight::read<T>(svmlight::in_memory({text.data(), text.size()}), options, watch);
}

template <class T>
T entry(const svmlight::Table<T>& table, std::int64_t i, std::int64_t j) {
  const auto& A = std::get<CompressedColumns<T, std::int32_t>>(table.A);
  for (auto p = A.starts[at(j)]; p < A.starts[at(j + 1)]; ++p)
    if (A.rows[at(p)] == i) return A.values[at(p)];
  return 0;
}

std::string complaint(const std::string& text, svmlight::Options options = {}) {
  try {
    read(text, options);
  } catch (const svmlight::Malformed& e) {
    return std::to_string(e.line) + ":" + std::to_string(e.column) + ": " + e.what();
  }
  return "";
}

bool same(const svmlight::Table<double>& one, const svmlight::Table<double>& other) {
  const auto &A = std::get<0>(one.A), &B = std::get<0>(other.A);
  return one.rows == other.rows && one.features == other.features && A.nnz == B.nnz &&
         std::equal(A.starts.get(), A.starts.get() + one.features + 1, B.starts.get()) &&
         std::equal(A.rows.get(), A.rows.get() + A.nnz, B.rows.get()) &&
         std::equal(A.values.get(), A.values.get() + A.nnz, B.values.get()) &&
         std::equal(one.y.get(), one.y.get() + one.rows, other.y.get());
}

// Lines of unequal length, some of them comments or blank.
std::string random_text(std::int64_t lines, std::uint64_t seed) {
  Random random(seed);
  std::string text;
  for (std::int64_t i = 0; i < lines; ++i) {
    if (i % 11 == 3) text += "# a comment\n\n";
    text += i % 2 ? "+1" : "-1";
    for (int j = 1; j <= 300; ++j)
      if (random.uniform() < 0.1)
        text += ' ' + std::to_string(j) + ':' + std::to_string(random.uniform());
    text += i % 7 ? "\n" : " # end\r\n";
  }
  return text;
}

}  // namespace

TEST_CASE("numbers are correctly rounded: those that strtod gives") {
  for (const std::string text : {"0",
                                 "1",
                                 "007",
                                 "12345678",
                                 "123456789",
                                 "0.1",
                                 ".5",
                                 "5.",
                                 "1.e2",
                                 "3.14159265358979",
                                 "9007199254740992",
                                 "9007199254740993",
                                 "9007199254740993.0",
                                 "1e22",
                                 "1e23",
                                 "1e-22",
                                 "1e-23",
                                 "123456789012345678",
                                 "12345678901234567890",
                                 "0.1234567890123456789012",
                                 "179769313486231570000e288",
                                 "1.7976931348623157e308",
                                 "2.2250738585072014e-308",
                                 "2.2250738585072011e-308",
                                 "4.9e-324",
                                 "2e-324",
                                 "8.5e-45",
                                 "1E5",
                                 "1e+05",
                                 "1e-05",
                                 "0.000000000000000000000000000001",
                                 "1e-400",
                                 "0e400",
                                 "0e99999999999999999999",
                                 "1e-99999999999999999999",
                                 "0.3e-323"}) {
    CAPTURE(text);
    REQUIRE(number(text));
    CHECK(*number(text) == std::strtod(text.c_str(), nullptr));
    CHECK(*number("-" + text) == -std::strtod(text.c_str(), nullptr));
    CHECK(*number("+" + text) == std::strtod(text.c_str(), nullptr));
  }
  CHECK(std::signbit(*number("-0")));
  Random random(1);
  for (int k = 0; k < 20000; ++k) {
    char text[64];
    const int digits = 1 + static_cast<int>(random.uniform() * 19);
    const double scale = std::pow(10.0, std::floor(random.uniform() * 60) - 30);
    std::snprintf(text, sizeof text, "%.*g", digits, (random.uniform() - 0.5) * scale);
    CAPTURE(text);
    CHECK(number(text) == std::strtod(text, nullptr));
  }
}

TEST_CASE("long runs of digits around a huge exponent are told apart: zero or too large") {
  const std::string zeros(400, '0');
  CHECK(number("1" + zeros + "e-400") == 1.0);
  CHECK(number("0." + zeros + "1e401") == 1.0);
  CHECK(number("0." + zeros + "1") == 0.0);
  CHECK_FALSE(number("1" + zeros));
  CHECK_FALSE(number("1e309"));
  CHECK_FALSE(number("1e99999999999999999999"));
  CHECK(number("1" + zeros + "e-99999999999") == 0.0);
}

TEST_CASE("what is not a finite decimal number is none") {
  for (const char* text : {"", "+", "-", ".", "e5", "1e", "1e+", "nan", "inf", "-inf", "infinity",
                           "0x10", "1_0", "--1", "+-1", "1.2.3", "1f", " 1"})
    CHECK_FALSE(number(text));
}

TEST_CASE("lines become rows, whatever stands around their numbers") {
  const auto table = read("# head\n\n+1 1:0.5 3:2e1 # tail\r\n\t-1\t2:-1\n 3\n0 3:7#x");
  CHECK(table.rows == 4);
  CHECK(table.features == 3);
  CHECK_FALSE(table.zero_based);
  CHECK(Doubles(table.y.get(), table.y.get() + 4) == Doubles{1, -1, 3, 0});
  CHECK(entry(table, 0, 0) == 0.5);
  CHECK(entry(table, 0, 2) == 20);
  CHECK(entry(table, 1, 1) == -1);
  CHECK(entry(table, 3, 2) == 7);
  CHECK(std::get<0>(table.A).nnz == 4);
  CHECK_FALSE(table.weights);
  CHECK(table.qid_line == 0);
}

TEST_CASE("an index 0 anywhere makes a text zero-based, unless that is said") {
  CHECK(read("1 1:1\n1 0:1").zero_based);
  CHECK(read("1 1:1\n1 0:1").features == 2);
  CHECK(read("1 1:1\n1 2:1").features == 2);
  svmlight::Options options;
  options.zero_based = true;
  CHECK(read("1 1:1\n1 2:1", options).features == 3);
  options.zero_based = false;
  CHECK(complaint("1 1:1\n1 0:1", options) == "2:3: expected an index of at least 1, not '0:1'");
}

TEST_CASE("weights, qid, and a number of features") {
  const auto table = read("1:0.5 1:1\n0:2 qid:7 2:1");
  CHECK(Doubles(table.weights.get(), table.weights.get() + 2) == Doubles{0.5, 2});
  CHECK(table.qid_line == 2);
  svmlight::Options options;
  options.features = 5;
  CHECK(read("1 1:1", options).features == 5);
  CHECK(read("1 5:1", options).features == 5);
  CHECK(complaint("1 6:1", options) == "1:3: expected an index of at most 5, not '6:1'");
  CHECK(complaint("1 0:1\n1 5:1", options) == "2:3: expected an index from 0 to 4, not '5:1'");
}

TEST_CASE("unsorted indices are sorted, an index that comes twice is refused") {
  const auto table = read("1 9:9 2:2 5:5\n1 1:1");
  CHECK(entry(table, 0, 8) == 9);
  CHECK(entry(table, 0, 1) == 2);
  CHECK(complaint("1 9:9 2:2 9:5") == "1:11: expected no index twice in a line, not '9:5'");
  CHECK(complaint("1 2:9 2:2") == "1:7: expected no index twice in a line, not '2:2'");
}

TEST_CASE("what is wrong is told with line, column and what was expected") {
  const std::string value = "expected index:value with a finite value, not ";
  CHECK(complaint("1 1:1\n1 1:nan\n") == "2:3: " + value + "'1:nan'");
  CHECK(complaint("1 1:1 2:1e400") == "1:7: " + value + "'2:1e400'");
  CHECK(complaint("1 1:-inf") == "1:3: " + value + "'1:-inf'");
  CHECK(complaint("1 1:") == "1:3: " + value + "'1:'");
  CHECK(complaint("1 1:2:3") == "1:3: " + value + "'1:2:3'");
  CHECK(complaint("1 3") == "1:3: expected index:value, not '3'");
  CHECK(complaint("1 -3:1") == "1:3: expected index:value, not '-3:1'");
  CHECK(complaint("1 1:1 qid:3") == "1:7: expected index:value, not 'qid:3'");
  CHECK(complaint("1 qid:x") == "1:3: expected index:value or qid:number, not 'qid:x'");
  CHECK(complaint("x 1:1") == "1:1: expected a finite number or number:weight, not 'x'");
  CHECK(complaint("1:-1 1:1") == "1:3: expected a weight of at least 0, not '-1'");
  CHECK(complaint("1:x 1:1") == "1:3: expected a finite weight, not 'x'");
  CHECK(complaint("1 1:1\n1:2 1:1") == "2:1: expected a label without weight, as before");
  CHECK(complaint("1:2 1:1\n1 1:1") == "2:1: expected label:weight, as before");
  CHECK(complaint("1,2 1:1").substr(0, 23) == "1:1: expected one label");
  CHECK(complaint("1 1:1" + std::string(1, '\0')) == "1:6: expected a blank, not '\\x00'");
  CHECK(complaint("1 1:\xff") == "1:3: " + value + "'1:\\xff'");
  CHECK(complaint("1 3000000000:1").substr(0, 31) == "1:3: expected an index of at mo");
  CHECK_THROWS_AS(read<float>("1 1:1e300"), svmlight::Malformed);
}

TEST_CASE("the first of several faults is told, whichever thread finds it") {
  std::string text = random_text(200, 1);
  const std::size_t early = text.find("\n", text.size() / 3), late = text.size() / 4 * 3;
  text.replace(text.find(' ', early), 1, " x ");
  text.replace(text.find(' ', late), 1, " y ");
  svmlight::Options options;
  const std::string plain = complaint(text, options);
  CHECK(plain.find("'x'") != std::string::npos);
  for (int threads : {2, 5}) {
    options.threads = threads;
    options.grain = 1;
    CHECK(complaint(text, options) == plain);
  }
}

TEST_CASE("the same bits for any number of threads and any window") {
  const std::string text = random_text(500, 2);
  const auto plain = read(text);
  CHECK(plain.rows == 500);
  for (int threads : {1, 2, 5, 64})
    for (std::int64_t window : {std::int64_t{3}, std::int64_t{1000}, std::int64_t{1} << 20}) {
      svmlight::Options options{{}, {}, threads, 1, window};
      CHECK(same(read(text, options), plain));
    }
}

TEST_CASE("a file is read as memory is; one that shrinks is refused") {
  const std::string text = random_text(300, 3);
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  std::fflush(file);
  const auto size = static_cast<std::int64_t>(text.size());
  Watch watch(nullptr, infinity);
  svmlight::Options options{{}, {}, 2, 1, 4096};
  const auto table = svmlight::read<double>(svmlight::in_file(fileno(file), size), options, watch);
  CHECK(same(table, read(text)));
  REQUIRE(ftruncate(fileno(file), size / 2) == 0);
  CHECK_THROWS_AS(svmlight::read<double>(svmlight::in_file(fileno(file), size), options, watch),
                  std::runtime_error);
  std::fclose(file);
}

TEST_CASE("a text that changes between the passes is refused, not read beyond the end") {
  const std::string first = "1 1:1\n1 2:1\n1 3:1\n";
  for (const std::string second : {"1 3:1\n1 3:1\n1 3:1\n", "1 1:1\n1 2:1\n#    \n",
                                   "1 1:1\n1 2:1\n1    \n", "1\n1\n1\n1\n1\n1\n1\n1\n1\n"}) {
    int reads = 0;
    const svmlight::Text text{static_cast<std::int64_t>(first.size()),
                              [&](std::int64_t from, char* to, std::size_t count) {
                                const std::string& now = ++reads <= 2 ? first : second;
                                std::memcpy(to, now.data() + from, count);
                              }};
    Watch watch(nullptr, infinity);
    CHECK_THROWS_AS(svmlight::read<double>(text, {}, watch), std::runtime_error);
    CHECK(reads == 3);  // where the parts begin, and a window for each pass
  }
}

TEST_CASE("no lines, and lines without entries, have no features") {
  CHECK(read("").rows == 0);
  CHECK(read("# nothing\n").rows == 0);
  CHECK(read("1\n2\n").rows == 2);
  CHECK(read("1\n2\n").features == 0);
}
