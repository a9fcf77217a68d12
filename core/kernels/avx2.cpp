// x86-64 with AVX2 and FMA (CMakeLists.txt gives this file its flags; elsewhere it is the
// baseline).
#include "kernels/loops.hpp"

namespace shotgun::kernels {
const Instructions& avx2() {
  static constexpr Instructions set{"avx2", logistic, table<double>, table<float>};
  return set;
}
}  // namespace shotgun::kernels
