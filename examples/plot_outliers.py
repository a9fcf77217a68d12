"""
Outliers: what one bad number can do
====================================

The squared loss charges an error with its square, so a few wrong targets outweigh all others. The
Huber loss is squared up to epsilon and linear beyond: no target pulls harder than epsilon.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import shotgun

# %%
# The diabetes data, with a growing share of the training targets spoilt by a misplaced decimal
# point. The test targets are left alone. We compare median errors.

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
shares = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.3])
models = {
    "squared (Lasso)": shotgun.Lasso(alpha=0.3),
    "Huber, epsilon = 60": shotgun.SparseHuberRegressor(alpha=0.3, epsilon=60.0),
}


def spoil(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wrong = rng.choice(len(y), round(share * len(y)), replace=False)
    spoilt = y.copy()
    spoilt[wrong] *= 10
    return spoilt


errors = {
    name: [
        [
            np.median(np.abs(model.fit(X_train, spoil(y_train, share, s)).predict(X_test) - y_test))
            for s in range(6)
        ]
        for share in shares
    ]
    for name, model in models.items()
}

# %%
# Left: the test error over six random choices of the spoilt targets. Right: the weights for one
# choice of a tenth of them.

figure, (curve, weights) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
colours = {"squared (Lasso)": "tab:orange", "Huber, epsilon = 60": "tab:blue"}
for name, runs in errors.items():
    low, middle, high = np.quantile(runs, [0.1, 0.5, 0.9], axis=1)
    curve.plot(100 * shares, middle, "o-", markersize=4, color=colours[name], label=name)
    curve.fill_between(100 * shares, low, high, color=colours[name], alpha=0.15)
curve.set(xlabel="targets spoilt, %", ylabel="median error on clean data", ylim=(0, None))
curve.legend(frameon=False)

names = load_diabetes().feature_names
clean = shotgun.Lasso(alpha=0.3).fit(X_train, y_train).coef_
weights.bar(np.arange(10), clean, width=0.85, color="0.85", label="Lasso on clean data")
for (name, model), shift in zip(models.items(), (-0.2, 0.2), strict=True):
    coef = model.fit(X_train, spoil(y_train, 0.1, 0)).coef_
    weights.bar(np.arange(10) + shift, coef, width=0.36, color=colours[name], label=name)
weights.set_xticks(range(10), labels=names)
weights.set(ylabel="weight", title="a tenth of the targets spoilt")
weights.legend(frameon=False)
for ax in (curve, weights):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
