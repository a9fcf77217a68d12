#include "loop/solve_columns.hpp"

namespace shotgun {

template struct On<DenseColumns<double>>;
template struct On<DenseColumns<float>>;

}  // namespace shotgun
