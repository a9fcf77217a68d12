"""The C++ core as Python sees it (core/bindings/module.cpp)."""

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
_Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

# first column; file (none where all are one), offset and checksum of values; the same of rows
_Tile: TypeAlias = tuple[int, str | None, int, int, str, int, int]

class Design:
    @property
    def rows(self) -> int: ...
    @property
    def cols(self) -> int: ...

def dense(a: _Array) -> Design: ...
def fortran(a: _Array, threads: int) -> _Array: ...
def csc(starts: _Array, rows: _Array, values: _Array, n: int) -> Design: ...
def disk32(tiles: list[_Tile], starts: _Array, n: int) -> Design: ...
def disk64(tiles: list[_Tile], starts: _Array, n: int) -> Design: ...

_Far = tuple[
    _Array,
    float,
    Callable[[_Array, _Array], _Array],
    Callable[..., tuple[_Array, _Array]],
]

def remote32(
    n: int,
    d: int,
    nonzeros: int,
    scan: Callable[[_Vector, _Array | None], _Array],
    survey: Callable[[_Vector | None, _Vector], _Array],
    columns: Callable[[_Array], tuple[_Array, _Array, _Array]],
    head: Callable[[int], Design | None],
    far: _Far | None,
) -> Design: ...

remote64 = remote32

def remote_dense32(
    n: int,
    d: int,
    nonzeros: int,
    scan: Callable[[_Vector, _Array | None], _Array],
    survey: Callable[[_Vector | None, _Vector], _Array],
    columns: Callable[[_Array], _Array],
    head: Callable[[int], Design | None],
    far: _Far | None,
) -> Design: ...

remote_dense64 = remote_dense32

def scan(design: Design, v: _Array, which: _Array | None, threads: int = 1) -> _Array: ...
def survey(
    design: Design, w: _Array | None, v: _Array, threads: int = 1
) -> tuple[_Array, _Array, _Array]: ...
def checksum(numbers: _Array, first: int = 0) -> int: ...
def transpose(
    starts: _Array, columns: _Array, values: _Array, d: int, threads: int
) -> tuple[_Array, _Array, _Array]: ...
def structure(starts: _Array, indices: _Array, width: int, threads: int) -> tuple[str, bool]: ...

class Engine(Enum):
    auto = 0
    shooting = 1
    bundle = 2
    block = 3
    newton = 4
    asynchronous = 5
    shooting_cdn = 6
    shotgun_cdn = 7

class Targets(Enum):
    numbers = 0
    classes = 1
    counts = 2

def losses() -> dict[str, Targets]: ...

class Status(Enum):
    converged = 0
    max_epochs = 1
    deadline = 2
    stopped = 3
    precision = 4
    interrupted = 5

class Options:
    engine: Engine
    P: int
    threads: int
    tol: float
    working_set: bool
    cyclic: bool
    max_epochs: int
    seed: int

class Statement:
    y: _Vector | None
    weights: _Vector | None
    offset: _Vector | None
    factor: _Vector | None
    lo: _Vector | None
    hi: _Vector | None
    lam: float
    l2: float
    loss: str
    delta: float
    intercept: bool
    standardize: bool

class Grid:
    lams: list[float]
    l2s: list[float]
    count: int
    eps: float
    deviance: float
    x0: _Array
    last: float
    def below(self, largest: float) -> list[float]: ...

class TraceRow:
    lam: float
    samples: int
    round: int
    epoch: int
    updates: int
    passes: float
    objective: float
    gap: float
    working_set: int
    active: int
    P: int
    rho: float
    threads: int
    seconds: float
    scan: float
    certify: float
    screen: float
    select: float
    pack: float
    shoot: float

class Solution:
    lam: float
    size: int
    support: _Array
    weights: _Vector
    open: _Array
    intercept: float
    objective: float
    null_objective: float
    tolerance: float
    gap: float
    status: Status
    certified_by_gap: bool
    n_rounds: int
    n_epochs: int
    n_updates: int
    n_screened: int
    P: int
    rho: float
    engine: Engine
    seconds: float
    trace: list[TraceRow]

def solve(
    design: Design,
    statement: Statement,
    options: Options,
    x0: _Vector | None = None,
    deadline: float = ...,
    callback: Callable[[TraceRow], bool] | None = None,
) -> Solution: ...
def path(
    design: Design,
    statement: Statement,
    options: Options,
    grid: Grid,
    deadline: float = ...,
    callback: Callable[[TraceRow], bool] | None = None,
) -> list[Solution]: ...
def lambda_max(design: Design, statement: Statement, options: Options) -> float: ...

class Spectrum:
    rho: float
    engine: Engine
    shared: float

def spectrum(design: Design, statement: Statement, options: Options, tol: float) -> Spectrum: ...
def ideal_p(d: int, rho: float) -> int: ...
def default_threads() -> int: ...
def instructions() -> str: ...

class SvmlightOptions:
    zero_based: bool | None
    features: int | None
    threads: int
    grain: int
    window: int

def svmlight_file(
    descriptor: int, size: int, name: str, single: bool, options: SvmlightOptions
) -> dict[str, Any]: ...
def svmlight_bytes(
    content: bytes | bytearray | _Array,
    name: str,
    single: bool,
    options: SvmlightOptions,
    lines_before: int = 0,
) -> dict[str, Any]: ...

class Sgd:
    def __init__(
        self, x: _Vector, samples: _Array, lam: float, rate: float, decays: bool, seed: int
    ) -> None: ...
    def run(self, rows: Design, y: _Vector, steps: int) -> None: ...
    @property
    def x(self) -> _Vector: ...

class Smidas(Sgd):
    @property
    def p(self) -> float: ...
    @property
    def theta(self) -> _Vector: ...

class Write(Enum):
    atomic = 0
    plain = 1
    private = 2
    none = 3

class Cost:
    seconds: float
    threads: int
    updates: int
    entries: int
    written: int
    bytes_A: float
    bytes_Ax: float
    operations: float
    moved: float

def memory_wall_epoch(
    design: Design, y: _Vector, lam: float, write: Write, random: bool, threads: int, seed: int
) -> Cost: ...
def read_speed(bytes: int, threads: int) -> float: ...
def arithmetic_speed(threads: int) -> float: ...
def latency(bytes: int) -> float: ...
def heed_crowds(heed: bool) -> None: ...
