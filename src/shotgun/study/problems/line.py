"""A line of the catalogue: a problem that is made when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp

from shotgun.study.problems.generated import Array


class Category(StrEnum):
    """The paper's four for the Lasso, and logistic regression."""

    SPARCO = "Sparco"
    CAMERA = "Single-pixel camera"
    IMAGING = "Sparse compressed imaging"
    TEXT = "Large, sparse"
    LOGISTIC = "Logistic regression"


@dataclass(frozen=True)
class Problem:
    """A line of the catalogue.

    Attributes
    ----------
    make : callable
        Gives A and y as they come.
    seed : int or None
        None where nothing is drawn.
    quick : bool
        Whether the quick study has it.
    file : str
        Of SHOTGUN_DATA; empty for what is generated.
    """

    name: str
    category: Category
    n: int
    d: int
    provenance: str
    make: Callable[[], tuple[Any, Array]]
    seed: int | None = None
    loss: str = "squared"
    quick: bool = False
    file: str = ""

    def load(self) -> tuple[Any, Array]:
        """A with columns of unit norm, in Fortran order or CSC, and y."""
        A, y = self.make()
        return unit_columns(A), y


def unit_columns(A: Any) -> Any:
    """A with every column over its norm (section 2 of the paper); empty ones stay empty."""
    if sp.issparse(A):
        A = sp.csc_matrix(A)
        A.sort_indices()
        lengths = np.diff(A.indptr)
        squares = np.add.reduceat(A.data**2, A.indptr[:-1][lengths > 0])
        A.data /= np.repeat(np.sqrt(squares), lengths[lengths > 0])
        return A
    A = np.asfortranarray(A)
    norms = np.sqrt(np.einsum("ij,ij->j", A, A))
    A /= np.where(norms > 0, norms, 1.0)
    return A
