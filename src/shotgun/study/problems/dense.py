"""Many samples of few, dense features: the regime of the paper's zeta."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shotgun.study.problems.generated import Array


def zeta(rows: int, columns: int, seed: int) -> tuple[Array, Array]:
    """Gaussian columns in float32, each mixed with the one before; classes from a tenth of them."""
    A = np.empty((rows, columns), dtype=np.float32, order="F")

    def draw(j: int) -> None:
        A[:, j] = np.random.default_rng((seed, j)).standard_normal(rows, dtype=np.float32)

    with ThreadPoolExecutor() as pool:
        list(pool.map(draw, range(columns)))
    for j in range(1, columns):
        A[:, j] = 0.5 * A[:, j - 1] + np.float32(np.sqrt(0.75)) * A[:, j]
    rng = np.random.default_rng(seed + 1)
    x = np.zeros(columns, dtype=np.float32)
    x[rng.choice(columns, columns // 10, replace=False)] = rng.standard_normal(columns // 10)
    z = A @ x
    z += z.std() * rng.standard_normal(rows, dtype=np.float32)
    return A, np.where(z > 0, 1.0, -1.0)
