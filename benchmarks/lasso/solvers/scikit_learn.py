from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "scikit-learn"
    requirements = ["pip::scikit-learn"]
