from benchmark_utils import LassoObjective


class Objective(LassoObjective):
    """One lam, as a fraction of the largest that matters."""

    name = "Lasso"
    parameters = {"ratio": [10, 100], "fit_intercept": [False, True]}

    def lams(self, largest):
        return [largest / self.ratio]
