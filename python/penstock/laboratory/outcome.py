"""Results of a sweep: tables of runs and measures, and a summary with intervals per point."""

from __future__ import annotations

import functools
import json
import math
import re
import secrets
from collections.abc import Callable, Iterable
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock import arrow
from penstock.analysis.statistics import student_t_interval
from penstock.analysis.verdict import Verdict, of_text, together
from penstock.errors import ResultError, UnknownNameError
from penstock.library import Source, suggestion
from penstock.measurements import html_table
from penstock.result import Result, checked
from penstock.running import run_source
from penstock.storage import parquet_of

from .labels import written
from .plan import Plan
from .quantity import Quantity, value_of
from .store import Finished, Record, Store

TABLES = ("runs", "metrics", "summary")
CONFIDENCE = 0.95
_UNIT = re.compile(r"_(ps|ns|us|ms|s|bps|bytes|frames|share)$")


class Outcome:
    """The tables of a sweep.

    Attributes
    ----------
    directory : Path
        Directory with the tables, plan, pictures and page.
    tables : dict
        ``runs``: one row per run, with the values of its point. ``metrics``: one row per run and measure (and
        entity). ``summary``: one row per point and measure, over its seeds.
    description : dict
        Description and unit of each table and column.
    """

    def __init__(self, directory: Path, tables: dict[str, pa.Table], description: dict[str, Any]) -> None:
        self.directory = directory
        self.tables = tables
        self.description = description

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Outcome:
        """Reads the tables of a sweep.

        Raises
        ------
        ResultError
            If the directory does not contain a complete sweep.
        """
        path = Path(directory)
        try:
            tables = {name: parquet_of(path / f"{name}.parquet") for name in TABLES}
            for name, table in tables.items():
                table.validate(full=True)
                _check_columns(name, table)
            description = checked.description(path / "description.json")
        except (OSError, ValueError, pa.ArrowException, ResultError) as error:
            raise ResultError(
                f"{path}: no complete sweep ({error}); penstock sweep {path / 'sweep.toml'}"
            ) from None
        return cls(path, tables, description)

    def __repr__(self) -> str:
        failed = len(self.failures())
        return f"<Sweep of {self.tables['runs'].num_rows} runs{f', {failed} failed' if failed else ''}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks: means over the seeds."""
        return f"<p>{escape(repr(self))}</p>{html_table(self.tables['summary'], 'rows of summary')}"

    def table(self, name: str) -> pa.Table:
        """Returns a table as a pyarrow table.

        Raises
        ------
        UnknownNameError
            If the sweep has no such table.
        """
        if name not in self.tables:
            raise UnknownNameError(f"no table {name!r}; {suggestion(name, TABLES)}")
        return self.tables[name]

    def failures(self) -> list[dict[str, Any]]:
        """Returns the rows of ``runs`` with an error."""
        return [row for row in self.tables["runs"].to_pylist() if row["error"]]

    @property
    def verdict(self) -> Verdict:
        """Returns the combined verdict on all runs."""
        named = [
            (f"run {row['run'][:16]}", of_text(row["verdict"], row["verdict_text"]))
            for row in self.tables["runs"].to_pylist()
            if row.get("verdict")
        ]
        return together(named) if named else Verdict()

    @property
    def unfinished_differ(self) -> bool:
        """True if points differ in the share of unfinished transfers."""
        by_point: dict[int, list[int]] = {}
        for row in self.tables["runs"].to_pylist():
            own = by_point.setdefault(row["point"], [0, 0])
            own[0] += row.get("unfinished") or 0
            own[1] += row.get("transfers") or 0
        return len({left * 10_000 // max(of, 1) for left, of in by_point.values()}) > 1

    def result(self, run: str) -> Result:
        """Returns the result of a run. Repeats the run if its result was not kept.

        Raises
        ------
        ResultError
            If there is no such run, or it failed.
        """
        kept = self.directory / "runs" / run
        if kept.is_dir():
            return Result.load(kept)
        record = Store(self.directory / "runs").find(run, ())
        if record is None:
            raise ResultError(f"{self.directory}: no completed run {run}")
        source = Source(record.scenario, str(self.directory / "scenario.toml"))
        return run_source(source, seed=record.facts.get("seed"))


_COLUMNS = {
    "runs": {"run": pa.string(), "point": pa.int64(), "seed": pa.uint64(), "error": pa.string()},
    "metrics": {"point": pa.int64(), "metric": pa.string(), "entity": pa.string(), "value": pa.float64()},
    "summary": {"point": pa.int64(), "metric": pa.string(), "entity": pa.string(), "mean": pa.float64()},
}
"""Columns of every sweep, with their types."""


def _check_columns(name: str, table: pa.Table) -> None:
    """Rejects a table that was not written by a sweep."""
    for column, kind in _COLUMNS[name].items():
        if column not in table.column_names:
            raise ValueError(f"{name}.parquet has no column {column}")
        if (found := table.schema.field(column).type) != kind:
            raise ValueError(f"{name}.parquet: its column {column} is of {found}; expected {kind}")


def write_outcome(plan: Plan, finished: Iterable[Finished], directory: Path) -> Outcome:
    """Writes the tables of finished runs. Each file is replaced atomically."""
    import pyarrow.parquet as pq  # slow to import

    ordered = sorted(finished, key=lambda one: (one.run.point.number, one.run.seed or 0))
    runs, about_runs = _runs(plan, ordered)
    metrics, about_metrics = _metrics(plan, ordered)
    summary, about_summary = _summary(plan, ordered)
    description = {"runs": about_runs, "metrics": about_metrics, "summary": about_summary}
    tables = {"runs": runs, "metrics": metrics, "summary": summary}
    for name, table in tables.items():
        replace_file(directory / f"{name}.parquet", functools.partial(pq.write_table, table))
    replace_file(
        directory / "description.json",
        lambda path: path.write_text(json.dumps(description, indent=1) + "\n", "utf-8"),
    )
    return Outcome(directory, tables, description)


def replace_file(target: Path, write: Callable[[Path], object]) -> None:
    """Writes a temporary file, and renames it to `target` when it is complete."""
    partial = target.with_name(f".{secrets.token_hex(6)}.partial")
    try:
        write(partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def unit_of(name: str) -> str:
    """Returns the last word of a name if it is a unit, else an empty string."""
    match = _UNIT.search(name)
    return match[1] if match else ""


Column = tuple[str, pa.DataType, list[Any], str, str]
"""Name, type, values, unit, meaning."""


def _runs(plan: Plan, finished: list[Finished]) -> tuple[pa.Table, dict[str, Any]]:
    kept = [one.record.facts for one in finished]
    columns: list[Column] = [
        (
            "run",
            pa.string(),
            [one.record.run for one in finished],
            "",
            "Name of the run; file in runs/.",
        ),
        ("point", pa.int64(), [one.run.point.number for one in finished], "", "Setting of the varied keys."),
        ("seed", pa.uint64(), [_seed(one) for one in finished], "", "Seed of the random streams."),
        *_settings(plan, [one.run.point.values for one in finished]),
        (
            "error",
            pa.string(),
            [one.record.error for one in finished],
            "",
            "Error message; empty if the run did not fail.",
        ),
        (
            "verdict",
            pa.string(),
            [one.verdict and one.verdict.state for one in finished],
            "",
            "Verdict on the run, such as complete or deadlocked; null if it failed before it started.",
        ),
        (
            "verdict_text",
            pa.string(),
            [None if one.verdict is None else str(one.verdict) for one in finished],
            "",
            "Verdict as text.",
        ),
        (
            "transfers",
            pa.int64(),
            [one.get("transfers") for one in kept],
            "",
            "Transfers that started, or waited for others.",
        ),
        (
            "unfinished",
            pa.int64(),
            [one.get("unfinished") for one in kept],
            "",
            "Transfers of these that were not complete at the end; statistics exclude them.",
        ),
        ("fingerprint", pa.string(), [one.get("fingerprint") for one in kept], "", "Hash of the trajectory."),
        ("simulated_s", pa.float64(), [one.get("simulated_s") for one in kept], "s", "Simulated time."),
        ("frame_hops", pa.int64(), [one.get("frame_hops") for one in kept], "", "Links crossed by frames."),
        ("wall_s", pa.float64(), [one.get("wall_s") for one in kept], "s", "Wall-clock time."),
    ]
    return _table("One row per run.", columns)


def _metrics(plan: Plan, finished: list[Finished]) -> tuple[pa.Table, dict[str, Any]]:
    rows = [
        (one.record.run, one.run.point.number, _seed(one), measure.name, entity, unit_of(measure.name), value)
        for one in finished
        for measure in plan.measures
        for entity, value in _values(one.record, measure.text)
    ]
    run, point, seed, name, entity, unit, value = _turned(rows, 7)
    columns: list[Column] = [
        ("run", pa.string(), run, "", "Name of the run."),
        ("point", pa.int64(), point, "", "Setting of the varied keys."),
        ("seed", pa.uint64(), seed, "", "Seed of the random streams."),
        ("metric", pa.string(), name, "", "Name of the measure."),
        ("entity", pa.string(), entity, "", "Flow, port or queue; empty for a measure of the whole run."),
        ("unit", pa.string(), unit, "", "Unit of the value, if the name of the measure ends with one."),
        ("value", pa.float64(), value, "as in unit", "Value; null if unknown."),
    ]
    return _table("One row per run and measure, and per entity if the measure is a column.", columns)


def _summary(plan: Plan, finished: list[Finished]) -> tuple[pa.Table, dict[str, Any]]:
    groups: dict[tuple[int, str, str], list[float]] = {}
    for one in finished:
        for measure in plan.measures:
            for entity, value in _values(one.record, measure.text):
                groups.setdefault((one.run.point.number, measure.name, entity), []).append(value)
    left: dict[int, int] = {}
    for one in finished:
        left[one.run.point.number] = left.get(one.run.point.number, 0) + one.unfinished
    settings = {one.run.point.number: one.run.point.values for one in finished}
    intervals = [student_t_interval(values, CONFIDENCE) for values in groups.values()]
    known = [[value for value in values if not math.isnan(value)] or [math.nan] for values in groups.values()]
    columns: list[Column] = [
        ("point", pa.int64(), [key[0] for key in groups], "", "Setting of the varied keys."),
        *_settings(plan, [settings[key[0]] for key in groups]),
        ("metric", pa.string(), [key[1] for key in groups], "", "Name of the measure."),
        ("entity", pa.string(), [key[2] for key in groups], "", "As in metrics."),
        ("unit", pa.string(), [unit_of(key[1]) for key in groups], "", "Unit of the values."),
        ("mean", pa.float64(), [one.mean for one in intervals], "as in unit", "Mean over the seeds."),
        (
            "half_width",
            pa.float64(),
            [one.half_width for one in intervals],
            "as in unit",
            "Half-width of the Student-t interval of the mean; null for one seed.",
        ),
        ("min", pa.float64(), [min(values) for values in known], "as in unit", "Smallest value."),
        ("max", pa.float64(), [max(values) for values in known], "as in unit", "Largest value."),
        ("runs", pa.int64(), [one.n for one in intervals], "", "Runs with a known value."),
        (
            "unfinished",
            pa.int64(),
            [left.get(key[0], 0) for key in groups],
            "",
            "Incomplete transfers in all runs of the point; statistics exclude them.",
        ),
        ("confidence", pa.float64(), [CONFIDENCE] * len(groups), "", "Confidence level of the interval."),
    ]
    return _table("One row per point and measure (and entity), over the seeds.", columns)


def _settings(plan: Plan, points: list[dict[str, Any]]) -> list[Column]:
    """Two columns per varied key: its values as text, and as numbers if they have a unit."""
    found: list[Column] = []
    for key in [*plan.values, *plan.derive]:
        values = [values.get(key) for values in points]
        about = f"Key {key} of the scenario."
        kinds = {type(value) for value in values}
        if kinds <= {int, float}:
            whole = kinds == {int} and all(abs(int(value or 0)) < 1 << 63 for value in values)
            found.append((key, pa.int64() if whole else pa.float64(), values, "", about))
            continue
        texts = [written(value) for value in values]
        found.append((key, pa.string(), texts, "", f"{about[:-1]}, as written."))
        amounts = {text: value_of(value) for text, value in dict(zip(texts, values, strict=True)).items()}
        record = {text: one.in_tables() for text, one in amounts.items() if isinstance(one, Quantity)}
        units = {unit for _, unit in record.values()}
        if len(units) == 1 and len(record) == len(amounts):
            unit = units.pop()
            found.append((f"{key}_{unit}", pa.float64(), [record[text][0] for text in texts], unit, about))
    return found


def _values(record: Record, text: str) -> list[tuple[str, float]]:
    if record.error:
        return []
    value = record.measures[text]
    pairs = value.items() if isinstance(value, dict) else [("", value)]
    return [(entity, math.nan if one is None else float(one)) for entity, one in pairs]


def _seed(one: Finished) -> int | None:
    return one.run.seed if one.run.seed is not None else one.record.facts.get("seed")


def _turned(rows: list[tuple[Any, ...]], columns: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(columns)]


def _table(about: str, columns: list[Column]) -> tuple[pa.Table, dict[str, Any]]:
    schema = pa.schema(
        [
            pa.field(name, kind, metadata={"unit": unit, "about": meaning})
            for name, kind, _, unit, meaning in columns
        ]
    )
    # Values that are not finite become null.
    arrays = [
        arrow.array(values, kind, null_nan=pa.types.is_floating(kind)) for _, kind, values, _, _ in columns
    ]
    table = pa.Table.from_arrays(arrays, schema=schema)
    described = [{"name": name, "unit": unit, "about": meaning} for name, _, _, unit, meaning in columns]
    return table, {"about": about, "columns": described}
