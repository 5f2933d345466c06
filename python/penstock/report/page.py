"""The report: one HTML page a run that needs nothing else, not even a network.

The page is built from ``viewer/``; here it gets the result, as JSON between its script tags.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ResultError
from penstock.measurements import split
from penstock.plots.decimate import envelope, merge_spans

if TYPE_CHECKING:
    from penstock.measurements import Measurements

SCHEMA = "penstock-report/1"
TEMPLATE = Path(__file__).with_name("viewer.html")
PLACEHOLDER = ">__PENSTOCK_RESULT__<"

MAX_SERIES_ROWS = 400_000
"""Beyond this a browser needs seconds to open the page; then series are drawn as envelopes."""
MAX_ENTITIES = 64
"""Of each metric, if there are more rows than that."""
MIN_POINTS = 200
"""However many series there are, each keeps at least this many points."""
MAX_PAUSES = 50_000
_NOT_SHOWN = {"latencies"}
"""Tables that are only in the result: long, and nothing on the page reads them."""
_EXACT_IN_JAVASCRIPT = 2**53


def write_report(result: Measurements, path: Path) -> None:
    """Writes the report page.

    Raises
    ------
    ResultError
        If the page template is missing from the installation or has no place for the result.
    OSError
        If the file cannot be written.
    """
    try:
        template = TEMPLATE.read_text("utf-8")
    except FileNotFoundError:
        raise ResultError(
            "the report page is missing from this installation; install Penstock again, or pass --no-report"
        ) from None
    path.write_text(fill(template, document(result)), "utf-8")


def fill(template: str, content: dict[str, Any]) -> str:
    """The page with `content` in the place kept for it.

    Raises
    ------
    ResultError
        If the template does not have exactly one such place.
    """
    if template.count(PLACEHOLDER) != 1:
        raise ResultError(
            f"the report page has {template.count(PLACEHOLDER)} places for a result, expected one"
        )
    return template.replace(PLACEHOLDER, ">" + script_json(content) + "<")


def script_json(content: object) -> str:
    """JSON that may stand between script tags: nothing in it can end the tag or a line of a script."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def document(result: Measurements) -> dict[str, Any]:
    """The result as the page reads it; where series or pauses are thinned out, its warnings say so."""
    tables = {name: result.table(name) for name in result.table_names if name not in _NOT_SHOWN}
    notes: list[str] = []
    if "series" in tables and tables["series"].num_rows > MAX_SERIES_ROWS:
        full = tables["series"]
        tables["series"] = _busiest(full)
        if tables["series"].num_rows < full.num_rows:
            notes.append(
                f"This page has the {MAX_ENTITIES} time series of each kind in which most happens. "
                "series.parquet has all of them."
            )
    thinned = "series" in tables and tables["series"].num_rows > MAX_SERIES_ROWS
    if thinned:
        full = tables["series"]
        tables["series"] = _thin_series(full)
        notes.append(
            f"For this page {full.num_rows:,} points of time series were thinned out to "
            f"{tables['series'].num_rows:,}, keeping the smallest and largest of each stretch. "
            "series.parquet has all of them."
        )
    if "pauses" in tables and tables["pauses"].num_rows > MAX_PAUSES:
        full = tables["pauses"]
        tables["pauses"] = _join_pauses(full, float(result.run["simulated_s"]) * 1e9)
        notes.append(
            f"For this page {full.num_rows:,} pauses were joined into {tables['pauses'].num_rows:,} bars. "
            "pauses.parquet has each of them."
        )
    seed = result.seed if result.seed < _EXACT_IN_JAVASCRIPT else str(result.seed)
    return {
        "schema": SCHEMA,
        "run": {**result.run, "seed": seed, "warnings": [*result.run.get("warnings", []), *notes]},
        "thinned": thinned,  # a bin that is missing then holds the value before it, otherwise it is zero
        "scenario_toml": result.scenario_toml,
        "topology": result.topology,
        "description": result.description,
        "tables": {name: {"columns": columns(table)} for name, table in tables.items()},
    }


def columns(table: pa.Table) -> dict[str, list[Any]]:
    """Columns as lists; what is not a finite number becomes ``None``, because JSON has no NaN."""
    lists = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_finite(column), column, None)
        lists[name] = column.to_pylist()
    return lists


def _busiest(table: pa.Table) -> pa.Table:
    """The series of each metric whose values are largest together."""
    kept = []
    for metric in pc.unique(table["metric"]).to_pylist():
        own = table.filter(pc.equal(table["metric"], metric))
        sums = own.group_by("entity").aggregate([("value", "sum")]).sort_by([("value_sum", "descending")])
        names = sums["entity"].slice(0, MAX_ENTITIES).combine_chunks()
        kept.append(own.filter(pc.is_in(own["entity"], names)))
    return pa.concat_tables(kept)


def _thin_series(table: pa.Table) -> pa.Table:
    found = {
        metric: split(table.filter(pc.equal(table["metric"], metric)))
        for metric in pc.unique(table["metric"]).to_pylist()
    }
    points = max(MIN_POINTS, MAX_SERIES_ROWS // sum(map(len, found.values())))
    parts = []
    for metric, entities in found.items():
        for entity, (times, values) in entities.items():
            kept_times, kept_values = envelope(times, values, points)
            columns = {
                "metric": [metric] * len(kept_times),
                "entity": [entity] * len(kept_times),
                "time_ns": kept_times,
                "value": kept_values,
            }
            parts.append(pa.table(columns).cast(pa.schema([table.schema.field(name) for name in columns])))
    return pa.concat_tables(parts)


def _join_pauses(table: pa.Table, end_of_run_ns: float) -> pa.Table:
    """One row for pauses of the same port, priority, sender and reason that nearly touch."""
    same = ["port", "priority", "sent_by", "reason"]
    spans: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in same)
        end = end_of_run_ns if row["end_ns"] is None else row["end_ns"]
        spans.setdefault(key, []).append((row["start_ns"], end))
        first.setdefault(key, row)
    rows = [
        {**first[key], "start_ns": start, "end_ns": end}
        for key, own in spans.items()
        for start, end in merge_spans(own, gap=end_of_run_ns / 2_000)
    ]
    columns = {name: [row[name] for row in rows] for name in table.column_names}
    return pa.table(
        {name: pa.array(values).cast(table.schema.field(name).type) for name, values in columns.items()}
    )
