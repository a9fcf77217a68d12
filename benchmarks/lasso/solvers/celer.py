from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "celer"
    requirements = ["pip::celer"]
