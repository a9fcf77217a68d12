from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "snapml"
    requirements = ["pip::snapml"]
