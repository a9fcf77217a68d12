"""What tests and scripts have tried, as one table: python tests/trust.py FILE

They append lines of JSON to the file that the environment variable SHOTGUN_TRUST names:

    {"property": "gap bounds F - F*", "cases": 2000, "failures": 0}
    {"property": "gap bounds F - F*", "nightly": true, "cases": 100000, "failures": 0}
    {"fuzz": {"svmlight": {"executions": 1200000, "seconds": 60, "failures": 0}}}
    {"soak": {"minutes": 30, "fits": 51234, "growth of bytes in use": 0.002}}

A property may have many lines, which are added up, those of nightly runs by themselves; "of these"
may tell how many cases were of some kind. Of everything else the last line counts.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def note(record: Record) -> None:
    """Append a line to the file, where one is named."""
    if path := os.environ.get("SHOTGUN_TRUST"):
        with open(path, "a") as file:
            file.write(json.dumps(record) + "\n")


def table(lines: Iterable[str]) -> str:
    """Markdown: a row for each thing that was tried."""
    properties: dict[str, Property] = {}
    others: dict[str, Record] = {}
    for record in map(json.loads, filter(str.strip, lines)):
        if "property" in record:
            properties.setdefault(record["property"], Property()).add(record)
            continue
        for kind, found in record.items():
            nested = all(isinstance(value, dict) for value in found.values())
            for name, row in (found if nested else {"": found}).items():
                others[f"{kind}: {name}" if name else kind] = row
    rows = [
        [name, found.told(), f"{found.failures:,}"] for name, found in sorted(properties.items())
    ]
    rows += [[name, told(row), failed(row)] for name, row in sorted(others.items())]
    head = [["what", "tried", "failed"], ["---", "---:", "---:"]]
    return "\n".join(f"| {' | '.join(row)} |" for row in head + rows)


@dataclass
class Property:
    """The cases that it was tried on, and how many of some kind were among them."""

    failures: int = 0
    usual: Counter[str] = field(default_factory=Counter)
    nightly: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        self.failures += record["failures"]
        cases = self.nightly if record.get("nightly") else self.usual
        cases.update({"cases": record["cases"], **record.get("of these", {})})

    def told(self) -> str:
        runs = {"": self.usual, "nightly ": self.nightly}
        return "; ".join(when + cases_told(cases) for when, cases in runs.items() if cases)


def cases_told(cases: Counter[str]) -> str:
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(cases.items()) if kind != "cases")
    return f"{cases['cases']:,} cases" + (f" ({kinds})" if kinds else "")


def told(row: Record) -> str:
    """What was tried: numbers with their names."""
    return ", ".join(f"{figure(value)} {name}" for name, value in row.items() if name != "failures")


def failed(row: Record) -> str:
    return figure(row["failures"]) if "failures" in row else ""


def figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SHOTGUN_TRUST", "")
    if not where:
        sys.exit("usage: python tests/trust.py FILE, or SHOTGUN_TRUST=FILE python tests/trust.py")
    print(table(Path(where).read_text().splitlines()))
