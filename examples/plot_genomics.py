"""
Genomics: ten thousand markers, three hundred people
====================================================

In genetics there are far more features than samples, and neighbours on a chromosome are inherited
together. A whole path of Lasso models, from none to many markers, costs hardly more than one of
them, and every one of its fits is certified.
"""

import matplotlib.pyplot as plt
import numpy as np

import shotgun

# %%
# Genotypes are 0, 1 or 2 copies of the rarer letter. Along the chromosome a copy resembles the one
# before it, within blocks of 25; twelve markers have an effect on the trait.

rng = np.random.default_rng(1)
n, d = 300, 10_000
block = 25
hidden = rng.normal(size=(block, 2, n, d // block))
for k in range(1, block):
    hidden[k] = 0.9 * hidden[k - 1] + np.sqrt(1 - 0.9**2) * hidden[k]
strands = hidden.transpose(1, 2, 3, 0).reshape(2, n, d)
X = np.asfortranarray((strands > rng.uniform(0, 1.2, d)).sum(axis=0), dtype=np.float32)

causal = np.sort(rng.choice(d, 12, replace=False))
effects = rng.choice([-1, 1], 12) * rng.uniform(0.6, 1.4, 12)
genetic = (X[:, causal] - X[:, causal].mean(0)) @ effects
y = genetic + 0.6 * genetic.std() * rng.normal(size=n)

# %%
# Markers are standardised within the solver; X is not copied.

path = shotgun.path(X, y, n_lams=40, eps=0.1, fit_intercept=True, standardize=True)
sizes = np.diff(path.X.indptr)
print(f"{len(path.lams)} models with 0 to {sizes.max()} markers")
print(f"largest gap {path.gaps.max():.1e}, asked for {path.tolerance:.1e}")

# %%
# In colour: the markers with an effect, or their nearest neighbours, which carry nearly the same
# information. In grey: all others.

deviation = X.std(axis=0, dtype=float)
near = np.abs(np.arange(d)[:, None] - causal).min(axis=1) <= 3
weights = path.X.toarray() * deviation[:, None]
figure, (ways, map_) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
ratio = path.lams / path.lams[0]
ever = weights.any(axis=1)
ways.plot(ratio, weights[~near & ever].T, color="0.75", linewidth=0.7)
ways.plot(ratio, weights[near & ever].T, linewidth=1.6)
ways.set_xscale("log")
ways.invert_xaxis()
ways.set(xlabel="lam / lam_max", ylabel="weight of one standard deviation", title="who enters when")

k = int(np.searchsorted(sizes, 40))
chosen = np.flatnonzero(weights[:, k])
truth = np.abs(effects) * deviation[causal]
map_.vlines(causal, 0, truth, color="tab:orange", linewidth=5, alpha=0.35, label="truth")
map_.vlines(chosen, 0, np.abs(weights[chosen, k]), color="tab:blue", linewidth=1.5, label="found")
map_.set(
    xlabel="place on the chromosome",
    ylabel="effect of one standard deviation",
    title=f"the model with {len(chosen)} markers",
)
map_.legend(frameon=False)
for ax in (ways, map_):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

found = sum(bool(np.any(np.abs(chosen - j) <= 3)) for j in causal)
print(f"{found} of {len(causal)} effects are found, to within three markers")
