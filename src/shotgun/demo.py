"""The demo: a photograph, taken with a camera that has a single pixel.

The paper's single-pixel camera sees a scene through random masks, one number for each. Fewer masks
than pixels are enough: photographs are sparse in cosines, and the Lasso finds which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.fft import dctn, idctn
from scipy.sparse.linalg import LinearOperator, lsmr

from shotgun.bars import GapBar
from shotgun.displays import ConvergenceDisplay
from shotgun.inspection import optional
from shotgun.parallelism import Parallelism, report
from shotgun.scene import photograph
from shotgun.solve import Solution, lambda_max, solve

Array = np.ndarray[Any, Any]

SCENE = "china"  # comes with scikit-learn
MEASURED = 0.4  # masks over pixels
TOL = 1e-6
MARGIN = 12  # of what is printed


@dataclass(frozen=True)
class Camera:
    """A scene as the camera sees it.

    Attributes
    ----------
    scene : ndarray of shape (size, size)
        Grey, between 0 and 1.
    A : ndarray of shape (n_masks, size * size)
        What each mask measures of each cosine.
    y : ndarray of shape (n_masks,)
        What was measured.
    """

    scene: Array
    A: Array
    y: Array

    @classmethod
    def snap(cls, size: int, seed: int) -> Camera:
        """Take the photograph."""
        scene = photograph(SCENE, size, size)
        n = round(MEASURED * size**2)
        rng = np.random.default_rng(seed)
        masks = 2 * rng.integers(0, 2, size=(n, size, size), dtype=np.int8) - 1
        scaled = masks.astype(np.float32) / np.float32(np.sqrt(n))  # columns of length about one
        A = dctn(scaled, axes=(1, 2), norm="ortho", overwrite_x=True).reshape(n, -1)
        y = masks.reshape(n, -1) @ scene.ravel() / np.sqrt(n)
        return cls(scene, np.asfortranarray(A), y)

    def image(self, x: Array) -> Array:
        """The picture that the weights of the cosines make."""
        return np.asarray(idctn(x.reshape(self.scene.shape), norm="ortho").clip(0, 1))

    def guess(self) -> Array:
        """The picture of least norm that fits the measurements."""
        A = self.A
        product = LinearOperator(  # in float32: a product with float64 would copy A
            A.shape,
            matvec=lambda x: np.float64(A @ np.float32(x)),
            rmatvec=lambda y: np.float64(A.T @ np.float32(y)),
            dtype=np.float64,
        )
        return self.image(lsmr(product, self.y, atol=1e-4, btol=1e-4)[0])

    def quality(self, image: Array) -> float:
        """Peak signal over noise, in dB."""
        return float(-10 * np.log10(np.mean((self.scene - image) ** 2)))

    def problem(self) -> dict[str, Any]:
        """The Lasso; fine cosines cost more than coarse ones, the mean nothing."""
        size = len(self.scene)
        frequency = np.hypot(*np.mgrid[:size, :size]).ravel()
        least = lambda_max(self.A, self.y, penalty_factor=frequency)
        return {
            "A": self.A,
            "y": self.y,
            "lam": 0.4 / size**2 * least,
            "penalty_factor": frequency,
            "tol": TOL,
            "trace": True,
        }


def run(console: Console, size: int, picture: str, n_threads: int | None, seed: int) -> bool:
    """Show it all; whether every fit converged."""
    camera = Camera.snap(size, seed)
    data = report(camera.A, n_threads=n_threads, tol=1e-4)
    console.print("[bold]A camera with a single pixel[/]\n")
    console.print(_facts(_data_facts(camera, data)), "")
    fits = _race(console, camera, {"n_threads": n_threads, "seed": seed}, data.ideal_p)
    guess = camera.guess()
    console.print(_facts(_fit_facts(camera, fits["default"], guess)))
    console.print("\n[bold]The same certificate in other ways[/]\n")
    console.print(_comparison(fits))
    draw(camera, guess, fits, picture)
    console.print(f"\nPicture: {picture}", soft_wrap=True, highlight=False)
    return all(fit.status == "converged" for fit in fits.values())


def _race(console: Console, camera: Camera, how: dict[str, Any], P: int) -> dict[str, Solution]:
    """The default, and the paper's two algorithms in their plain form, on all columns."""
    problem = camera.problem() | how
    engines: dict[str, dict[str, Any]] = {
        "default": {},
        "Shooting": {"engine": "shooting", "working_set": False},
        "Shotgun": {"engine": "bundle", "P": P, "working_set": False},
    }
    fits = {}
    for name, engine in engines.items():
        with GapBar(f"{name:{MARGIN}}", TOL, console=console, stays=True) as bar:
            fits[name] = solve(**problem, **engine, callback=bar)
    return fits


def _data_facts(camera: Camera, data: Parallelism) -> dict[str, str]:
    size = len(camera.scene)
    return {
        "scene": f"{SCENE} of scikit-learn, {size} x {size} grey pixels",
        "measured": f"{data.n} numbers through random masks, {data.n / data.d:.0%} of the pixels",
        "sought": f"the weights of {data.d} cosines",
        "rho": f"{data.rho:.3g}  (1 would be uncorrelated cosines, {data.d} all alike)",
        "P*": f"{data.ideal_p} weights can be updated at once",
        "engine": f"{data.engine}: {data.why}",
    }


def _fit_facts(camera: Camera, fit: Solution, guess: Array) -> dict[str, str]:
    gap = fit.gap / fit.null_objective
    return {
        "certificate": f"F(x) - F* <= {fit.gap:.2g}, which is {gap:.1e} of F(0): {fit.status}",
        "found": f"{np.count_nonzero(fit.x)} of {fit.x.size} cosines",
        "quality": f"{camera.quality(camera.image(fit.x)):.1f} dB "
        f"(the least-norm guess: {camera.quality(guess):.1f} dB)",
    }


def _facts(facts: dict[str, str]) -> Table:
    """Names and what they are, in two columns."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="cyan", no_wrap=True, min_width=MARGIN)
    table.add_column()
    for name, fact in facts.items():
        table.add_row(name, fact)
    return table


def _comparison(fits: dict[str, Solution]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="cyan", pad_edge=False)
    table.add_column("")
    for heading in ("at once", "updates", "steps", "seconds", "gap / F(0)"):
        table.add_column(heading, justify="right")
    about = {
        "default": "the default: {engine}",
        "Shooting": "Shooting (paper, Alg. 1)",
        "Shotgun": "Shotgun (Alg. 2, P = P*)",
    }
    for name, fit in fits.items():
        table.add_row(
            about[name].format(engine=fit.engine),
            f"{fit.P}",
            f"{fit.n_updates:,}",
            f"{-(-fit.n_updates // fit.P):,}",
            f"{fit.seconds:.2f}",
            f"{fit.gap / fit.null_objective:.1e}",
        )
    return table


def draw(camera: Camera, guess: Array, fits: dict[str, Solution], file: str) -> None:
    """One picture: the scene, the guess, the recovery, and how the gaps fell."""
    figure = optional("matplotlib.figure", "the demo's picture").Figure((13, 3.6))
    figure.set_layout_engine("constrained", h_pad=0.1)  # titles of two lines clear the edge
    *frames, curves = figure.subplots(1, 4, width_ratios=(1, 1, 1, 1.45))
    found = camera.image(fits["default"].x)
    share = f"{len(camera.y) / camera.scene.size:.0%}"
    panels = (
        (camera.scene, f"the scene, {camera.scene.size} pixels"),
        (guess, f"least-norm guess from {share}\n{camera.quality(guess):.1f} dB"),
        (found, f"Lasso from the same {share}\n{camera.quality(found):.1f} dB"),
    )
    for frame, (image, title) in zip(frames, panels, strict=True):
        frame.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        frame.set_title(title, fontsize="medium")
        frame.set_axis_off()
    labels = [f"{name}: {fit.engine}, P = {fit.P}" for name, fit in fits.items()]
    ConvergenceDisplay.from_solutions(list(fits.values()), labels=labels, ax=curves)
    curves.set_title("certified, all three", fontsize="medium")
    figure.savefig(file, dpi=150)
