"""
Stability selection: which features would be chosen again?
==========================================================

A single fit selects features, but would it select the same ones from other samples? Stability
selection fits a path to many random halves of the data and counts how often each feature is
selected. It also bounds how many features it keeps by chance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

import shotgun

# %%
# The diabetes data (442 people, ten measurements), and 190 more columns that are shuffled copies:
# they look like measurements and carry no information.

X, y = load_diabetes(return_X_y=True)
rng = np.random.default_rng(0)
probes = np.column_stack([rng.permutation(X[:, j % 10]) for j in range(190)])
A = scale(np.hstack([X, probes]))
names = [*load_diabetes().feature_names, *(f"probe {j}" for j in range(190))]

selector = shotgun.StabilitySelection(threshold=0.7, n_pairs=25, n_lams=30, random_state=0)
selector.fit(A, y)
print("kept:", ", ".join(np.array(names)[selector.get_support()]))
print(f"expected to be there by chance: at most {selector.expected_false_:.2f}")

# %%
# The Lasso that predicts best keeps all useful features, and some useless ones:

lasso = shotgun.LassoCV(cv=5).fit(A, y)
print(f"LassoCV keeps {len(lasso.support_)}, {np.sum(lasso.support_ >= 10)} of them shuffled")

# %%
# The share of halves in which each feature is selected, along the path. The bound on false
# selections holds for the white part of the path.

shares = selector.stability_path_.toarray()
ratio = selector.lams_ / selector.lams_[0]
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
ax.plot(ratio, shares[10:].T, color="0.8", linewidth=0.7)
kept = selector.get_support()
last = selector.n_lams_ - 1
ax.plot(ratio, shares[:10][~kept[:10]].T, color="black", linewidth=0.9)
for j in np.flatnonzero(kept):
    ax.plot(ratio, shares[j], linewidth=2.2, label=names[j])
ax.axhline(selector.threshold, color="black", linewidth=0.9, linestyle="--")
ax.axvspan(ratio[-1], ratio[last], color="0.5", alpha=0.12, linewidth=0)
ax.set_xscale("log")
ax.set(
    xlim=(1, ratio[-1]),
    ylim=(0, 1.02),
    xlabel="lam / lam_max",
    ylabel="share of halves that choose it",
    title="in colour: kept; black: measured, not kept; grey: shuffled",
)
ax.legend(title="kept", loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
