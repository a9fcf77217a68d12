"""
Imaging: how few measurements make a picture?
=============================================

A camera with a single pixel looks at a scene through random masks, one number for each. A
photograph is sparse in cosines, so the Lasso can find it from fewer numbers than it has pixels.
How few?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import dctn, idctn
from sklearn.datasets import load_sample_image

import shotgun

# %%
# The middle of a photograph that comes with scikit-learn, 32 x 32 grey pixels.

size = 32
grey = load_sample_image("flower.jpg").mean(axis=2) / 255
block = grey.shape[0] // size
left = (grey.shape[1] - block * size) // 2 + 60
crop = grey[: block * size, left : left + block * size]
scene = crop.reshape(size, block, size, block).mean(axis=(1, 3))

# %%
# The matrix maps the weights of the cosines to what the masks see. Fine cosines are penalised more
# than coarse ones (``penalty_factor``), and the mean not at all.

rng = np.random.default_rng(0)
masks = rng.choice(np.array([-1, 1], dtype=np.float32), size=(size**2 * 6 // 10, size, size))
cosines = dctn(masks / size, axes=(1, 2), norm="ortho").reshape(len(masks), -1)
seen = masks.reshape(len(masks), -1) @ scene.ravel() / size
frequency = np.hypot(*np.mgrid[:size, :size]).ravel()


def recover(n_masks: int) -> tuple[np.ndarray, shotgun.Solution]:
    A, y = np.asfortranarray(cosines[:n_masks]), seen[:n_masks]
    lam = 2e-4 * shotgun.lambda_max(A, y, penalty_factor=frequency)
    fit = shotgun.solve(A, y, lam, penalty_factor=frequency, tol=1e-5)
    return idctn(fit.x.reshape(size, size), norm="ortho").clip(0, 1), fit


# %%
# Quality is the peak signal-to-noise ratio, in decibels.

shares = (0.05, 0.1, 0.2, 0.4, 0.6)
figure, axes = plt.subplots(1, 6, figsize=(13, 2.7), layout="constrained")
for ax, share in zip(axes, shares, strict=False):
    image, fit = recover(round(share * size**2))
    noise = -10 * np.log10(np.mean((image - scene) ** 2))
    ax.imshow(image, cmap="gray", vmin=0, vmax=1)
    ax.set_title(f"{share:.0%}: {noise:.1f} dB\n{np.count_nonzero(fit.x)} cosines", fontsize=10)
axes[-1].imshow(scene, cmap="gray", vmin=0, vmax=1)
axes[-1].set_title(f"the scene\n{scene.size} pixels", fontsize=10)
for ax in axes:
    ax.set_axis_off()
plt.show()
