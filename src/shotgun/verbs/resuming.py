"""Fits that were interrupted, and are continued."""

from __future__ import annotations

from shotgun.cli import say
from shotgun.options import Given
from shotgun.tensors import Record

_KEPT = ("n_lams", "eps", "tol", "no_intercept", "standardize", "seed")


def kept_options(given: Given) -> Record:
    """The options that a fit must have again to be resumed."""
    return {"loss": str(given.loss)} | {name: getattr(given, name) for name in _KEPT}


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
