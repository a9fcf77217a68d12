"""Who wants to know how a fit is getting on is told."""

from __future__ import annotations

from typing import Any

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
    assert {0, 1, 2} == {int(text.split("fold ")[1][0]) for text in written if text}
    assert all(text.startswith("LassoCV: fold") and text.endswith("\n") for text in written if text)
