"""The asynchronous engine (engine/asynchronous.hpp) in small: everything that two threads may do.

Each update of a weight is split into its atomic steps: read x_k, read Ax_i for every row of column
k, move x_k in one read-modify-write that keeps it within its bounds, add to Ax_i for every such row
in one read-modify-write each. A thread reads for a batch of updates before it writes the first.
All interleavings of two threads are tried and, as the order is relaxed, all stale values besides:
a load may give any value that the location has had since this thread last saw it, whatever the
thread has seen elsewhere. Numbers are dyadic, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import pytest

Step = tuple[str, int, int]  # what, the weight k, the row i
Memory = tuple[
    tuple[float, ...], ...
]  # of every location, its values in the order of their writing


@dataclass(frozen=True)
class Lasso:
    """min 1/2 ||Ax - y||^2 + lam ||x||_1 with every weight in [lo, hi]; A by its columns."""

    A: tuple[tuple[float, ...], ...]
    y: tuple[float, ...]
    lam: float
    lo: float = -inf
    hi: float = inf

    def Ax(self, x: Sequence[float]) -> tuple[float, ...]:
        rows = range(len(self.y))
        return tuple(sum(a[i] * x_k for a, x_k in zip(self.A, x, strict=True)) for i in rows)

    def F(self, x: Sequence[float]) -> float:
        r = [z - t for z, t in zip(self.Ax(x), self.y, strict=True)]
        return 0.5 * sum(e * e for e in r) + self.lam * sum(map(abs, x))

    def delta(self, k: int, x_k: float, Ax: Sequence[float]) -> float:
        """The step of Alg. 1, with weights of either sign."""
        a, beta = self.A[k], sum(e * e for e in self.A[k])
        goal = x_k - sum(a_i * (z - t) for a_i, z, t in zip(a, Ax, self.y, strict=True)) / beta
        near = max(goal - self.lam / beta, 0.0) + min(goal + self.lam / beta, 0.0)
        return self.clamp(near) - x_k

    def clamp(self, x_k: float) -> float:
        return min(max(x_k, self.lo), self.hi)


@dataclass(frozen=True)
class Thread:
    """What is left to do, what was seen of each location (an index into its values), and what is in
    the registers: x_k, Ax, the batch's updates that are not yet made, how far x_k moved."""

    todo: tuple[Step, ...]
    seen: tuple[int, ...]
    x_k: float = 0.0
    Ax: tuple[float, ...] = ()
    shots: tuple[float, ...] = ()
    moved: float = 0.0
    fetched: float = 0.0


@dataclass(frozen=True)
class Race:
    """How threads update weights: so many from one reading; what is not done as it should be."""

    lasso: Lasso
    batch: int = 1
    atomic: bool = True  # adds to Ax
    clamped: bool = True  # where x_k moves to

    def program(self, weights: Sequence[int]) -> tuple[Step, ...]:
        """The steps of a thread that updates some weights, batch after batch."""
        steps: list[Step] = []
        rows = [[i for i, a in enumerate(column) if a] for column in self.lasso.A]
        for begin in range(0, len(weights), self.batch):
            shots = weights[begin : begin + self.batch]
            for k in shots:
                steps += [("read x", k, 0), *(("read Ax", k, i) for i in rows[k])]
            for k in shots:
                steps.append(("move x", k, 0))
                for i in rows[k]:
                    steps += [("add", k, i)] if self.atomic else [("fetch", k, i), ("put", k, i)]
        return tuple(steps)

    def after_step(self, memory: Memory, thread: Thread) -> Iterator[tuple[Memory, Thread]]:
        """All that the next step of a thread may lead to."""
        (what, k, i), todo = thread.todo[0], thread.todo[1:]
        at = k if what in ("read x", "move x") else len(self.lasso.A) + i
        values = memory[at]

        def saw(index: int) -> Thread:
            seen = (*thread.seen[:at], index, *thread.seen[at + 1 :])
            return replace(thread, todo=todo, seen=seen)

        def wrote(value: float) -> Memory:
            return (*memory[:at], (*values, value), *memory[at + 1 :])

        if what == "move x":  # from the latest value, as every read-modify-write
            to = values[-1] + thread.shots[0]
            to = self.lasso.clamp(to) if self.clamped else to
            moved = replace(saw(len(values)), shots=thread.shots[1:], moved=to - values[-1])
            yield wrote(to), moved
        elif what == "add":
            yield wrote(values[-1] + thread.moved * self.lasso.A[k][i]), saw(len(values))
        elif what == "put":
            yield wrote(thread.fetched + thread.moved * self.lasso.A[k][i]), saw(len(values))
        else:
            for index in range(thread.seen[at], len(values)):
                yield memory, self.read(saw(index), what, k, i, values[index])

    def read(self, thread: Thread, what: str, k: int, i: int, value: float) -> Thread:
        """A value into a register; once all that an update needs is read, the update is known."""
        if what == "read x":
            return replace(thread, x_k=value, Ax=(0.0,) * len(self.lasso.y))
        if what == "fetch":
            return replace(thread, fetched=value)
        thread = replace(thread, Ax=(*thread.Ax[:i], value, *thread.Ax[i + 1 :]))
        if thread.todo[0][0] == "read Ax":
            return thread
        return replace(
            thread,
            shots=(*thread.shots, self.lasso.delta(k, thread.x_k, thread.Ax)),
            x_k=0.0,
            Ax=(),
        )


def ends(
    race: Race, x: Sequence[float], work: Sequence[Sequence[int]]
) -> set[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Every (x, Ax) that threads may leave, each updating its weights, from one x.

    Whoever joins them sees the last value of every location.
    """
    memory: Memory = tuple((value,) for value in (*x, *race.lasso.Ax(x)))
    start = tuple(Thread(race.program(w), (0,) * len(memory)) for w in work)
    found, known, open_ = set(), {(memory, start)}, [(memory, start)]
    while open_:
        memory, threads = open_.pop()
        if not any(thread.todo for thread in threads):
            last = tuple(values[-1] for values in memory)
            found.add((last[: len(x)], last[len(x) :]))
        for t, thread in enumerate(threads):
            if not thread.todo:
                continue
            for after, moved in race.after_step(memory, thread):
                state = (after, (*threads[:t], moved, *threads[t + 1 :]))
                if state not in known:
                    known.add(state)
                    open_.append(state)
    return found


# Correlated columns with a row in common; P* = ceil(2 / (1 + sqrt(1/2))) = 2.
CORRELATED = Lasso(A=((1.0, 1.0), (1.0, 0.0)), y=(3.0, 1.0), lam=0.5)
# The same column twice: P* = 1.
TWINS = Lasso(A=((1.0,), (1.0,)), y=(4.0,), lam=1.0)

WORK = {
    "different weights": ((0,), (1,)),
    "the same weight": ((0,), (0,)),
    "two against one": ((0, 1), (1,)),
    "crosswise": ((0, 1), (1, 0)),
}


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
@pytest.mark.parametrize("lasso", [CORRELATED, TWINS], ids=["correlated", "twins"])
def test_no_update_of_Ax_is_lost_whatever_the_interleaving(
    lasso: Lasso, work: tuple[tuple[int, ...], ...], batch: int
) -> None:
    found = ends(Race(lasso, batch), (0.0, 0.0), work)
    assert len(found) > 1  # threads do get into each other's way
    for x, Ax in found:
        assert Ax == lasso.Ax(x)


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_an_add_that_is_not_atomic_loses_updates(work: tuple[tuple[int, ...], ...]) -> None:
    found = ends(Race(CORRELATED, atomic=False), (0.0, 0.0), work)
    assert any(Ax != CORRELATED.Ax(x) for x, Ax in found)
    assert any(Ax == CORRELATED.Ax(x) for x, Ax in found)


# Two updates of one weight, each of which would take it to its bound: of two threads, of one batch.
ONE_WEIGHT = {"threads": (((0,), (0,)), 1), "a batch": (((0, 0),), 2), "both": (((0, 0), (0,)), 2)}


@pytest.mark.parametrize(("work", "batch"), ONE_WEIGHT.values(), ids=ONE_WEIGHT.keys())
@pytest.mark.parametrize("lasso", [CORRELATED, TWINS], ids=["correlated", "twins"])
def test_bounds_hold_whatever_the_interleaving(
    lasso: Lasso, work: tuple[tuple[int, ...], ...], batch: int
) -> None:
    """And Ax is that of the weights: what is added is how far one moved, not how far it wanted."""
    bounded = replace(lasso, lo=-0.25, hi=0.75)
    for x, Ax in ends(Race(bounded, batch), (0.0, 0.0), work):
        assert all(bounded.lo <= x_k <= bounded.hi for x_k in x)
        assert Ax == bounded.Ax(x)
    loose = ends(Race(bounded, batch, clamped=False), (0.0, 0.0), work)
    assert any(x[0] > bounded.hi for x, _ in loose)  # though each update ends within them


@pytest.mark.parametrize(
    ("work", "batch"), [(((0,), (1,)), 1), (((0, 1),), 2)], ids=["two threads", "a batch of two"]
)
@pytest.mark.parametrize("segments", [1, 4, 8])
def test_up_to_P_star_every_interleaving_halves_the_way_to_the_minimum(
    segments: int, work: tuple[tuple[int, ...], ...], batch: int
) -> None:
    lasso, best = CORRELATED, (1.0, 1.5)
    assert all(lasso.delta(k, best[k], lasso.Ax(best)) == 0 for k in (0, 1))
    reached = {(0.0, 0.0)}
    for _ in range(segments):  # threads meet after each
        reached = {x for start in reached for x, _ in ends(Race(lasso, batch), start, work)}
    way = lasso.F((0.0, 0.0)) - lasso.F(best)
    assert max(map(lasso.F, reached)) - lasso.F(best) <= way / 2**segments


def test_above_P_star_F_may_rise_which_is_what_the_guard_is_for() -> None:
    lasso, start = Lasso(A=((1.0,),) * 3, y=(4.0,), lam=1.0), (0.0, 0.0, 0.0)
    together = {lasso.F(x) for x, _ in ends(Race(lasso), start, ((0,), (1,), (2,)))}
    assert max(together) > lasso.F(start)
    batch = {lasso.F(x) for x, _ in ends(Race(lasso, batch=3), start, ((0, 1, 2),))}
    assert batch == {max(together)}  # a batch is as if all were read before any is written
    alone = {lasso.F(x) for x, _ in ends(Race(lasso), start, ((0, 1, 2),))}  # what it falls back on
    assert alone == {min(together)}
    assert max(alone) < lasso.F(start)
