"""``penstock sweep``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from penstock.errors import InputError
from penstock.units import count, short_names

from . import EXIT_FAILED
from .console import Table, complain, console, has_terminal, print_json, progress_bar, say, show_verdict
from .options import Whole

if TYPE_CHECKING:
    from penstock.laboratory.engines import Engine
    from penstock.laboratory.outcome import Outcome
    from penstock.laboratory.plan import Plan
    from penstock.laboratory.sweep import SweepCallback, SweepProgress

SCHEMA = "penstock-sweep/1"
ROWS_SHOWN = 60
COLUMNS_SHOWN = 4
FAILURES_SHOWN = 5
UNFINISHED_DIFFER = (
    "points left different shares of their transfers unfinished (column unfinished): statistics exclude "
    "these, so they compare different sets of transfers"
)
SAYS_EVERY_S = 30.0


@Parameter(name="*")
@dataclass(frozen=True)
class Varied:
    """Keys that vary over ranges.

    Parameters
    ----------
    vary
        KEY=VALUES, repeatable: a range such as "20 KiB:200 KiB" (or "1 KiB:1 MiB:log"), or a list.
        Each point runs with each value of simulation.seed.
    set
        KEY=EXPRESSION, repeatable: computes a key from others.
    """

    vary: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    set: Annotated[tuple[str, ...], Parameter(negative=())] = ()

    def plan(self, scenario: str, measures: Mapping[str, str]) -> Plan:
        """Returns a plan with a Latin hypercube over these keys."""
        from penstock.laboratory.plan import Plan

        vary, derive = assignments("--vary", self.vary), assignments("--set", self.set)
        return Plan(scenario, vary, derive, measures, "latin", 1)


@Parameter(name="*")
@dataclass(frozen=True)
class Question:
    """Varied keys and measures of a sweep.

    Parameters
    ----------
    vary
        KEY=VALUES, repeatable: "flow_control.pfc.xoff=20 KiB:200 KiB:10" (ten values),
        "=20 KiB:200 KiB:20 KiB" (steps), "=1 KiB:1 MiB:11:log", "=1..20", "=10 us, 50 us". Each point runs
        with each value of simulation.seed.
    set
        KEY=EXPRESSION, repeatable: computes a key from others: "flow_control.pfc.xon=xoff / 2".
    measure
        NAME=EXPRESSION over the tables of a result, repeatable:
        "p99_ns=max(flows.latency_p99_ns)". Default: sums, means and maxima over flows and ports.
    grid
        Runs all combinations of values (default).
    zip
        Combines the first values of all keys, then the second values, and so on.
    until
        Adds seeds to each point until the confidence interval of a measure is narrow enough:
        "latency_p99_ns 5 % at 95 %".
    latin
        Runs this many points of a Latin hypercube. A key may then be a range such as "20 KiB:200 KiB".
    """

    vary: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    set: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    measure: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    grid: Annotated[bool, Parameter(negative=())] = False
    zip: Annotated[bool, Parameter(negative=())] = False
    latin: Whole | None = None
    until: str | None = None

    @property
    def is_requested(self) -> bool:
        """True if an option was given."""
        return self != Question()


@Parameter(name="*")
@dataclass(frozen=True)
class Place:
    """Machines that execute the runs.

    Parameters
    ----------
    executor
        "processes" on this machine (default), or a Dask cluster, by the address of its scheduler:
        "dask:tcp://10.0.0.1:8786".
    workers
        Number of concurrent processes. Default: the number of processors.
    """

    executor: str = "processes"
    workers: Whole | None = None


def sweep(
    scenario: str,
    /,
    *,
    question: Question = Question(),
    place: Place = Place(),
    pareto: str | None = None,
    out: Path | None = None,
    keep: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Runs a scenario for many values of its keys.

    Finished runs are kept in the directory of the sweep. Repeating the command, also with more values,
    executes only the missing runs. A failed run is recorded with its scenario and error, and the sweep
    continues.

    Parameters
    ----------
    scenario
        Scenario file, a name printed by "penstock list", or a file with a [sweep] table.
    pareto
        Plots two measures as a Pareto front: "minimize latency_p99_ns, maximize throughput_bps".
    out
        Directory of the sweep. Default: out/NAME-sweep.
    keep
        Saves the complete result and report of each run; the page of the sweep links to them.
    json
        Prints one JSON object instead of tables.
    """
    from penstock.laboratory.sweep import sweep as run_sweep

    plan = plan_of(scenario, question)
    directory = out if out is not None else Path("out") / f"{Path(scenario).stem}-sweep"
    with resumable(place, directory) as (engine, watch):
        outcome = run_sweep(plan, directory, executor=engine, keep=keep, pareto=pareto, progress=watch)
    failures = outcome.failures()
    judged = outcome.verdict
    if json:
        print_json(_document(plan, outcome))
    else:
        show_verdict(console(), judged)
        if outcome.unfinished_differ:
            console().print(UNFINISHED_DIFFER, style="bold yellow")
        _show(plan, outcome)
        _show_where(directory)
    for row in failures[:FAILURES_SHOWN]:
        complain(f"run {row['run']} failed: {row['error'].strip()}")
    if failures:
        complain(
            f"{len(failures)} of {outcome.table('runs').num_rows} runs failed; "
            f"{directory / 'failed'} contains their scenarios"
        )
    return EXIT_FAILED if failures else judged.exit_code


def _show_where(directory: Path) -> None:
    places = {"sweep": directory, "report": directory / "report.html"}
    for name, place in places.items():
        console().print(f"{name:<8} {place}")
    for picture in sorted((directory / "pictures").glob("*.png")):
        console().print(f"picture  {picture}")


def engine_of(place: Place) -> AbstractContextManager[Engine]:
    """Returns the engine for the runs of a command. Prints a message if connecting to it may take long."""
    from penstock.laboratory.engines import DASK, engine

    if place.executor.startswith(DASK):
        say(f"connecting to the scheduler at {place.executor.removeprefix(DASK)}")
    return engine(place.executor, place.workers)


def plan_of(scenario: str, question: Question) -> Plan:
    """Returns the plan from the options, or from a file.

    Raises
    ------
    InputError
        If they are not a valid plan.
    """
    from penstock.laboratory import plan
    from penstock.laboratory.measures import DEFAULT_MEASURES
    from penstock.scenario import Scenario

    base = Scenario.from_file(scenario)  # read once: it may be a pipe
    from_file = plan.from_scenario(base, Path(scenario))
    if from_file is not None:
        if question.is_requested:
            raise InputError(f"{scenario} contains [sweep]; remove --vary and related options, or the table")
        return from_file
    if sum((question.grid, question.zip, question.latin is not None)) > 1:
        raise InputError("--grid, --zip and --latin: expected at most one of them")
    record = {
        option: assignments(f"--{option}", given)
        for option, given in (("vary", question.vary), ("set", question.set), ("measure", question.measure))
    }
    mode = "zip" if question.zip else "latin" if question.latin is not None else "grid"
    return plan.Plan(
        base,
        record["vary"],
        record["set"],
        record["measure"] or DEFAULT_MEASURES,
        mode,
        question.latin,
        question.until,
    )


def assignments(option: str, given: tuple[str, ...]) -> dict[str, str]:
    """Splits each KEY=VALUES into its two sides.

    Raises
    ------
    InputError
        If there is no =, or a key is repeated.
    """
    from penstock.laboratory.values import assignment

    found: dict[str, str] = {}
    for text in given:
        key, value = assignment(text, option)
        if key in found:
            raise InputError(f"{option}: {key} is given twice")
        found[key] = value
    return found


@contextlib.contextmanager
def resumable(place: Place, directory: Path, what: str = "runs") -> Iterator[tuple[Engine, SweepCallback]]:
    """Engine and progress display of a command. After an interrupt, prints where finished runs are saved."""
    try:
        with engine_of(place) as engine, watching(what) as watch:
            yield engine, watch
    except KeyboardInterrupt:
        say(f"finished {what} are kept in {directory}; repeat the command to resume")
        raise


@contextlib.contextmanager
def watching(what: str = "runs") -> Iterator[SweepCallback]:
    """Progress bar with finished runs and remaining time; without a terminal, an occasional line."""
    if not has_terminal():
        yield _ProgressLines(what)
        return
    with progress_bar(f"{what}: starting") as bar:

        def watch(progress: SweepProgress) -> None:
            text = f"{progress.found} found" if progress.found else ""
            if progress.failed:
                text += f" {progress.failed} failed"
            bar.update(progress.done, progress.runs, f"{progress.done} of {progress.runs} {what}", text)

        yield watch


class _ProgressLines:
    """Prints the progress of a sweep at intervals."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = self._printed = time.monotonic()

    def __call__(self, progress: SweepProgress) -> None:
        now = time.monotonic()
        if now - self._printed < SAYS_EVERY_S:
            return
        self._printed = now
        ran = progress.done - progress.found
        left = (now - self._began) / max(ran, 1) * (progress.runs - progress.done)
        ended = f"{progress.done} of {progress.runs} {self._what}"
        say(f"{ended}, {progress.failed} failed, about {left:.0f} s left")


def _document(plan: Plan, outcome: Outcome) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "verdict": outcome.verdict.to_dict(),
        "unfinished_differ": outcome.unfinished_differ,
        "points": [{"point": point.number, "values": point.values} for point in plan.settings],
        "runs": outcome.table("runs").to_pylist(),
        "summary": outcome.table("summary").to_pylist(),
    }


def _show(plan: Plan, outcome: Outcome) -> None:
    """Prints a row per point and a column per measure; measures per flow, port or queue have own tables."""
    rows = outcome.table("summary").to_pylist()
    for of_each in (False, True):
        own = [row for row in rows if bool(row["entity"]) is of_each]
        names = list(dict.fromkeys(row["metric"] for row in own))
        for first in range(0, len(names), COLUMNS_SHOWN):
            _show_some(plan, own, names[first : first + COLUMNS_SHOWN], of_each)


def _show_some(plan: Plan, rows: list[dict[str, Any]], names: list[str], of_each: bool) -> None:
    """Prints a table of some of the measures."""
    from penstock.laboratory.labels import labels_of

    keys = [*plan.values, *plan.derive]
    seeds = len(plan.seeds)
    points: dict[tuple[int, str], dict[str, Any]] = {}
    for row in rows:
        if row["metric"] in names:
            points.setdefault((row["point"], row["entity"]), {"row": row})[row["metric"]] = row
    title = "Means ± half-widths of the 95 % intervals over the seeds" if seeds > 1 else "One run per point"
    heads = [*short_names(keys).values(), *(["of"] if of_each else [])]
    left = any(row["unfinished"] for row in rows)
    shown = Table(title, *heads, *(["unfinished"] if left else []), *names, numeric=len(heads))
    labels = labels_of(rows, keys)
    for cells in list(points.values())[:ROWS_SHOWN]:
        values = [_interval(cells.get(name), seeds) for name in names]
        of = [cells["row"]["entity"]] if of_each else []
        of += [count(cells["row"]["unfinished"])] if left else []
        shown.add_row(*(labels[key][cells["row"][key]] for key in keys), *of, *values)
    console().print(shown)
    if len(points) > ROWS_SHOWN:
        more = "rows" if of_each else "points"
        console().print(f"{len(points) - ROWS_SHOWN} more {more} in the tables")


def _interval(row: dict[str, Any] | None, seeds: int) -> str:
    from penstock.units import written

    if row is None:
        return "-"
    mean = written(row["mean"], row["unit"])
    return mean if seeds == 1 else f"{mean} ± {written(row['half_width'], row['unit'])}"
