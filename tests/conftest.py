"""Problems for all tests: small random ones, and the real data of SHOTGUN_DATA."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_iris

from shotgun import _core

pytest.register_assert_rewrite("reference")
from reference import CLASSES, loss_slopes  # noqa: E402

# Fits of tests have the threads that they ask for, whatever else the machine does.
_core.heed_crowds(False)

# A shell has what it runs in the background ignore Ctrl-C, and so would the children of tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, so that a red run is red again; HYPOTHESIS_PROFILE=explore draws
# new ones each time, ten times as many, and nightly fifty times.
settings.register_profile("same", derandomize=True, database=None)
settings.register_profile("explore", settings.get_profile("default"), max_examples=1000)
settings.register_profile("nightly", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@dataclass(frozen=True)
class RealData:
    """One set of SHOTGUN_DATA: A as it came (Fortran order or CSC, float64), and y."""

    name: str
    A: Any
    y: NDArray[np.float64]

    def unit_columns(self) -> Any:
        """A with columns of norm one; all-zero columns stay."""
        if sp.issparse(self.A):
            norms = np.sqrt(np.asarray(self.A.multiply(self.A).sum(0)).ravel())
            return (self.A @ sp.diags_array(1 / np.where(norms > 0, norms, 1.0))).tocsc()
        norms = np.linalg.norm(self.A, axis=0)
        return np.asfortranarray(self.A / np.where(norms > 0, norms, 1.0))


def read_npz(path: Path) -> RealData:
    with np.load(path) as data:
        y = np.asarray(data["y"], dtype=np.float64)
        if "indptr" in data:
            parts = (data["data"].astype(np.float64), data["indices"], data["indptr"])
            A = sp.csc_matrix(parts, shape=tuple(data["shape"]))
        else:
            A = np.asfortranarray(data["X"], dtype=np.float64)
    return RealData(path.stem, A, y)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data, or a skip that says what is missing."""
    folder = os.environ.get("SHOTGUN_DATA")
    if not folder:
        pytest.skip("SHOTGUN_DATA is not set: no real data at hand")
    return Path(folder)


@pytest.fixture(scope="session")
def real_data(data_folder: Path) -> Callable[[str], RealData]:
    """Loader of one real data set by name; the last one is kept."""
    kept: dict[str, RealData] = {}

    def load(name: str) -> RealData:
        if name not in kept:
            path = data_folder / f"{name}.npz"
            if not path.exists():
                pytest.skip(f"{name}.npz is not in SHOTGUN_DATA")
            kept.clear()
            kept[name] = read_npz(path)
        return kept[name]

    return load


@dataclass(frozen=True)
class Data:
    """A random problem; `lam_max` is that of the loss without options."""

    A: NDArray[np.float64]
    y: NDArray[np.float64]
    loss: str

    @property
    def lam_max(self) -> float:
        gradient, _ = loss_slopes(self.loss, np.zeros(len(self.y)), self.y)
        return float(np.abs(self.A.T @ gradient).max())


def make_data(
    n: int, d: int, loss: str = "squared", *, seed: int = 0, density: float = 1.0, rank: int = 0
) -> Data:
    """Columns of unequal norms (correlated if rank > 0), a sparse truth, and what the loss is for:
    noise, noisy classes, noise with a few gross errors, counts."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
    if rank:
        A += rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    if density < 1:
        A *= rng.random((n, d)) < density
    truth = np.where(rng.random(d) < 0.3, rng.standard_normal(d), 0.0)
    score = A @ truth + 0.5 * rng.standard_normal(n)
    if loss in CLASSES:
        y = np.where(score + rng.logistic(size=n) > 0, 1.0, -1.0)
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.minimum(score / 2, 3.0))).astype(float)
    else:
        y = score + 0.3
    if loss == "huber":
        y[::9] += 20 * rng.standard_normal(len(y[::9]))
    return Data(np.asfortranarray(A), y, loss)


def diabetes() -> tuple[Any, Any]:
    """A data frame."""
    pytest.importorskip("pandas")
    return load_diabetes(return_X_y=True, as_frame=True)


def iris() -> tuple[Any, Any]:
    """Three classes by their names."""
    data = load_iris()
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="session")
def random_data() -> Callable[..., Data]:
    """Maker of a random problem: (n, d, loss, seed=, density=, rank=)."""
    return make_data


@pytest.fixture(scope="module")
def hard() -> Data:
    """Strongly correlated columns: thousands of epochs."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 1)) + 0.02 * rng.standard_normal((200, 400))
    return Data(np.asfortranarray(A), A[:, :20].sum(1) + rng.standard_normal(200), "squared")


# What may be handed to `solve` is tried on a small problem, whose A may come in any of these.

SMALL = 30, 8
LAYOUTS = [np.asfortranarray, np.ascontiguousarray, sp.csc_matrix, sp.csr_matrix]


@pytest.fixture
def data() -> Data:
    return make_data(*SMALL)


def given(A: Any, sparse: str | None, dtype: Any) -> Any:
    """A in one of its forms: dense, CSC with 64-bit indices, or CSR."""
    if sparse is None:
        return (A.toarray() if sp.issparse(A) else A).astype(dtype)
    A = (sp.csc_array if sparse == "csc" else sp.csr_matrix)(A, dtype=dtype)
    if sparse == "csc":
        A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


# Everything that F may have in it, for N samples and D features.

N, D = 40, 12


def weights(n: int = N) -> Any:
    """Unequal sample weights, some of them zero."""
    w = np.random.default_rng(1).uniform(0.2, 3.0, n)
    w[::7] = 0.0
    return w


def offset(n: int = N) -> Any:
    return np.random.default_rng(2).normal(0.0, 0.5, n)


def factors(d: int = D) -> Any:
    """Free, excluded and unequally penalised features."""
    pf = np.random.default_rng(3).uniform(0.3, 2.0, d)
    pf[[1, 6]] = 0.0
    pf[[2, d - 1]] = np.inf
    return pf


def box(d: int = D) -> Any:
    """Bounds of every kind: none, one side, both, a fixed value, zero outside."""
    lo, hi = np.full(d, -np.inf), np.full(d, np.inf)
    lo[0], hi[3] = -0.1, 0.1
    lo[4], hi[4] = -0.2, 0.3
    lo[5], hi[5] = 0.05, 0.4
    lo[7] = hi[7] = -0.15
    return lo, hi


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "intercept": {"fit_intercept": True},
    "weights": {"weights": weights()},
    "offset": {"offset": offset()},
    "factors": {"penalty_factor": factors()},
    "l2": {"l2": 3.0},
    "nonnegative": {"bounds": (0.0, None)},
    "narrow": {"bounds": (-0.2, 0.3)},
    "box": {"bounds": box()},
    "standardize": {"standardize": True},
    "standardize, intercept": {"standardize": True, "fit_intercept": True},
    "intercept, weights": {"fit_intercept": True, "weights": weights()},
    "intercept, offset": {"fit_intercept": True, "offset": offset()},
    "intercept, factors": {"fit_intercept": True, "penalty_factor": factors()},
    "intercept, box": {"fit_intercept": True, "bounds": box()},
    "factors, l2": {"penalty_factor": factors(), "l2": 1.0},
    "factors, narrow": {"penalty_factor": factors(), "bounds": (-0.2, 0.3)},
    "weights, standardize": {"weights": weights(), "standardize": True},
    "everything": {
        "fit_intercept": True,
        "standardize": True,
        "weights": weights(),
        "offset": offset(),
        "penalty_factor": factors(),
        "l2": 0.5,
        "bounds": (-0.25, 0.5),
    },
    "everything unbounded": {
        "fit_intercept": True,
        "standardize": True,
        "weights": weights(),
        "offset": offset(),
        "penalty_factor": factors(),
    },
}


def half_free(options: Any) -> bool:
    """A feature without penalty and bounded on one side only: no scaling makes a dual feasible."""
    if "penalty_factor" not in options or "bounds" not in options:
        return False
    lo, hi = (np.broadcast_to(b, D) for b in options["bounds"])
    free = options["penalty_factor"] == 0
    return bool((free & (np.isfinite(lo) != np.isfinite(hi))).any())
