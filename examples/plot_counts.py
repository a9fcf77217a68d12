"""
Counts: bicycles by the hour
============================

Counts are not normal: they cannot be negative, and busy hours vary more than quiet ones. The
Poisson loss with a log link models the logarithm of their mean, an offset accounts for how long
was counted, and the L1 norm selects the features that matter from many candidates.
"""

import matplotlib.pyplot as plt
import numpy as np

import shotgun

# %%
# Twelve weeks of hourly counts at a bridge. The true rate has a daily and a weekly shape, a peak
# on the way to work and one on the way home. In some hours the counter ran for part of the time
# only: that is the exposure.

rng = np.random.default_rng(0)
hours = np.arange(12 * 168)
of_day, of_week = hours % 24, hours % 168
workday = of_week < 5 * 24


def bump(at: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((of_day - at) / width) ** 2)


log_rate = 1.2 + 1.8 * bump(14, 4.5) + workday * (1.4 * bump(8, 1.0) + 1.1 * bump(17.5, 1.3))
exposure = rng.choice([1.0, 0.5, 0.25], p=[0.8, 0.1, 0.1], size=hours.size)
counts = rng.poisson(exposure * np.exp(log_rate))

# %%
# Features: one for each hour of the day, one for each hour of the week, sines and cosines of the
# week, and fifty columns of noise. The model does not know which are which.

X = np.hstack(
    [
        np.eye(24)[of_day],
        np.eye(168)[of_week],
        *(
            np.column_stack([f(2 * np.pi * k * of_week / 168) for f in (np.sin, np.cos)])
            for k in range(1, 29)
        ),
        rng.normal(size=(hours.size, 50)),
    ]
)
seen = hours < 8 * 168
model = shotgun.SparsePoissonRegressor(alpha=0.1)
model.fit(X[seen], counts[seen], offset=np.log(exposure[seen]))
kept = model.coef_ != 0
print(f"{kept.sum()} of {kept.size} features, {kept[-50:].sum()} of the 50 of noise")
score = model.score(X[~seen], counts[~seen], offset=np.log(exposure[~seen]))
print(f"{score:.1%} of the deviance explained in the four weeks after; gap {model.dual_gap_:.1e}")

# %%
# The last week, which the fit has not seen. Light dots mark hours that were counted only in part.

week = hours >= 11 * 168
figure, ax = plt.subplots(figsize=(11, 4), layout="constrained")
at = of_week[week]
scaled = counts[week] / exposure[week]
ax.scatter(at, scaled, s=12, c=exposure[week], cmap="cividis_r", label="counted, per hour")
ax.plot(at, np.exp(log_rate[week]), color="0.6", linewidth=4, label="true rate")
ax.plot(at, model.predict(X[week]), color="tab:red", linewidth=1.4, label="predicted rate")
ax.set_xticks(range(12, 168, 24), labels=["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
ax.set(ylabel="bicycles an hour", xlim=(0, 168))
ax.legend(frameon=False, ncols=3, loc="upper right")
ax.set_ylim(0, 1.25 * scaled.max())
ax.spines[["top", "right"]].set_visible(False)
plt.show()
