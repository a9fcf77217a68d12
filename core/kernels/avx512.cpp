// x86-64 with AVX-512 (CMakeLists.txt gives this file its flags; elsewhere it is the baseline).
#include "kernels/loops.hpp"

namespace shotgun::kernels {
const Instructions& avx512() {
  static constexpr Instructions set{"avx512", logistic, table<double>, table<float>};
  return set;
}
}  // namespace shotgun::kernels
