"""The figures in docs/decisions: each function prints those of one page.

python benchmarks/decisions.py [block | certificate | threads | lanczos | instructions | pathwise |
                                logistic | homotopy | fewer | lengthen | factor | compressed]
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
from families import FAMILIES
from problems import null_objective, real_data, table
from scipy.linalg import eigh_tridiagonal

import shotgun
from shotgun import theory
from shotgun.study.problems import find
from shotgun.study.problems.dense import zeta


def camera(values: tuple[float, float], masks: int, pixels: int, seed: int = 0):
    """Random masks with unit columns and a sparse scene."""
    rng = np.random.default_rng(seed)
    A = rng.choice(values, size=(masks, pixels))
    A = np.asfortranarray(A / np.linalg.norm(A, axis=0))
    scene = np.where(rng.random(pixels) < 0.03, rng.uniform(0.5, 2.0, pixels), 0.0)
    return A, A @ scene + 0.01 * rng.normal(size=masks)


def correlated(n: int = 2_000, d: int = 3_000, seed: int = 0):
    """Columns whose neighbours are alike (correlation 1/2)."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    for j in range(1, d):
        A[:, j] = 0.5 * A[:, j - 1] + np.sqrt(0.75) * A[:, j]
    truth = np.where(rng.random(d) < 0.05, rng.normal(size=d), 0.0)
    return np.asfortranarray(A), A @ truth + rng.normal(size=n)


PROBLEMS = {
    "0/1 masks 820 x 2048": lambda: camera((0.0, 1.0), 820, 2048),
    "+-1 masks 410 x 1024": lambda: camera((-1.0, 1.0), 410, 1024),
    "correlated 2000 x 3000": correlated,
}


def block() -> None:
    """Engines at the same P, plain (no working set), to a relative gap of 1e-6 at lam_max / 20."""
    print("problem                 P*   engine     P  epochs  updates / d  seconds (1, 2 threads)")
    for name, make in PROBLEMS.items():
        A, y = make()
        lam = shotgun.lambda_max(A, y) / 20
        ideal = shotgun.ideal_p(A)
        for engine, P in [("shooting", 1), ("bundle", 32), ("block", 32)]:
            keywords = {"engine": engine, "P": P, "working_set": False, "max_epochs": 20_000}
            fits = [
                min(
                    (shotgun.solve(A, y, lam, n_threads=t, **keywords) for _ in range(3)),
                    key=lambda s: s.seconds,
                )
                for t in (1, 2)
            ]
            assert np.array_equal(fits[0].x, fits[1].x)
            assert fits[0].status == "converged"
            s = fits[0]
            print(
                f"{name:<23} {ideal:<4} {engine:<9} {s.P:>2} {s.n_epochs:>7}"
                f" {s.n_updates / A.shape[1]:>12.1f}  {fits[0].seconds:7.3f} {fits[1].seconds:7.3f}"
            )
        if ideal < 32 and np.allclose(np.linalg.norm(A, axis=0), 1):
            F = theory.shotgun(theory.Problem(A, y, lam), 32, [0, 100], weights="signed").F
            print(
                f"{name:<23} {ideal:<4} Alg. 2    32  F after 100 steps is {F[1] / F[0]:.0e} x F(0)"
            )


def certificate() -> None:
    """The gap by brackets and as P - D, both in float64, against the same in extended precision."""

    def gaps(A, y, x, lam):
        r = y - A @ x
        c = A.T @ r
        theta = r * min(1.0, lam / abs(c).max())
        direct = r @ r / 2 + lam * abs(x).sum() - (y @ y / 2 - (y - theta) @ (y - theta) / 2)
        pull = A.T @ theta
        brackets = (r - theta) @ (r - theta) / 2 + (lam * abs(x) - pull * x).sum()
        return float(direct), float(brackets)

    A, y = camera((-1.0, 1.0), 410, 1024)
    lam = shotgun.lambda_max(A, y) / 1000
    wide = [a.astype(np.longdouble) for a in (A, y)]
    print(f"1/2 |y|^2 = {y @ y / 2:.3g}; relative errors against extended precision")
    print("epochs  F          gap            error of the brackets  error of P - D")
    for epochs in (50, 100, 200, 300, 400, 500):
        s = shotgun.solve(A, y, lam, tol=0, engine="shooting", working_set=False, max_epochs=epochs)
        direct, brackets = gaps(A, y, s.x, lam)
        truth = gaps(*wide, s.x.astype(np.longdouble), np.longdouble(lam))[1]
        errors = [abs(g - truth) / truth for g in (brackets, direct)]
        print(f"{epochs:<7} {s.objective:<10.4g} {truth:<14.3e} {errors[0]:<22.0e} {errors[1]:.0e}")


def threads() -> None:
    """No threads until the first parallel fit; a fork gets its own."""
    for names in ("numpy, scipy.sparse", "shotgun"):
        code = f"import os, {names}; print(len(os.listdir('/proc/self/task')))"
        alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        print(f"threads of a process after `import {names}`: {alone.stdout.strip()}")
    A, y = correlated()
    lam = shotgun.lambda_max(A, y) / 20
    want = shotgun.solve(A, y, lam, n_threads=2).x
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(shotgun.solve(A, y, lam, n_threads=2).x, want) else 1)
    _, status = os.waitpid(child, 0)
    seconds = time.perf_counter() - begin
    good = os.waitstatus_to_exitcode(status) == 0
    print(f"a fit in a forked child after one in the parent: same bits {good}, {seconds:.2f} s")
    answers: list[np.ndarray] = []
    users = [
        threading.Thread(target=lambda: answers.append(shotgun.solve(A, y, lam, n_threads=2).x))
        for _ in range(4)
    ]
    begin = time.perf_counter()
    for user in users:
        user.start()
    for user in users:
        user.join()
    same = all(np.array_equal(x, want) for x in answers)
    print(
        f"four Python threads fitting at once, two threads each: same bits {same}, "
        f"{time.perf_counter() - begin:.2f} s"
    )


def lanczos() -> None:
    """Products with A'A until rho is within 1e-6 of the truth, both from the same random vector."""
    print("problem                 rho        products: Lanczos  power iteration")
    for name, make in PROBLEMS.items():
        A, _ = make()
        A = A / np.linalg.norm(A, axis=0)
        exact = float(np.linalg.eigvalsh(A @ A.T if A.shape[0] < A.shape[1] else A.T @ A)[-1])
        assert abs(shotgun.spectral_radius(A) - exact) <= 2e-6 * exact
        start = 0.5 + np.random.default_rng(0).random(A.shape[1])
        start /= np.linalg.norm(start)
        v, power, estimate = start, 0, 0.0
        while abs(estimate - exact) > 1e-6 * exact:
            w = A.T @ (A @ v)
            estimate, power = float(v @ w), power + 1
            v = w / np.linalg.norm(w)
        v, before, steps, estimate = start, np.zeros_like(start), 0, 0.0
        diagonal: list[float] = []
        off: list[float] = []
        while abs(estimate - exact) > 1e-6 * exact:
            w = A.T @ (A @ v) - (off[-1] * before if off else 0.0)
            diagonal.append(float(v @ w))
            w -= diagonal[-1] * v
            estimate = float(eigh_tridiagonal(diagonal, off, eigvals_only=True)[-1])
            off.append(float(np.linalg.norm(w)))
            before, v, steps = v, w / off[-1], steps + 1
        print(f"{name:<23} {exact:<10.6g} {steps:>17} {power:>16}")


def instructions() -> None:
    """Dense fits by each instruction set that the processor has, in cache and out of it: plain
    shooting on float64, and what is done by default, by blocks on float32 copies."""
    code = """
import sys, time
sys.path.insert(0, "benchmarks")
import decisions, shotgun
from shotgun import _core
for n, d in ((200, 400), (1000, 1000), (2000, 3000)):
    A, y = decisions.correlated(n, d)
    lam = shotgun.lambda_max(A, y) / 20
    rates = []
    for plain in ({"engine": "shooting", "working_set": False}, {}):
        times = []
        for _ in range(9):
            begin = time.thread_time()
            s = shotgun.solve(A, y, lam, n_threads=1, **plain)
            times.append(time.thread_time() - begin)
        rates.append(n * s.n_updates / min(times) / 1e6)
    print(f"{_core.instructions():<9} {n} x {d}: {rates[0]:6.0f} {rates[1]:6.0f} Mnnz/s")
"""
    for wish in ("baseline", "avx2", "avx512"):
        environment = {**os.environ, "SHOTGUN_INSTRUCTIONS": wish}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def pathwise() -> None:
    """One small lam, straight from x = 0 and by way of a larger lam; interleaved, least of 5."""
    print("problem    straight  by way    epochs  (2 threads, ms)")
    for name, ratio in (("S", 500), ("D", 100), ("S", 100), ("C", 100)):
        A, y = FAMILIES[name]()
        lam = shotgun.lambda_max(A, y) / ratio
        starts = {"straight": np.zeros(A.shape[1]), "by way": None}  # who brings x0 is not led
        best: dict[str, shotgun.Solution] = {}
        for _ in range(5):
            for way, x0 in starts.items():
                fit = shotgun.solve(A, y, lam, x0=x0, n_threads=2, trace=True)
                best[way] = min(best.get(way, fit), fit, key=lambda s: s.seconds)
        ms = [f"{1e3 * best[way].seconds:.0f}" for way in starts]
        epochs = " and ".join(str(best[way].n_epochs) for way in starts)
        led = len({row["lam"] for row in best["by way"].trace}) > 1
        note = "" if led else "  not crowded: both straight"
        print(f"{name}/{ratio:<8} {ms[0]:>8}  {ms[1]:>6}  {epochs:>10}{note}")


def logistic() -> None:
    """The default against CDN on the loss itself; interleaved, least of 3."""
    engines = ("auto", "shooting_cdn", "shotgun_cdn")
    print(
        "problem   "
        + "".join(f"{engine:>24}" for engine in engines)
        + "   (2 threads, ms and epochs)"
    )
    for row in (row for row in table() if row.name in ("LR@1", "LR/100", "W/10")):
        problem = row.build()
        best: dict[str, shotgun.Solution] = {}
        for _ in range(3):
            for engine in engines:
                fit = shotgun.solve(
                    problem.A,
                    problem.y,
                    float(problem.lams[0]),
                    "logistic",
                    engine=engine,
                    n_threads=2,
                    deadline=30.0,
                )
                best[engine] = min(best.get(engine, fit), fit, key=lambda s: s.seconds)
        cells = (f"{1e3 * s.seconds:14.0f} in {s.n_epochs:5d}" for s in best.values())
        print(f"{row.name:10}" + "  ".join(cells), flush=True)


def homotopy() -> None:
    """Paths on dense data, descended and as `auto` takes them; interleaved, least of 2."""
    print("path, 100 lams      descended  automatic  (2 threads, s)")
    for name in ("D", "T"):
        A, y = FAMILIES[name]()
        for tol in (5e-3, 1e-3, 3e-4, 1e-4, 1e-6):
            seconds: dict[str, list[float]] = {"block": [], "auto": []}
            for _ in range(2):
                for engine, taken in seconds.items():
                    path = shotgun.path(A, y, engine=engine, tol=tol, n_threads=2)
                    assert set(path.statuses) == {"converged"}
                    taken.append(path.seconds)
            cells = "".join(f"{min(taken):11.2f}" for taken in seconds.values())
            print(f"{name}, gaps <= {tol:g} F0".ljust(20) + cells, flush=True)
    print("one lam, gap <= 1e-8 F0 (descended for 120 s at most)")
    for name in ("china32_01", "china64_01", "flower96_01"):
        A, y = find(name).load()
        fits = [
            shotgun.solve(A, y, 0.5, engine=engine, tol=1e-8, n_threads=2, deadline=120)
            for engine in ("newton", "auto")
        ]
        cells = "".join(f"{fit.seconds:11.2f}" for fit in fits)
        print(name.ljust(20) + cells + f"   {fits[0].status}, {fits[1].status}", flush=True)


def fewer() -> None:
    """Tall dense data, from x0 = 0 and begun with fewer samples; interleaved, least of 3."""
    print(
        "n x d, lam, tol                     passes: cold  growing   seconds: cold  growing  ratio"
    )
    for n, d in ((20_000, 20), (400_000, 20), (100_000, 100), (30_000, 300), (70_000, 1000)):
        A, y = zeta(n, d, seed=21)
        largest = shotgun.lambda_max(A, y, "logistic")
        for lam, tol, intercept in (
            (1.0, 1e-6, False),
            (1.0, 1e-4, True),
            (largest / 20, 1e-6, False),
        ):
            fits: dict[bool, list[shotgun.Solution]] = {True: [], False: []}
            for _ in range(3):
                for cold, done in fits.items():
                    x0 = np.zeros(d) if cold else None
                    how = {"x0": x0, "fit_intercept": intercept, "n_threads": 2, "trace": True}
                    done.append(shotgun.solve(A, y, lam, "logistic", tol=tol, **how))
            passes = [done[0].trace[-1]["passes"] for done in fits.values()]
            seconds = [min(fit.seconds for fit in done) for done in fits.values()]
            name = f"{n} x {d}, {lam:.3g}{' +b' if intercept else ''}, {tol:g}"
            print(
                f"{name:36}{passes[0]:12.0f}{passes[1]:9.0f}{seconds[0]:16.3f}{seconds[1]:9.3f}"
                f"{seconds[1] / seconds[0]:7.2f}",
                flush=True,
            )


def lengthen() -> None:
    """Ten lams, each fit from the last one's weights, as they are and as a path lengthens them."""
    print("classes          as they are: s, epochs   lengthened: s, epochs   (2 threads, tol 1e-4)")
    how = {"loss": "logistic", "fit_intercept": True, "tol": 1e-4, "n_threads": 2}
    for name, strongest in (("a9a", 4), ("farm_ads", 2), ("rcv1", 2)):
        A, y = real_data(name)
        lams = np.logspace(4, -strongest, 10)
        plain: list[shotgun.Solution] = []
        for lam in lams:
            plain.append(shotgun.solve(A, y, lam, x0=plain[-1].x if plain else None, **how))
        path = shotgun.path(A, y, lams, **how)
        epochs = sum(fit.n_epochs for fit in plain), sum(path[k].n_epochs for k in range(10))
        seconds = sum(fit.seconds for fit in plain)
        print(
            f"{name:16}{seconds:14.2f}{epochs[0]:10d}{path.seconds:14.2f}{epochs[1]:10d}",
            flush=True,
        )


def factor() -> None:
    """Classes whose supports are nearly collinear; one thread, processor seconds, least of 3."""
    print("problem          lam    tol      seconds  epochs  passes  support")
    for name, lam, tol in (
        ("a9a", 1.0, 1e-6),
        ("a9a", 0.01, 1e-6),
        ("madelon", 1.0, 1e-6),
        ("rcv1", 1e-3, 1e-4),
        ("farm_ads", 1.0, 1e-6),
        ("leukemia_golub", 1.0, 1e-6),
    ):
        A, y = real_data(name)
        how = {"tol": tol, "fit_intercept": True, "n_threads": 1, "trace": True}
        seconds = []
        for _ in range(3):
            begin = time.process_time()
            fit = shotgun.solve(A, y, lam, "logistic", **how)
            seconds.append(time.process_time() - begin)
        print(
            f"{name:15} {lam:5g} {tol:6g} {min(seconds):12.3f} {fit.n_epochs:7}"
            f" {fit.trace[-1]['passes']:7.0f} {np.count_nonzero(fit.x):8}",
            flush=True,
        )


def compressed() -> None:
    """Many samples of few columns: on the samples themselves, and as few of them; one thread."""
    print("problem                    within  as they are: ms, passes   compressed: ms, passes")
    rows = {row.name: row for row in table()}
    for name in (
        *("nycflights_delay/10", "nycflights_delay/100", "debian_size_bigram/10"),
        *("debian_size_bigram/100", "S/10", "XL/20", "a9a@1", "a9a/100"),
    ):
        problem = rows[name].build()
        how = {"fit_intercept": problem.intercept, "n_threads": 1, "trace": True}
        solve = partial(shotgun.solve, problem.A, problem.y, problem.lams[0], problem.loss, **how)
        best, null = solve(tol=1e-8).objective, null_objective(problem)
        for within in (1e-3, 1e-6):
            fits: dict[str, list[shotgun.Solution]] = {"newton": [], "auto": []}
            for _ in range(5):
                for engine, done in fits.items():
                    done.append(solve(engine=engine, tol=within * best / null))
            print(f"{name:24} {within:8g}", end="")
            for done in fits.values():
                seconds = min(fit.seconds for fit in done)
                print(f"{1e3 * seconds:15.1f}{done[0].trace[-1]['passes']:9.0f}", end="")
            print(flush=True)


PAGES = {
    f.__name__: f
    for f in (
        block,
        certificate,
        threads,
        lanczos,
        instructions,
        pathwise,
        logistic,
        homotopy,
        fewer,
        lengthen,
        factor,
        compressed,
    )
}

if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        print(f"--- {page}")
        PAGES[page]()
