"""The options of the command line, and what its help says of them."""

from __future__ import annotations

import functools
import re
from enum import StrEnum
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from shotgun.kinds import Loss

Given = SimpleNamespace  # the options of a call, by their names


class Impute(StrEnum):
    mean = "mean"
    median = "median"
    zero = "zero"


class Selection(StrEnum):
    min = "min"
    one_se = "1se"


def _option(group: str, *names: str, **details: Any) -> Any:
    return typer.Option(*names, rich_help_panel=group, **details)


data = functools.partial(_option, "Data")
fit = functools.partial(_option, "Fit")
result = functools.partial(_option, "Result")

DataFile = Annotated[str, typer.Argument(metavar="DATA", help="The file, or - for stdin.")]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="The model, or - for stdin.")]
Target = Annotated[
    str | None,
    data("--target", "-y", metavar="COLUMN", help="What to predict: a column's name or number."),
]
Format = Annotated[
    str | None,
    data(
        "--format",
        metavar="NAME",
        help="svmlight, csv, tsv, parquet, arrow, npz or mtx.",
        show_default="from the suffix",
    ),
]
Weights = Annotated[str | None, data("--weights", metavar="COLUMN", help="Weights of the samples.")]
Offset = Annotated[
    str | None, data("--offset", metavar="COLUMN", help="Known part of the predictor.")
]
Imputed = Annotated[
    Impute | None,
    data(
        "--impute",
        metavar="HOW",
        help="Replace missing values by the column's mean or median, or by zero.",
        show_default="refuse them",
    ),
]
MaxBytes = Annotated[
    int | None,
    data(
        "--max-bytes",
        metavar="N",
        min=1,
        help="Refuse DATA that unpacks to more bytes.",
        show_default="256 MB, or 100 times the file",
    ),
]
LossName = Annotated[
    Loss,
    fit(
        "--loss",
        "-l",
        metavar="LOSS",
        help="squared, huber or poisson for numbers, logistic or squared_hinge for classes.",
    ),
]
CVLossName = Annotated[
    Loss,
    fit("--loss", "-l", metavar="LOSS", help="squared for numbers, logistic for classes."),
]
Lam = Annotated[
    float | None,
    fit("--lam", metavar="X", min=0, help="Weight of the L1 norm against the sum of losses."),
]
LamRatio = Annotated[
    float | None,
    fit(
        "--lam-ratio",
        metavar="X",
        min=0,
        help="Lam as a fraction of the smallest one that makes all weights zero.",
        show_default="0.1",
    ),
]
Tol = Annotated[
    float, fit("--tol", metavar="X", min=0, help="The gap to reach, over the objective at zero.")
]
NoIntercept = Annotated[bool, fit("--no-intercept", help="Fit no constant.")]
Standardize = Annotated[
    bool, fit("--standardize", help="Penalise weights as if features had unit variance.")
]
Deadline = Annotated[
    float | None,
    fit("--deadline", metavar="SECONDS", min=0, help="Stop after this time, converged or not."),
]
Threads = Annotated[
    int | None,
    fit("--threads", metavar="N", min=1, help="Most to use.", show_default="all processors"),
]
Seed = Annotated[
    int, fit("--seed", metavar="N", min=0, max=2**32 - 1, help="Seed of everything random.")
]
Workers = Annotated[
    int | None,
    fit("--workers", metavar="N", min=1, help="Processes of a Dask cluster here, to share DATA."),
]
Scheduler = Annotated[
    str | None,
    fit("--scheduler", metavar="ADDRESS", help="Of a Dask cluster that reads DATA, tcp://...."),
]
LamCount = Annotated[int, fit("--n-lams", metavar="N", min=1, help="How many lams.")]
Eps = Annotated[float, fit("--eps", metavar="X", help="The last lam over the first.")]
Output = Annotated[
    str | None,
    result("--output", "-o", metavar="FILE", help="Write the result here, usually as .shotgun."),
]
Resume = Annotated[bool, result("--resume", help="Continue what was interrupted, from --output.")]
Json = Annotated[bool, result("--json", help="Print JSON instead of a table.")]
Plot = Annotated[str | None, result("--plot", metavar="FILE", help="Draw it: png, svg or pdf.")]
Report = Annotated[
    str | None,
    result("--report", metavar="FILE", help="Write a report: one page of HTML."),
]
Folds = Annotated[int, fit("--folds", metavar="N", min=2, help="How many folds.")]
Select = Annotated[
    Selection,
    fit("--select", metavar="HOW", help="min: least error; 1se: fewest features about as good."),
]
AnyFile = Annotated[
    str, typer.Argument(metavar="FILE", help="Data, or a .shotgun file, or - for either.")
]
Proba = Annotated[bool, result("--proba", help="The probability of every class.")]
Predictions = Annotated[
    str,
    result("--output", "-o", metavar="FILE", help="Where predictions go.", show_default="stdout"),
]
NewFile = Annotated[str, typer.Argument(metavar="OUTPUT", help="The new file, or - for stdout.")]


def size(text: str) -> int:
    """Bytes, of 2GB, 500MB or a number alone, which is of GB."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d*)?|\.\d+) ?(GB|MB)?", text, re.IGNORECASE)
    count = 0
    if found is not None:
        count = int(float(found[1]) * 2 ** (20 if (found[2] or "").upper() == "MB" else 30))
    if count < 10 << 20:
        raise typer.BadParameter(f"{text!r} is not a size from 10MB on, as 2GB is")
    return count


Memory = Annotated[
    int,
    result(
        "--memory",
        metavar="SIZE",
        parser=size,
        help="About how much to use with --to disk: 2GB, 500MB.",
    ),
]
NewFormat = Annotated[
    str | None,
    result(
        "--to",
        metavar="NAME",
        help="svmlight, npz, csv, tsv, parquet or disk (a folder that fits read in place).",
        show_default="from the suffix",
    ),
]
Size = Annotated[int, fit("--size", min=16, max=128, metavar="N", help="Pixels a side.")]
Picture = Annotated[str, result("--output", "-o", metavar="FILE", help="The picture.")]
Quick = Annotated[bool, fit("--quick", help="Ten minutes instead of hours.")]
Folder = Annotated[
    str, result("--out", metavar="DIR", help="Where results go; continued if it exists.")
]
FigureNumber = Annotated[
    int | None,
    fit("--figure", metavar="N", min=1, max=6, help="Run for this figure only; 6: memory wall."),
]
SolverName = Annotated[
    str | None, fit("--solver", metavar="NAME", help="Only this one of the competitors.")
]
ProblemName = Annotated[str | None, fit("--problem", metavar="NAME", help="Only this problem.")]
RaceLimit = Annotated[
    float | None,
    fit(
        "--limit",
        metavar="SECONDS",
        min=0.001,
        help="Time limit of each race; a minute or more by default.",
    ),
]
Hours = Annotated[
    float | None,
    fit(
        "--hours",
        metavar="H",
        min=0.0,
        help="Start no run after that many; 0 only draws results so far.",
    ),
]
MostFeatures = Annotated[
    int | None, fit("--features", metavar="N", min=1, help="Only problems with at most N features.")
]
