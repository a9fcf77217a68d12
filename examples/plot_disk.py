"""
Larger than memory: a fit that reads the disk
=============================================

A matrix on disk is a folder of tiles of columns. A fit scans it from one end to the other a few
times and keeps only the columns that matter in memory, so the matrix may be larger than memory.
The answer has the same bits as a fit in memory.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import shotgun

# %%
# Counts of 60,000 words in 4,000 documents, most words rare; small here, so that this page is
# built quickly. ``shotgun convert --to disk`` makes such a folder from files that are larger than
# memory.

rng = np.random.default_rng(0)
n, d = 4_000, 60_000
popularity = 1 / np.arange(1, d + 1) ** 0.8
documents = np.repeat(np.arange(n), 120)
words = rng.choice(d, size=documents.size, p=popularity / popularity.sum())
A = sp.csc_array((np.ones(words.size), (documents, words)), shape=(n, d))
A.data = np.log1p(A.data)
x = np.where(rng.random(d) < 0.002, rng.normal(size=d), 0.0)
y = A @ x + 0.3 * rng.normal(size=n)
lam = 0.05 * shotgun.lambda_max(A, y, fit_intercept=True)

with tempfile.TemporaryDirectory() as folder:
    on_disk = shotgun.disk.write(A, Path(folder) / "matrix", tile_bytes=1 << 20)
    print(f"{len(on_disk.tiles)} tiles")
    fit = shotgun.solve(on_disk, y, lam, fit_intercept=True, trace=True)

same = shotgun.solve(A, y, lam, fit_intercept=True)
print(f"{fit.status} after {fit.n_rounds} rounds; the same bits: {np.array_equal(fit.x, same.x)}")

# %%
# Round by round: how many columns may still matter (the others are proved to be zero and are not
# read again), how many are in memory, and the certified gap.

rows = [row for row in fit.trace if row["lam"] == lam]  # a larger lam may come first
rounds = np.array([row["round"] for row in rows])
figure, (columns, gap) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
columns.bar(rounds, [d] * len(rows), color="0.92", label="on disk")
columns.bar(rounds, [row["active"] for row in rows], color="tab:blue", alpha=0.5, label="undecided")
columns.bar(rounds, [row["working_set"] for row in rows], color="tab:orange", label="in memory")
columns.set(xlabel="round", ylabel="columns", title="what is read again, and what is kept")
columns.set_yscale("log")
columns.legend(loc="lower right", framealpha=0.95)
gap.semilogy(rounds, [row["gap"] / fit.null_objective for row in rows], "o-", color="tab:red")
gap.axhline(1e-6, color="black", linewidth=0.9, linestyle="--")
gap.set(xlabel="round", ylabel="certified gap / F(0)", title="dashed: what was asked for")
for ax in (columns, gap):
    ax.set_xticks(rounds)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
