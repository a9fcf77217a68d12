"""`shotgun demo`: a photograph."""

from __future__ import annotations

from rich.console import Console

from shotgun.demo import run as photograph
from shotgun.options import Given
from shotgun.verbs.telling import CONVERGED, NOT_CONVERGED


def run(given: Given) -> int:
    """A photograph."""
    done = photograph(Console(), given.size, given.output, given.threads, given.seed)
    return CONVERGED if done else NOT_CONVERGED
