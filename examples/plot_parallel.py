"""
How many updates at once? P* and the speed-up
=============================================

Coordinate descent updates one weight at a time. The paper's question is how many may be updated
at once, from the same residual, before they get in each other's way; its answer is
P* = ceil(d / rho), where rho is the spectral radius of A'A. This example repeats the paper's Fig. 2
on three matrices that differ only in how correlated their columns are.
"""

import matplotlib.pyplot as plt
import numpy as np

import shotgun
from shotgun import theory

# %%
# ``shotgun.theory`` has the paper's algorithms as they are printed, without any safeguard, so that
# they may diverge. The columns of the three matrices share a common direction, more or less of it.

n, d = 200, 128


def problem(share: float, seed: int = 0) -> theory.Problem:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    A = theory.unit_columns(np.sqrt(1 - share) * rng.normal(size=(n, d)) + np.sqrt(share) * common)
    x = np.where(np.arange(d) < 12, rng.choice([-1.0, 1.0], d), 0.0)
    y = A @ x + 0.05 * rng.normal(size=n)
    return theory.Problem(A, y, 0.1 * shotgun.lambda_max(A, y))


# %%
# T is the number of iterations, of P updates each, until the mean objective of a few runs is
# within 0.5 % of the optimum; infinity means that a run diverged.

Ps = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]
figure, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
for share, colour in ((0.0, "tab:blue"), (0.05, "tab:orange"), (0.3, "tab:red")):
    stated = problem(share)
    best = shotgun.solve(stated.A, stated.y, stated.lam, tol=1e-10).objective
    T = np.array(
        [theory.iterations_to_tolerance(stated, P, best, runs=4, max_epochs=60) for P in Ps]
    )
    star = theory.ideal_p(stated.A)
    label = f"rho = {theory.spectral_radius(stated.A):.3g}, P* = {star}"
    seen = np.isfinite(T)
    ax.loglog(np.array(Ps)[seen], T[seen], "o-", color=colour, label=label)
    ax.loglog(np.array(Ps), T[0] / np.array(Ps), ":", color=colour, linewidth=1)
    ax.axvline(star, color=colour, linewidth=1, alpha=0.6)
    for P in np.array(Ps)[~seen][:1]:
        ax.plot(P, T[seen][-1], "x", color=colour, markersize=10, markeredgewidth=2)
ax.set(
    xlabel="P, weights updated at once",
    ylabel="T, iterations to within 0.5 % of F*",
    title="dotted: linear speed-up; vertical: P*; cross: diverges",
)
ax.set_xticks([1, 2, 4, 8, 16, 32, 64], labels=["1", "2", "4", "8", "16", "32", "64"])
ax.minorticks_off()
ax.grid(alpha=0.25)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Up to P* the points follow the dotted line of linear speed-up; beyond it they leave it, and soon
# every run diverges. The solver itself never diverges, whatever P: it takes no step that raises F.

stated = problem(0.3)
print(shotgun.report(stated.A))
for P in (1, 16, 128):
    fit = shotgun.solve(stated.A, stated.y, stated.lam, engine="bundle", P=P, working_set=False)
    print(f"P = {P:>3}: {fit.status}, gap {fit.gap:.1e}, {fit.n_updates} updates")
