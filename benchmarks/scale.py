"""The cost model of docs/scale.md: what a fit over a cluster moves, keeps and waits for.

python benchmarks/scale.py [--samples 1e8] [--features 1e9] [--machines 100]
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Cluster:
    """Numbers in bytes, bytes a second and seconds."""

    n: float
    d: float
    machines: int
    row: float = 100  # entries
    link: float = 1.25e9  # 10 Gbit/s
    scan_rate: float = 2e9  # of entries by one machine, from its memory
    rounds: int = 15
    kept: float = 0.05  # of the columns, after the first rounds have screened
    columns: float = 1e5  # in W at the end
    column: float = 1e4  # entries of one of them

    @property
    def shard(self) -> float:
        return 12 * self.n * self.row / self.machines

    def rows(self, vectors: float, part: float) -> tuple[float, float]:
        """Bytes moved and seconds of a scan over shards of rows, of a part of the columns."""
        answer, which = 8 * self.d * part * vectors, self.numbers(part)
        levels = math.ceil(math.log2(self.machines))
        moved = 2 * 8 * self.n + (1 + self.machines) * which + self.machines * answer
        passed = 2 * 8 * self.n + (2 + levels) * which + (levels + 1) * answer
        return moved, passed / self.link + self.work(part)

    def tiles(self, vectors: float, part: float) -> tuple[float, float]:
        """The same over tiles of columns: v goes to all, handed on from worker to worker."""
        answer, which = 8 * self.d * part * vectors, self.numbers(part)
        levels = math.ceil(math.log2(self.machines))
        moved = (1 + self.machines) * 8 * self.n + 2 * which + answer
        passed = (2 + levels) * 8 * self.n + 2 * which + answer
        return moved, passed / self.link + self.work(part)

    def numbers(self, part: float) -> float:
        """Bytes that say which columns; of all of them nothing is said."""
        return 4 * self.d * part if part < 1 else 0.0

    def work(self, part: float) -> float:
        return part * self.shard / 12 / self.scan_rate

    def tell(self, layout: str) -> None:
        scan = self.rows if layout == "rows" else self.tiles
        pack = 12 * self.columns * self.column
        steps = {
            "survey": (1, scan(3, 1.0)),
            "scan of all": (2, scan(1, 1.0)),
            "scan of the rest": (self.rounds - 3, scan(1, self.kept)),
            "pack": (1, (pack, pack / self.link)),
        }
        print(f"{layout}:")
        for name, (times, (moved, seconds)) in steps.items():
            print(f"  {name:17} {times:3} x {moved / 1e9:8.1f} GB {seconds:8.1f} s")
        total = sum(times * seconds for times, (_, seconds) in steps.values())
        vectors = 6 * 8 * self.d if layout == "rows" else 8 * self.n + 24 * self.d / self.machines
        print(
            f"  in all {total / 60:.0f} min; a worker keeps {self.shard / 1e9:.1f} GB and needs "
            f"{vectors / 1e9:.1f} GB in passing; the client "
            f"{(5 * 8 * self.d + 6 * 8 * self.n + 20 / 12 * pack) / 1e9:.0f} GB"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=float, default=1e8)
    parser.add_argument("--features", type=float, default=1e9)
    parser.add_argument("--machines", type=int, default=100)
    given = parser.parse_args()
    for layout in ("rows", "tiles"):
        Cluster(given.samples, given.features, given.machines).tell(layout)
