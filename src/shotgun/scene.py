"""A photograph, as the demo's and the study's cameras see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from shotgun.inspection import optional

Array = np.ndarray[Any, Any]


def photograph(name: str, height: int, width: int) -> Array:
    """The middle of one of scikit-learn's photographs, grey, between 0 and 1."""
    from sklearn.datasets import load_sample_image

    optional("PIL", "a photograph", "pillow")
    grey = load_sample_image(f"{name}.jpg").mean(axis=2) / 255
    block = min(grey.shape[0] // height, grey.shape[1] // width)
    top, left = (grey.shape[0] - block * height) // 2, (grey.shape[1] - block * width) // 2
    middle = grey[top : top + block * height, left : left + block * width]
    return np.asarray(middle.reshape(height, block, width, block).mean(axis=(1, 3)))
