#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "parallel/atomic.hpp"
#include "parallel/threads.hpp"
#include "support.hpp"

using namespace testing;

TEST_CASE("a region runs each thread's place once and the caller is thread 0") {
  for (int threads : {1, 2, 3, 8}) {
    std::vector<std::atomic<int>> runs(8);
    const auto caller = std::this_thread::get_id();
    const int ran = run_region(threads, [&](Team team) {
      ++runs[at(team.thread)];
      if (team.thread == 0 && std::this_thread::get_id() != caller) ++runs[0];
    });
    CHECK(ran == threads);
    for (int t = 0; t < 8; ++t) CHECK(runs[at(t)] == (t < threads ? 1 : 0));
  }
}

TEST_CASE("what is written before a barrier is seen by all after it") {
  constexpr int rounds = 500;
  for (int threads : {2, 4}) {
    std::vector<int> slots(at(threads));
    std::atomic<int> wrong{0};
    run_region(threads, [&](Team team) {
      for (int round = 1; round <= rounds; ++round) {
        slots[at(team.thread)] = round;
        team.barrier.wait();
        for (int t = 0; t < team.threads; ++t) wrong += slots[at(t)] != round;
        team.barrier.wait();
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("parallel_for runs every chunk once") {
  for (int threads : {1, 2, 4}) {
    std::vector<std::atomic<int>> runs(1000);
    parallel_for(threads, 1000, [&](std::int64_t c) { ++runs[at(c)]; });
    for (auto& r : runs) CHECK(r == 1);
    parallel_for(threads, 0, [&](std::int64_t) { FAIL("nothing to run"); });
  }
}

TEST_CASE("a region inside a region runs alone and ends") {
  std::atomic<int> inner{0};
  run_region(2, [&](Team) {
    const int ran = run_region(4, [&](Team team) {
      team.barrier.wait();
      ++inner;
    });
    inner += ran == 1 ? 0 : 1000;
  });
  CHECK(inner == 2);
}

TEST_CASE("regions started by several threads at once all end with the right sums") {
  std::vector<std::thread> users;
  std::atomic<int> wrong{0};
  for (int u = 0; u < 3; ++u)
    users.emplace_back([&, u] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        const double sum =
            sum_rows(2, 40'000, [&](std::int64_t i) { return static_cast<double>(i % (u + 2)); });
        double expected = 0;
        for (std::int64_t i = 0; i < 40'000; ++i) expected += static_cast<double>(i % (u + 2));
        wrong += sum != expected;
      }
    });
  for (auto& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("the first exception reaches the caller and the pool survives it") {
  for (int guilty : {0, 1, 3})
    CHECK_THROWS_AS(run_region(4,
                               [&](Team team) {
                                 if (team.thread == guilty) throw std::runtime_error("no");
                               }),
                    std::runtime_error);
  CHECK_THROWS_AS(run_region(4, [](Team) { throw std::runtime_error("all"); }), std::runtime_error);
  std::atomic<int> ran{0};
  run_region(4, [&](Team) { ++ran; });
  CHECK(ran == 4);
}

TEST_CASE("a thread that fails leaves nobody waiting at the barrier") {
  for (int guilty : {0, 1, 3})
    for (int round : {0, 1, 7})
      CHECK_THROWS_AS(run_region(4,
                                 [&](Team team) {
                                   for (int r = 0; r < 10; ++r) {
                                     if (team.thread == guilty && r == round)
                                       throw std::runtime_error("no");
                                     team.barrier.wait();
                                   }
                                 }),
                      std::runtime_error);
  std::atomic<int> ran{0};
  run_region(4, [&](Team team) {
    team.barrier.wait();
    ++ran;
  });
  CHECK(ran == 4);
}

TEST_CASE("a sum over rows has the same bits for any number of threads") {
  for (std::int64_t rows : {1, 1023, 1024, 1025, 100'003}) {
    const Doubles v = random_vector(rows, 21);
    auto sum = [&](int threads) {
      return std::bit_cast<std::uint64_t>(
          sum_rows(threads, rows, [&](std::int64_t i) { return v[at(i)]; }));
    };
    for (int threads : {2, 3, 4, 8}) CHECK(sum(threads) == sum(1));
  }
}

TEST_CASE("gather and keep_if keep the order, whatever the number of threads") {
  std::vector<int> expected;
  for (int p = 0; p < 50'000; ++p)
    if (p % 7 == 3) expected.push_back(p);
  for (int threads : {1, 2, 5}) {
    const auto found = gather<int>(threads, 50'000, [](std::int64_t p, std::vector<int>& out) {
      if (p % 7 == 3) out.push_back(static_cast<int>(p));
    });
    CHECK(found == expected);
    std::vector<int> all(50'000);
    std::iota(all.begin(), all.end(), 0);
    keep_if(threads, all, [](int p) { return p % 7 == 3; });
    CHECK(all == expected);
  }
  CHECK(gather<int>(2, 0, [](std::int64_t, std::vector<int>&) {}).empty());
}

TEST_CASE("slabs cover the rows in order, however many there are") {
  for (std::int64_t rows : {1, 499, 500, 1001, 8000, 1'000'000}) {
    const Slabs slabs(rows);
    std::int64_t end = 0;
    for (int s = 0; s < slabs.count(); ++s) {
      CHECK(slabs[s].begin == end);
      end = slabs[s].end;
    }
    CHECK(end == rows);
  }
}

TEST_CASE("no atomic add is lost") {
  double sum = 0, clipped = 0;
  run_region(4, [&](Team) {
    for (int i = 0; i < 5000; ++i) {
      atomic_add(sum, 1.0);
      atomic_change(clipped, [](double old) { return std::min(old + 1.0, 100.0); });
    }
  });
  CHECK(sum == 20'000);
  CHECK(clipped == 100);
}

TEST_CASE("a chosen number of threads is the default until it is forgotten") {
  const int usual = default_threads();
  CHECK(usual >= 1);
  set_default_threads(3);
  CHECK(default_threads() == 3);
  set_default_threads(0);
  CHECK(default_threads() == usual);
}

// ThreadSanitizer itself cannot start threads in the child of a process that has several.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a forked child gets threads of its own") {
  run_region(2, [](Team) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> ran{0};
    run_region(2, [&](Team team) {
      team.barrier.wait();
      ++ran;
    });
    _exit(ran == 2 ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

TEST_CASE(
    "after a region whose threads kept each other waiting the caller works alone for a while") {
  using namespace std::chrono_literals;
  heed_crowds(true);
  const auto region = [](std::chrono::milliseconds late) {
    return run_region(2, [&](Team team) {
      for (int meeting = 0; meeting < 6; ++meeting) {
        if (team.thread == 1) std::this_thread::sleep_for(late);
        team.barrier.wait();
      }
    });
  };
  bool noticed = false;
  for (int attempt = 0; attempt < 100 && !noticed; ++attempt) {  // others may crowd it, too
    if (region(5ms) == 2) noticed = region(0ms) == 1;
    if (!noticed) std::this_thread::sleep_for(10ms);
  }
  CHECK(noticed);
  heed_crowds(false);
  std::this_thread::sleep_for(150ms);
  CHECK(region(5ms) == 2);
  CHECK(region(0ms) == 2);
}
