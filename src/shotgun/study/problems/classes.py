"""Logistic regression: text, as rcv1, and many dense samples, as zeta."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from shotgun.study.problems import dense, real, text
from shotgun.study.problems.line import Category, Problem


def lines() -> list[Problem]:
    seed = 500
    table: list[tuple[str, int, int, Callable[..., Any], str, bool]] = [
        ("news", 18217, 44504, text.news, "text in the size of the paper's rcv1", True),
        ("news_small", 1000, 2000, text.news, "text in kind, small", True),
        ("zeta_small", 20000, 200, dense.zeta, "zeta in kind, small", True),
        ("zeta_50k", 50000, 2000, dense.zeta, "zeta in kind, a tenth of its rows", False),
        ("zeta_500k", 500000, 2000, dense.zeta, "zeta in kind and size", False),
    ]
    made = [
        Problem(
            name,
            Category.LOGISTIC,
            n,
            d,
            provenance,
            partial(make, n, d, seed),
            seed,
            loss="logistic",
            quick=quick,
        )
        for name, n, d, make, provenance, quick in table
    ]
    classes = {
        "rcv1": (23749, 47236, "Lewis et al. 2004, another split than the paper's", True),
        "imdb_bigram": (25000, 437181, "Maas et al. 2011", False),
        "farm_ads": (4143, 54877, "UCI, words of advertisements", False),
        "arcene": (100, 9920, "the authors' copy of UCI's", False),
    }
    return made + real.lines(Category.LOGISTIC, classes, "_classes", loss="logistic")
