"""A fit that prints and is saved like an estimator, without scikit-learn.

To import scikit-learn takes longer than to read and fit most files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shotgun.inspection import Inspection
from shotgun.kinds import KINDS
from shotgun.model import Persistent, fingerprint
from shotgun.parallelism import of_fit
from shotgun.solve import Solution, solve
from shotgun.tensors import Array, Record

_DEFAULTS = {"tol": 1e-6, "fit_intercept": True, "standardize": False}  # of all estimators


class Fitted(Inspection, Persistent):
    """A model of numbers or of two classes: the bits of the estimator of its kind.

    Parameters
    ----------
    loss : str
        As in :func:`shotgun.solve`.
    lam : float
        Weight of the L1 norm against the sum of losses.
    **parameters
        Of the estimator.
    """

    def __init__(self, loss: str, lam: float, **parameters: Any) -> None:
        self._loss = loss  # type: ignore[misc]
        self.lam = lam
        self.parameters = parameters

    def fit(
        self,
        A: Any,
        y: Array,
        weights: Any = None,
        offset: Any = None,
        callback: Callable[[Record], Any] | None = None,
    ) -> Solution:
        """Fit, and tell what `shotgun.solve` found."""
        n = A.shape[0]
        total = n if weights is None else weights.sum()
        self.data_ = fingerprint(A, y, weights)
        if KINDS[self._loss].classify:
            self.classes_, codes = np.unique(y, return_inverse=True)
            target, scale = codes == 1, 1.0
            self.parameters["C"] = 1 / self.lam
            strength = float(1 / self.parameters["C"])
        else:  # the mean of the losses, with weights of mean one
            target, scale = y, 1 / n
            self.parameters["alpha"] = float(self.lam / total)
            strength = float(n * self.parameters["alpha"])
            weights = None if weights is None else weights * (n / total)
        options = self._options() | {"weights": weights, "offset": offset, "callback": callback}
        found = solve(A, target, strength, self._loss, **options)
        self._keep(found, scale)
        return found

    def _options(self) -> Record:
        given = self.parameters
        return {
            "tol": given["tol"],
            "fit_intercept": given["fit_intercept"],
            "standardize": given["standardize"],
            "deadline": given["deadline"],
            "n_threads": given["n_jobs"],
            "seed": given["random_state"],
            "order": "cyclic",
            "trace": True,
        }

    def _keep(self, found: Solution, scale: float) -> None:
        classes = KINDS[self._loss].classify
        self.coef_: Array = found.x[None] if classes else found.x
        self.intercept_: Any = np.array([found.intercept]) if classes else found.intercept
        self.n_features_in_ = found.x.size
        self.objective_ = scale * found.objective
        self.dual_gap_ = scale * found.gap
        self.certificate_ = found.certificate
        self.tolerance_ = scale * found.tolerance
        self.status_ = found.status
        many = self._loss == "logistic"
        self.n_iter_: Any = np.array([found.n_epochs], dtype=np.int32) if many else found.n_epochs
        self.parallelism_ = of_fit(found)

    def get_params(self, deep: bool = True) -> Record:
        """The parameters of the estimator."""
        return {**self.parameters, "max_iter": None}

    def _kind(self) -> str:
        return KINDS[self._loss].estimator

    def _penalty(self, n: int) -> tuple[float, float]:
        return self.lam, 0.0

    def _rows(self) -> Array:
        return np.atleast_2d(self.coef_)

    def __repr__(self) -> str:
        told = {
            name: value
            for name, value in sorted(self.get_params().items())
            if name == "max_iter" or value not in (None, _DEFAULTS.get(name), {"C": 1.0}.get(name))
        }
        return f"{self._kind()}({', '.join(f'{name}={value}' for name, value in told.items())})"
