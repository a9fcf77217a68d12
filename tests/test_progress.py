"""Who wants to know how a fit is getting on is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor

from conftest import make_data
from shotgun import Lasso, LassoCV

N, D = 60, 12
MODELS = [Lasso(alpha=0.1), LassoCV(alphas=3, cv=3, n_jobs=2)]
both_models = pytest.mark.parametrize("model", MODELS, ids=["plain", "cv"])


@both_models
def test_scikit_learn_monitors_the_score_of_the_fitted_model(model: Any) -> None:
    data = make_data(N, D)
    monitor = ScoringMonitor(scoring="r2")
    for y in (data.y, -data.y):  # not that of the fit before
        model.set_callbacks(monitor).fit(data.A, y)
        [row] = monitor.get_logs().data
        assert row["r2"] == pytest.approx(model.score(data.A, y))


@both_models
def test_scikit_learns_bar_is_drawn(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    data = make_data(N, D)
    model.set_callbacks(ProgressBar()).fit(data.A, data.y)
    assert f"{type(model).__name__} - fit" in capsys.readouterr().out


def test_every_line_of_folds_side_by_side_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    data, written = make_data(N, D), []

    class Out:
        def write(self, text: str) -> None:
            written.append(text)

        def flush(self) -> None:
            pass

    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", Out())
        LassoCV(alphas=3, cv=3, n_jobs=2, verbose=1).fit(data.A, data.y)
    assert all(text.startswith("LassoCV: ") and text.endswith("\n") for text in written if text)
    told = {text.removeprefix("LassoCV: ").split(", ")[0] for text in written if text}
    assert told == {"fold 0", "fold 1", "fold 2", "refit"}


def test_who_ends_one_fold_ends_all_of_them_and_the_refit() -> None:
    data, rows = make_data(N, D), []

    def callback(row: dict[str, Any]) -> bool:
        rows.append(row["fold"])
        return rows.count(1) == 10

    model = LassoCV(cv=4, alphas=50, n_jobs=1, callback=callback).fit(data.A, data.y)
    assert rows.count(1) == 10
    assert {0, 1} == set(rows)
    assert model.status_ == "stopped"
    assert model.cv_scores_.shape == (4, len(model.grid_))
    assert 0 < len(model.grid_) < 50


def test_the_refit_of_a_cross_validation_is_told_of_and_may_be_stopped() -> None:
    data, rows = make_data(N, D), []

    def callback(row: dict[str, Any]) -> bool:
        rows.append(row)
        return row["fold"] is None

    model = LassoCV(cv=3, alphas=5, callback=callback).fit(data.A, data.y)
    assert [row["fold"] for row in rows].count(None) == 1
    assert rows[-1]["fold"] is None
    assert model.status_ == "stopped"
    assert len(model.grid_) == 5


def test_who_ends_the_fit_of_one_target_ends_the_others() -> None:
    data = make_data(N, D)
    model = Lasso(alpha=1e-3, callback=lambda row: row["round"] == 1)
    model.fit(data.A, np.column_stack([data.y, -data.y]))
    assert model.status_ == ["stopped"] * 2
    assert model.n_iter_[1] == 0
