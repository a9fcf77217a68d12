"""The losses that have an estimator. Light: the command line's help shows them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Loss(StrEnum):
    squared = "squared"
    logistic = "logistic"
    squared_hinge = "squared_hinge"
    huber = "huber"
    poisson = "poisson"


class Kind(NamedTuple):
    estimator: str  # ours
    plain: str  # scikit-learn's, with its module
    alike: tuple[str, ...] = ()  # the parameters that mean the same there
    classify: bool = False


KINDS: dict[str, Kind] = {
    Loss.squared: Kind("Lasso", "linear_model.ElasticNet", ("alpha", "l1_ratio", "positive")),
    Loss.logistic: Kind(
        "LogisticRegression",
        "linear_model.LogisticRegression",
        ("penalty", "l1_ratio", "class_weight", "C"),
        classify=True,
    ),
    Loss.squared_hinge: Kind(
        "LinearSVC", "svm.LinearSVC", ("penalty", "class_weight", "C"), classify=True
    ),
    Loss.huber: Kind("SparseHuberRegressor", "linear_model.HuberRegressor"),
    Loss.poisson: Kind("SparsePoissonRegressor", "linear_model.PoissonRegressor"),
}
