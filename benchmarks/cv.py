"""Cross-validation against the peers: the same folds and grid, each in a process of its own.

    python benchmarks/cv.py [--problems D debian_size_bigram rcv1] [--threads 2] [--limit 600]

LassoCV takes 5 folds and 100 alphas down to a thousandth of the largest, LogisticRegressionCV 5
folds and 10 Cs from 1e-4 to 1e4. `tol` is scikit-learn's default, 1e-4 of the squared norm of y
(ours is of half of that, without the mean: stricter), and for ours also 1e-6. Memory is
X and what the fit took beside it in the process, over the bytes of X; a small fit comes first, so
that nobody is charged for imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import families
import numpy as np
import problems
import scipy.sparse as sp

FOLDS, ALPHAS, EPS = 5, 100, 1e-3
CS = np.logspace(-4, 4, 10)


def shotgun_lasso(X: Any, y: Any, threads: int, tol: float = 1e-4) -> tuple[float, Any]:
    import shotgun

    model = shotgun.LassoCV(alphas=ALPHAS, eps=EPS, tol=tol, max_iter=None, n_jobs=threads)
    model.fit(X, y)
    return model.alpha_, model.mse_path_.mean(axis=1)


def sklearn_lasso(X: Any, y: Any, threads: int) -> tuple[float, Any]:
    from sklearn.linear_model import LassoCV

    model = LassoCV(alphas=ALPHAS, eps=EPS, n_jobs=threads, copy_X=False).fit(X, y)
    return model.alpha_, model.mse_path_.mean(axis=1)


def celer_lasso(X: Any, y: Any, threads: int) -> tuple[float, Any]:
    """Its LassoCV does not get along with today's scikit-learn: the same by its path."""
    from celer.homotopy import celer_path
    from joblib import Parallel, delayed
    from sklearn.model_selection import KFold

    centred = y - y.mean()
    alphas = np.abs(X.T @ centred).max() / len(y) * np.geomspace(1, EPS, ALPHAS)

    def errors(train: Any, test: Any) -> Any:
        A, b = X[train], y[train]
        mean = np.asarray(A.mean(axis=0)).ravel()
        if sp.issparse(A):
            how = {"X_offset": mean, "X_scale": np.ones(A.shape[1])}
            A = A.tocsc()
        else:
            A, how = np.asfortranarray(A - mean), {}
        coefs = celer_path(A, b - b.mean(), "lasso", alphas=alphas, tol=1e-4, **how)[1]
        guess = X[test] @ coefs + (b.mean() - mean @ coefs)
        return np.mean((guess - y[test, None]) ** 2, axis=0)

    jobs = (delayed(errors)(*fold) for fold in KFold(FOLDS).split(y))
    mse = np.mean(Parallel(n_jobs=threads, prefer="threads")(jobs), axis=0)
    best = alphas[mse.argmin()]
    celer_path(X, centred, "lasso", alphas=[best], tol=1e-4)  # the fit to all data
    return float(best), mse


def glmnet_lasso(X: Any, y: Any, threads: int) -> tuple[float, Any]:
    from glmnet import ElasticNet

    model = ElasticNet(
        n_lambda=ALPHAS,
        min_lambda_ratio=EPS,
        standardize=False,
        cut_point=0,
        n_splits=FOLDS,
        n_jobs=threads,
        scoring="mean_squared_error",
    ).fit(X, y)
    return float(model.lambda_best_[0]), -model.cv_mean_score_


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


def sklearn_logistic(X: Any, y: Any, threads: int, solver: str = "liblinear") -> tuple[float, Any]:
    from sklearn.linear_model import LogisticRegressionCV

    model = LogisticRegressionCV(
        Cs=CS,
        l1_ratios=(1.0,),
        solver=solver,
        scoring="neg_log_loss",
        use_legacy_attributes=False,
        n_jobs=threads,
    ).fit(X, y)
    return model.C_, -model.scores_.mean(axis=(0, 1))


def glmnet_logistic(X: Any, y: Any, threads: int) -> tuple[float, Any]:
    from glmnet import LogitNet

    model = LogitNet(
        lambda_path=1 / (len(y) * CS),
        standardize=False,
        cut_point=0,
        n_splits=FOLDS,
        n_jobs=threads,
        scoring="log_loss",
    ).fit(X, y)
    return float(1 / (len(y) * model.lambda_best_[0])), -model.cv_mean_score_


Contender = Callable[..., tuple[float, Any]]
LASSO: dict[str, Contender] = {
    "shotgun": shotgun_lasso,
    "shotgun, tol 1e-6": lambda *data: shotgun_lasso(*data, tol=1e-6),
    "celer": celer_lasso,
    "glmnet": glmnet_lasso,
    "scikit-learn": sklearn_lasso,
}
LOGISTIC: dict[str, Contender] = {
    "shotgun": shotgun_logistic,
    "shotgun, tol 1e-6": lambda *data: shotgun_logistic(*data, tol=1e-6),
    "glmnet": glmnet_logistic,
    "scikit-learn, liblinear": sklearn_logistic,
    "scikit-learn, saga": lambda *data: sklearn_logistic(*data, solver="saga"),
}


def data_of(problem: str) -> tuple[Any, Any]:
    """The columns in the order that each of the contenders reads in place."""
    if problem == "D":
        return families.dense_wide()
    return problems.real_data(problem)


def contenders(problem: str) -> dict[str, Contender]:
    return LOGISTIC if problem == "rcv1" else LASSO


def memory(field: str) -> int:
    """Bytes that Linux tells of this process: VmRSS now, VmHWM at most since it was reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field}")


def measure(problem: str, name: str, threads: int) -> dict[str, Any]:
    """One fit, in this process."""
    warnings.simplefilter("ignore")
    X, y = data_of(problem)
    size = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
    fit = contenders(problem)[name]
    fit(X[:200, :50], y[:200], threads)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = memory("VmRSS")
    begin = time.perf_counter()
    best, errors = fit(X, y, threads)
    seconds = time.perf_counter() - begin
    copies = 1 + (memory("VmHWM") - before) / size
    return {"seconds": seconds, "best": best, "errors": list(map(float, errors)), "memory": copies}


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
    print(f"{'':24}{'seconds':>9}{'memory':>8}{'chosen':>12}{'least error':>14}")
    found = {name: run(problem, name, threads, limit) for name in contenders(problem)}
    for name, answer in found.items():
        if answer is None:
            print(f"{name:24}{'> ' + format(limit, '.0f'):>9}")
            continue
        print(
            f"{name:24}{answer['seconds']:9.2f}{answer['memory']:8.2f}{answer['best']:12.4g}"
            f"{np.nanmin(answer['errors']):14.6g}"
        )
    peers = [a["seconds"] for n, a in found.items() if a and not n.startswith("shotgun")]
    ours = found["shotgun"]
    if ours and peers:
        print(f"{'ratio to the best peer':24}{ours['seconds'] / min(peers):9.2f}")


if __name__ == "__main__":
    main()
