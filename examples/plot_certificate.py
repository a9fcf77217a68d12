"""
What a certificate is worth
===========================

A solver that stops because it no longer moves may stop anywhere. Shotgun stops when it can prove
how near it is: the duality gap is an upper bound on F(x) - F*, and it comes with every fit.

Here we know F* (from a fit to the last digit), so we can compare the bound with the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

import shotgun

# %%
# A scene of 1024 pixels, most of them dark, is seen through 410 random masks of +1 and -1. Each
# mask gives one number. This is the single-pixel camera of the paper's Fig. 2.

rng = np.random.default_rng(0)
n_masks, n_pixels, n_bright = 410, 1024, 60
A = np.asfortranarray(rng.choice([-1.0, 1.0], size=(n_masks, n_pixels)) / np.sqrt(n_masks))
scene = np.zeros(n_pixels)
scene[rng.choice(n_pixels, n_bright, replace=False)] = rng.uniform(0.5, 2.0, n_bright)
y = A @ scene + 0.02 * rng.normal(size=n_masks)

lam = 0.02 * shotgun.lambda_max(A, y)
best = shotgun.solve(A, y, lam, tol=0).objective

# %%
# We ask for ever smaller gaps, from three engines. ``working_set=False`` runs the paper's plain
# algorithms, without screening, so that there is something to see. One thread is enough for a
# matrix of this size; more would find the same bits.

tols = np.logspace(-1, -9, 9)
engines = {"shooting": 1, "bundle": shotgun.ideal_p(A), "block": 32}
plain = {"working_set": False, "n_threads": 1}
fits = {
    engine: [shotgun.solve(A, y, lam, engine=engine, P=P, tol=tol, **plain) for tol in tols]
    for engine, P in engines.items()
}

# %%
# Every point lies on or above the diagonal: the bound holds. The distance from the diagonal is the
# price of a proof: a fit is better than its certificate says.

figure, (promise, work) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
floor = 1e-15
for engine, runs in fits.items():
    gaps = np.array([fit.gap for fit in runs]) / runs[0].null_objective
    errors = np.array([fit.objective - best for fit in runs]) / runs[0].null_objective
    promise.loglog(np.maximum(errors, floor), gaps, "o", markersize=5, alpha=0.8, label=engine)
    steps = [fit.n_updates / fit.P for fit in runs]
    work.loglog(steps, gaps, "o-", markersize=4, label=f"{engine}, P = {engines[engine]}")
promise.loglog([floor, 1], [floor, 1], color="0.4", linewidth=1, label="gap = error")
promise.fill_between([floor, 1], [floor, 1], floor, color="tab:red", alpha=0.08)
promise.text(1e-6, 1e-13, "where no certificate may be", color="tab:red", ha="center")
promise.set(
    xlabel="true error, (F(x) - F*) / F(0)",
    ylabel="certified gap / F(0)",
    ylim=(1e-14, 1),
    title="what was promised, and what is",
)
work.set(xlabel="steps of P updates", ylabel="certified gap / F(0)", title="the way there")
promise.legend(frameon=False, loc="upper left")
work.legend(frameon=False, loc="lower center")
for ax in (promise, work):
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A fit with the default settings, in numbers:

s = shotgun.solve(A, y, lam)
print(f"status           {s.status} after {s.n_rounds} rounds, {s.n_epochs} epochs of {s.engine}")
print(f"objective        {s.objective:.12f}")
print(f"certificate      F(x) - F* <= {s.gap:.2e}, asked for {s.tolerance:.2e}")
print(f"in truth         F(x) - F*  = {s.objective - best:.2e}")
