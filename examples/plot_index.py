"""
Finance: tracking an index with a few shares
============================================

An index holds hundreds of shares. A fund wants to follow it with a few of them, without selling
short and without more than a tenth in any one. That is least squares on returns with an L1
penalty and bounds on the weights; the path shows what each additional share gains.
"""

import matplotlib.pyplot as plt
import numpy as np

import shotgun

# %%
# Daily returns from a factor model: a market, eight industries, and each company's own news,
# with fat tails. The index weighs companies by size. Two years to fit, one to judge.

rng = np.random.default_rng(3)
days, past, companies, industries = 750, 500, 300, 8
t = rng.standard_t(4, size=(days, 1 + industries)) * 0.006
industry = rng.integers(industries, size=companies)
own = rng.standard_t(4, size=(days, companies)) * 0.011
returns = t[:, :1] * rng.uniform(0.6, 1.4, companies) + t[:, 1 + industry] * 0.9 + own + 0.0003
capital = np.sort(rng.pareto(1.2, companies) + 1)[::-1]
index = returns @ (capital / capital.sum())

# %%
# Bounds are part of the problem that is certified. The penalty falls along the path, and the
# number of shares grows.

A, y = np.asfortranarray(returns[:past]), index[:past]
path = shotgun.path(A, y, n_lams=30, eps=3e-3, bounds=(0, 0.1))
shares = np.diff(path.X.indptr)
assert path.X.data.min() >= 0
assert path.X.data.max() <= 0.1


# %%
# The L1 norm selects the shares but also shrinks their weights. A second fit of the selected
# shares, without a penalty but with the same bounds, says how much to hold of each; the rest stays
# in cash.


def holdings(k: int) -> np.ndarray:
    chosen = path.X[:, [k]].tocoo().coords[0]
    x = np.zeros(companies)
    x[chosen] = shotgun.solve(A[:, chosen], y, lam=0.0, bounds=(0, 0.1)).x
    return x


held = [k for k in range(1, len(shares)) if shares[k] > shares[k - 1]]
funds = {k: returns @ holdings(k) for k in held}


def error(k: int, period: slice) -> float:
    """Tracking error in percent a year."""
    return 100 * np.sqrt(252) * np.std(funds[k][period] - index[period])


# %%
# Right: the year that the fit has not seen.

figure, (trade, year) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
for period, label, style in (
    (slice(0, past), "fitted, two years", "o-"),
    (slice(past, days), "the year after", "s-"),
):
    errors = [error(k, period) for k in held]
    trade.plot(shares[held], errors, style, markersize=4, label=label)
trade.set(
    xlabel="shares held",
    ylabel="tracking error, % a year",
    yscale="log",
    title="what each further share buys",
)
trade.legend(frameon=False)

after = slice(past, days)
year.plot(100 * np.cumsum(index[after]), color="black", linewidth=2.2, label="index, 300 shares")
for wanted, colour in ((10, "tab:orange"), (40, "tab:blue")):
    k = min(held, key=lambda k: abs(shares[k] - wanted))
    year.plot(100 * np.cumsum(funds[k][after]), color=colour, label=f"{shares[k]} shares")
year.set(xlabel="trading day", ylabel="return, %", title="the year after")
year.legend(frameon=False)
for ax in (trade, year):
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
