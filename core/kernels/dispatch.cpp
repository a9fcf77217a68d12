#include <cstdlib>
#include <string_view>

#include "kernels/kernels.hpp"

namespace shotgun::kernels {

// SHOTGUN_INSTRUCTIONS=baseline forces the portable kernels: for tests and for telling a bug in a
// kernel from a bug in the mathematics. Read at first use, not at import.
static const Instructions& choose() {
  const char* wish = std::getenv("SHOTGUN_INSTRUCTIONS");
  if (wish && std::string_view(wish) == "baseline") return baseline();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2();
#endif
  return baseline();
}

const Instructions& active() {
  static const Instructions& set = choose();
  return set;
}

}  // namespace shotgun::kernels
