"""`shotgun path`: many lams."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import shotgun
from shotgun import tensors
from shotgun.bars import CountBar
from shotgun.checkpoint import Interrupts, pack_path, resume_path
from shotgun.io import Data
from shotgun.options import Given
from shotgun.tensors import Record
from shotgun.verbs.problems import grid, largest_lam, one_against_rest
from shotgun.verbs.reading import samples
from shotgun.verbs.resuming import file_to_resume, identity_to_keep, interrupted
from shotgun.verbs.telling import CONVERGED, NOT_CONVERGED, check_outputs, piped, show, table, tell

if TYPE_CHECKING:  # what a quick fit does not need is loaded where it is used
    import shotgun.page
    from shotgun import Path


def run(given: Given) -> int:
    """Many lams."""
    check_outputs(given)
    with samples(given) as data:
        return path_data(given, data)


def path_data(given: Given, data: Data) -> int:
    problem = path_problem(given, data)
    lams = grid(given, largest_lam(given, data, [problem["y"]]))
    same = identity_to_keep(given, data.A, problem["y"], data.weights, data.offset)
    begun = resume_path(file_to_resume(given), same) if given.resume else None
    with Interrupts() as stop, CountBar("path", len(lams)) as bar:
        how = {"deadline": given.deadline, "n_threads": given.threads}
        widest = Widest(bar)
        fits = shotgun.path(lams=lams, start=begun, **problem, **how, callback=stop.stops(widest))
    if fits.statuses[-1] == "stopped":
        fits = fits.first(len(fits) - 1)
    if given.output is not None:
        tensors.write(given.output, pack_path(fits, same))
    if not piped(given):
        tell_path(fits, given)
    if len(fits):
        show_path(fits, given, data, widest.P)
    if stop.signal is not None:
        return interrupted(given, stop.signal, f"{len(fits)} of {len(lams)} lams")
    done = len(fits) == len(lams) and set(fits.statuses) == {"converged"}
    return CONVERGED if done else NOT_CONVERGED


def path_problem(given: Given, data: Data) -> Record:
    """What is fitted, in the words of `shotgun.path`."""
    targets = one_against_rest(given, data.y)
    if len(targets) > 1:
        raise ValueError(f"{given.data}: a path needs two classes, not {len(targets)}")
    return {
        "A": data.A,
        "y": targets[0],
        "loss": str(given.loss),
        "weights": data.weights,
        "offset": data.offset,
        "fit_intercept": not given.no_intercept,
        "standardize": given.standardize,
        "tol": given.tol,
        "seed": given.seed,
    }


class Widest:
    """A callback that notes how many weights moved at once at most, and tells another."""

    def __init__(self, tell: Callable[[Record], None]) -> None:
        self.P, self._tell = 0, tell

    def __call__(self, row: Record) -> None:
        self.P = max(self.P, row["P"])
        self._tell(row)


def show_path(fits: Path, given: Given, data: Data, P: int) -> None:
    def path() -> Any:
        weights = {"coefs": fits.X, "feature_names": data.feature_names}
        return shotgun.PathDisplay(grid=fits.lams, **weights).plot().figure_

    draw = {"Path": path, "Convergence": lambda: shotgun.page.gaps(fits)}
    columns = path_columns(fits)
    show(given, draw, lambda made: shotgun.page.of_path(fits, given, data, made, columns, P))


def tell_path(fits: Path, given: Given) -> None:
    columns = path_columns(fits)
    tell(json.dumps({"tolerance": fits.tolerance, **columns}) if given.json else table(columns))


def path_columns(fits: Path) -> dict[str, list[Any]]:
    """What there is to tell of each fit; of the certificate only where the gap is no bound."""
    estimated = "gradient" in fits.certificates
    return {
        "lam": fits.lams.tolist(),
        "nonzero": np.diff(fits.X.indptr).tolist(),
        "objective": fits.objectives.tolist(),
        "gap": fits.gaps.tolist(),
        "epochs": fits.n_epochs.tolist(),
        "status": fits.statuses,
        **({"certificate": fits.certificates} if estimated else {}),
    }
