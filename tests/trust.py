"""What tests and scripts have tried, as one table: python tests/trust.py FILE

They append lines of JSON to the file that the environment variable SHOTGUN_TRUST names:

    {"property": "gap bounds F - F*", "cases": 2000, "failures": 0}
    {"fuzz": {"svmlight": {"executions": 1200000, "seconds": 60, "failures": 0}}}
    {"soak": {"minutes": 30, "fits": 51234, "growth of bytes in use": 0.002}}

A property may have many lines, which are added up; of everything else the last one counts.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
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
    properties: dict[str, list[int]] = {}
    others: dict[str, Record] = {}
    for record in map(json.loads, filter(str.strip, lines)):
        if "property" in record:
            sums = properties.setdefault(record["property"], [0, 0])
            sums[0] += record["cases"]
            sums[1] += record["failures"]
            continue
        for kind, found in record.items():
            nested = all(isinstance(value, dict) for value in found.values())
            for name, row in (found if nested else {"": found}).items():
                others[f"{kind}: {name}" if name else kind] = row
    rows = [[name, f"{n:,} cases", f"{k:,}"] for name, (n, k) in sorted(properties.items())]
    rows += [[name, told(row), failed(row)] for name, row in sorted(others.items())]
    head = [["what", "tried", "failed"], ["---", "---:", "---:"]]
    return "\n".join(f"| {' | '.join(row)} |" for row in head + rows)


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
