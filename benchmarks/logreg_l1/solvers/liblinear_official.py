from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "liblinear-official"
    requirements = ["pip::liblinear-official"]
