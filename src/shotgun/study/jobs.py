"""What a run does, in its own process: each job is a function of plain values to plain values.

Each loads its problem, says that it has `started`, and then has `limit` seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import shotgun
from shotgun import theory
from shotgun.estimator import by_columns
from shotgun.study import counters as hardware
from shotgun.study import memory_wall, problems
from shotgun.study.solvers import ENDLESS, classifier, parallel_sgd, sgd, smidas, solver
from shotgun.study.solvers.ours import OURS, pathwise
from shotgun.study.solvers.sgd import best_rate
from shotgun.study.watch import Watch, now

Value = dict[str, Any]
Started = Callable[[], None]

ACCURACY = 1e-4  # relative, of a race
WITHIN = 5e-3  # relative, of the paper's speed-ups (section 4.3)
PAPER_LAMS = {"squared": (0.5, 10.0), "logistic": (1.0,)}
RATIOS = {0.5: (100.0, 10.0), 10.0: (10.0, 3.0), 1.0: (10.0, 3.0)}  # lam_max over what replaces
# the paper's lam where that is too large, and where it is too small, to say anything
FULL = 0.5  # of the weights that can be non-zero; more make lam say nothing
MARKS = 400  # kept of a run
STOCHASTIC: dict[str, Any] = {"SGD": sgd, "Parallel SGD": parallel_sgd, "SMIDAS": smidas}


# What a problem is


def facts(problem: str, started: Started, limit: float) -> Value:
    """Size, rho and P*, how long rho took, and the lams to solve for."""
    line = problems.find(problem)
    A, y = line.load()
    started()
    begin = now()
    rho = shotgun.spectral_radius(A, tol=1e-2)
    seconds = begin.passed()
    report = shotgun.report(A, tol=1e-6)
    return {
        "n": report.n,
        "d": report.d,
        "nonzeros": int(A.nnz if sp.issparse(A) else np.count_nonzero(A)),
        "rho": report.rho,
        "ideal_p": report.ideal_p,
        "rough_rho": rho,
        "rho_seconds": seconds,
        "lam_max": shotgun.lambda_max(A, y, line.loss),
        "lams": [lam._asdict() for lam in lams(A, y, line.loss)],
    }


class Lam(NamedTuple):
    """One to solve for; `note` says why it is not the paper's."""

    lam: float
    name: str
    note: str


def lams(A: Any, y: Any, loss: str) -> list[Lam]:
    """The paper's, or parts of lam_max where those are vacuous."""
    most = shotgun.lambda_max(A, y, loss)
    found = []
    for lam in PAPER_LAMS[loss]:
        note = vacuous(A, y, lam, most, loss)
        ratio = RATIOS[lam][lam < most]
        found.append(
            Lam(most / ratio, f"lam_max/{ratio:g}", note) if note else Lam(lam, f"{lam:g}", "")
        )
    return found


def vacuous(A: Any, y: Any, lam: float, most: float, loss: str) -> str:
    """Why a lam would say nothing, if it would."""
    if lam >= most:
        return f"lam = {lam:g} is above lam_max = {most:.3g}: all weights are zero"
    fit = shotgun.solve(A, y, lam, loss, tol=1e-2, deadline=60)
    count, possible = np.count_nonzero(fit.x), min(A.shape)
    if count > FULL * possible:
        return f"lam = {lam:g} leaves {count} weights of at most {possible}"
    return ""


def optimum(problem: str, lam: float, started: Started, limit: float) -> Value:
    """F* with its certificate, as good as races need and the time allows."""
    line = problems.find(problem)
    A, y = line.load()
    started()
    fit = shotgun.solve(A, y, lam, line.loss, tol=1e-8, deadline=limit)
    return {
        "F": fit.objective,
        "gap": fit.gap,
        "null": fit.null_objective,
        "nonzeros": int(np.count_nonzero(fit.x)),
        "loss": fit.objective - lam * float(np.abs(fit.x).sum()),
        "seconds": fit.seconds,
        "status": fit.status,
    }


# Races


class Objective:
    """F, or what Hard_l0 minimises, of a problem."""

    def __init__(self, A: Any, y: Any, lam: float, loss: str) -> None:
        self.A, self.y, self.lam, self.loss = A, y, lam, loss

    def __call__(self, x: Any) -> float:
        z = self.A @ x.astype(self.A.dtype, copy=False)
        return self.losses(z) + self.lam * float(np.abs(x).sum())

    def losses(self, z: Any) -> float:
        if self.loss == "logistic":
            return float(np.logaddexp(0.0, -self.y * z).sum())
        r = z - self.y
        return 0.5 * float(r @ r)


def race(
    solver: str,
    problem: str,
    lam: float,
    best: float,
    started: Started,
    limit: float,
    accuracy: float = ACCURACY,
    s: int | None = None,
    how: Value | None = None,
) -> Value:
    """How long a solver takes until F <= (1 + accuracy) F*, or what it gets to.

    `s` is the number of weights for Hard_l0, which is judged by its own objective: `best` is then
    the sum of losses at the Lasso's solution.
    """
    line = problems.find(problem)
    A, y = line.load()
    objective = Objective(A, y, 0.0 if s is not None else lam, line.loss)
    solve, more = entrant(solver, line.loss)
    more |= how or {}
    if s is not None:
        more["s"] = s
    started()
    watch = Watch(objective, limit=limit, target=(1 + accuracy) * best)
    x = solve(A, y, lam, watch, **more)
    return told(watch, best) | {"nonzeros": int(np.count_nonzero(x))}


def entrant(name: str, loss: str) -> tuple[Callable[..., Any], Value]:
    """A solver and what it is told."""
    if loss == "logistic":
        return classifier(name), {}
    return (OURS[name], {}) if name in OURS else (solver(name), dict(ENDLESS[name]))


def told(watch: Watch, best: float) -> Value:
    """What the watch saw."""
    seconds = [mark.seconds for mark in watch.marks]
    F = np.array([mark.objective for mark in watch.marks])
    reached = np.flatnonzero((watch.target >= F) & (watch.limit >= np.array(seconds)))
    keep = np.unique(np.linspace(0, len(F) - 1, min(MARKS, len(F))).round().astype(int))
    return {
        "seconds": seconds[reached[0]] if len(reached) else None,
        "last": seconds[-1] if seconds else None,
        "suboptimality": float(F.min() / best - 1) if len(F) else None,
        "marks": [[watch.marks[k].seconds, watch.marks[k].objective] for k in keep],
        "extras": [watch.marks[k].extras for k in keep if watch.marks[k].extras],
    }


def planted(problem: str, s: int, started: Started, limit: float) -> Value:
    """How long Hard_l0 takes to find a signal of s weights again that is all there is in y."""
    A, _ = problems.find(problem).load()
    rng = np.random.default_rng(0)
    x = np.zeros(A.shape[1])
    there = rng.choice(np.flatnonzero(abs(A).sum(axis=0)), s, replace=False)
    x[there] = rng.choice([-1.0, 1.0], s) * (1 + rng.random(s))
    length = float(np.linalg.norm(x))
    started()
    watch = Watch(lambda found: float(np.linalg.norm(found - x)) / length, limit, ACCURACY)
    solver("Hard_l0")(A, A @ x, 1.0, watch, s=s, tol=0.0, **ENDLESS["Hard_l0"])
    return told(watch, length) | {"error": min(mark.objective for mark in watch.marks)}


# Theory and speed-ups


def simulate(
    problem: str,
    lam: float,
    P: int,
    best: float,
    started: Started,
    limit: float,
    step: float = 1.0,
    runs: int = 10,
    epochs: float = 1000.0,
) -> Value:
    """Fig. 2: T until the mean F of exact runs of Algorithm 2 is within 0.5 %; null if never."""
    line = problems.find(problem)
    A, y = line.load()
    A = A.toarray() if sp.issparse(A) else A
    stated = theory.Problem(A[:, A.any(axis=0)], y, lam, line.loss)
    started()
    begin = now()
    T = theory.iterations_to_tolerance(
        stated, P, best, tolerance=WITHIN, runs=runs, step=step, max_epochs=epochs
    )
    return {"T": T if math.isfinite(T) else None, "seconds": begin.passed()}


def iterations(
    problem: str, lam: float, P: int, engine: str, best: float, started: Started, limit: float
) -> Value:
    """Fig. 5 (b, d): updates until F <= 1.005 F*, over P, on all columns."""
    line = problems.find(problem)
    A, y = line.load()
    started()
    return {"T": iterations_of(A, y, lam, line.loss, P, engine, best, limit)}


def iterations_of(
    A: Any, y: Any, lam: float, loss: str, P: int, engine: str, best: float, limit: float
) -> float | None:
    """The same of a problem at hand; None if the time does not suffice.

    The number of epochs is raised, by a quarter in the end, each time from the start, and the
    count interpolated in log(F - F*) between the last two.
    """
    plain: Value = {"engine": engine, "P": P, "working_set": False}
    wanted, begin, epochs = WITHIN * best, now(), 1
    before, done = math.inf, 0
    while begin.passed() < limit:
        fit = shotgun.solve(A, y, lam, loss, max_epochs=epochs, **plain)
        left = fit.objective - best
        if left <= wanted:
            start = math.log(before / wanted) if math.isfinite(before) else 0.0
            part = start / math.log(before / max(left, 1e-9 * best)) if start else 1.0
            return (done + part * (fit.n_updates - done)) / P
        before, done, epochs = left, fit.n_updates, max(epochs + 1, epochs * 5 // 4)
    return None


def speed(
    problem: str,
    lam: float,
    P: int,
    engine: str,
    best: float,
    started: Started,
    limit: float,
    n_threads: int = 1,
) -> Value:
    """Fig. 5 (a, c): seconds until F <= 1.005 F*, on all columns, with so many threads."""
    line = problems.find(problem)
    A, y = line.load()
    started()
    watch = Watch(Objective(A, y, lam, line.loss), limit=limit, target=(1 + WITHIN) * best)
    how: Value = {"engine": engine, "P": P, "n_threads": n_threads, "loss": line.loss}
    pathwise(A, y, lam, watch, factor=0.0, **how)
    return told(watch, best)


# Logistic regression, with samples held out


def split(A: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Nine tenths to learn from, and the tenth that is held out (section 4.2)."""
    order = np.random.default_rng(0).permutation(len(y))
    learn, held = np.sort(order[len(y) // 10 :]), np.sort(order[: len(y) // 10])
    rows = A.tocsr() if sp.issparse(A) else A
    return by_columns(rows[learn]), y[learn], rows[held], y[held]


def error(A: Any, y: Any, x: Any) -> float:
    """The part of the samples that x has wrong; without an opinion, half."""
    margins = y * (A @ x.astype(A.dtype, copy=False))
    return float(np.mean(margins < 0) + 0.5 * np.mean(margins == 0))


def learnt(problem: str, lam: float, started: Started, limit: float) -> Value:
    """F* of the nine tenths, and the error on the tenth."""
    A, y, held, truth = split(*problems.find(problem).make())
    started()
    fit = shotgun.solve(A, y, lam, "logistic", tol=1e-8, deadline=limit)
    return {
        "F": fit.objective,
        "gap": fit.gap,
        "error": error(held, truth, fit.x),
        "samples": len(y),
    }


def curve(
    solver: str,
    problem: str,
    lam: float,
    best: float,
    started: Started,
    limit: float,
    how: Value | None = None,
) -> Value:
    """Fig. 4: a solver's objective and error on held-out samples, against time.

    The rate of SGD and its kin is chosen beforehand, as in the paper, and columns are as they come:
    those of unit norm would want rates far above the paper's.
    """
    A, y, held, truth = split(*problems.find(problem).make())
    objective = Objective(A, y, lam, "logistic")
    solve, more = entrant(solver, "logistic")
    more |= how or {}
    if solver in STOCHASTIC:
        A = rows_first(A)
        start = STOCHASTIC[solver].runs(A, y, lam, **more)
        more["rate"] = best_rate(start, Watch(objective, limit=limit))
    started()
    watch = Watch(
        objective,
        limit=limit,
        target=(1 + 1e-6) * best,
        look=lambda x: {"error": error(held, truth, x)},
    )
    solve(A, y, lam, watch, **more)
    return told(watch, best) | {"rate": more.get("rate")}


def rows_first(A: Any) -> Any:
    return A.tocsr() if sp.issparse(A) else np.ascontiguousarray(A)


def updates(solver: str, problem: str, started: Started, limit: float) -> Value:
    """Seconds that one stochastic step takes."""
    A, y = problems.find(problem).make()
    run = STOCHASTIC[solver].runs(rows_first(A), y, 1.0)(0.01)
    started()
    passes, begin = 0.0, now()
    while begin.passed() < limit / 2:
        passes += 0.02
        run.go(passes)
    return {"seconds_per_update": begin.passed() / round(passes * len(y))}


# Hardware


def memory(problem: str, threads: int, started: Started, limit: float) -> Value:
    """The memory wall: what an update costs in each variant, and what the machine can do."""
    A, y = problems.find(problem).load()
    started()
    counts = tuple(range(1, threads + 1))
    return {
        "machine": memory_wall.machine(counts),
        **memory_wall.measure(A, y, threads=counts),
    }


def counters(problem: str, threads: int, started: Started, limit: float) -> Value:
    """What the processor counts in an update, as far as `perf` may read it."""
    started()
    return hardware.measure(problem, tuple(range(1, threads + 1)), limit)


KINDS: dict[str, Callable[..., Value]] = {
    "facts": facts,
    "optimum": optimum,
    "race": race,
    "planted": planted,
    "simulate": simulate,
    "iterations": iterations,
    "speed": speed,
    "learnt": learnt,
    "curve": curve,
    "updates": updates,
    "memory": memory,
    "counters": counters,
}
