#include "study/memory_wall.hpp"
#include "support.hpp"

using namespace testing;
using namespace shotgun::study;

namespace {

const std::vector<Write> writes{Write::atomic, Write::plain, Write::private_, Write::none};

template <Columns C>
std::vector<Cost> costs(C A, const Doubles& y, double lam, bool random, int threads) {
  std::vector<Cost> all;
  for (Write write : writes)
    all.push_back(MemoryWall(A, y, lam).epoch({write, random}, threads, 1));
  return all;
}

}  // namespace

TEST_CASE("on one thread atomic, plain and private writes make the same updates") {
  const Matrix<double> A = random_matrix(80, 30, 0.3, 2);
  const Doubles y = random_vector(80, 3);
  for (bool random : {false, true}) {
    const std::vector<Cost> all = costs(A.sparse_columns(), y, 1.0, random, 1);
    CHECK(all[0].moved > 0);
    CHECK(all[1].moved == all[0].moved);
    CHECK(close(all[2].moved, all[0].moved, 1e-12));
    CHECK(close(costs(A.dense_columns(), y, 1.0, random, 1)[0].moved, all[0].moved, 1e-12));
  }
}

TEST_CASE("bytes and operations are those of the entries that an epoch visits") {
  const Matrix<float> A = random_matrix<float>(50, 20, 1.0, 4);
  const Doubles y = random_vector(50, 5);
  for (int threads : {1, 2}) {
    const std::vector<Cost> sparse = costs(A.sparse_columns(), y, 0.0, false, threads);
    const std::vector<Cost> dense = costs(A.dense_columns(), y, 0.0, false, threads);
    for (std::size_t w = 0; w < writes.size(); ++w) {
      const double written = writes[w] == Write::none ? 0 : 50;
      CHECK(sparse[w].updates == 20);
      CHECK(sparse[w].entries == 20 * 50);
      CHECK(sparse[w].bytes_A == 50 * 8);
      CHECK(dense[w].bytes_A == 50 * 4);
      CHECK(sparse[w].bytes_Ax == 8 * (50 + written));
      CHECK(sparse[w].operations == 2 * (50 + written));
      CHECK(sparse[w].seconds > 0);
    }
  }
}

TEST_CASE("a weight that stays at zero writes nothing") {
  const Matrix<double> A = random_matrix(50, 20, 0.5, 6);
  for (const Cost& cost : costs(A.sparse_columns(), random_vector(50, 7), 1e6, true, 2)) {
    CHECK(cost.moved == 0);
    CHECK(cost.written == 0);
    CHECK(close(cost.operations, 2 * static_cast<double>(cost.entries) / 20, 1e-12));
  }
}

TEST_CASE("the probes measure something") {
  CHECK(read_speed(1 << 20, 2) > 0);
  CHECK(arithmetic_speed(1) > 0);
  CHECK(latency(1 << 20) > 0);
}
