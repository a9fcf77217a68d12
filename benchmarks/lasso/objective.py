from benchmark_utils import L1Objective


class Objective(L1Objective):
    """One lam, as a fraction of the largest that matters."""

    name = "Lasso"
    parameters = {"ratio": [10, 100], "fit_intercept": [False, True]}

    def lams(self, largest):
        return [largest / self.ratio]
