#include "bench.hpp"
#include "loop/follow.hpp"

using namespace shotgun;

TEST_CASE("a path is followed once descent has cost a quarter of that") {
  Follower follow(100, 400, 40'000);  // m = 100: 0.25 * (100^2 + 100^2 / 16)
  follow.descended(2656);
  CHECK(!follow.ready());
  CHECK(follow.patience(10) == 1);
  follow.descended(1);
  CHECK(follow.ready());
  CHECK(follow.follows());
}

TEST_CASE(
    "a shot ends when it is time to follow, and with a Gram matrix much larger than A it is not") {
  const Follower follow(100, 400, 40'000);
  CHECK(follow.patience(100) == 27);
  CHECK(Follower::fits(2));
  CHECK(!Follower::fits(2.5));
}

TEST_CASE("tall data are followed for less, as their updates are dear") {
  Follower follow(10'000, 100, 1e6);  // 0.25 * (100^3 / 10^4 + 100^2 / 16)
  follow.descended(182);
  CHECK(follow.ready());
}

TEST_CASE("on the way to a smaller lam, one that is good enough does not count") {
  Follower follow(4, 4, 16);
  follow.arrived(2.0);
  CHECK(!follow.on_the_way(1.0));
  follow.descended(100);
  CHECK(follow.ready());
  CHECK(follow.on_the_way(1.0));
  CHECK(!follow.on_the_way(2.0));
}
