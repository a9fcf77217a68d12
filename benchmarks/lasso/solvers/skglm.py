from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "skglm"
    requirements = ["pip::skglm"]
