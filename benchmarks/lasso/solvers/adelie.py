from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "adelie"
    requirements = ["pip::adelie"]
