"""Runs: each in a process of its own with a time limit, its result kept as a file of JSON.

What has a result is not run again, so that a study can be interrupted and continued, and its
figures drawn anew without running anything.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import platform
import resource
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from shotgun.bars import Bar
from shotgun.study import jobs
from shotgun.study.crowd import Crowd

LOADING = 900.0  # seconds for making a problem, which no limit counts
GRACE = 3.0  # times the limit: the watch stands while F is evaluated, the wall clock does not
BLIND = ("GLMNET", "LARS")  # show nothing before their end, so that nothing is evaluated
TURN = 1.0  # seconds between two looks at how much a process has worked
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # bytes of this machine
PRELOADED = ["shotgun.study.jobs", "sklearn.datasets", "sklearn.linear_model"]
STARTED, DONE, FAILED = "started", "done", "failed"
OVER, DIED, MISSING = "over the limit", "died", "not installed"


@cache
def machine() -> dict[str, Any]:
    """What the seconds were measured on."""
    names = [
        line.split(":", 1)[1].strip()
        for line in _read("/proc/cpuinfo").splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory": f"{MEMORY / 2**30:.0f} GiB",
        "system": platform.system(),
    }


def _read(file: str) -> str:
    try:
        return Path(file).read_text()
    except OSError:
        return ""


@dataclass(frozen=True)
class Job:
    """A thing to run: a function of jobs.py, what it is told, and for how long it may run."""

    kind: str
    params: dict[str, Any]
    limit: float
    threads: int = 1

    @property
    def key(self) -> str:
        """Names the result; another machine, version or limit makes another one."""
        told = asdict(self) | {"on": machine()["processor"], "version": version("shotgun-l1")}
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        return " ".join(str(self.params[k]) for k in ("solver", "problem", "P") if k in self.params)


@dataclass(frozen=True)
class Result:
    """How a job ended, and what it found if it was done.

    `others` is the part of the processor that other programs had meanwhile; None where the system
    does not say, or nobody was left to look.
    """

    job: Job
    status: str
    seconds: float
    value: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    others: float | None = None


class Results(list[Result]):
    """Results that can be asked."""

    def of(self, kind: str, **params: Any) -> Results:
        """Those of a kind whose parameters are these."""
        return Results(
            r
            for r in self
            if r.job.kind == kind and all(r.job.params.get(k) == v for k, v in params.items())
        )

    def done(self) -> Results:
        return Results(r for r in self if r.status == DONE)


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, job: Job) -> Result | None:
        """The job's result, if it was ever run."""
        file = self._file(job)
        return self._load(file) if file.is_file() else None

    def known(self, todo: Iterable[Job]) -> Results:
        """The results there are of these."""
        return Results(result for job in todo if (result := self.find(job)) is not None)

    def save(self, result: Result) -> None:
        """Whole or not at all."""
        file = self._file(result.job)
        new = file.with_suffix(f".{os.getpid()}.tmp")
        new.write_text(json.dumps(asdict(result), indent=1))
        new.replace(file)

    def _file(self, job: Job) -> Path:
        return self.folder / f"{job.kind}-{job.key}.json"

    @staticmethod
    def _load(file: Path) -> Result:
        parts = json.loads(file.read_text())
        return Result(Job(**parts.pop("job")), **parts)


class Runner:
    """Runs what has not been run, one after the other, with a bar that says what is left.

    Parameters
    ----------
    store : Store
    deadline : float
        Seconds from now after which nothing more is begun.
    """

    def __init__(self, store: Store, deadline: float = float("inf")) -> None:
        self.store = store
        self.ends = time.monotonic() + deadline
        self.left_out: list[Job] = []

    def __call__(self, label: str, todo: Iterable[Job]) -> Results:
        """The results of all that is to do, as far as the time allows."""
        todo = list(todo)
        results = self.store.known(todo)
        ran = {result.job.key for result in results}
        new = [job for job in todo if job.key not in ran]
        begin = time.monotonic()
        with Bar(f"{label:12}") as bar:
            for k, job in enumerate(new):
                spent = time.monotonic() - begin
                bar.show(k / len(new), self._state(job, k, len(new), spent))
                if time.monotonic() >= self.ends:
                    self.left_out.append(job)
                    continue
                results.append(run(job))
                if results[-1].status != MISSING:
                    self.store.save(results[-1])
        return results

    @staticmethod
    def _state(job: Job, k: int, total: int, spent: float) -> str:
        left = f", about {(total - k) * spent / k:.0f} s left" if k else ""
        return f"{k + 1} of {total}{left}: {job.name}"


def run(job: Job) -> Result:
    """In a process of its own, which is ended when it is over its limit."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(job, theirs), daemon=True)
    begin = time.monotonic()
    process.start()
    theirs.close()
    try:
        status, told = _listen(ours, job, process.pid)
    finally:
        process.kill()
        process.join()
        ours.close()
    return Result(job, status, round(time.monotonic() - begin, 3), **told)


def _listen(pipe: Connection, job: Job, pid: int | None) -> tuple[str, dict[str, Any]]:
    """What the child tells: that it has started, then how it ended."""
    since, work, patience = time.monotonic(), 0.0, LOADING
    while min(time.monotonic() - since, _worked(pid) - work) <= patience:
        if not pipe.poll(min(TURN, patience)):
            continue
        try:
            status, told = pipe.recv()
        except EOFError:
            return DIED, {"why": "the process ended without a word; memory may have run out"}
        if status != STARTED:
            return status, told
        since, work = time.monotonic(), _worked(pid)
        patience = job.limit if job.params.get("solver") in BLIND else GRACE * job.limit + 1.0
    return OVER, {"why": f"over {job.limit:g} s"}


def _worked(pid: int | None) -> float:
    """Seconds of the processor that a process has had; infinite where the system does not say."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else math.inf


def _child(job: Job, pipe: Connection) -> None:
    def say(status: str, **told: Any) -> None:
        with suppress(BrokenPipeError):  # nobody waits for it any more
            pipe.send((status, told))

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    _bound_memory()
    try:
        with threadpool_limits(job.threads):
            do, crowd = jobs.KINDS[job.kind], Crowd()
            found = do(started=lambda: say(STARTED), limit=job.limit, **job.params)
        say(DONE, value=found, others=crowd.share())
    except ImportError as error:
        say(MISSING, why=str(error))
    except Exception as error:
        say(FAILED, why=f"{type(error).__name__}: {error}")


def _bound_memory() -> None:
    """An allocation that the machine cannot serve must fail here, and not end another process."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    enough = int(0.9 * MEMORY)
    if most != resource.RLIM_INFINITY:
        enough = min(enough, most)
    resource.setrlimit(resource.RLIMIT_AS, (enough, most))
