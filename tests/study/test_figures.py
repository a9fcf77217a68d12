"""Figures: drawn from results alone, empty ones included."""

from __future__ import annotations

import numpy as np
import pytest

from shotgun.study.figures import FIGURES, contours, races, save, speedups
from shotgun.study.figures.races import LASSO
from shotgun.study.figures.speedups import in_iterations
from shotgun.study.figures.theory import curves
from shotgun.study.problems import Category
from shotgun.study.runs import Results

from .test_claims import curve, facts, race, simulated, speed

MEMORY = {
    "machine": {
        "bytes_per_second": {"1": 1e10, "2": 1.5e10},
        "operations_per_second": {"1": 2e10, "2": 4e10},
    },
    "runs": [
        {
            "variant": variant,
            "threads": threads,
            "seconds_per_update": seconds / threads,
            "bytes_of_A_per_update": 600.0,
            "bytes_of_Ax_per_update": 300.0,
            "operations_per_update": 150.0,
            "bytes_per_second": 900.0 * threads / seconds,
            "speed_up": float(threads),
            "operations_per_second": 150.0 * threads / seconds,
        }
        for variant, seconds in (("as is", 9e-8), ("no atomics", 5e-8))
        for threads in (1, 2)
    ],
}


def some_results():
    from .test_claims import result

    return Results(
        [
            *(facts(name) for name in ("mug32_singlepixcam", "bigrams_100k", "signs_2048")),
            *(simulated(T, P) for P, T in ((1, 6300), (8, 800), (158, 52), (700, None))),
            *(race(s, t) for s, t in (("Shotgun (P = 8)", 1.0), ("Shooting", 2.0), ("LARS", None))),
            *(curve(s, 1e-2) for s in ("SGD", "Shotgun CDN")),
            *speed("iterations", "P", {1: 1.0, 2: 2.0, 8: 7.9}),
            *speed("speed", "n_threads", {1: 1.0, 2: 1.4}),
            result("memory", MEMORY),
        ]
    )


@pytest.mark.parametrize("number", FIGURES)
@pytest.mark.parametrize("results", [Results(), some_results()], ids=["empty", "some"])
def test_a_figure_is_drawn_and_saved_as_picture_and_as_vectors(number, results, tmp_path):
    name, draw = FIGURES[number]
    save(draw(results), tmp_path, name)
    assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert "<svg" in (tmp_path / f"{name}.svg").read_text()


def test_fig_1_both_updates_help_when_uncorrelated_and_overshoot_when_correlated():
    def objective(correlation):
        stated = contours.problem(correlation)
        return [stated.objective(x) for x in contours.both_at_once(stated)]

    alone, together = objective(0.0), objective(0.95)
    assert np.allclose(alone[1:], min(alone))
    assert together[1] > 1.5 * min(together)
    best = contours.problem(0.95)
    assert together[1] > 3 * best.objective(np.array([0.9, 0.7]))


def test_fig_2_tells_divergence_from_convergence():
    [found] = curves(some_results())
    assert found.T == {1: 6300, 8: 800, 158: 52}
    assert found.diverged == [700]


def test_fig_3_shows_every_failure():
    results = Results(
        [facts("bigrams_100k"), race("Shotgun (P = 8)", 1.0)]
        + [race(solver, None) for solver in ("LARS", "GLMNET", "L1_LS")]
    )
    text = races.draw(results).axes[LASSO.index(Category.TEXT)]
    heights = {line.get_ydata()[0] for line in text.lines if list(line.get_xdata()) == [1.0]}
    assert len(heights) == 3
    assert all(60 < height < text.get_ylim()[1] for height in heights)


def test_fig_5_is_a_function_of_p_star():
    axes = speedups.draw(some_results()).axes
    assert [ax.get_xlabel() for ax in axes[:2]] == ["P*", "P*"]
    [time] = [line for line in axes[0].lines if line.get_marker() == "o"]
    assert (time.get_xdata(), time.get_ydata()) == ((100,), (pytest.approx(1.4),))


def test_fig_5_compares_with_one():
    [found] = in_iterations(some_results())
    assert found.gain[8] == pytest.approx(7.9)
