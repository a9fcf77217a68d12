#include "bench.hpp"
#include "loop/follow.hpp"

using namespace shotgun;

TEST_CASE("what descends is followed once that has cost a quarter of following") {
  Follower follow(1000, 4000, 4e6);  // m = 1000: 0.25 * (1000^2 + 1000^2 / 16)
  follow.descended(265'624);
  CHECK(!follow.ready());
  CHECK(follow.patience(10) == 3);
  follow.descended(1);
  CHECK(follow.ready());
  CHECK(follow.follows());
}

TEST_CASE("a shot ends when it is time to follow; a Gram matrix much larger than A is not made") {
  const Follower follow(1000, 4000, 4e6);
  CHECK(follow.patience(100'000) == 5);
  CHECK(Follower::fits(2));
  CHECK(!Follower::fits(2.5));
}

TEST_CASE("tall data are followed for less, as their updates are dear") {
  Follower follow(1e6, 10'000, 1e10);  // 0.25 * (10^12 / 10^6 + 10^8 / 16)
  follow.descended(1'812'500);
  CHECK(follow.ready());
}

TEST_CASE("small problems descend for a while") {
  Follower follow(4, 4, 16);
  follow.descended(255);
  CHECK(!follow.ready());
  follow.descended(1);
  CHECK(follow.ready());
}

TEST_CASE("after a failure descent has four times as long") {
  Follower follow(4, 4, 16);
  follow.descended(300);
  CHECK(follow.ready());
  follow.give_up();
  CHECK(!follow.follows());
  follow.descended(899);
  CHECK(!follow.ready());
  follow.descended(1);
  CHECK(follow.ready());
}

TEST_CASE("on the way to a smaller lam, one that is good enough does not count") {
  Follower follow(4, 4, 16);
  follow.arrived(2.0);
  CHECK(!follow.on_the_way(1.0));
  follow.descended(256);
  CHECK(follow.ready());
  CHECK(follow.on_the_way(1.0));
  CHECK(!follow.on_the_way(2.0));
}
