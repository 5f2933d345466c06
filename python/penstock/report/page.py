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
from penstock.measurements import rows as rows_of
from penstock.measurements import split
from penstock.plots.decimate import envelope, merge_spans, spans_by

from .fabric import fabric
from .shorten import largest_series, shorten

if TYPE_CHECKING:
    from penstock.measurements import Measurements

SCHEMA = "penstock-report/1"
TEMPLATE = Path(__file__).with_name("viewer.html")
PLACEHOLDER = ">__PENSTOCK_RESULT__<"

MAX_SERIES_ROWS = 60_000
"""Beyond this a browser needs long to open the page; then the largest series are drawn, as envelopes."""
MIN_POINTS = 120
"""However many series there are, each keeps at least this many points."""
MAX_PAUSES = 5_000
_REPEATED = 4
"""A column of names whose rows are this many times as many as its names is written as names and numbers."""
_NOT_SHOWN = {"latencies", "demands", "paths", "occupancies", "frames"}
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
    shown = {name: result.table(name) for name in result.table_names if name not in _NOT_SHOWN}
    page = shorten(shown, result.topology)
    tables, notes = page.tables, page.notes
    thinned = "series" in tables and tables["series"].num_rows > MAX_SERIES_ROWS
    if thinned:
        full = tables["series"]
        tables["series"] = _thin_series(largest_series(full))
        notes.append(
            f"For this page {full.num_rows:,} points of time series were thinned out to "
            f"{tables['series'].num_rows:,}: the largest series of each kind, and the smallest and largest "
            "of each stretch. series.parquet has all of them."
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
            "pauses.parquet has each of them."
        )
    seed = result.seed if result.seed < _EXACT_IN_JAVASCRIPT else str(result.seed)
    return {
        "schema": SCHEMA,
        "run": {**result.run, "seed": seed, "warnings": [*result.run.get("warnings", []), *notes]},
        "thinned": thinned,  # a bin that is missing then holds the value before it, otherwise it is zero
        "scenario_toml": result.scenario_toml,
        "topology": page.topology,
        "fabric": fabric(result),
        "totals": page.totals,
        "description": result.description,
        "tables": {name: {"columns": columns(table)} for name, table in tables.items()},
    }


def columns(table: pa.Table) -> dict[str, list[Any] | dict[str, Any]]:
    """Columns as lists; what is not a finite number becomes ``None``, because JSON has no NaN.

    Names that many rows have are written once: ``names``, and ``of``, the number of the name of each row.
    """
    lists: dict[str, list[Any] | dict[str, Any]] = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_finite(column), column, None)
            lists[name] = [_short(value) for value in column.to_pylist()]
            continue
        if pa.types.is_string(column.type) and not column.null_count:
            coded = pc.dictionary_encode(column).combine_chunks()
            if isinstance(coded, pa.ChunkedArray):
                coded = coded.chunk(0) if coded.num_chunks else pa.array([], pa.string()).dictionary_encode()
            if len(coded) >= _REPEATED * max(len(coded.dictionary), 1):
                lists[name] = {"names": coded.dictionary.to_pylist(), "of": coded.indices.to_pylist()}
                continue
        lists[name] = column.to_pylist()
    return lists


def _short(value: float | None) -> float | int | None:
    """A whole number without its point."""
    return (
        value if value is None or not value.is_integer() or abs(value) >= _EXACT_IN_JAVASCRIPT else int(value)
    )


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
    spans = spans_by(table, same, end_of_run_ns)
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    # The first of each, by Arrow: the rows of a long table take longer than all of its arithmetic.
    firsts = (
        table.append_column("row", pa.array(range(table.num_rows))).group_by(same).aggregate([("row", "min")])
    )
    for row in rows_of(table.take(firsts["row_min"])):
        first[tuple(row[name] for name in same)] = row
    longest = sorted(spans, key=lambda key: -sum(end - start for start, end in spans[key]))
    rows: list[dict[str, Any]] = []
    for key in longest:
        if len(rows) >= MAX_PAUSES:
            break
        merged = merge_spans(spans[key], gap=end_of_run_ns / 2_000)
        rows += [{**first[key], "start_ns": start, "end_ns": end} for start, end in merged]
    rows.sort(key=lambda row: row["start_ns"])
    columns = {name: [row[name] for row in rows] for name in table.column_names}
    return pa.table(
        {name: pa.array(values).cast(table.schema.field(name).type) for name, values in columns.items()}
    )
