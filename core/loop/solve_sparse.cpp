#include "loop/solve_columns.hpp"

namespace shotgun {

template Solution solve_columns(Source<SparseColumns<double>>&, const Problem&, const Options&,
                                std::span<const double>, const Callback&, Watch&);
template Solution solve_columns(Source<SparseColumns<float>>&, const Problem&, const Options&,
                                std::span<const double>, const Callback&, Watch&);
template std::vector<Solution> path_columns(Source<SparseColumns<double>>&, const Problem&,
                                            const Options&, const Grid&, const Callback&, Watch&);
template double lambda_max_columns(Source<SparseColumns<double>>&, const Problem&, const Options&,
                                   Watch&);
template std::vector<Solution> path_columns(Source<SparseColumns<float>>&, const Problem&,
                                            const Options&, const Grid&, const Callback&, Watch&);
template double lambda_max_columns(Source<SparseColumns<float>>&, const Problem&, const Options&,
                                   Watch&);
template Spectrum spectrum_columns(Source<SparseColumns<double>>&, const Problem&, const Options&,
                                   double, Watch&);
template Spectrum spectrum_columns(Source<SparseColumns<float>>&, const Problem&, const Options&,
                                   double, Watch&);

}  // namespace shotgun
