"""Interrupts, and the files that they leave."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

from shotgun import ModelError
from shotgun.checkpoint import Interrupts, fit_path, identity, resume_path
from shotgun.tensors import write
from test_tensors import rewritten

rng = np.random.default_rng(0)
A = rng.normal(size=(50, 20))
Y = A[:, 0] - A[:, 1] + rng.normal(size=50)
LAMS = np.geomspace(20, 0.5, 12)
SAME = identity(A, Y, tol=1e-6)


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
    begun = fit_path(A, Y, LAMS, callback=stopped(n_rows))
    assert len(begun) < len(LAMS)
    assert set(begun.statuses) <= {"converged"}
    write(file, begun.pack(SAME))
    kept = resume_path(file, SAME)
    assert kept.pack(SAME) == begun.pack(SAME)
    whole = fit_path(A, Y, LAMS, begun=kept)
    assert whole.lams.tolist() == LAMS.tolist()
    assert whole.statuses == ["converged"] * len(LAMS)
    assert (whole.gaps <= whole.tolerance).all()
    assert whole.first(len(begun)).pack(SAME) == begun.pack(SAME)
    assert fit_path(A, Y, LAMS, begun=whole) is whole


def test_a_fit_that_met_its_deadline_is_made_again(tmp_path):
    file = str(tmp_path / "p.shotgun")
    fits = fit_path(A, Y, LAMS, deadline=0.0)
    assert fits.statuses == ["deadline"]
    write(file, fits.pack(SAME))
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
        ({"d": 0}, "d or tolerance is missing"),
        ({"tolerance": "x"}, "d or tolerance is missing"),
        ({"statuses": [1]}, "statuses are missing"),
        ({"statuses": ["converged"]}, "some fits are incomplete"),
    ],
)
def test_a_hostile_path_is_refused(values, message, tmp_path):
    file = str(tmp_path / "p.shotgun")
    write(file, hostile(fit_path(A, Y, LAMS).pack(SAME), **values))
    with pytest.raises(ModelError, match=f"p.shotgun: .*{message}"):
        resume_path(file, SAME)
