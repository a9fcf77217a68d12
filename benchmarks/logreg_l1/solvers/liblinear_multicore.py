from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "liblinear-multicore"
    requirements = ["pip::liblinear-multicore"]
