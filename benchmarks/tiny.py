"""Small fits, where calling costs more than computing, against scikit-learn's Lasso.

    python benchmarks/tiny.py [--seconds 1]

Default calls of both (ours certifies 1e-6, scikit-learn stops at 1e-4), with an intercept, at
lam_max / 10 and / 100, on 10 x 5 and on scikit-learn's toy data sets, interleaved; the least of
many runs counts. The targets of the classifying sets are read as numbers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from problems import lambda_max
from sklearn import datasets
from sklearn.linear_model import Lasso

import shotgun

TOYS = ("diabetes", "linnerud", "iris", "wine", "breast_cancer", "digits")


def data() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    yield "10 x 5", np.asfortranarray(rng.standard_normal((10, 5))), rng.standard_normal(10)
    for name in TOYS:
        A, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        targets = np.atleast_2d(y.T).astype(float)
        for k, target in enumerate(targets):
            label = name if len(targets) == 1 else f"{name}, target {k}"
            yield label, np.asfortranarray(A, dtype=float), target


def race(contestants: list[Callable[[], Any]], seconds: float) -> list[float]:
    """Least time of each, taking turns."""
    best = [np.inf] * len(contestants)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, contestant in enumerate(contestants):
            begin = time.perf_counter()
            contestant()
            best[k] = min(best[k], time.perf_counter() - begin)
    return best


def calls(A: np.ndarray, y: np.ndarray, lam: float) -> list[Callable[[], Any]]:
    model = Lasso(alpha=lam / len(y))
    return [lambda: shotgun.solve(A, y, lam, fit_intercept=True), lambda: model.fit(A, y)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="for each line")
    options = parser.parse_args()
    print(f"{'':24s} {'lam':>10s} {'shotgun':>11s} {'Lasso.fit':>11s}  ratio")
    for name, A, y in data():
        for ratio in (10, 100):
            lam = lambda_max(A, y, intercept=True) / ratio
            ours, theirs = race(calls(A, y, lam), options.seconds)
            print(
                f"{name:24s} {f'max/{ratio}':>10s} {1e6 * ours:8.1f} us {1e6 * theirs:8.1f} us"
                f" {ours / theirs:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
