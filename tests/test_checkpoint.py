"""Interrupts, and the files that they leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from shotgun import ModelError, disk
from shotgun.checkpoint import Interrupts, certified, identity, pack_path, resume_path
from shotgun.tensors import write
from test_tensors import rewritten

rng = np.random.default_rng(0)
A = rng.normal(size=(50, 20))
Y = A[:, 0] - A[:, 1] + rng.normal(size=50)
LAMS = np.geomspace(20, 0.5, 12)
SAME = identity(A, Y, tol=1e-6)
FACTS = shotgun.path(A, Y, LAMS[:1])._facts[0]


def test_the_first_signal_is_noted_and_the_second_counts():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as stop:
        assert stop.stops(lambda row: None)({}) is False
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal == signal.SIGTERM
        assert stop.stops(lambda row: None)({}) is True
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def stopped(n_rows):
    """Stops a fit when it tells of its n-th row."""
    rows = []
    return lambda row: rows.append(row) or len(rows) >= n_rows


@pytest.mark.parametrize("n_rows", [1, 2, 9])
def test_a_path_is_continued_behind_its_certified_fits(n_rows, tmp_path):
    file = str(tmp_path / "p.shotgun")
    begun = certified(shotgun.path(A, Y, LAMS, callback=stopped(n_rows)))
    assert len(begun) < len(LAMS)
    assert set(begun.statuses) <= {"converged"}
    write(file, pack_path(begun, SAME))
    kept = resume_path(file, SAME)
    assert pack_path(kept, SAME) == pack_path(begun, SAME)
    whole = shotgun.path(A, Y, LAMS, start=kept)
    assert whole.lams.tolist() == LAMS.tolist()
    assert whole.statuses == ["converged"] * len(LAMS)
    assert (whole.gaps <= whole.tolerance).all()
    assert pack_path(whole.first(len(begun)), SAME) == pack_path(begun, SAME)
    assert shotgun.path(A, Y, LAMS, start=whole) is whole


def test_a_path_cannot_start_from_another():
    begun = shotgun.path(A, Y, LAMS[:3])
    with pytest.raises(ValueError, match="start must be a path of the first of lams"):
        shotgun.path(A, Y, LAMS[1:], start=begun)
    with pytest.raises(ValueError, match="exclude each other"):
        shotgun.path(A, Y, LAMS, start=begun, checkpoint="file")


HOW = {"loss": "logistic", "fit_intercept": True, "weights": np.arange(50) % 3 + 1.0, "n_lams": 34}


@pytest.mark.parametrize("n_rows", [3, 60, 10**9])
def test_a_path_with_a_checkpoint_ends_as_if_it_had_never_been_interrupted(n_rows, tmp_path):
    never = shotgun.path(A, Y > 0, **HOW, checkpoint=tmp_path / "never")
    file = tmp_path / "file"
    cut = shotgun.path(A, Y > 0, **HOW, checkpoint=file, callback=stopped(n_rows))
    assert (len(cut) == 34) is (n_rows == 10**9)
    ended = shotgun.path(A, Y > 0, **HOW, checkpoint=file)
    assert ended.X.toarray().tobytes() == never.X.toarray().tobytes()
    for name in ("lams", "intercepts", "gaps", "n_epochs"):
        assert getattr(ended, name).tolist() == getattr(never, name).tolist()
    assert ended[-1].x.tolist() == never[-1].x.tolist()
    plain = shotgun.path(A, Y > 0, **HOW)
    np.testing.assert_allclose(ended.objectives, plain.objectives, rtol=1e-5)


def on_disk(numbers, folder):
    return disk.write(sp.csc_array(numbers), folder, tile_bytes=1000)


def on_cluster(numbers, _):
    dask = pytest.importorskip("dask")
    return shotgun.dask.matrix([dask.delayed(rows) for rows in np.array_split(numbers, 3)])


@pytest.mark.parametrize("home", [on_disk, on_cluster])
def test_a_path_elsewhere_is_continued_to_the_same_bits_and_of_the_same_numbers(home, tmp_path):
    file, B = tmp_path / "file", home(A, tmp_path / "A")
    never = shotgun.path(B, Y > 0, **HOW, checkpoint=tmp_path / "never")
    cut = shotgun.path(B, Y > 0, **HOW, checkpoint=file, callback=stopped(60))
    assert 0 < len(cut) < 34
    again = home(A, tmp_path / "again")  # as another process would
    ended = shotgun.path(again, Y > 0, **HOW, checkpoint=file)
    assert ended.X.toarray().tobytes() == never.X.toarray().tobytes()
    assert ended.gaps.tolist() == never.gaps.tolist()
    changed = A.copy()
    changed[17, 3] += 1e-9
    with pytest.raises(ModelError, match="it is of other data"):
        shotgun.path(home(changed, tmp_path / "changed"), Y > 0, **HOW, checkpoint=file)


def test_a_path_that_is_killed_is_continued_from_its_last_writing(tmp_path):
    killed = f"""
import os, numpy as np, shotgun
A, y = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60.0) % 7
rows = []
def callback(row):
    rows.append(row["lam"])
    if len(set(rows)) == 15:
        os.kill(os.getpid(), 9)
shotgun.path(A, y, n_lams=20, checkpoint={str(tmp_path / "file")!r}, callback=callback)
"""
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == -9
    B, y = np.random.default_rng(0).normal(size=(60, 30)), np.arange(60.0) % 7
    fitted = []
    whole = shotgun.path(
        B,
        y,
        n_lams=20,
        checkpoint=tmp_path / "file",
        callback=lambda row: fitted.append(row["lam"]),
    )
    assert len(set(fitted)) == 10
    assert whole.statuses == ["converged"] * 20
    assert [bool(fit.trace) for fit in whole] == [False] * 10 + [True] * 10


def test_a_checkpoint_of_another_path_is_refused(tmp_path):
    file = tmp_path / "file"
    shotgun.path(A, Y, LAMS, checkpoint=file)
    for change in ({"y": Y + 1}, {"tol": 1e-3}, {"lams": LAMS / 2}, {"bounds": (0, None)}):
        with pytest.raises(ModelError, match="file: cannot be resumed"):
            shotgun.path(**{"A": A, "y": Y, "lams": LAMS, "checkpoint": file} | change)


@pytest.mark.parametrize("form", [np.ndarray.tolist, sp.coo_array, sp.lil_array, sp.dok_array])
def test_a_checkpoint_is_of_whatever_a_path_takes(form, tmp_path):
    never = shotgun.path(form(A), Y, LAMS)
    for _ in range(2):
        kept = shotgun.path(form(A), Y, LAMS, checkpoint=tmp_path / "file")
        np.testing.assert_allclose(kept.objectives, never.objectives, rtol=1e-5)


def test_a_checkpoint_is_of_an_array_of_dask(tmp_path):
    array = pytest.importorskip("dask.array")
    B = array.from_array(A, chunks=(20, 20))
    whole = shotgun.path(B, Y, LAMS, checkpoint=tmp_path / "file")
    again = shotgun.path(B, Y, LAMS, checkpoint=tmp_path / "file")
    assert again.X.toarray().tobytes() == whole.X.toarray().tobytes()


def test_a_checkpoint_takes_options_of_numpys_types_for_the_same_numbers(tmp_path):
    file = tmp_path / "file"
    types = {"seed": np.uint64, "P": np.int64, "fit_intercept": np.bool_, "tol": np.float32}
    types |= {"deviance": np.array, "engine": np.str_, "bounds": np.array}
    plain = {"seed": 3, "P": 4, "fit_intercept": True, "tol": 2.0**-20, "deviance": 0.9}
    plain |= {"engine": "bundle", "bounds": (-1.0, 1.0)}
    numpys = {name: types[name](value) for name, value in plain.items()}
    whole = shotgun.path(A, Y, LAMS, checkpoint=file, **numpys)
    again = shotgun.path(A, Y, LAMS, checkpoint=file, **plain)
    assert again.X.toarray().tobytes() == whole.X.toarray().tobytes()


def test_a_fit_that_met_its_deadline_is_made_again(tmp_path):
    file = str(tmp_path / "p.shotgun")
    fits = shotgun.path(A, Y, LAMS, deadline=0.0)
    assert fits.statuses == ["deadline"]
    write(file, pack_path(fits, SAME))
    assert len(resume_path(file, SAME)) == 0


def hostile(content, **values):
    def change(header, body):
        record = json.loads(header["__metadata__"]["record"])
        header["__metadata__"]["record"] = json.dumps(record | values)

    return rewritten(content, change)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "model"}, "cannot be resumed: it holds 'model'"),
        ({"identity": None}, "of other data"),
        ({"identity": {"data": SAME["data"], "options": 3}}, "tol is another there"),
        ({"d": 2}, "X is not a sparse matrix"),
        ({"d": 0}, "d is missing"),
        ({"fits": None}, "told of the fits is incomplete"),
        ({"fits": [FACTS | {"gap": True}]}, "told of the fits is incomplete"),
        ({"fits": [FACTS | {"n_epochs": 2**63}]}, "told of the fits is incomplete"),
        ({"fits": [FACTS]}, "some fits are incomplete"),
    ],
)
def test_a_hostile_path_is_refused(values, message, tmp_path):
    file = str(tmp_path / "p.shotgun")
    write(file, hostile(pack_path(shotgun.path(A, Y, LAMS), SAME), **values))
    with pytest.raises(ModelError, match=f"p.shotgun: .*{message}"):
        resume_path(file, SAME)
