"""
Choosing lambda: the best score, or the simplest model that is as good
======================================================================

A path has a hundred models; cross-validation says which of them predict well. Where the curve is
flat near its best, the strongest penalty within one standard error of the best
(``selection="1se"``) gives a model that the folds cannot tell from the best one, and that is often
far smaller.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import shotgun

# %%
# 569 tumours with 30 measurements each, many of which are just different measures of size.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
CS = np.logspace(-2.5, 1.5, 25)
folds = StratifiedKFold(5, shuffle=True, random_state=0)

models = {
    selection: shotgun.LogisticRegressionCV(
        Cs=CS,
        cv=folds,
        scoring="neg_log_loss",
        selection=selection,
        use_legacy_attributes=False,
        max_iter=1000,
    ).fit(X, y)
    for selection in ("min", "1se")
}
for selection, model in models.items():
    print(f"{selection:>4}: C = {model.C_:.3g}, {len(model.support_)} of {X.shape[1]} features")

# %%
# Left: the score with both choices. Right: the weights along the path.

figure, (curve, weights) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
shotgun.CVDisplay.from_estimator(models["1se"], ax=curve)
curve.set_ylim(0.04, 0.45)
shotgun.PathDisplay.from_estimator(models["1se"], X, y, ax=weights, n_labels=6)
plt.show()

# %%
# The smaller model, in a form that people can read:

print(models["1se"].summary(n_weights=8))
