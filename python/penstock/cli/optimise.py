"""``penstock optimise``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from penstock.analysis.verdict import COMPLETE, STATES
from penstock.errors import InputError
from penstock.library import toml
from penstock.units import count, duration, plain, rate, short_names, size

from . import EXIT_DONE, EXIT_FAILED
from .console import Table, complain, console, print_json
from .options import Whole
from .sweep import Place, Varied, resumable

if TYPE_CHECKING:
    from penstock.laboratory.plan import Plan
    from penstock.laboratory.search import Goal, Trial

SCHEMA = "penstock-optimise/1"
ROWS_SHOWN = 10


@Parameter(name="*")
@dataclass(frozen=True)
class Wanted(Varied):
    """Objective, constraints and keys of a search.

    Parameters
    ----------
    minimize
        Expression over result tables and scenario.KEY to minimize. Averaged over the seeds.
    maximize
        Expression to maximize instead.
    require
        Comparison that must hold for every seed, repeatable: "max(flows.latency_p99_ns) <= '50 us'". A run
        that violates an invariant, such as a lost frame in a lossless class, never meets it.
    """

    minimize: str | None = None
    maximize: str | None = None
    require: Annotated[tuple[str, ...], Parameter(negative=())] = ()


def optimise(
    scenario: str,
    /,
    *,
    wanted: Wanted = Wanted(),
    place: Place = Place(),  # noqa: B008, frozen
    trials: Whole = 100,
    first_part: float | None = None,
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Searches for the values of keys that minimize or maximize an expression.

    After an interruption, repeat the command to resume. With more trials it extends the search.

    Parameters
    ----------
    scenario
        Scenario file, or a name printed by "penstock list".
    trials
        Number of points. Default: 100.
    first_part
        Fraction of the duration, such as 0.2, that each point runs first. Points that fail in it, or are
        worse than the median of the feasible ones, are abandoned. Default: all points run to the end.
    out
        Directory of the search. Default: out/NAME-search.
    json
        Prints one JSON object instead of a table.
    """
    from penstock.laboratory.search import Goal, search
    from penstock.laboratory.sweep import SweepProgress

    if (wanted.minimize is None) == (wanted.maximize is None):
        raise InputError("expected --minimize or --maximize, and not both")
    if trials < 1:
        raise InputError(f"trials is {trials}; expected a whole number of at least 1")
    direction = "minimize" if wanted.maximize is None else "maximize"
    goal = Goal(direction, wanted.minimize or wanted.maximize or "", wanted.require)
    plan = wanted.plan(scenario, goal.measures)
    directory = out if out is not None else Path("out") / f"{Path(scenario).stem}-search"
    with resumable(place, directory, "trials") as (engine, watch):

        def report(trial: Trial) -> None:
            watch(SweepProgress(trial.number + 1, 0, trials, 0))

        found = search(
            plan, goal, directory, trials=trials, first_part=first_part, executor=engine, progress=report
        )
    best = found[0]
    if best.is_feasible:
        (run, *_) = plan.runs_of(plan.point(0, {key: best.values[key] for key in plan.values}))
        (directory / "best.toml").write_text(run.source.text, "utf-8")
    if json:
        print_json(_document(goal, found))
    else:
        _show(plan, goal, found, directory)
    if not best.is_feasible:
        errors = {trial.error for trial in found}
        same = errors.pop() if len(errors) == 1 else ""
        complain(
            f"each of {len(found)} trials failed: {same}"
            if same
            else f"none of {len(found)} trials meets every requirement"
        )
    return EXIT_DONE if best.is_feasible else EXIT_FAILED


def _document(goal: Goal, found: list[Trial]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "direction": goal.direction,
        "objective": goal.objective,
        "require": list(goal.require),
        "trials": [vars(trial) for trial in found],
    }


_UNITS: dict[str, Callable[[float], str]] = {
    "ns": duration,
    "s": lambda seconds: duration(seconds * 1e9),
    "bps": rate,
    "bytes": size,
}
"""Formatters of values, by the unit suffix of columns."""


def amount(expression: str, value: float) -> str:
    """Formats the value of an expression, with a unit if all its columns have the same one.

    Parameters
    ----------
    expression : str
        Expression, such as ``"max(flows.latency_p99_ns)"``.
    value : float
        Value in the units of the tables.
    """
    from penstock.laboratory.expression import Expression

    units = {name.rpartition("_")[2] for name in Expression(expression, "expression").names}
    write = _UNITS.get(units.pop()) if len(units) == 1 else None
    return plain(value) if write is None else write(value)


def _value(goal: Goal, trial: Trial) -> str:
    from penstock.laboratory.search import BROKEN

    if trial.given_up:
        return "abandoned"
    if trial.error:
        return "failed: " + trial.error.splitlines()[0]
    if trial.objective is None:
        return "objective unknown"
    if not trial.is_feasible:
        missed = [
            f"{text}: missed by {amount(text, by)}" if by < BROKEN else f"{text}: unknown"
            for text, by in zip(goal.require, trial.missed, strict=False)
            if by > 0
        ]
        return "; ".join(missed) or "misses a requirement"
    return "" if trial.verdict in ("", COMPLETE) else STATES[trial.verdict]


def _unfinished(trial: Trial) -> str:
    return f"{count(trial.unfinished)} of {count(trial.transfers)}" if trial.transfers else "-"


def _show(plan: Plan, goal: Goal, found: list[Trial], directory: Path) -> None:
    from penstock.laboratory.labels import labels_of, written

    feasible = sum(trial.is_feasible for trial in found)
    title = f"The best of {len(found)} trials, {feasible} of which meet every requirement: {goal.direction} "
    keys = [*plan.values, *plan.derive]
    left = any(trial.unfinished for trial in found)
    heads = ["trial", *short_names(keys).values(), "objective", *(["unfinished"] if left else []), ""]
    shown = Table(title + goal.objective, *heads, numeric=1)
    if len({trial.unfinished for trial in found if trial.objective is not None}) > 1:
        differ = "trials left different numbers of transfers unfinished (column unfinished)"
        console().print(f"{differ}: statistics exclude these", style="bold yellow")
    rows = {trial.number: {key: written(trial.values[key]) for key in keys} for trial in found}
    labels = labels_of([*rows.values()], keys)
    for trial in found[:ROWS_SHOWN]:
        cells = [labels[key][rows[trial.number][key]] for key in keys]
        value = "-" if trial.objective is None else amount(goal.objective, trial.objective)
        cells += [value, *([_unfinished(trial)] if left else [])]
        shown.add_row(str(trial.number), *cells, _value(goal, trial))
    console().print(shown)
    if given_up := sum(trial.given_up for trial in found):
        console().print(f"{given_up} were abandoned after their first part")
    console().print(f"search   {directory}")
    if found[0].is_feasible:
        console().print(f"best     {directory / 'best.toml'}")
        base = toml(plan.base.check())
        for key in keys:
            console().print(f"         {key} = {_written(base, key)} -> {rows[found[0].number][key]}")


def _written(base: dict[str, Any], key: str) -> str:
    """Value of a key in the original scenario."""
    from penstock.laboratory.labels import written

    value: Any = base
    for step in key.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return "nothing" if value is None else written(value)
