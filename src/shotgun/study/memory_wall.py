"""The memory wall (the paper's section 4.3): what an update costs, and which of it is memory's.

Epochs of asynchronous Lasso updates with one cost removed at a time, beside what the machine reads
and computes at best.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import shotgun._core as _core
from shotgun.problem import check_vector, make_design

VARIANTS: dict[str, tuple[_core.Write, bool]] = {
    "as is": (_core.Write.atomic, True),
    "no atomics": (_core.Write.plain, True),
    "nothing shared": (_core.Write.private, True),
    "no writes to Ax": (_core.Write.none, True),
    "sequential": (_core.Write.atomic, False),
    "sequential, no atomics": (_core.Write.plain, False),
    "sequential, nothing shared": (_core.Write.private, False),
    "sequential, no writes to Ax": (_core.Write.none, False),
}
MEMORY = 2**28  # bytes that no cache holds
LAM = 0.0  # so that nearly every update moves its weight, and writes


def machine(threads: tuple[int, ...] = (1, 2)) -> dict[str, Any]:
    """The roofs: bytes read and operations per second, and the seconds that a load may take."""
    return {
        "instructions": _core.instructions(),
        "bytes_per_second": {str(t): _core.read_speed(MEMORY, t) for t in threads},
        "operations_per_second": {str(t): _core.arithmetic_speed(t) for t in threads},
        "latency": _core.latency(MEMORY),
    }


def measure(
    A: Any,
    y: Any,
    *,
    threads: tuple[int, ...] = (1, 2),
    repeats: int = 5,
) -> dict[str, Any]:
    """What an update of each variant costs, as JSON can hold it.

    Epochs are interleaved and the fastest counts, so that other jobs disturb little.

    Returns
    -------
    dict
        "columns", "entries": of A. "runs": for each variant and number of threads the seconds,
        bytes of A and of Ax, and operations per update, bytes and operations per second, and the
        speed-up over one thread. A byte is counted whenever it is touched, cached or not.
    """
    design = make_design(A, 1)
    target = check_vector("y", y, design.rows)
    best: dict[tuple[str, int], _core.Cost] = {}
    for repeat in range(repeats):
        for name, (write, random) in VARIANTS.items():
            for t in threads:
                cost = _core.memory_wall_epoch(design, target, LAM, write, random, t, repeat)
                before = best.setdefault((name, t), cost)
                if cost.seconds < before.seconds:
                    best[name, t] = cost
    alone = {name: best[name, threads[0]].seconds for name in VARIANTS}
    return {
        "rows": design.rows,
        "columns": design.cols,
        "entries": int(A.nnz) if hasattr(A, "nnz") else int(np.size(A)),
        "runs": [_run(name, cost, alone[name]) for (name, _), cost in best.items()],
    }


def _run(name: str, cost: _core.Cost, alone: float) -> dict[str, Any]:
    each = cost.seconds / cost.updates
    return {
        "variant": name,
        "threads": cost.threads,
        "seconds_per_update": each,
        "bytes_of_A_per_update": cost.bytes_A,
        "bytes_of_Ax_per_update": cost.bytes_Ax,
        "operations_per_update": cost.operations,
        "bytes_per_second": (cost.bytes_A + cost.bytes_Ax) / each,
        "operations_per_second": cost.operations / each,
        "speed_up": alone / cost.seconds,
    }
