"""Fits that were interrupted, and are continued."""

from __future__ import annotations

from typing import Any

from shotgun.checkpoint import identity
from shotgun.cli import say
from shotgun.options import Given
from shotgun.tensors import Record

_KEPT = ("n_lams", "eps", "tol", "no_intercept", "standardize", "seed")


def identity_to_keep(given: Given, A: Any, *vectors: Any, **more: Any) -> Record:
    """What must be the same for a fit to be resumed; it takes a look at all of A, and so is none
    where no file shall keep it."""
    if given.output is None:
        return {}
    options = {"loss": str(given.loss)} | {name: getattr(given, name) for name in _KEPT}
    return identity(A, *vectors, **options, **more)


def file_to_resume(given: Given) -> str:
    if given.output in (None, "-"):
        raise ValueError("--resume needs --output: the file that was written when interrupted")
    return str(given.output)


def interrupted(given: Given, number: int, what: str) -> int:
    """Say what was kept; the exit code tells the signal."""
    if given.output in (None, "-"):
        say("interrupted", f"{what} done; with --output they could be resumed")
    else:
        say("interrupted", f"{given.output} has {what}; --resume continues")
    return 128 + number
