from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "xgboost"
    requirements = ["pip::xgboost"]
