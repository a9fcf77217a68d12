from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "scikit-learn saga"
    requirements = ["pip::scikit-learn"]
