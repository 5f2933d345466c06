"""Executes a plan: every point with every seed. Runs that the directory already contains are skipped."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

from penstock.errors import ArgumentError, InputError, ScenarioError
from penstock.running.arguments import MAX_SEED, whole

from .engines import Engine
from .execute import each
from .front import measures_of
from .plan import Plan, Point, Run
from .store import Finished, Record, Store, name_of
from .worker import Task, carry_out

if TYPE_CHECKING:
    from .outcome import Outcome

PLAN_FILE = "sweep.toml"
BASE_FILE = "scenario.toml"
RUNS = "runs"
FAILED = "failed"
MAX_WORKERS = 100_000


@dataclass(frozen=True)
class SweepProgress:
    """Progress of a sweep.

    Attributes
    ----------
    done, failed, runs : int
        Number of runs that ended, that failed, and in total.
    found : int
        Number of runs in `done` that earlier calls had finished.
    """

    done: int
    failed: int
    runs: int
    found: int


SweepCallback = Callable[[SweepProgress], object]
"""Callback that is called as runs end."""


def sweep(
    plan: Plan,
    out: str | PathLike[str],
    *,
    executor: Executor | Engine | None = None,
    keep: bool = False,
    pareto: str | None = None,
    progress: SweepCallback | None = None,
) -> Outcome:
    """Runs a plan and writes its tables, pictures and page.

    Runs that earlier calls finished in `out` are not repeated. A failed run is recorded with its scenario and
    error, and the sweep continues.

    Parameters
    ----------
    plan : Plan
        Keys to vary, and measures.
    out : path
        New directory, or the directory of an earlier sweep.
    executor : concurrent.futures.Executor or Engine, optional
        Executes the runs; it is not shut down. Default: a process for each processor of this machine.
    keep : bool
        Saves the result and report of each run in ``runs/NAME``; the executor must share the file system.
        Default false: only the measures are saved, some kilobytes.
    pareto : str, optional
        Two measures to draw as a Pareto front, such as
        ``"minimize latency_p99_ns, maximize throughput_bps"``.
    progress : callable, optional
        Called with a `SweepProgress` as runs end.

    Returns
    -------
    Outcome

    Raises
    ------
    ScenarioError
        If the scenario of the first point is invalid.
    InputError
        If `out` contains something else, or a measure does not apply to the results.
    OSError
        If `out` cannot be written.

    Examples
    --------
    >>> import penstock as ps
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> plan = ps.Plan(
    ...     "first-light", vary={"simulation.seed": [1, 2]}, measure={"sent": "sum(flows.frames_sent)"}
    ... )
    >>> outcome = ps.sweep(plan, "out/seeds", executor=ThreadPoolExecutor(2))
    >>> outcome.table("summary").select(["metric", "mean", "runs"]).to_pylist()
    [{'metric': 'sent', 'mean': 6674.5, 'runs': 2}]
    """
    engine = executor if isinstance(executor, Engine) else Engine(executor)
    if engine.executor is not None and not isinstance(engine.executor, Executor):
        raise ArgumentError(f"executor is {executor!r}; expected a concurrent.futures.Executor or an Engine")
    processes = os.cpu_count() or 1 if engine.workers is None else engine.workers
    workers = whole("workers", processes, 1, MAX_WORKERS)
    front = None if pareto is None else measures_of(pareto, plan)
    directory = Path(out).absolute()
    plan.check()
    ensure_sweep(directory)
    write_plan(plan, directory)
    beside = engine.beside or workers
    sweeping = _Sweep(plan, directory, points=plan.settings, beside=beside, keep=keep, progress=progress)
    sweeping.go(engine, meanwhile=_import_the_end)
    from .outcome import write_outcome
    from .page import write_page
    from .pictures import draw

    outcome = write_outcome(plan, sweeping.finished, directory)
    write_page(plan, outcome, draw(plan, outcome, front))
    return outcome


def _import_the_end() -> None:
    """Imports the modules that write tables, intervals and pictures while runs execute.

    Importing takes longer than writing. A missing module raises its error at first use.
    """
    for name in ("pyarrow.parquet", "scipy.special", "pandas", "penstock.laboratory.pictures"):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def run_points(
    plan: Plan,
    points: Sequence[Point],
    directory: Path,
    engine: Engine,
    progress: SweepCallback | None = None,
) -> list[Finished]:
    """Runs some points of a plan with each seed; writes only the records of runs."""
    beside = engine.beside or engine.workers or 1
    some = _Sweep(plan, directory, points=points, beside=beside, progress=progress)
    some.go(engine)
    return some.finished


def ensure_sweep(directory: Path) -> None:
    """Rejects a directory that contains anything but a sweep.

    Raises
    ------
    InputError
        If it does.
    """
    if not directory.exists():
        return
    if not directory.is_dir() or (any(directory.iterdir()) and not (directory / PLAN_FILE).exists()):
        raise InputError(f"{directory}: exists and is not a sweep; choose another directory")


def write_plan(plan: Plan, directory: Path) -> None:
    """Writes the plan as a file for ``penstock sweep``, with the scenario next to it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / BASE_FILE).write_text(plan.base.to_toml(), "utf-8")
    text = tomli_w.dumps({"sweep": {"scenario": BASE_FILE, **plan.to_dict()}})
    (directory / PLAN_FILE).write_text(text, "utf-8")


class _Sweep:
    """State of a sweep in progress. Iterating over it yields the runs that are not finished."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        *,
        points: Sequence[Point],
        beside: int,
        keep: bool = False,
        progress: SweepCallback | None = None,
    ) -> None:
        self.finished: list[Finished] = []
        self._plan = plan
        self._directory = directory
        self._store = Store(directory / RUNS)
        self._keep = keep
        self._beside = beside
        self._progress = progress
        self._of = len(points) * len(plan.seeds)
        self._found = 0
        self._failed = 0
        self._planned = (run for point in points for run in plan.runs_of(point))
        self._added: deque[Run] = deque()
        self._waiting: dict[str, list[Run]] = {}
        self._points = {point.number: _PointState(list(plan.seeds)) for point in points}

    def go(self, engine: Engine, meanwhile: Callable[[], object] | None = None) -> None:
        """Executes unfinished runs. After the first result, calls `meanwhile` on another thread."""
        self._store.sweep_up()
        for task, answer in each(carry_out, self, executor=engine.executor, workers=engine.workers):
            if meanwhile is not None:
                threading.Thread(target=meanwhile).start()
                meanwhile = None
            if isinstance(answer, OSError):
                raise answer
            if isinstance(answer, ArgumentError) and self._failed == len(self.finished):
                raise InputError(str(answer))  # an error of a measure, not of the run
            if isinstance(answer, Record):
                record = answer
                self._store.write(record)
            else:
                record = Record(
                    task.run, task.source.text, {"seed": task.seed}, {}, str(answer) or type(answer).__name__
                )
            for run in self._waiting.pop(task.run):
                self._end(run, record)

    def __iter__(self) -> Iterator[Task]:
        return self

    def __next__(self) -> Task:
        """Returns the next unfinished run; counts finished ones. After the last run, more may be added."""
        while True:
            run = self._added.popleft() if self._added else next(self._planned)
            task = self._task(run)
            if task is not None:
                return task

    def _task(self, run: Run) -> Task | None:
        """Returns the task of a run; ``None`` if it is finished, in progress, or invalid."""
        measures = self._plan.measures
        try:
            name = name_of(run.source, run.seed)
        except ScenarioError as error:
            wrong = f"invalid-{hashlib.sha256(run.text().encode()).hexdigest()[:16]}"
            self._end(run, Record(wrong, run.source.text, {"seed": run.seed}, {}, str(error)))
            return None
        kept = self._directory / RUNS / name
        record = self._store.find(name, measures)
        if record is not None and (not self._keep or record.error or kept.is_dir()):
            self._found += 1
            self._end(run, record)
            return None
        self._waiting.setdefault(name, []).append(run)
        if len(self._waiting[name]) > 1:
            return None  # another point has an identical scenario
        entries = tuple((measure.name, measure.text) for measure in measures)
        return Task(name, run.source, run.seed, entries, str(kept) if self._keep else None, self._beside)

    def _end(self, run: Run, record: Record) -> None:
        self.finished.append(Finished(run, record))
        if record.error:
            self._failed += 1
            self._write_failure(run, record)
        self._add_seeds(run, record)
        if self._progress is not None:
            self._progress(SweepProgress(len(self.finished), self._failed, self._of, self._found))

    def _add_seeds(self, run: Run, record: Record) -> None:
        """Adds seeds to a point after all of its runs have ended, so that their order does not matter."""
        precision = self._plan.precision
        if precision is None:
            return
        point = self._points[run.point.number]
        point.ended += 1
        point.has_failed |= bool(record.error)
        text = self._plan.measure[precision.measure]
        if not record.error:
            value = record.measures[text]
            named = value if isinstance(value, dict) else {"": value}
            for entity, one in named.items():
                point.values.setdefault(entity, []).append(math.nan if one is None else one)
        if point.ended < len(point.seeds) or point.has_failed:
            return
        more = max(map(precision.more, point.values.values()), default=0)
        last = max(seed for seed in point.seeds if seed is not None)
        added = list(range(last + 1, min(last + more, MAX_SEED) + 1))
        point.seeds += added
        self._of += len(added)
        self._added.extend(self._plan.runs_of(run.point, added))

    def _write_failure(self, run: Run, record: Record) -> None:
        """Writes the scenario of a failed run, with the error as a comment at the top."""
        (self._directory / FAILED).mkdir(exist_ok=True)
        error = "".join(f"# {line}\n" for line in record.error.splitlines())
        (self._directory / FAILED / f"{record.run}.toml").write_text(error + run.text(), "utf-8")


@dataclass
class _PointState:
    """Seeds and measured values of a point, if more seeds may be added."""

    seeds: list[int | None]
    ended: int = 0
    has_failed: bool = False
    values: dict[str, list[float]] = field(default_factory=dict)
