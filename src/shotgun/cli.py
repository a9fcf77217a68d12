"""The command line: its verbs and their options. What they do is in verbs/."""

from __future__ import annotations

import functools
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

try:
    import typer
except ImportError:
    print("shotgun: the command line needs: pip install 'shotgun-l1[cli]'", file=sys.stderr)
    raise SystemExit(2) from None

from shotgun.kinds import Loss
from shotgun.options import (
    AnyFile,
    CVLossName,
    DataFile,
    Deadline,
    Eps,
    FigureNumber,
    Folder,
    Folds,
    Format,
    Given,
    Hours,
    Imputed,
    Json,
    Lam,
    LamCount,
    LamRatio,
    LossName,
    MaxBytes,
    Memory,
    ModelFile,
    MostFeatures,
    NewFile,
    NewFormat,
    NoIntercept,
    Offset,
    Output,
    Picture,
    Plot,
    Predictions,
    Proba,
    ProblemName,
    Quick,
    RaceLimit,
    Report,
    Resume,
    Scheduler,
    Seed,
    Select,
    Selection,
    Size,
    SolverName,
    Standardize,
    Target,
    Threads,
    Tol,
    Weights,
    Workers,
)

BAD_INPUT = 2

app = typer.Typer(
    name="shotgun",
    help="L1-regularised models, fitted in parallel and certified.\n\n"
    "Data are read from svmlight, CSV, Parquet, Arrow, npz and Matrix Market files; [b]-[/b] is "
    "standard input or output. Results go to standard output, progress and warnings to standard "
    "error.",
    epilog="Exit codes: 0 converged, 3 not converged, 2 bad usage or input, 130 or 143 stopped.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def verb(declared: Callable[..., None]) -> Callable[..., None]:
    """A command, by its options and its help; verbs/ has a file of its name.

    That is imported when it is needed: help is quick. Its answer is the exit code.
    """

    @app.command()
    @functools.wraps(declared)
    def run(**given: Any) -> None:
        with one_line_errors():
            does = importlib.import_module(f"shotgun.verbs.{declared.__name__}")
            raise typer.Exit(does.run(Given(**given)))

    return declared


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors and warnings as a line each on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say("warning", message)
            warnings.simplefilter("default")
            yield
    except KeyboardInterrupt:
        raise typer.Exit(128 + signal.SIGINT) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(128 + signal.SIGPIPE) from None
    except OSError as error:
        what = error.strerror or error
        say("error", f"{error.filename}: {what}" if error.filename else what)
        raise typer.Exit(BAD_INPUT) from None
    except (ValueError, TypeError, ImportError, MemoryError, OverflowError) as error:
        say("error", str(error) or type(error).__name__)
        raise typer.Exit(BAD_INPUT) from None


def say(kind: str, message: Any) -> None:
    """One line on standard error."""
    line = f"shotgun: {kind}: {' '.join(str(message).split())}"
    print(visible(line), file=sys.stderr, flush=True)


def visible(text: str) -> str:
    """What a terminal may be sent: names come from strangers, and might steer it."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


@verb
def demo(
    size: Size = 64,
    output: Picture = "shotgun-demo.png",
    threads: Threads = None,
    seed: Seed = 0,
) -> None:
    """See it work: a photograph, taken with a camera that has a single pixel."""


@verb
def fit(
    data: DataFile,
    target: Target = None,
    format: Format = None,
    weights: Weights = None,
    offset: Offset = None,
    impute: Imputed = None,
    max_bytes: MaxBytes = None,
    loss: LossName = Loss.squared,
    lam: Lam = None,
    lam_ratio: LamRatio = None,
    tol: Tol = 1e-6,
    no_intercept: NoIntercept = False,
    standardize: Standardize = False,
    deadline: Deadline = None,
    threads: Threads = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    seed: Seed = 0,
    output: Output = None,
    json: Json = False,
    plot: Plot = None,
    report: Report = None,
) -> None:
    """Fit one model, certified.

    [dim]shotgun fit train.csv --target price --lam-ratio 0.05 -o price.shotgun[/]
    On a cluster, DATA may be a pattern: [dim]shotgun fit 'part-*.parquet' -y price --workers 4[/]
    """


@verb
def path(
    data: DataFile,
    target: Target = None,
    format: Format = None,
    weights: Weights = None,
    offset: Offset = None,
    impute: Imputed = None,
    max_bytes: MaxBytes = None,
    loss: LossName = Loss.squared,
    n_lams: LamCount = 100,
    eps: Eps = 1e-3,
    tol: Tol = 1e-6,
    no_intercept: NoIntercept = False,
    standardize: Standardize = False,
    deadline: Deadline = None,
    threads: Threads = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    seed: Seed = 0,
    output: Output = None,
    resume: Resume = False,
    json: Json = False,
    plot: Plot = None,
    report: Report = None,
) -> None:
    """Fit a whole path of lams, from the one that makes all weights zero downwards.

    Ctrl-C leaves what is certified so far in --output; --resume continues from there. On a cluster,
    DATA may be a pattern, as for fit.
    """


@verb
def cv(
    data: DataFile,
    target: Target = None,
    format: Format = None,
    weights: Weights = None,
    offset: Offset = None,
    impute: Imputed = None,
    max_bytes: MaxBytes = None,
    loss: CVLossName = Loss.squared,
    folds: Folds = 5,
    select: Select = Selection.min,
    n_lams: LamCount = 100,
    eps: Eps = 1e-3,
    tol: Tol = 1e-6,
    no_intercept: NoIntercept = False,
    standardize: Standardize = False,
    deadline: Deadline = None,
    threads: Threads = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    seed: Seed = 0,
    output: Output = None,
    resume: Resume = False,
    json: Json = False,
    plot: Plot = None,
    report: Report = None,
) -> None:
    """Choose lam by cross-validation, and fit all data with it.

    Ctrl-C leaves the folds that are certified so far in --output; --resume continues from there. On
    a cluster, DATA may be a pattern, as for fit.
    """


@verb
def predict(
    model: ModelFile,
    data: DataFile,
    target: Target = None,
    format: Format = None,
    offset: Offset = None,
    impute: Imputed = None,
    max_bytes: MaxBytes = None,
    proba: Proba = False,
    output: Predictions = "-",
    json: Json = False,
) -> None:
    """Predict with a model, a line for each row of the data.

    Features are found by their names where both have names. If the data have a target, the score
    goes to standard error.
    """


@verb
def inspect(
    data: AnyFile,
    target: Target = None,
    format: Format = None,
    weights: Weights = None,
    offset: Offset = None,
    impute: Imputed = None,
    max_bytes: MaxBytes = None,
    loss: LossName = Loss.squared,
    no_intercept: NoIntercept = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Look at data (size, rho, P*, lam_max, odd columns) or at a model (weights, certificate).

    Standard input is taken for a model unless --format is given.
    """


@verb
def convert(
    data: DataFile,
    output: NewFile,
    target: Target = None,
    format: Format = None,
    to: NewFormat = None,
    weights: Weights = None,
    offset: Offset = None,
    impute: Imputed = None,
    max_bytes: MaxBytes = None,
    memory: Memory = "2GB",  # type: ignore[assignment]
    threads: Threads = None,
) -> None:
    """Write data in another format.

    [dim]shotgun convert train.csv train.svm.gz --target price[/]
    [dim]shotgun convert huge.svm.gz huge --to disk --memory 4GB[/]
    [dim]shotgun convert 'part-*.parquet' huge --to disk --target price[/]
    """


@verb
def study(
    quick: Quick = False,
    out: Folder = "shotgun-study",
    figure: FigureNumber = None,
    solver: SolverName = None,
    problem: ProblemName = None,
    features: MostFeatures = None,
    limit: RaceLimit = None,
    hours: Hours = None,
    threads: Threads = None,
) -> None:
    """Run the paper's experiments on this machine, and judge its claims by them.

    Ctrl-C loses only the current run: the same command continues, and draws the results so far.
    """


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("shotgun-l1"))
        raise typer.Exit


@app.callback()
def _shotgun(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """What the command `shotgun` runs."""
    app(prog_name="shotgun")
