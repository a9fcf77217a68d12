"""The paper's claims, one by one, and whether they held here: each verdict is computed."""

from __future__ import annotations

from shotgun.study.claims import theory, lasso, logistic, speedup  # isort: skip  (the paper's order)
from shotgun.study.claims.verdict import CLAIMS, Verdict
from shotgun.study.runs import Results

__all__ = ["CLAIMS", "Verdict", "lasso", "logistic", "speedup", "theory", "verdicts"]


def verdicts(results: Results) -> list[Verdict]:
    """One for each claim, in the paper's order."""
    return [Verdict(c, c.judge(results)) for c in CLAIMS]
