"""Report: one self-contained HTML page per run, without network access.

The page template is built from ``viewer/``. This module inserts the result as JSON between script tags.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from penstock import arrow
from penstock.analysis.decimate import envelope, lasting, merge_groups, rows_by, spans_of
from penstock.analysis.node_numbers import node_numbers
from penstock.analysis.verdict import verdict
from penstock.errors import ResultError
from penstock.measurements import numpy_of, of_result, values_of

from .delays import delays
from .fabric import fabric
from .facts import described, facts, with_demand
from .groups import with_groups
from .shorten import largest_series, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Curves, Measurements

SCHEMA = "penstock-report/1"
TEMPLATE = Path(__file__).with_name("viewer.html")
PLACEHOLDER = ">__PENSTOCK_RESULT__<"

MAX_SERIES_ROWS = 60_000
"""Maximum number of points. Above it only the largest series are drawn, as envelopes; browsers are slow."""
MIN_POINTS = 120
"""Minimum number of points per series."""
MAX_PAUSES = 5_000
_REPEATED = 4
"""Minimum ratio of rows to distinct names for a dictionary encoding of a column."""
_NOT_SHOWN = {"latencies", "demands", "paths", "occupancies", "frames", "rank_steps"}
"""Long tables that the page does not read."""
_EXACT_IN_JAVASCRIPT = 2**53


@of_result
def write_report(result: Measurements, path: Path) -> None:
    """Writes the report page.

    Raises
    ------
    ResultError
        If the page template is missing from the installation or has no place for the result.
    OSError
        If the file cannot be written.
    """
    path.write_text(page_of(result), "utf-8")


@of_result
def page_of(result: Measurements) -> str:
    """Returns the report page as text.

    Raises
    ------
    ResultError
        As for `write_report`.
    """
    try:
        template = TEMPLATE.read_text("utf-8")
    except FileNotFoundError:
        raise ResultError(
            "the report page is missing from this installation; install Penstock again, or pass --no-report"
        ) from None
    return fill(template, document(result))


def fill(template: str, content: dict[str, Any]) -> str:
    """Inserts `content` into the page template.

    Raises
    ------
    ResultError
        If the template does not contain the placeholder exactly once.
    """
    if template.count(PLACEHOLDER) != 1:
        raise ResultError(
            f"the report page has {template.count(PLACEHOLDER)} placeholders for a result; expected one"
        )
    return template.replace(PLACEHOLDER, ">" + script_json(content) + "<")


def script_json(content: object) -> str:
    """Encodes JSON so that it cannot end a script tag or a line of a script.

    Numbers that are not finite become null.
    """
    text = orjson.dumps(content).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _in_prose(warning: str) -> str:
    """Removes the quoted scenario lines from a warning; keeps message, help and position."""
    message, *rest = [line.strip() for line in warning.splitlines() if line.strip()] or [""]
    place = next((line.removeprefix("--> ") for line in rest if line.startswith("--> ")), None)
    helps = [line.removeprefix("= help: ") for line in rest if line.startswith("= help: ")]
    if place is None:
        return warning
    return f"{'; '.join([message.removeprefix('warning: '), *helps])} ({place})"


@of_result
def document(result: Measurements) -> dict[str, Any]:
    """Returns the content of the page. Warnings describe series and pauses that were thinned out."""
    shown = {name: result.table(name) for name in result.table_names if name not in _NOT_SHOWN}
    if "flows" in shown:
        shown["flows"] = with_demand(result)
    page = shorten(shown, result.topology, node_numbers(result) if "ports" in shown else None)
    tables, notes = page.tables, page.notes
    recorded = tables["series"].num_rows if "series" in tables else 0
    curves = with_groups(result) if recorded else {}
    thinned = _points(curves) > MAX_SERIES_ROWS
    if thinned:
        curves = _thin_series(largest_series(curves))
    if recorded:
        tables["series"] = _table_of(curves, tables["series"].schema)
    if thinned:
        notes.append(
            f"For this page {recorded:,} points of time series were thinned out to "
            f"{tables['series'].num_rows:,}: the largest series of each kind, with the minimum and maximum "
            "of each interval. All points are in series.parquet."
        )
        if "watermarks" in tables:
            marks = tables["watermarks"]
            drawn = pc.is_in(marks["entity"], value_set=pc.unique(tables["series"]["entity"]))
            tables["watermarks"] = marks.filter(drawn)
    if "pauses" in tables and tables["pauses"].num_rows > MAX_PAUSES:
        full = tables["pauses"]
        tables["pauses"] = _join_pauses(full, float(result.run["simulated_s"]) * 1e9)
        notes.append(
            f"For this page {full.num_rows:,} pauses were joined into {tables['pauses'].num_rows:,} bars. "
            "All pauses are in pauses.parquet."
        )
    found = [one["message"] if isinstance(one, dict) else one for one in result.run.get("warnings", [])]
    warnings = [*(_in_prose(str(one)) for one in found), *notes]
    seed = result.seed if result.seed < _EXACT_IN_JAVASCRIPT else str(result.seed)
    return {
        "schema": SCHEMA,
        "run": {**result.run, "seed": seed, "warnings": warnings},
        "verdict": verdict(result).to_dict(),
        "thinned": thinned,  # true: a missing bin has the previous value; false: it is zero
        "scenario_toml": result.scenario_toml,
        "facts": facts(result),
        "delays": delays(result),
        "topology": page.topology,
        "fabric": fabric(result),
        "totals": page.totals,
        "description": described(result),
        "tables": {name: {"columns": columns(table)} for name, table in tables.items()},
    }


def columns(table: pa.Table) -> dict[str, list[Any] | dict[str, Any]]:
    """Converts columns to lists; numbers that are not finite become ``None``, because JSON has no NaN.

    Repeated names are dictionary-encoded: ``names``, and ``of``, the index of each row's name.
    """
    lists: dict[str, list[Any] | dict[str, Any]] = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_floating(column.type):
            lists[name] = _short(numpy_of(column))
            continue
        if pa.types.is_string(column.type) and not column.null_count:
            number, names = arrow.codes(column)
            if len(number) >= _REPEATED * max(len(names), 1):
                lists[name] = {"names": names.to_pylist(), "of": number.tolist()}
                continue
        lists[name] = values_of(column)
    return lists


def _short(values: NDArray[np.float64]) -> list[float | int | None]:
    """Integers without a decimal point, and ``None`` for numbers that are not finite."""
    found: list[float | int | None] = values.tolist()
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        whole = np.flatnonzero(known & (np.floor(values) == values) & (np.abs(values) < _EXACT_IN_JAVASCRIPT))
    for at, value in zip(whole.tolist(), values[whole].astype(np.int64).tolist(), strict=True):
        found[at] = value
    for at in np.flatnonzero(~known).tolist():
        found[at] = None
    return found


def _points(curves: Curves) -> int:
    return sum(len(times) for of in curves.values() for times, _ in of.values())


def _thin_series(curves: Curves) -> Curves:
    points = max(MIN_POINTS, MAX_SERIES_ROWS // sum(map(len, curves.values())))
    return {
        metric: {entity: envelope(*curve, points) for entity, curve in of.items()}
        for metric, of in curves.items()
    }


def _table_of(curves: Curves, schema: pa.Schema) -> pa.Table:
    """Converts series to a table with the schema of a result."""
    named = [(metric, entity, curve) for metric, of in curves.items() for entity, curve in of.items()]
    nth = arrow.numbers(np.repeat(np.arange(len(named)), [len(times) for _, _, (times, _) in named]))
    columns = {
        "metric": arrow.strings(metric for metric, _, _ in named).take(nth),
        "entity": arrow.strings(entity for _, entity, _ in named).take(nth),
        "time_ns": arrow.numbers(np.concatenate([curve[0] for _, _, curve in named])),
        "value": arrow.numbers(np.concatenate([curve[1] for _, _, curve in named])),
    }
    return arrow.table({name: column.cast(schema.field(name).type) for name, column in columns.items()})


def _join_pauses(table: pa.Table, end_of_run_ns: float) -> pa.Table:
    """Merges nearly adjacent pauses of the same port, priority, sender and reason into one row."""
    same = ["port", "priority", "sent_by", "reason"]
    spans = spans_of(table, end_of_run_ns)
    groups = rows_by(table, same)
    groups = [groups[n] for n in np.argsort(-lasting(spans, groups), kind="stable")]
    rank = np.empty(len(spans), dtype=np.int64)
    rank[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    joined, of = merge_groups(spans, rank, end_of_run_ns / 2_000)
    # Whole groups, longest paused time first, until the limit is reached.
    kept = np.searchsorted(of, of) < MAX_PAUSES
    joined, of = joined[kept], of[kept]
    firsts = np.array([rows[0] for rows in groups])
    order = np.argsort(joined[:, 0], kind="stable")
    found = arrow.take(table, firsts[of[order]])
    for name, at in (("start_ns", 0), ("end_ns", 1)):
        field = table.schema.field(name)
        values = arrow.numbers(joined[order, at]).cast(field.type)
        found = found.set_column(table.schema.get_field_index(name), field, values)
    return found
