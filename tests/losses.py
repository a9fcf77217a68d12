"""The losses that tests go through, and a problem for each."""

from __future__ import annotations

from typing import Any

import pytest
import scipy.sparse as sp

from conftest import D, N, make_data

LOSSES: dict[str, dict[str, Any]] = {
    "squared": {"loss": "squared"},
    "logistic": {"loss": "logistic"},
    "squared hinge": {"loss": "squared_hinge"},
    "huber": {"loss": "huber"},
    "huber, small delta": {"loss": "huber", "delta": 0.2},
    "poisson": {"loss": "poisson"},
}
CDN = ("shooting_cdn", "shotgun_cdn")
DETERMINISTIC = ("auto", "shooting", "bundle", "block", "newton", *CDN)

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
either_form = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])


def problem(loss: Any, sparse: bool = False, n: int = N, d: int = D, **kind: Any) -> Any:
    """A random problem of the loss's kind."""
    data = make_data(n, d, loss["loss"], density=0.6 if sparse else 1.0, **kind)
    return (sp.csc_array(data.A) if sparse else data.A), data.y
