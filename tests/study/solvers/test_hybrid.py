"""The hybrid begins as SGD, ends as Shotgun CDN, and never loses what SGD has gained."""

from __future__ import annotations

from shotgun.study.solvers import hybrid, sgd

from .logistic_problems import on_all, problem


@on_all
def test_the_optimum_is_reached(name: str) -> None:
    p = problem(name)
    assert p.excess(hybrid.solve(p.A, p.y, p.lam, p.watch())) < 1e-9


@on_all
def test_it_is_never_worse_than_its_start(name: str) -> None:
    p = problem(name)
    for rate in (1e-4, 0.1, 100.0):  # too small, good, absurd
        first, watch = p.watch(), p.watch()
        sgd.solve(p.A, p.y, p.lam, first, rate=rate, passes=1 / 16)
        x = hybrid.solve(p.A, p.y, p.lam, watch, rate=rate)
        assert watch.marks[0].objective == first.marks[0].objective
        assert p.objective(x) <= min(first.marks[0].objective, p.objective(0 * x))
        assert p.excess(x) < 1e-9


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads() -> None:
    p = problem("sparse")

    def run(seed: int, n_threads: int) -> list[float]:
        watch = p.watch(target=1.001 * p.best)
        return hybrid.solve(p.A, p.y, p.lam, watch, seed=seed, n_threads=n_threads).tolist()

    assert run(3, 1) == run(3, 2)
    assert run(3, 1) != run(4, 1)


def test_the_watch_ends_the_first_half() -> None:
    p = problem("tall")
    watch = p.watch(target=1.1 * p.objective(0 * p.A[0]))
    hybrid.solve(p.A, p.y, p.lam, watch, rate=0.01)
    assert len(watch.marks) == 1
