from benchmark_utils import SharedSolver


class Solver(SharedSolver):
    name = "glmnet"
    requirements = ["pip::python-glmnet"]
