// Which engine a fit uses unless told: from the data alone, never from threads or the clock
// (docs/decisions/auto.md has the measurements).
#pragma once

#include "loop/solution.hpp"

namespace shotgun {

// Dense columns are cheap to visit in blocks, and a block's Gram matrix serves every epoch. But no
// coordinate method gets along with a direction that all columns share (then rho nears d), which
// conjugate gradients find at once; nor does a Gram matrix pay that every Newton model makes anew,
// unless there are more samples than features, so that few epochs do; nor one of sparse columns.
// `shared` is the mean squared cosine between the columns and their common direction.
inline Engine choose_engine(Engine asked, bool dense, bool quadratic, bool tall, double shared) {
  if (asked != Engine::automatic) return asked;
  return dense && (quadratic || tall) && shared < 0.1 ? Engine::block : Engine::newton;
}

}  // namespace shotgun
