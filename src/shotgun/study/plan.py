"""What a study runs: jobs for each figure, of the problems and solvers that are wanted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shotgun.study.jobs import ACCURACY
from shotgun.study.problems import Category, Problem, catalogue, find
from shotgun.study.runs import DONE, Job, Result, Results
from shotgun.study.solvers import LASSO, LOGISTIC
from shotgun.study.solvers.ours import OURS

FIGURES = (1, 2, 3, 4, 5, 6)  # 6 is the memory wall of section 4.3, which has no number there

# Fig. 2's problems, and generated ones of their kind where they are not at hand. The lams are half
# of those printed, since the authors' code has no 1/2 in the loss.
FIGURE_2 = (
    ("ball64_singlepixcam", 0.25, "china32_01"),
    ("mug32_singlepixcam", 0.025, "flower32_pm"),
)
BUDGET = 510.0  # seconds of the quick study's runs
SMALLEST = 2000  # features of a problem that threads can share
DENSE = (Category.SPARCO, Category.CAMERA)
EIGHT = 8  # the paper's P
FIXED_STEPS = "news_small"  # for which equation (5) is compared with CDN
PER_WEIGHT = 100  # samples for each weight that Hard_l0 has to find again
TWIN_RATIO = 20.0  # of lam_max, for a generated one


@dataclass(frozen=True)
class Plan:
    """What was asked for."""

    quick: bool = False
    figure: int | None = None
    solver: str | None = None
    problem: str | None = None
    features: int | None = None  # at most
    limit: float | None = None  # seconds of a race; by default as many as its size may need
    hours: float | None = None  # after which nothing more is begun
    threads: int = 1

    def __post_init__(self) -> None:
        if self.figure not in (None, *FIGURES):
            raise ValueError(f"figure must be one of {', '.join(map(str, FIGURES))}")
        if self.solver is not None and self.solver not in self.known():
            raise ValueError(f"solver must be one of {', '.join(self.known())}")
        if self.problem is not None and find(self.problem) not in catalogue():
            raise ValueError(f"problem {self.problem} needs the data sets of SHOTGUN_DATA")

    @staticmethod
    def known() -> list[str]:
        return list(dict.fromkeys([*OURS, *LASSO, *LOGISTIC]))

    @property
    def command(self) -> str:
        """What runs it, but for the folder and how long it may take."""
        named = {
            "figure": self.figure,
            "solver": self.solver,
            "problem": self.problem,
            "features": self.features,
            "limit": None if self.limit is None else f"{self.limit:g}",
        }
        options = [f"--{name} {value}" for name, value in named.items() if value is not None]
        return " ".join(["shotgun study", *(["--quick"] if self.quick else []), *options])

    @property
    def budget(self) -> float:
        """Seconds after which nothing more is begun."""
        if self.hours is not None:
            return 3600 * self.hours
        return BUDGET if self.quick else math.inf

    def draws(self, figure: int) -> bool:
        return self.figure in (None, figure)

    def problems(self, loss: str = "squared") -> list[Problem]:
        """Those of the catalogue that take part."""
        return [
            p
            for p in catalogue()
            if p.loss == loss and (p.name == self.problem if self.problem else self._usual(p))
        ]

    def entered(self) -> list[Problem]:
        """Those that the figures wanted are about; Fig. 2 has its own."""
        some = {2: [], 3: ["squared"], 4: ["logistic"]}
        losses = some.get(self.figure or 0, ["squared", "logistic"])
        return [problem for loss in losses for problem in self.problems(loss)]

    def _usual(self, problem: Problem) -> bool:
        small = self.features is None or problem.d <= self.features
        return small and (problem.quick or not self.quick)

    def solvers(self) -> list[str]:
        """Those of the Lasso; ours always run, since all are measured against them."""
        others = [name for name in LASSO if self.solver in (None, name)]
        return [*OURS, *others]

    def seconds(self, problem: Problem) -> float:
        """Those of a race, at most."""
        if self.limit is not None:
            return self.limit
        if self.quick:
            return 6.0 if problem.d > 10_000 else 3.0
        return 600.0 if problem.d > 1_000_000 else 60.0

    def lams(self, facts: Result) -> list[float]:
        """The quick study has but the first."""
        lams = [entry["lam"] for entry in facts.value["lams"]]
        return lams[:1] if self.quick else lams


def facts(plan: Plan, known: Results) -> Iterator[Job]:
    """Of every problem that takes part in anything."""
    names = {p.name: None for p in plan.entered()}
    if plan.problem is None and plan.draws(2):
        names |= {name: None for name, _ in figure_2_problems()}
    return (Job("facts", {"problem": name}, 900.0, plan.threads) for name in names)


def optima(plan: Plan, known: Results) -> Iterator[Job]:
    """F* of every problem at each of its lams."""
    for problem in plan.entered():
        yield from optima_of(plan, known, problem)


def optima_of(plan: Plan, known: Results, problem: Problem) -> Iterator[Job]:
    limit = 8.0 if plan.quick else 600.0
    for found in known.of("facts", problem=problem.name).done():
        for lam in plan.lams(found):
            yield Job("optimum", {"problem": problem.name, "lam": lam}, limit, plan.threads)


def solved(plan: Plan, known: Results, problem: Problem) -> Results:
    """Those that are known well enough to judge others by."""
    wanted = {job.key for job in optima_of(plan, known, problem)}
    return Results(r for r in known.of("optimum") if r.job.key in wanted and is_known(r))


def is_known(optimum: Result) -> bool:
    """Whether F* is known ten times as well as a race is judged."""
    found = optimum.value
    return optimum.status == DONE and bool(found["gap"] <= 0.1 * ACCURACY * found["F"])


def well_fitted(plan: Plan, known: Results) -> Iterator[Job]:
    """F* where most samples are well explained, and their curvature is far below beta."""
    for found in known.of("facts", problem=FIXED_STEPS).done():
        params = {"problem": FIXED_STEPS, "lam": found.value["lam_max"] / 100}
        yield Job("optimum", params, 60.0, plan.threads)


def planted(plan: Plan, known: Results) -> Iterator[Job]:
    """Signals that Hard_l0 has to find again."""
    if "Hard_l0" in plan.solvers():
        for problem in plan.problems():
            told = {"problem": problem.name, "s": max(2, problem.n // PER_WEIGHT)}
            yield Job("planted", told, plan.seconds(problem), plan.threads)


def races(plan: Plan, known: Results) -> Iterator[Job]:
    """Fig. 3, and Shooting without its path; the first lam of all problems before the second."""
    raced = [(problem, solved(plan, known, problem)) for problem in plan.problems()]
    for turn in range(max((len(optima) for _, optima in raced), default=0)):
        for problem, optima in raced:
            for best in optima[turn : turn + 1]:
                yield from races_for(plan, problem, best)


def races_for(plan: Plan, problem: Problem, best: Result) -> Iterator[Job]:
    """All solvers on one problem at one lam."""
    told = {"problem": problem.name, "lam": best.job.params["lam"]}
    limit = plan.seconds(problem)
    for solver in plan.solvers():
        goal: dict[str, Any] = {"best": best.value["F"], "accuracy": ACCURACY}
        if solver == "Hard_l0":
            if best.value["nonzeros"] == 0:
                continue
            goal |= {"best": best.value["loss"], "s": best.value["nonzeros"]}
        yield Job("race", told | goal | {"solver": solver}, limit, plan.threads)
    direct = {"solver": "Shooting", "how": {"factor": 0.0}}
    yield Job("race", told | {"best": best.value["F"]} | direct, limit, plan.threads)


def figure_2_problems() -> list[tuple[str, float | None]]:
    """Names, and the lams of the paper's own; None for their twins."""
    here = {p.name for p in catalogue()}
    return [(name, lam) if name in here else (twin, None) for name, lam, twin in FIGURE_2]


def figure_2_optima(plan: Plan, known: Results) -> Iterator[Job]:
    for name, lam in figure_2_problems():
        for found in known.of("facts", problem=name).done():
            chosen = found.value["lam_max"] / TWIN_RATIO if lam is None else lam
            yield Job("optimum", {"problem": name, "lam": chosen}, 60.0, plan.threads)


def simulations(plan: Plan, known: Results) -> Iterator[Job]:
    """Fig. 2: T for growing P, and with steps of 1/P."""
    limit = 300.0 if plan.quick else 3600.0
    for best in figure_2_optima(plan, known):
        [optimum] = known.of("optimum", **best.params) or [None]
        [found] = known.of("facts", problem=best.params["problem"])
        if optimum is None or not optimum.value:
            continue
        told = best.params | {"best": optimum.value["F"]}
        star = found.value["ideal_p"]
        for P in some_P(star, plan.quick):
            yield Job("simulate", told | {"P": P}, limit)
        if star > EIGHT:
            yield Job("simulate", told | {"P": EIGHT, "step": 1 / EIGHT}, limit)


def some_P(star: int, quick: bool) -> list[int]:
    """1, 2, 4, ... , P* and what is just beyond it, where Shotgun soon diverges."""
    powers = [2**k for k in range(0, int(math.log2(star)) + 1, 2 if quick and star > 8 else 1)]
    beyond = (
        [star + 1, star + 2, 2 * star, 3 * star] if star < 8 else [2 * star, 3 * star, 4 * star]
    )
    return sorted({*powers, star, *beyond, *([EIGHT] if star > EIGHT else [])})


def speed_ups(plan: Plan, known: Results) -> Iterator[Job]:
    """Fig. 5: seconds with 1, 2, ... threads, iterations with P = 1, 2, ..."""
    Ps = (1, 2, 8, 64) if plan.quick else (1, 2, 4, 8, 16, 32, 64)
    for loss, racing, counted in (
        ("squared", "asynchronous", "bundle"),
        ("logistic", "shotgun_cdn", "shotgun_cdn"),
    ):
        for problem in plan.problems(loss):
            if problem.d < SMALLEST or (plan.quick and problem.category in DENSE):
                continue
            for best in solved(plan, known, problem):
                told = best.job.params | {"best": best.value["F"]}
                for threads in range(1, plan.threads + 1):
                    P = threads if racing == "asynchronous" else EIGHT
                    how = {"engine": racing, "P": P, "n_threads": threads}
                    yield Job("speed", told | how, 5 * plan.seconds(problem), threads)
                for P in Ps:
                    how = {"engine": counted, "P": P}
                    yield Job("iterations", told | how, 5 * plan.seconds(problem), plan.threads)


def figure_4_problems(plan: Plan) -> list[str]:
    """Both regimes: rcv1, or what is like it, and what is like zeta."""
    here = {p.name for p in plan.problems("logistic")}
    wide = ["rcv1_classes"] if "rcv1_classes" in here else ["news"]
    tall = ["zeta_small"] if plan.quick else ["zeta_50k", "zeta_500k"]
    return [name for name in (*wide, *tall) if name in here]


def learnt(plan: Plan, known: Results) -> Iterator[Job]:
    """F* of Fig. 4's problems at its lam, on the samples that are learnt from."""
    limit = 20.0 if plan.quick else 600.0
    for name in figure_4_problems(plan):
        yield Job("learnt", {"problem": name, "lam": 1.0}, limit, plan.threads)


def logistic(plan: Plan, known: Results) -> Iterator[Job]:
    """Fig. 4, and fixed steps against CDN."""
    limit = 4.0 if plan.quick else 120.0
    for best in known.of("learnt").done():
        told = best.job.params | {"best": best.value["F"]}
        for solver in LOGISTIC:
            if plan.solver in (None, solver):
                yield Job("curve", told | {"solver": solver}, limit, plan.threads)
        if plan.solver in (None, "SGD"):
            decaying = {"solver": "SGD", "how": {"decay": True}}
            yield Job("curve", told | decaying, limit, plan.threads)
        if find(told["problem"]).d < find(told["problem"]).n:
            for solver in ("SGD", "SMIDAS"):
                yield Job("updates", {"solver": solver, "problem": told["problem"]}, limit)
    for best in known.of("optimum", problem=FIXED_STEPS).done():
        told = best.job.params | {"best": best.value["F"], "P": 1}
        yield Job("simulate", told | {"runs": 1, "epochs": 100.0}, 60.0)
        yield Job("iterations", told | {"engine": "shooting_cdn"}, 60.0)


def memory(plan: Plan, known: Results) -> Iterator[Job]:
    """The memory wall, and what the processor counts."""
    counted = {"problem": "signs_8192", "threads": plan.threads}
    yield Job("counters", counted, 60.0, plan.threads)
    name = "bigrams_100k" if plan.quick else "bigrams_1m"
    yield Job("memory", {"problem": name, "threads": plan.threads}, 120.0, plan.threads)
