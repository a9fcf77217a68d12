"""The demo: it recovers the scene, says so plainly, and draws it."""

from __future__ import annotations

import sys
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from shotgun.demo import Camera, run
from shotgun.scene import photograph
from shotgun.solve import solve

SIZE = 32


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What is printed to a log, and the picture."""
    picture = tmp_path_factory.mktemp("demo") / "demo.png"
    log = StringIO()
    assert run(Console(file=log, width=90), SIZE, str(picture), None, 0)
    return log.getvalue(), picture


def test_the_log_says_what_matters_without_control_characters(told):
    log, picture = told
    for what in ("rho ", "P* ", "engine ", "certificate ", "converged", " dB ", str(picture)):
        assert what in log
    for name in ("the default: ", "Shooting (paper, Alg. 1)", "Shotgun (Alg. 2, P = P*)"):
        assert name in log
    assert log.replace("\n", "").isprintable()


def test_the_picture_is_drawn(told):
    from matplotlib.image import imread

    height, width = imread(told[1]).shape[:2]
    assert width > 2 * height > 800


@pytest.mark.parametrize("size", [16, 64, 100, 128])
def test_the_scene_is_grey_and_square(size):
    scene = photograph("china", size, size)
    assert scene.shape == (size, size)
    assert 0 <= scene.min() < scene.max() <= 1


def test_without_pillow_the_package_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="pip install pillow"):
        photograph("china", SIZE, SIZE)


def test_the_camera_measures_the_scene():
    camera = Camera.snap(SIZE, seed=1)
    assert camera.A.shape == (round(0.4 * SIZE**2), SIZE**2)
    from scipy.fft import dctn

    cosines = dctn(camera.scene, norm="ortho")
    np.testing.assert_allclose(camera.A @ cosines.ravel(), camera.y, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(camera.image(cosines), camera.scene, atol=1e-12)


def test_the_lasso_recovers_more_than_the_least_norm_does():
    camera = Camera.snap(SIZE, seed=0)
    found = camera.image(solve(**camera.problem()).x)
    assert camera.quality(found) > camera.quality(camera.guess()) + 10
