"""Models, tables, pictures and pages: what was asked for, on standard output or in files."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import shotgun
from shotgun import tensors
from shotgun.cli import visible
from shotgun.inspection import aligned
from shotgun.io import Data
from shotgun.model import describe
from shotgun.options import Given
from shotgun.tensors import Record

Figures = dict[str, Callable[[], Any]]

CONVERGED, NOT_CONVERGED = 0, 3
PICTURES = (".png", ".svg", ".pdf")


def check_outputs(given: Given) -> None:
    """Whether what is asked for can be written: before the work, not after it."""
    names = vars(given)
    plot = names.get("plot")
    if plot is not None and not plot.lower().endswith(PICTURES):
        raise ValueError(f"--plot {plot}: give a name that ends in {', '.join(PICTURES)}")
    taken = {names[what]: what.upper() for what in ("data", "model") if what in names}
    for what in ("output", "plot", "report"):
        name = names.get(what)
        if name is None or name == "-":
            continue
        check_writable(name)
        for other in taken:
            if same_file(other, name):
                raise ValueError(f"{name}: that is {taken[other]}, which would be overwritten")
        taken[name] = f"--{what}"


def check_writable(name: str) -> None:
    """Whether there can be such a file."""
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def same_file(one: str, other: str) -> bool:
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.abspath(one) == os.path.abspath(other)


def piped(given: Given) -> bool:
    """Whether the standard output is for a file."""
    return "-" in (given.output, given.report)


def show(given: Given, draw: Figures, tell_all: Callable[[Record], str]) -> None:
    """What --plot asks for: the first picture; and --report: a page with all of them."""
    if given.plot is None and given.report is None:
        return
    if given.plot is not None and not draw:
        raise ValueError("--plot: there is nothing to draw")
    made = {title: make() for title, make in list(draw.items())[: None if given.report else 1]}
    if given.plot is not None:
        next(iter(made.values())).savefig(given.plot, dpi=150)
    if given.report is not None:
        tensors.write(given.report, tell_all(made).encode(errors="replace"))


def tell(text: str) -> None:
    """On standard output. A reader who has seen enough, as `head` has, costs no file."""
    try:
        print(visible(text), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell_model(model: Any, given: Given, lam: float | None = None, **more: Any) -> int:
    """Write and print a model, and in JSON more; the exit code says whether it converged."""
    if given.output is not None:
        model.save(given.output)
    if not piped(given):
        text = model.summary() if lam is None else f"{model.summary()}\n\nlam {lam:.6g}"
        more = more if lam is None else more | {"lam": lam}
        tell(json.dumps(describe(model) | more) if given.json else text)
    converged = (np.atleast_1d(model.status_) == "converged").all()
    return CONVERGED if converged else NOT_CONVERGED


def table(columns: dict[str, list[Any]]) -> str:
    """Columns under their names."""
    cells = [
        [name, *(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)]
        for name, values in columns.items()
    ]
    return "\n".join(aligned(list(zip(*cells, strict=True))))


def second_fit(model: Any, A: Any, data: Data) -> Any:
    """A figure of how an estimator converges when it is fitted again."""
    rows = {"sample_weight": data.weights, "offset": data.offset}
    return shotgun.ConvergenceDisplay.from_estimator(model, A, data.y, **rows).figure_
