#include "loop/solve_columns.hpp"

namespace shotgun {

template struct On<SparseColumns<double, std::int64_t>>;
template struct On<SparseColumns<float, std::int64_t>>;

}  // namespace shotgun
