from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "shotgun"
    requirements = ["pip::shotgun-l1"]
