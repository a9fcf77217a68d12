"""A matrix on a cluster: the fit of one in memory, the same bits for any workers, lost or not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from shotgun import disk, io

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402

N, D, SHARDS = 400, 1000, 5


def make_cluster(n_workers: int) -> Any:
    with dask.config.set({"distributed.admin.low-level-log-length": 10**6}):  # see made()
        return distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        )


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with make_cluster(2) as cluster, distributed.Client(cluster) as client:
        yield client


def make_problem() -> tuple[sp.csr_array, Any]:
    random = np.random.default_rng(0)
    A = sp.random_array((N, D), density=0.02, format="csr", dtype=np.float64, random_state=1)
    A.data[:] = random.standard_normal(A.nnz)
    y = A @ (random.standard_normal(D) * (random.random(D) < 0.1)) + random.standard_normal(N) + 3
    return A, y


def pieces(A: Any) -> list[Any]:
    return [A[rows] for rows in np.array_split(np.arange(N), SHARDS)]


def on_cluster(A: Any) -> Any:
    return shotgun.dask.matrix([dask.delayed(piece) for piece in pieces(A)])


def lam_of(A: Any, y: Any, **how: Any) -> float:
    return 0.05 * shotgun.lambda_max(A, y, **how)


@pytest.mark.parametrize(("loss", "standardize"), [("squared", False), ("logistic", True)])
def test_the_objective_is_that_of_a_fit_in_memory(
    client: Any, loss: str, standardize: bool
) -> None:
    A, y = make_problem()
    target = y if loss == "squared" else y > 3
    how: dict[str, Any] = {"loss": loss, "fit_intercept": True, "standardize": standardize}
    lam = lam_of(A, target, **how)
    B = on_cluster(A)
    assert lam_of(B, target, **how) == pytest.approx(lam, rel=1e-12)
    here = shotgun.solve(A, target, lam, tol=1e-10, **how)
    there = shotgun.solve(B, target, lam, tol=1e-10, **how)
    assert there.status == "converged"
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.n_rounds <= 15


def test_weights_and_float32_are_those_of_a_fit_in_memory(client: Any) -> None:
    A, y = make_problem()
    weights = np.random.default_rng(2).random(N)
    A = A.astype(np.float32)
    B = on_cluster(A)
    assert B.dtype == np.float32
    how: dict[str, Any] = {"weights": weights, "fit_intercept": True, "tol": 1e-10}
    here, there = (shotgun.solve(X, y, 2.0, **how) for X in (A, B))
    assert there.objective == pytest.approx(here.objective, rel=1e-9)


@pytest.fixture(params=["rows", "dense rows", "tiles"])
def far(request: Any, tmp_path: Path) -> Any:
    """A matrix of which no working set fits here."""
    A, _ = make_problem()
    with dask.config.set(scheduler="threads"):
        if request.param == "tiles":
            disk.write(A, tmp_path / "matrix", tile_bytes=A.nnz * 4)
            yield shotgun.dask.matrix(disk.open(tmp_path / "matrix"), room=3000)
        else:
            shards = pieces(A.toarray() if request.param == "dense rows" else A)
            room = 4e4 if request.param == "dense rows" else 3000
            yield shotgun.dask.matrix([dask.delayed(shard) for shard in shards], room=room)


@pytest.mark.parametrize(
    ("loss", "how"),
    [
        ("squared", {}),
        ("squared", {"l2": 0.5, "bounds": (-0.2, 0.3), "penalty_factor": 1 + np.arange(D) % 3}),
        ("logistic", {"fit_intercept": True, "standardize": True}),
        ("poisson", {"fit_intercept": True, "weights": 1.0 + np.arange(N) % 2}),
    ],
)
def test_a_working_set_that_does_not_fit_is_solved_in_blocks_by_the_workers(
    far: Any, loss: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    A, y = make_problem()
    target = {"squared": y, "logistic": y > 3, "poisson": np.abs(np.round(y))}[loss]
    lam = 0.2 * shotgun.lambda_max(A, target, loss, **how)
    here = shotgun.solve(A, target, lam, loss, tol=1e-9, **how)
    came: set[int] = set()
    fetch = type(far)._dense if far.dense else type(far)._sparse

    def counted(self: Any, which: Any) -> Any:
        came.update(which)
        return fetch(self, which)

    monkeypatch.setattr(type(far), fetch.__name__, counted)
    there = shotgun.solve(far, target, lam, loss, trace=True, **how)
    entries = N * len(came) if far.dense else A.tocsc()[:, list(came)].nnz
    assert 12 * entries <= far.room
    assert there.status == "converged"
    assert there.objective == pytest.approx(here.objective, rel=1e-6)
    assert max(row["working_set"] for row in there.trace) > 20


def test_a_working_set_that_does_not_fit_cannot_be_centred_without_an_intercept(far: Any) -> None:
    _, y = make_problem()
    with pytest.raises(ValueError, match="standardize without an intercept"):
        shotgun.solve(far, y, 2.0, standardize=True)


def tall() -> tuple[Any, Any]:
    random = np.random.default_rng(5)
    A = random.standard_normal((6400, 20)) + 0.5
    return A, A[:, :4].sum(axis=1) + random.standard_normal(6400)


def tall_on_cluster(A: Any, shards: int = 5) -> Any:
    """Too much to be fetched."""
    parts = [dask.delayed(rows) for rows in np.array_split(A, shards)]
    return shotgun.dask.matrix(parts, room=2e5)


@pytest.mark.parametrize(
    ("loss", "how"),
    [
        ("squared", {"fit_intercept": True}),
        ("squared", {"standardize": True, "weights": 1.0 + np.arange(6400) % 2}),
        ("squared", {"l2": 5.0, "bounds": (-0.2, 0.3), "penalty_factor": 1 + np.arange(20) % 3}),
        ("logistic", {}),
        ("logistic", {"fit_intercept": True, "standardize": True}),
        ("logistic", {"fit_intercept": True, "penalty_factor": np.arange(20) != 3}),
        ("poisson", {"fit_intercept": True}),
        ("huber", {"working_set": False}),
    ],
)
def test_the_rows_of_a_tall_matrix_stay_with_the_workers(
    loss: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    A, y = tall()
    target = {"logistic": y > 2, "poisson": np.abs(np.round(y))}.get(loss, y)
    lam = {"poisson": 500.0}.get(loss, 50.0)
    came: list[int] = []
    fetch = shotgun.dask.Matrix._dense

    def counted(self: Any, which: Any) -> Any:
        came.append(len(which) * self.shape[0])
        return fetch(self, which)

    monkeypatch.setattr(shotgun.dask.Matrix, "_dense", counted)
    with dask.config.set(scheduler="threads"):
        there = shotgun.solve(tall_on_cluster(A), target, lam, loss, tol=1e-8, **how)
    here = shotgun.solve(A, target, lam, loss, tol=1e-10, **how)
    assert there.status == "converged"
    assert there.objective == pytest.approx(here.objective, rel=1e-7)
    assert there.n_rounds <= 15
    assert sum(came) <= A.size / 4  # at most a few samples, to begin with


@pytest.mark.parametrize(("shift", "signal", "lam"), [(3.0, 1.0, 20.0), (0.5, 10.0, 2.0)])
def test_columns_far_from_zero_and_fits_that_sharpen_converge(
    shift: float, signal: float, lam: float
) -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((6400, 20))
    target = signal * A[:, :4].sum(1) + rng.standard_normal(6400) > 0
    A += shift
    with dask.config.set(scheduler="threads"):
        fit = shotgun.solve(
            tall_on_cluster(A), target, lam, "logistic", fit_intercept=True, tol=1e-8
        )
    assert fit.status == "converged"
    assert fit.n_rounds <= 15


@pytest.mark.parametrize(("n", "samples"), [(2000, {320, 2000}), (1000, {1000})])
def test_there_are_sixteen_samples_for_each_feature_at_first(n: int, samples: set[int]) -> None:
    A, y = tall()
    with dask.config.set(scheduler="threads"):
        fit = shotgun.solve(tall_on_cluster(A[:n]), y[:n] > 2, 20.0, "logistic", trace=True)
    assert {row["samples"] for row in fit.trace} == samples


def has_the_same_bits_for_any_workers(
    fit: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """By two workers, by one, by threads here, and where the workers add up what they answer."""
    two = fit()
    with make_cluster(1) as cluster, distributed.Client(cluster) as alone, alone.as_current():
        one = fit()
    with dask.config.set(scheduler="threads"):
        none = fit()
    monkeypatch.setattr(shotgun.dask.cluster, "FEW", 0)
    summed = fit()
    for other in (one, none, summed):
        np.testing.assert_array_equal(other.x, two.x)
        assert (other.gap, other.intercept) == (two.gap, two.intercept)
    return two


def test_a_tall_fit_has_the_same_bits_for_any_workers(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, y = tall()
    fit = has_the_same_bits_for_any_workers(
        lambda: shotgun.solve(tall_on_cluster(A), y > 2, 20.0, "logistic", trace=True), monkeypatch
    )
    assert {row["samples"] for row in fit.trace} == {400, 6400}


@pytest.mark.parametrize("room", [1e4, 1e9])
@pytest.mark.parametrize("sparse", [False, True])
def test_few_samples_come_first_on_a_cluster_as_in_memory(sparse: bool, room: float) -> None:
    A, y = tall()
    A = sp.csr_array(np.where(np.abs(A) > 1, A, 0.0)) if sparse else A
    parts = [dask.delayed(A[rows]) for rows in np.array_split(np.arange(6400), 7)]
    with dask.config.set(scheduler="threads"):
        B = shotgun.dask.matrix(parts, room=room)
        there = shotgun.solve(B, y > 2, 20.0, "logistic", trace=True)
    here = shotgun.solve(A, y > 2, 20.0, "logistic", trace=True)
    for fit, samples in ((here, {400, 1600, 6400}), (there, {400, 6400})):  # rounds are dear there
        assert {row["samples"] for row in fit.trace} == samples
        assert fit.status == "converged"
    assert there.objective == pytest.approx(here.objective, rel=1e-5)


def test_a_path_is_that_of_one_in_memory(client: Any) -> None:
    A, y = make_problem()
    here, there = (shotgun.path(X, y, n_lams=4, eps=0.1, tol=1e-9) for X in (A, on_cluster(A)))
    np.testing.assert_allclose(there.objectives, here.objectives, rtol=1e-8)


def test_the_bits_are_the_same_for_one_worker_two_and_none(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, y = make_problem()
    lam = lam_of(A, y)
    has_the_same_bits_for_any_workers(
        lambda: shotgun.solve(on_cluster(A), y, lam, fit_intercept=True), monkeypatch
    )


def as_dense_array(A: Any, y: Any, folder: Path) -> Any:
    return da.from_array(A.toarray(), chunks=(150, 400)), da.from_array(y, chunks=150)


def as_sparse_array(A: Any, y: Any, folder: Path) -> Any:
    parts = [
        da.from_delayed(dask.delayed(p), p.shape, meta=sp.csr_matrix((0, 0)))
        for p in map(sp.csr_matrix, pieces(A))
    ]
    return da.concatenate(parts), y


def as_dataframe(A: Any, y: Any, folder: Path) -> Any:
    import dask.dataframe as dd
    import pandas as pd

    table = pd.DataFrame(A.toarray()).rename(columns=str)
    return dd.from_pandas(table, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)


def as_delayed(A: Any, y: Any, folder: Path) -> Any:
    return [dask.delayed(piece) for piece in pieces(A)], y


def as_futures(A: Any, y: Any, folder: Path) -> Any:
    return distributed.get_client().scatter(pieces(A)), y


def as_pairs(A: Any, y: Any, folder: Path) -> Any:
    pairs = zip(pieces(A), np.array_split(y, SHARDS), strict=True)
    B = shotgun.dask.matrix([dask.delayed(tuple)(pair) for pair in pairs])
    return B, B.y


def as_svmlight(A: Any, y: Any, folder: Path) -> Any:
    return as_files(A, y, folder, "svm")


def as_parquet(A: Any, y: Any, folder: Path) -> Any:
    return as_files(A.toarray(), y, folder, "parquet", target="y")


def as_files(A: Any, y: Any, folder: Path, suffix: str, **how: Any) -> Any:
    names = [folder / f"{k}.{suffix}" for k in range(SHARDS)]
    for name, piece, target in zip(names, pieces(A), np.array_split(y, SHARDS), strict=True):
        features = None if suffix == "svm" else [f"f{j}" for j in range(D)]
        io.write(name, io.Data(piece, target, features))
    B = shotgun.dask.read(names, **how)
    return B, B.y


def as_tiles(A: Any, y: Any, folder: Path) -> Any:
    return shotgun.dask.matrix(disk.write(A, folder / "matrix", y, tile_bytes=20_000)), y


INPUTS = [
    as_dense_array,
    as_sparse_array,
    as_dataframe,
    as_delayed,
    as_futures,
    as_pairs,
    as_svmlight,
    as_parquet,
    as_tiles,
]


@pytest.mark.parametrize("make", INPUTS)
def test_estimators_take_every_kind_of_input_and_predict_lazily(
    client: Any, tmp_path: Path, make: Callable[..., Any]
) -> None:
    A, y = make_problem()
    X, target = make(A, y, tmp_path)
    here = shotgun.Lasso(alpha=0.01, tol=1e-10).fit(A, y)
    there = shotgun.Lasso(alpha=0.01, tol=1e-10).fit(X, target)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    prediction = there.predict(X)
    assert isinstance(prediction, da.Array)
    assert prediction.ndim == 1
    np.testing.assert_allclose(prediction.compute(), here.predict(A), atol=1e-4)


def test_classifiers_predict_labels_and_probabilities_lazily(client: Any) -> None:
    A, y = make_problem()
    labels = np.where(y > 3, "yes", "no")
    here = shotgun.LogisticRegression(C=2.0, tol=1e-9).fit(A, labels)
    there = shotgun.LogisticRegression(C=2.0, tol=1e-9).fit(B := on_cluster(A), labels)
    assert isinstance(there.predict(B), da.Array)
    assert (there.predict(B).compute() == here.predict(A)).all()
    assert there.predict_proba(B).shape == (N, 2)
    np.testing.assert_allclose(there.predict_proba(B).compute(), here.predict_proba(A), atol=1e-4)
    offset = np.arange(N) / N
    shifted = there.decision_function(B, offset=offset) - there.decision_function(B)
    np.testing.assert_allclose(shifted.compute(), offset, atol=1e-12)
    assert there.score(B, labels) == here.score(A, labels)


@pytest.mark.parametrize("collected", [False, True])
def test_predicting_computes_nothing_before_it_is_asked(client: Any, collected: bool) -> None:
    A, y = make_problem()
    model = shotgun.Lasso(alpha=0.01).fit(A, y)
    parts = [A[:150].toarray(), A[150:].toarray()]
    X: Any = [dask.delayed(p) for p in parts]
    if collected:
        arrays = zip(X, parts, strict=True)
        X = da.concatenate([da.from_delayed(x, p.shape, dtype=float) for x, p in arrays])
    with dask.config.set(scheduler=lambda *_, **__: pytest.fail("computed")):
        prediction = model.predict(X)
    if collected:
        assert prediction.chunks == ((150, 250),)
    np.testing.assert_allclose(prediction.compute(), model.predict(A), atol=1e-12)


def test_empty_shards_do_no_harm(client: Any) -> None:
    A, y = make_problem()
    for X in (A, A.toarray()):
        B = shotgun.dask.matrix([dask.delayed(p) for p in (X[:0], X[:100], X[100:100], X[100:])])
        here, there = (shotgun.solve(Z, y, 1.0, tol=1e-10) for Z in (X, B))
        assert there.objective == pytest.approx(here.objective, rel=1e-9)


def test_cross_validation_chooses_as_in_memory(client: Any) -> None:
    A, y = make_problem()
    here, there = (shotgun.LassoCV(cv=2, alphas=3, eps=0.1).fit(X, y) for X in (A, on_cluster(A)))
    assert there.alpha_ == pytest.approx(here.alpha_, rel=1e-9)
    np.testing.assert_allclose(there.mse_path_, here.mse_path_, rtol=1e-3)


def test_columns_come_in_the_order_asked_for(client: Any, tmp_path: Path) -> None:
    A, y = make_problem()
    which = np.array([700, 3, 900, 4, 1])
    for B in (on_cluster(A), as_tiles(A, y, tmp_path)[0]):
        np.testing.assert_array_equal(B.columns(which).toarray(), A[:, which].toarray())
        v = np.random.default_rng(0).standard_normal(N)
        np.testing.assert_allclose(B.scan(v, which.astype(np.int32)), A[:, which].T @ v)


def test_products_are_of_the_right_size_only(client: Any, tmp_path: Path) -> None:
    A, y = make_problem()
    d = A.shape[1]
    x = sp.random_array((d, 2), density=0.01, rng=np.random.default_rng(0), format="csc")
    for B in (on_cluster(A), as_tiles(A, y, tmp_path)[0]):
        for size in (d - 1, d + 1):
            with pytest.raises(ValueError, match=f"x must have {d} rows"):
                B @ np.ones(size)
        np.testing.assert_allclose(B @ np.ones(d), A @ np.ones(d))
        np.testing.assert_allclose(B @ x, (A @ x).toarray())
        np.testing.assert_array_equal(B @ np.zeros((d, 2)), np.zeros((N, 2)))


def test_svmlight_shards_agree_on_where_indices_begin(client: Any, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 0:1 2:5\n2 1:1\n")
    (tmp_path / "b.svm").write_text("3 1:7\n4 3:2\n")
    B = shotgun.dask.read([tmp_path / "a.svm", tmp_path / "b.svm"])
    expected = [[1, 0, 5, 0], [0, 1, 0, 0], [0, 7, 0, 0], [0, 0, 0, 2]]
    np.testing.assert_array_equal(B.to_memory().toarray(), expected)
    np.testing.assert_array_equal(B.y, [1, 2, 3, 4])


def fit_with(
    B: Any, y: Any, at_round_two: Callable[[], None], loss: str = "squared"
) -> tuple[Any, list[Any]]:
    told = []

    def callback(row: Any) -> None:
        told.append((row["round"], row["objective"], row["gap"]))
        if len(told) == 2:
            at_round_two()

    how: dict[str, Any] = {"fit_intercept": True, "tol": 1e-8, "callback": callback}
    return shotgun.solve(B, y, lam_of(B, y, loss=loss), loss, **how), told


def kill_a_worker(client: Any, B: Any) -> str:
    """One that alone has shards of B; returns its address."""
    keys = {shard.key for shard in B.shards}

    def shards_of() -> dict[str, set[str]]:
        return {address: keys & set(held) for address, held in client.has_what().items()}

    late = time.monotonic() + 60
    while sum(map(len, (kept := shards_of()).values())) > len(keys):  # some are there twice
        assert time.monotonic() < late
        client.amm.run_once()
        time.sleep(0.05)
    address = max(kept, key=lambda address: len(kept[address]))
    pid = client.run(os.getpid, workers=[address])[address]
    os.kill(pid, signal.SIGKILL)
    return address


def transitions(client: Any) -> Any:
    return client.cluster.scheduler.transition_log.copy()  # the scheduler goes on writing


def made(client: Any, B: Any) -> list[str]:
    """The shards of B in the order in which the scheduler had them made, each time they were."""
    keys = {shard.key for shard in B.shards}
    steps = [(key, start, end) for key, start, end, *_ in transitions(client) if key in keys]
    return [key for key, start, end in steps if (start, end) == ("processing", "memory")]


def in_tiles(folder: Path) -> tuple[Any, Any, str]:
    A, y = make_problem()
    folder.mkdir()
    return as_tiles(A, y, folder)[0], y, "squared"


def in_rows(_: Path) -> tuple[Any, Any, str]:
    A, y = make_problem()
    return on_cluster(A), y, "squared"


def in_tall_rows(_: Path) -> tuple[Any, Any, str]:
    A, y = tall()
    return tall_on_cluster(A), y > 2, "logistic"


@pytest.mark.parametrize("make", [in_rows, in_tiles, in_tall_rows])
def test_a_worker_killed_in_round_two_changes_nothing(
    client: Any, tmp_path: Path, make: Callable[[Path], tuple[Any, Any, str]]
) -> None:
    A, y, loss = make(tmp_path / "first")
    undisturbed, trace = fit_with(A, y, lambda: None, loss)
    assert len(trace) >= 4
    assert len(made(client, A)) == len(A.shards)
    del A  # so that the next one has keys of its own
    B, y, loss = make(tmp_path / "second")
    lost: list[str] = []
    disturbed, told = fit_with(B, y, lambda: lost.append(kill_a_worker(client, B)), loss)
    events = [event for _, event in client.get_events("all")]
    removed = {event["worker"] for event in events if event["action"] == "remove-worker"}
    assert len(lost) == 1
    assert set(lost) <= removed
    assert len(made(client, B)) > len(set(made(client, B))) == len(B.shards)
    client.wait_for_workers(2)
    assert told == trace
    np.testing.assert_array_equal(disturbed.x, undisturbed.x)
    assert disturbed.gap == undisturbed.gap


def test_scattered_shards_cannot_be_made_again(client: Any) -> None:
    A, y = make_problem()
    B = shotgun.dask.matrix(client.scatter(pieces(A)))
    with pytest.raises(ValueError, match="lost with a worker"):
        fit_with(B, y, lambda: kill_a_worker(client, B))
    client.wait_for_workers(2)


def test_a_worker_that_joins_and_one_that_leaves_change_nothing(client: Any) -> None:
    A, y = make_problem()
    _, trace = fit_with(on_cluster(A), y, lambda: None)
    assert len(trace) > 2  # rounds go on behind the one in which they do

    def count() -> int:
        return len(client.cluster.scheduler.workers)

    def scale(workers: int) -> None:
        assert count() == 5 - workers
        client.cluster.scale(workers)
        late = time.monotonic() + 60
        while count() != workers:
            assert time.monotonic() < late
            time.sleep(0.05)

    for workers in (3, 2):
        _, told = fit_with(on_cluster(A), y, lambda workers=workers: scale(workers))
        assert count() == workers
        assert told == trace


def broken() -> Any:
    raise OSError("no such tape")


def test_errors_of_a_worker_name_the_shard(client: Any, tmp_path: Path) -> None:
    A, y = make_problem()
    parts = [dask.delayed(piece) for piece in pieces(A)]
    with pytest.raises(ValueError, match="shard 2 of 5: no such tape"):
        shotgun.dask.matrix([*parts[:2], dask.delayed(broken)(), *parts[3:]])
    with pytest.raises(ValueError, match=r"shard 1 of 5: .*two dimensions"):
        shotgun.dask.matrix([parts[0], dask.delayed(np.zeros(3)), *parts[2:]])
    with pytest.raises(ValueError, match="shard 1 of 2: 7 features, but shard 0 of 2 has 1000"):
        shotgun.dask.matrix([parts[0], dask.delayed(np.zeros((2, 7)))])
    (tmp_path / "bad.svm").write_text("1 2:x\n")
    with pytest.raises(ValueError, match=r"bad\.svm"):
        shotgun.dask.read([tmp_path / "bad.svm"])
    B = disk.write(A, tmp_path / "matrix", y, tile_bytes=20_000)
    there = shotgun.dask.matrix(B)
    file = tmp_path / "matrix" / "tiles" / "00001" / "data.npy"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"tile 1 of .*damaged"):
        shotgun.solve(there, y, 1.0)


def test_what_a_remote_matrix_raises_ends_the_fit() -> None:
    from shotgun import _core

    def fail(*_: Any) -> Any:
        raise LookupError("gone")

    class Broken(shotgun.problem.Elsewhere):
        def design(self) -> Any:
            return _core.remote64(3, 2, 6, fail, fail, fail, fail, None)

    with pytest.raises(LookupError, match="gone"):
        shotgun.solve(Broken(), np.arange(3.0), 1.0)


@pytest.mark.parametrize("dense", [False, True])
def test_columns_are_fetched_once(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    A, y = make_problem()
    fetched: list[int] = []
    name = "_dense" if dense else "_sparse"
    fetch = getattr(shotgun.dask.Matrix, name)

    def noted(self: Any, which: Any) -> Any:
        fetched.extend(which)
        return fetch(self, which)

    monkeypatch.setattr(shotgun.dask.Matrix, name, noted)
    with dask.config.set(scheduler="threads"):
        B = on_cluster(A.toarray() if dense else A)
        assert B.dense is dense
        s = shotgun.solve(B, y, lam_of(A, y), fit_intercept=True)
    assert s.n_rounds > 2
    assert set(np.flatnonzero(s.x)) <= set(fetched)
    assert len(fetched) == len(set(fetched)) < D


@pytest.mark.parametrize("kind", ["sparse", "dense", "tall", "tiles"])
def test_every_number_tells_a_matrix_from_others(kind: str, tmp_path: Path) -> None:
    A, y = make_problem()
    A = {"dense": A.toarray(), "tall": np.ones((3200, 20))}.get(kind, A)

    def sums(name: str) -> Any:
        if kind == "tiles":
            (tmp_path / name).mkdir()
            return as_tiles(A, y, tmp_path / name)[0].checksums
        return tall_on_cluster(A).checksums if kind == "tall" else on_cluster(A).checksums

    with dask.config.set(scheduler="threads"):
        before = sums("before")
        np.testing.assert_array_equal(sums("same"), before)
        numbers = A.data if sp.issparse(A) else A.reshape(-1)
        numbers[numbers.size // 3 + 1] += 1e-9
        assert not np.array_equal(sums("changed"), before)


def test_without_a_client_threads_do_the_work() -> None:
    code = """
import dask, numpy, shotgun
A = shotgun.dask.matrix([dask.delayed(rows) for rows in numpy.split(numpy.eye(6), 2)])
assert shotgun.solve(A, numpy.arange(6.0), 1.0).status == "converged"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nan_is_found_where_it_is(client: Any) -> None:
    A = np.ones((10, 3))
    A[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 7, column 1"):
        shotgun.solve(da.from_array(A, chunks=(5, 3)), np.arange(10.0), 1.0)


@pytest.mark.parametrize("verb", ["path", "cv"])
def test_the_tool_fits_paths_and_cross_validates_on_workers(tmp_path: Path, verb: str) -> None:
    from typer.testing import CliRunner

    from shotgun.cli import app

    A, y = make_problem()
    io.write(tmp_path / "all.svm", io.Data(A, y))
    for k, rows in enumerate(np.array_split(np.arange(N), 2)):
        io.write(tmp_path / f"part-{k}.svm", io.Data(A[rows], y[rows]))
    told = []
    few = ["--n-lams", "4", "--eps", "0.1", "--json", *(["--folds", "2"] if verb == "cv" else [])]
    for data, more in (("all.svm", []), ("part-*.svm", ["--workers", "1"])):
        run = CliRunner().invoke(app, [verb, str(tmp_path / data), *few, *more])
        assert run.exit_code == 0, run.output
        answer = json.loads(run.stdout)
        told.append(answer["objective"] if verb == "path" else answer["cv"]["mean"])
    np.testing.assert_allclose(told[1], told[0], rtol=1e-3)


def test_a_tool_has_one_cluster(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from shotgun.cli import app

    for verb in ("fit", "path", "cv"):
        both = ["--workers", "1", "--scheduler", "tcp://127.0.0.1:1"]
        run = CliRunner().invoke(app, [verb, str(tmp_path / "none.svm"), *both])
        assert run.exit_code == 2
        assert "not both" in run.stderr


def files_read(client: Any) -> set[str]:
    done = [key for key, _, end, *_ in transitions(client) if end == "memory"]
    return {str(key) for key in done if "read_file" in str(key)}


@pytest.mark.parametrize("option", ["--workers", "--scheduler"])
def test_the_tool_fits_files_on_a_cluster(client: Any, tmp_path: Path, option: str) -> None:
    from typer.testing import CliRunner

    from shotgun.cli import app

    A, y = make_problem()
    io.write(tmp_path / "all.svm", io.Data(A, y))
    for k, rows in enumerate(np.array_split(np.arange(N), 2)):
        io.write(tmp_path / f"part-{k}.svm", io.Data(A[rows], y[rows]))
    objectives = []
    where = {"--workers": "1", "--scheduler": client.cluster.scheduler_address}[option]
    before = files_read(client)
    for data, more in (("all.svm", []), ("part-*.svm", [option, where])):
        model = tmp_path / "model.shotgun"
        told = CliRunner().invoke(app, ["fit", str(tmp_path / data), "-o", str(model), *more])
        assert told.exit_code == 0, told.output
        objectives.append(shotgun.load(model).objective_)
    assert objectives[1] == pytest.approx(objectives[0], rel=1e-5)
    assert len(files_read(client) - before) == (2 if option == "--scheduler" else 0)
