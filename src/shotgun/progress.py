"""How a fit is getting on, for whoever asked: verbose, a callback, those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

Row = dict[str, Any]


class Progress:
    """Tells of the rounds of an estimator's fit, and of its subtasks.

    scikit-learn's callbacks see the fit as a task and each round of it, or each fold of a
    cross-validation, as a subtask. Once one round is asked to be the last, or `stop` is set, all
    that are called afterwards are told to be: of other targets, of other folds, of the refit.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, n_folds: int | None = None) -> None:
        self.estimator, self.stop = estimator, Event()
        self.data = {"X": X, "y": y}
        self.task = estimator._init_callback_context(
            max_subtasks=n_folds, sequential_subtasks=n_folds is None
        )
        self.task.call_on_fit_task_begin(estimator=estimator, **self.data)

    def rounds(self) -> Callable[[Row], bool] | None:
        """What to call with each round's row; None if nobody wants to know."""
        listens = hasattr(self.estimator, "_skl_callbacks")
        tell = self._round if listens else self._told({})
        return tell and self._or_stop(tell)

    def fold(self, k: int) -> tuple[Any, Callable[[Row], bool]]:
        """The subtask of a fold, and what to call with its rows."""
        task = self.task.subcontext("fold", task_id=k)
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return task, self._or_stop(self._told({"fold": k}))

    def refit(self) -> Callable[[Row], bool]:
        """What to call with the rows of the fit to all data that follows the folds."""
        return self._or_stop(self._told({"fold": None}))

    def end(self, task: Any = None) -> None:
        """The subtask has ended, or all of the fit: only then is there a model to look at."""
        model: Row = {"reconstruction_attributes": {}} if task is None else {}
        (task or self.task).call_on_fit_task_end(estimator=self.estimator, **model, **self.data)

    def _or_stop(self, tell: Callable[[Row], bool] | None) -> Callable[[Row], bool]:
        def callback(row: Row) -> bool:
            if not self.stop.is_set() and tell is not None and tell(row):
                self.stop.set()
            return self.stop.is_set()

        return callback

    def _round(self, row: Row) -> bool:
        task = self.task.subcontext("round")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        stop = task.call_on_fit_task_end(estimator=self.estimator, **self.data)
        told = self._told({})
        return bool(stop) | bool(told and told(row))

    def _told(self, where: Row) -> Callable[[Row], bool] | None:
        callback, verbose = self.estimator.callback, self.estimator.verbose
        if callback is None and not verbose:
            return None

        def tell(row: Row) -> bool:
            row = where | row
            if verbose:
                text = f"{type(self.estimator).__name__}: {line(row)}\n"
                print(text, end="", flush=True)  # at once: folds run side by side
            return bool(callback and callback(row))

        return tell


def line(row: Row) -> str:
    """A round in words."""
    where = ""
    if "fold" in row:
        where = "refit, " if row["fold"] is None else f"fold {row['fold']}, "
    return (
        f"{where}lam {row['lam']:.4g}, round {row['round']}, epoch {row['epoch']}: "
        f"objective {row['objective']:.8g}, gap {row['gap']:.3g}, "
        f"working set {row['working_set']} of {row['active']}"
    )
