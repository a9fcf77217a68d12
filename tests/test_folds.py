"""Cross-validation that goes on where it was interrupted."""

from __future__ import annotations

import numpy as np
import pytest

import shotgun
from shotgun import ModelError
from shotgun.checkpoint import Interrupts, identity
from shotgun.folds import Folds, Interrupted, resumable
from shotgun.tensors import write
from test_checkpoint import hostile

rng = np.random.default_rng(0)
A = rng.normal(size=(50, 20))
Y = A[:, 0] - A[:, 1] + rng.normal(size=50)
LAMS = np.geomspace(20, 0.5, 12)
SAME = identity(A, Y, tol=1e-6)


def test_folds_are_continued_with_the_same_bits(tmp_path):
    file = str(tmp_path / "m.shotgun")
    first = Folds(file, SAME, Interrupts())
    options = {"cv": 3, "alphas": LAMS / 50, "n_jobs": 1}
    whole = resumable(shotgun.LassoCV, first, **options).fit(A, Y)
    again = Folds(file, SAME, Interrupts())
    again.resume(file)
    told = []
    model = resumable(shotgun.LassoCV, again, **options, callback=told.append).fit(A, Y)
    assert {row["fold"] for row in told} == {None}  # the refit
    assert model.cv_scores_.tobytes() == whole.cv_scores_.tobytes()
    assert model.coef_.tobytes() == whole.coef_.tobytes()
    plain = shotgun.LassoCV(**options).fit(A, Y)
    assert model.coef_.tobytes() == plain.coef_.tobytes()


def test_a_fold_that_was_interrupted_keeps_its_fits_and_goes_on_with_the_others(tmp_path):
    file, stop = str(tmp_path / "m.shotgun"), Interrupts()
    first = Folds(file, SAME, stop)
    options = {"cv": 3, "alphas": LAMS / 50, "n_jobs": 1}

    def stops(row):
        if row["fold"] == 1 and row["lam"] < LAMS[5]:
            stop.signal = 2
        return stop.signal is not None

    with pytest.raises(Interrupted):
        resumable(shotgun.LassoCV, first, **options, callback=stops).fit(A, Y)
    assert sorted(map(len, first.kept.values())) == [6, 12]
    again, told = Folds(file, SAME, Interrupts()), []
    again.resume(file)
    model = resumable(shotgun.LassoCV, again, **options, callback=told.append).fit(A, Y)
    assert {row["fold"] for row in told} == {1, 2, None}
    assert max(row["lam"] for row in told if row["fold"] == 1) == pytest.approx(LAMS[6])
    plain = shotgun.LassoCV(**options).fit(A, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("folds", [None, {"a": 1}, {"a": {"d": 20, "targets": 1}}])
def test_hostile_folds_are_refused(folds, tmp_path):
    file = str(tmp_path / "m.shotgun")
    kept = Folds(file, SAME, Interrupts())
    kept.write()
    write(file, hostile((tmp_path / "m.shotgun").read_bytes(), folds=folds))
    with pytest.raises(ModelError, match=r"m\.shotgun: "):
        kept.resume(file)
