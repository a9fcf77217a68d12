"""Cross-validation against the peers: the same folds and grid, each in a process of its own.

    python benchmarks/cv.py [--problems D debian_size_bigram rcv1] [--threads 2] [--limit 600]

LassoCV takes 5 folds and 100 alphas down to a thousandth of the largest, LogisticRegressionCV 5
folds and 10 Cs from 1e-4 to 1e4. `tol` is each one's default, unless the name says otherwise;
scikit-learn's is 1e-4 of the squared norm of y (ours 1e-4 of half of that, without the mean:
stricter). Who does the same work is measured: `gap` is the worst duality gap over the grid on the
first fold, in parts of F at x = 0 (liblinear's in its own F, which penalises the intercept), and
`alphas` how many were fitted (glmnet stops once little is left to explain). "glmnet, as good" has
the largest of the tolerances 1e-7, 1e-7.5, ... whose gap is what scikit-learn's tol allows. `ratio`
is the time of the quickest of ours that is at least as good, over the peer's.

Memory is X and what the fit took beside it in the process, over the bytes of X; a small fit comes
first, so that nobody is charged for imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import families
import numpy as np
import problems
import scipy.sparse as sp
from process import forget_peak, memory
from scipy.special import entr, expit

FOLDS, ALPHAS, EPS = 5, 100, 1e-3
CS = np.logspace(-4, 4, 10)


def shotgun_lasso(X: Any, y: Any, threads: int, tol: float = 1e-4) -> tuple[float, Any]:
    import shotgun

    model = shotgun.LassoCV(alphas=ALPHAS, eps=EPS, tol=tol, max_iter=None, n_jobs=threads)
    model.fit(X, y)
    return model.alpha_, model.mse_path_.mean(axis=1)


def sklearn_lasso(X: Any, y: Any, threads: int, tol: float = 1e-4) -> tuple[float, Any]:
    from sklearn.linear_model import LassoCV

    model = LassoCV(alphas=ALPHAS, eps=EPS, tol=tol, n_jobs=threads, copy_X=False).fit(X, y)
    return model.alpha_, model.mse_path_.mean(axis=1)


def celer_lasso(X: Any, y: Any, threads: int, tol: float = 1e-4) -> tuple[float, Any]:
    """Its LassoCV does not get along with today's scikit-learn: the same by its path."""
    from celer.homotopy import celer_path
    from joblib import Parallel, delayed
    from sklearn.model_selection import KFold

    centred = y - y.mean()
    alphas = np.abs(X.T @ centred).max() / len(y) * np.geomspace(1, EPS, ALPHAS)

    def errors(train: Any, test: Any) -> Any:
        A, b = X[train], y[train]
        coefs = celer_path_of(A, b, alphas, tol)
        guess = X[test] @ coefs + (b.mean() - np.asarray(A.mean(axis=0)).ravel() @ coefs)
        return np.mean((guess - y[test, None]) ** 2, axis=0)

    jobs = (delayed(errors)(*fold) for fold in KFold(FOLDS).split(y))
    mse = np.mean(Parallel(n_jobs=threads, prefer="threads")(jobs), axis=0)
    best = alphas[mse.argmin()]
    celer_path(X, centred, "lasso", alphas=[best], tol=tol)  # the fit to all data
    return float(best), mse


def glmnet_lasso(X: Any, y: Any, threads: int, tol: float = 1e-7) -> tuple[float, Any]:
    from glmnet import ElasticNet

    model = ElasticNet(
        n_lambda=ALPHAS,
        min_lambda_ratio=EPS,
        standardize=False,
        cut_point=0,
        n_splits=FOLDS,
        n_jobs=threads,
        scoring="mean_squared_error",
        tol=tol,
        max_iter=10**9,
    ).fit(X, y)
    return float(model.lambda_best_[0]), -model.cv_mean_score_


def shotgun_path_of(A: Any, b: Any, alphas: Any, tol: float) -> Any:
    import shotgun

    return shotgun.path(A, b, lams=len(b) * alphas, tol=tol, fit_intercept=True).X


def celer_path_of(A: Any, b: Any, alphas: Any, tol: float) -> Any:
    from celer.homotopy import celer_path

    mean = np.asarray(A.mean(axis=0)).ravel()
    if sp.issparse(A):
        how = {"X_offset": mean, "X_scale": np.ones(A.shape[1])}
        A = A.tocsc()
    else:
        A, how = np.asfortranarray(A - mean), {}
    return celer_path(A, b - b.mean(), "lasso", alphas=alphas, tol=tol, **how)[1]


def glmnet_path_of(A: Any, b: Any, alphas: Any, tol: float) -> Any:
    from glmnet import ElasticNet

    how = {"standardize": False, "n_splits": 0, "tol": tol, "max_iter": 10**9}
    grid = {"n_lambda": len(alphas), "min_lambda_ratio": EPS}  # its own, so that it stops early
    return ElasticNet(**grid, **how).fit(A, b).coef_path_


def sklearn_path_of(A: Any, b: Any, alphas: Any, tol: float) -> Any:
    from sklearn.linear_model import Lasso

    model = Lasso(tol=tol, warm_start=True)
    return np.transpose([model.set_params(alpha=a).fit(A, b).coef_.copy() for a in alphas])


def fold_of(X: Any, y: Any) -> tuple[Any, Any]:
    """What the first fold leaves to fit."""
    A, b = X[len(y) // FOLDS :], y[len(y) // FOLDS :]
    return (A.tocsc() if sp.issparse(A) else np.asfortranarray(A)), b


def lasso_quality(X: Any, y: Any, path_of: Callable[..., Any], tol: float) -> tuple[float, int]:
    """The worst gap of a path on the first fold, over F at x = 0, and how many alphas it has."""
    A, b = fold_of(X, y)
    centred = b - b.mean()
    alphas = np.abs(A.T @ centred).max() / len(b) * np.geomspace(1, EPS, ALPHAS)
    coefs, worst = sp.csc_array(path_of(A, b, alphas, tol)), 0.0
    for k in range(coefs.shape[1]):
        x, lam = coefs[:, [k]].toarray().ravel(), len(b) * alphas[k]
        residual = b - A @ x
        residual -= residual.mean()
        dual = residual * min(1.0, lam / np.abs(A.T @ residual).max())
        primal = residual @ residual / 2 + lam * np.abs(x).sum()
        worst = max(worst, primal - centred @ dual + dual @ dual / 2)
    return 2 * worst / (centred @ centred), coefs.shape[1]


def logistic_quality(X: Any, y: Any, path_of: Callable[..., Any], tol: float) -> tuple[float, int]:
    """The same for classes -1 and 1; a path may take the intercept for a weight like any other."""
    A, b = fold_of(X, y)
    coefs, intercepts, penalised = path_of(A, b, CS, tol)
    worst = 0.0
    for x, intercept, lam in zip(coefs, intercepts, 1 / CS, strict=True):
        z = A @ x + intercept
        dual = b * expit(-b * z)
        if not penalised:  # then its sum is zero
            up, down = dual[dual > 0].sum(), -dual[dual < 0].sum()
            dual[dual > 0 if up > down else dual < 0] *= min(up, down) / max(up, down)
        dual *= min(1.0, lam / max(np.abs(A.T @ dual).max(), abs(dual.sum()) * penalised))
        size = np.abs(x).sum() + abs(intercept) * penalised
        primal = np.logaddexp(0, -b * z).sum() + lam * size
        worst = max(worst, primal - (entr(np.abs(dual)) + entr(1 - np.abs(dual))).sum())
    p = np.mean(b > 0)
    return worst / (len(b) * (entr(p) + entr(1 - p))), len(CS)


def glmnet_tolerance(X: Any, y: Any) -> float:
    """With which it does what scikit-learn's tol of 1e-4 promises."""
    allowed = 2e-4 * (y @ y) / ((y - y.mean()) ** 2).sum()
    for half_decades in range(12):
        tol = 10 ** (-7 - half_decades / 2)
        if lasso_quality(X, y, glmnet_path_of, tol)[0] <= allowed:
            return tol
    raise RuntimeError("glmnet does not get there")


def shotgun_logistic(X: Any, y: Any, threads: int, tol: float = 1e-4) -> tuple[float, Any]:
    import shotgun

    model = shotgun.LogisticRegressionCV(
        Cs=CS,
        scoring="neg_log_loss",
        use_legacy_attributes=False,
        tol=tol,
        max_iter=None,
        n_jobs=threads,
    ).fit(X, y)
    return model.C_, -model.cv_scores_.mean(axis=0)


def sklearn_logistic(
    X: Any, y: Any, threads: int, tol: float, solver: str = "liblinear"
) -> tuple[float, Any]:
    from sklearn.linear_model import LogisticRegressionCV

    model = LogisticRegressionCV(
        Cs=CS,
        l1_ratios=(1.0,),
        solver=solver,
        scoring="neg_log_loss",
        use_legacy_attributes=False,
        tol=tol,
        n_jobs=threads,
    ).fit(X, y)
    return model.C_, -model.scores_.mean(axis=(0, 1))


def glmnet_logistic(X: Any, y: Any, threads: int, tol: float) -> tuple[float, Any]:
    from glmnet import LogitNet

    model = LogitNet(
        lambda_path=1 / (len(y) * CS),
        standardize=False,
        cut_point=0,
        n_splits=FOLDS,
        n_jobs=threads,
        scoring="log_loss",
        tol=tol,
    ).fit(X, y)
    return float(1 / (len(y) * model.lambda_best_[0])), -model.cv_mean_score_


def shotgun_classes_of(A: Any, b: Any, Cs: Any, tol: float) -> tuple[Any, Any, bool]:
    import shotgun

    fits = shotgun.path(A, b, 1 / Cs, loss="logistic", tol=tol, fit_intercept=True)
    return fits.X.T.toarray(), fits.intercepts, False


def liblinear_classes_of(A: Any, b: Any, Cs: Any, tol: float) -> tuple[Any, Any, bool]:
    from sklearn.linear_model import LogisticRegression

    how = {"l1_ratio": 1.0, "solver": "liblinear", "tol": tol}
    fits = [LogisticRegression(C=C, **how).fit(A, b) for C in Cs]
    return [fit.coef_[0] for fit in fits], [fit.intercept_[0] for fit in fits], True


def glmnet_classes_of(A: Any, b: Any, Cs: Any, tol: float) -> tuple[Any, Any, bool]:
    from glmnet import LogitNet

    fit = LogitNet(lambda_path=1 / (len(b) * Cs), standardize=False, n_splits=0, tol=tol).fit(A, b)
    return fit.coef_path_[0].T, fit.intercept_path_[0], False


@dataclass(frozen=True)
class Contender:
    """Who cross-validates, how well, and the path that tells how well that is."""

    fit: Callable[..., tuple[float, Any]]
    tol: float | None  # None: as good as scikit-learn's
    path_of: Callable[..., Any] | None = None


LASSO = {
    "shotgun": Contender(shotgun_lasso, 1e-4, shotgun_path_of),
    "shotgun, tol 1e-6": Contender(shotgun_lasso, 1e-6, shotgun_path_of),
    "shotgun, tol 5e-3": Contender(shotgun_lasso, 5e-3, shotgun_path_of),
    "celer": Contender(celer_lasso, 1e-4, celer_path_of),
    "glmnet": Contender(glmnet_lasso, 1e-7, glmnet_path_of),
    "glmnet, as good": Contender(glmnet_lasso, None, glmnet_path_of),
    "scikit-learn": Contender(sklearn_lasso, 1e-4, sklearn_path_of),
}
LOGISTIC = {
    "shotgun": Contender(shotgun_logistic, 1e-4, shotgun_classes_of),
    "shotgun, tol 1e-6": Contender(shotgun_logistic, 1e-6, shotgun_classes_of),
    "shotgun, tol 1e-2": Contender(shotgun_logistic, 1e-2, shotgun_classes_of),
    "glmnet": Contender(glmnet_logistic, 1e-7, glmnet_classes_of),
    "scikit-learn, liblinear": Contender(sklearn_logistic, 1e-4, liblinear_classes_of),
    "scikit-learn, saga": Contender(partial(sklearn_logistic, solver="saga"), 1e-4),
}


def data_of(problem: str) -> tuple[Any, Any]:
    """The columns in the order that each of the contenders reads in place."""
    if problem == "D":
        return families.dense_wide()
    return problems.real_data(problem)


def contenders(problem: str) -> dict[str, Contender]:
    return LOGISTIC if problem == "rcv1" else LASSO


def measure(problem: str, name: str, threads: int) -> dict[str, Any]:
    """One fit, in this process."""
    warnings.simplefilter("ignore")
    X, y = data_of(problem)
    size = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
    who = contenders(problem)[name]
    tol = glmnet_tolerance(X, y) if who.tol is None else who.tol
    who.fit(X[:200, :50], y[:200], threads, tol)
    forget_peak()
    before = memory("VmRSS")
    begin = time.perf_counter()
    best, errors = who.fit(X, y, threads, tol)
    seconds = time.perf_counter() - begin
    copies = 1 + (memory("VmHWM") - before) / size
    quality = logistic_quality if problem == "rcv1" else lasso_quality
    gap, alphas = quality(X, y, who.path_of, tol) if who.path_of else (None, len(errors))
    return {
        "seconds": seconds,
        "best": best,
        "error": float(np.nanmin(errors)),
        "memory": copies,
        "gap": gap,
        "alphas": alphas,
    }


def run(problem: str, name: str, threads: int, limit: float) -> dict[str, Any] | None:
    command = [sys.executable, __file__, "--one", problem, name, "--threads", str(threads)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(f"{name} on {problem}: {done.stderr.strip().splitlines()[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=["D", "debian_size_bigram", "rcv1"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one fit")
    parser.add_argument("--one", nargs=2, metavar=("PROBLEM", "CONTENDER"))
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one, arguments.threads)))
        return
    for problem in arguments.problems:
        table(problem, arguments.threads, arguments.limit)


def table(problem: str, threads: int, limit: float) -> None:
    print(f"\n{problem}, {threads} threads, {Path(__file__).name}")
    print(
        f"{'':24}{'seconds':>9}{'memory':>8}{'chosen':>12}{'least error':>14}"
        f"{'alphas':>8}{'gap':>9}{'ratio':>7}"
    )
    found = {name: run(problem, name, threads, limit) for name in contenders(problem)}
    ours = [a for name, a in found.items() if a and name.startswith("shotgun")]
    for name, answer in found.items():
        if answer is None:
            print(f"{name:24}{'> ' + format(limit, '.0f'):>9}")
            continue
        gap = "" if answer["gap"] is None else f"{answer['gap']:.1e}"
        print(
            f"{name:24}{answer['seconds']:9.2f}{answer['memory']:8.2f}{answer['best']:12.4g}"
            f"{answer['error']:14.6g}{answer['alphas']:8}{gap:>9}"
            + ("" if name.startswith("shotgun") else f"{ratio(ours, answer):7.2f}")
        )


def ratio(ours: list[dict[str, Any]], peer: dict[str, Any]) -> float:
    """To the peer's time, of the quickest of ours that is as good; where no gap is known, of ours
    with the same tol."""
    if peer["gap"] is None:
        return float(ours[0]["seconds"] / peer["seconds"])
    as_good = [a["seconds"] for a in ours if a["gap"] <= peer["gap"]]
    return float(min(as_good, default=np.nan) / peer["seconds"])


if __name__ == "__main__":
    main()
