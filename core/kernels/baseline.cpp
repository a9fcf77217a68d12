// Every processor of the target architecture.
#include "kernels/loops.hpp"

namespace shotgun::kernels {
const Instructions& baseline() {
  static constexpr Instructions set{"baseline", logistic, table<double>, table<float>};
  return set;
}
}  // namespace shotgun::kernels
