"""Data sets from the folder that the environment variable SHOTGUN_DATA names."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun.study.problems.generated import Array
from shotgun.study.problems.line import Category, Problem


def folder() -> Path | None:
    """Where they are, if anywhere."""
    name = os.environ.get("SHOTGUN_DATA")
    return Path(name) if name else None


def at_hand(name: str) -> bool:
    """Whether this one is there."""
    where = folder()
    return where is not None and (where / f"{name}.npz").is_file()


def read(name: str) -> tuple[Any, Array]:
    """A and y; of two classes, -1 and +1."""
    where = folder()
    if where is None:
        raise ValueError(f"{name} is one of the data sets of SHOTGUN_DATA, which is not set")
    with np.load(where / f"{name}.npz", allow_pickle=False) as parts:
        y = parts["y"].astype(np.float64)
        if "X" in parts:
            A: Any = np.asfortranarray(parts["X"], dtype=np.float64)
        else:
            columns = (parts["data"].astype(np.float64), parts["indices"], parts["indptr"])
            A = sp.csc_matrix(columns, shape=tuple(parts["shape"]))
    values = np.unique(y)
    return A, np.where(y == values[1], 1.0, -1.0) if len(values) == 2 else y


def lines(
    category: Category, table: dict[str, tuple[Any, ...]], suffix: str = "", **rest: Any
) -> list[Problem]:
    """Lines of SHOTGUN_DATA: file -> n, d, provenance, whether quick."""
    return [
        Problem(
            file + suffix,
            category,
            n,
            d,
            provenance,
            partial(read, file),
            quick=quick,
            file=file,
            **rest,
        )
        for file, (n, d, provenance, quick) in table.items()
    ]
