"""Large and sparse: words and pairs of words, as many as the paper's financial reports have."""

from __future__ import annotations

from functools import partial
from typing import Any

from shotgun.study.problems import real
from shotgun.study.problems.generated import Array, huge_text, labels, planted, text_like
from shotgun.study.problems.line import Category, Problem

Data = tuple[Any, Array]

FIRST_LARGE = 2_000_000  # columns from which chunks of rows are made in parallel


def bigrams(n: int, d: int, words: int, seed: int) -> Data:
    """Targets from a thousand of the columns."""
    if d < FIRST_LARGE:
        A = text_like(n, d, words, seed, exponent=1.0)
    else:
        A = huge_text(n, d, words, seed, exponent=1.0)
    return A, 3 * planted(A, 1000, 0.5, seed + 1)


def news(n: int, d: int, seed: int) -> Data:
    """Two classes and 75 words a row, as rcv1 has."""
    A = text_like(n, d, 75, seed)
    return A, labels(A, 500, 0.5, seed + 1)


def lines() -> list[Problem]:
    seed = 400
    table = [
        ("bigrams_100k", 10_000, 100_000, 75, True),
        ("bigrams_200k", 30_465, 209_432, 75, False),
        ("bigrams_500k", 30_000, 500_000, 150, False),
        ("bigrams_1m", 30_000, 1_000_000, 200, False),
        ("bigrams_2m", 30_000, 2_000_000, 300, False),
        ("square_209k", 209_432, 209_432, 50, False),
        ("bigrams_5.8m", 30_000, 5_845_762, 6_230, False),
    ]
    made = [
        Problem(
            name,
            Category.TEXT,
            n,
            d,
            f"{words} words a row by a power law, tf-idf, a thousand planted weights",
            partial(bigrams, n, d, words, seed),
            seed,
            quick=quick,
        )
        for name, n, d, words, quick in table
    ]
    return made + real.lines(
        Category.TEXT,
        {
            "debian_size_bigram": (63310, 942501, "descriptions of Debian's packages", False),
            "imdb_bigram": (25000, 437181, "Maas et al. 2011, classes as numbers", False),
            "rcv1": (23749, 47236, "Lewis et al. 2004, classes as numbers", True),
        },
    )
