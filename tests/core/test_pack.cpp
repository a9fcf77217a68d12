#include "fit.hpp"

using namespace testing;

namespace {

using Names = std::vector<Column>;

// What is packed, in the order in which it was.
Names names(Fit& fit) {
  return fit.pack.visit([](auto& packed) { return packed.which; });
}

// Whether the columns themselves are packed, and no light copies.
bool exact(Fit& fit) {
  return fit.pack.visit([]<class K>(const Packed<K>&) { return std::is_same_v<K, Cols>; });
}

}  // namespace

TEST_CASE("what is packed keeps its place, and newcomers follow") {
  Fit fit(make_example(80, 30, 0.7, Squared{}, 5));
  fit.pack.extend(fit.active.columns(), {4, 9, 20}, false);
  fit.pack.extend(fit.active.columns(), {1, 12}, false);
  CHECK(names(fit) == Names{4, 9, 20, 1, 12});
  CHECK(fit.pack.size() == 5);
  CHECK(fit.pack.holds(12));
  CHECK(!fit.pack.holds(2));
  CHECK(fit.pack.elsewhere().empty());
  CHECK(!exact(fit));
  fit.pack.visit([](auto& packed) {
    CHECK(packed.handles.size() == 5);
    CHECK(packed.x == Doubles(5));
  });
}

TEST_CASE("a working set that screening has emptied by half starts afresh, as does an exact one") {
  Fit fit(make_example(80, 30, 0.7, Squared{}, 5));
  fit.pack.extend(fit.active.columns(), {4, 9, 20, 21}, false);
  const Names few{9, 11};
  fit.pack.extend(few, {11}, false);
  CHECK(names(fit) == Names{9, 11});
  CHECK(!fit.pack.holds(4));
  fit.pack.extend(few, {}, true);
  CHECK(names(fit) == Names{9, 11});
  CHECK(exact(fit));
  fit.pack.extend(few, {12}, false);  // and stays exact
  CHECK(exact(fit));
  fit.pack.restart();
  CHECK(fit.pack.size() == 0);
  CHECK(!fit.pack.holds(9));
  CHECK(!exact(fit));
}

TEST_CASE("columns that float32 would not do justice are packed as they are") {
  Example e = make_example(80, 30, 0.7, Squared{}, 5);
  for (std::int64_t i = 0; i < e.A.n; ++i) e.A.dense[at(3 * e.A.n + i)] *= 1e20;
  Fit fit(e);
  fit.pack.extend(fit.active.columns(), {1, 2}, false);
  CHECK(!exact(fit));
  fit.pack.extend(fit.active.columns(), {3}, false);
  CHECK(names(fit) == Names{1, 2, 3});
  CHECK(exact(fit));
}
