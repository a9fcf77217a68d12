"""A claim of the paper, and what was found of it here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from shotgun.study.runs import Results


class Finding(NamedTuple):
    """What was measured; `held` is None where nothing was."""

    held: bool | None
    measured: str
    reason: str = ""


NOT_RUN = Finding(None, "", "no results")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and what judges it."""

    where: str
    says: str
    judge: Callable[[Results], Finding]


@dataclass(frozen=True)
class Verdict:
    """A row of the report's table."""

    claim: Claim
    finding: Finding

    @property
    def word(self) -> str:
        return {True: "held", False: "did not hold", None: "not run"}[self.finding.held]


CLAIMS: list[Claim] = []


def claim(
    where: str, says: str
) -> Callable[[Callable[[Results], Finding]], Callable[..., Finding]]:
    """The function that follows judges it."""

    def enter(judge: Callable[[Results], Finding]) -> Callable[[Results], Finding]:
        CLAIMS.append(Claim(where, says, judge))
        return judge

    return enter
