#include "loop/solve_columns.hpp"

namespace shotgun {

template struct On<SparseColumns<double>>;
template struct On<SparseColumns<float>>;

}  // namespace shotgun
