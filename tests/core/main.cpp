#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "parallel/threads.hpp"

int main(int count, char** arguments) {
  shotgun::heed_crowds(false);
  return doctest::Context(count, arguments).run();
}
