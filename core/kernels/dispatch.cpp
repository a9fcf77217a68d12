#include <cstdlib>
#include <string_view>

#include "kernels/kernels.hpp"

namespace shotgun::kernels {

bool runs([[maybe_unused]] const Instructions& set) {
#if defined(__x86_64__)
  if (&set == &avx512())
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  if (&set == &avx2()) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return &set == &baseline();
}

// SHOTGUN_INSTRUCTIONS=baseline (or avx2) forces an instruction set: for tests and for telling a
// bug in a kernel from a bug in the mathematics. Read at first use, not at import.
static const Instructions& choose() {
  const char* wish = std::getenv("SHOTGUN_INSTRUCTIONS");
  for (const Instructions* set : {&avx512(), &avx2()})
    if (runs(*set) && (!wish || !*wish || std::string_view(wish) == set->name)) return *set;
  return baseline();
}

const Instructions& active() {
  static const Instructions& set = choose();
  return set;
}

}  // namespace shotgun::kernels
