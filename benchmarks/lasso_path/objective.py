from benchmark_utils import L1Objective
from problems import grid


class Objective(L1Objective):
    """A hundred lam, down to a thousandth of the largest that matters."""

    name = "Lasso path"
    parameters = {"n_lams": [100], "eps": [1e-3]}
    fit_intercept = False

    def lams(self, largest):
        return grid(largest, self.n_lams, self.eps)
