"""Opens the folder above, where the solvers and problems live, to this benchmark's files."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchopt_shared import (
    FamilyDataset,
    L1Objective,
    RealDataset,
    SharedSolver,
    TinyDataset,
)

__all__ = ["FamilyDataset", "L1Objective", "RealDataset", "SharedSolver", "TinyDataset"]
