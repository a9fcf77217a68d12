from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "scikit-learn liblinear"
    requirements = ["pip::scikit-learn"]
