"""one_vs_rest: more than two classes, one certified fit for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

import shotgun._core as _core
from shotgun.problem import LOSSES, Vector, check_choice, check_weights
from shotgun.solve import Solution, solve


@dataclass(frozen=True)
class OneVsRest:
    """One fit per class against all others.

    Attributes
    ----------
    classes : ndarray of shape (k,)
        The labels, sorted.
    fits : list of Solution
        The k-th separates `classes[k]` from the rest.
    """

    classes: np.ndarray[Any, Any]
    fits: list[Solution] = field(repr=False)

    @property
    def X(self) -> sp.csc_array:
        """The weights, one column per class."""
        return sp.hstack([sp.csc_array(fit.x[:, None]) for fit in self.fits], format="csc")

    @property
    def intercepts(self) -> Vector:
        return np.array([fit.intercept for fit in self.fits])

    def scores(self, A: Any) -> np.ndarray[Any, Any]:
        """A @ X + intercepts, of shape (n, k)."""
        return np.column_stack([A @ fit.x + fit.intercept for fit in self.fits])

    def predict(self, A: Any) -> np.ndarray[Any, Any]:
        """The class of the largest score, for each row of A."""
        return np.asarray(self.classes[self.scores(A).argmax(axis=1)])


def one_vs_rest(A: Any, y: Any, lam: float, loss: str = "logistic", **keywords: Any) -> OneVsRest:
    """Fit every class against the rest.

    Parameters
    ----------
    A, lam, keywords
        As in :func:`shotgun.solve`, the same for every class.
    y : array of shape (n,)
        Labels of any kind, at least two different ones; those of rows without weight do not count.
    loss : {"logistic", "squared_hinge"}

    Examples
    --------
    >>> import numpy as np, shotgun
    >>> A = np.array([[2.0, 0], [3, 0], [0, 2], [0, 3], [-2, -2], [-3, -3]])
    >>> shotgun.one_vs_rest(A, list("aabbcc"), lam=0.1).predict(A).tolist()
    ['a', 'a', 'b', 'b', 'c', 'c']
    """
    check_choice("loss", loss, tuple(n for n, t in LOSSES.items() if t == _core.Targets.classes))
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, not {labels.ndim}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    present = labels
    if keywords.get("weights") is not None:
        present = labels[check_weights(keywords["weights"], len(labels)) > 0]
    classes = np.unique(present)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, not {len(classes)}")
    A = A.tocsc() if sp.issparse(A) else np.asfortranarray(A)  # converted once, not for each
    return OneVsRest(classes, [solve(A, labels == c, lam, loss, **keywords) for c in classes])
