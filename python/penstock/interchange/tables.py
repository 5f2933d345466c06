"""Exports result tables: CSV, Parquet, and the text format of Prometheus (OpenMetrics)."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from penstock import arrow
from penstock.errors import InputError
from penstock.measurements import Measurements

ENTITIES = ("flows", "ports", "classes", "queues", "connections", "rate_limiters")
"""Tables with one row per entity, identified by the text columns and `class`."""
_LABELS = ("class", "priority")
_LEAST_STEP_S = 1e-3
"""Time resolution of Prometheus in seconds."""


def csv_text(table: pa.Table) -> bytes:
    """Returns a table as CSV with a header; missing values are empty.

    Raises
    ------
    InputError
        If it has columns of lists, which CSV cannot express.
    """
    nested = [one.name for one in table.schema if pa.types.is_nested(one.type)]
    if nested:
        raise InputError(f"{', '.join(nested)}: columns of lists; expected --format parquet")
    out = io.BytesIO()
    csv.write_csv(table, out)
    return out.getvalue()


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def stretch_of(result: Measurements) -> float:
    """The smallest power of ten that spaces the points of a time series by at least a millisecond."""
    times = sorted(set(result.table("series")["time_ns"].to_pylist())) if _has(result, "series") else []
    steps = [b - a for a, b in pairwise(times)]
    if not steps:
        return 1.0
    return float(10 ** max(0, math.ceil(math.log10(_LEAST_STEP_S / (min(steps) * 1e-9)) - 1e-9)))


def openmetrics(result: Measurements, *, stretch: float, epoch_s: float = 0.0) -> Iterator[str]:
    """Yields a result in the OpenMetrics 1.0 text format.

    Totals have the time of the end of the run; points of time series have the time of the beginning of their
    bin. Unknown values are left out.

    Parameters
    ----------
    result : Result
        The result of a run.
    stretch : float
        Factor by which simulated times are stretched, at least 1.
    epoch_s : float
        Start of the simulation in seconds since 1970. Default 0.
    """
    end = f"{epoch_s + result.run['simulated_s'] * stretch:.3f}"
    for name in ENTITIES:
        if _has(result, name):
            yield from _totals(result, name, end)
    if _has(result, "series"):
        yield from _series(result, stretch, epoch_s)
    yield "# EOF"


def _has(result: Measurements, name: str) -> bool:
    return name in result.table_names and result.table(name).num_rows > 0


def _totals(result: Measurements, name: str, end: str) -> Iterator[str]:
    table = result.table(name)
    rows = table.to_pylist()
    texts = [one.name for one in table.schema if _is_text(one.type) or one.name in _LABELS]
    about = {one["name"]: one["about"] for one in result.description[name]["columns"]}
    labels = [_labels({key: row[key] for key in texts if row[key] is not None}) for row in rows]
    for column in table.schema:
        if column.name in texts or not (
            pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        ):
            continue
        yield from _head(f"{name}_{column.name}", about.get(column.name, ""))
        for row, label in zip(rows, labels, strict=True):
            if (value := _value(row[column.name])) is not None:
                yield f"penstock_{name}_{column.name}{label} {value} {end}"


def _series(result: Measurements, stretch: float, epoch_s: float) -> Iterator[str]:
    table = arrow.sort(
        result.table("series"), [(key, "ascending") for key in ("metric", "entity", "time_ns")]
    )
    metric = None
    for row in table.to_pylist():
        if row["metric"] != metric:
            metric = row["metric"]
            yield from _head(f"series_{metric}", "A time series.")
        if (value := _value(row["value"])) is not None:
            at = epoch_s + row["time_ns"] * 1e-9 * stretch
            yield f"penstock_series_{metric}{_labels({'entity': row['entity']})} {value} {at:.3f}"


def _head(name: str, about: str) -> Iterator[str]:
    yield f"# TYPE penstock_{name} gauge"
    if about:
        yield f"# HELP penstock_{name} {_escaped(about)}"


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def _labels(values: dict[str, Any]) -> str:
    inside = ",".join(
        f'{re.sub(r"[^a-zA-Z0-9_]", "_", key)}="{_escaped(str(one))}"' for key, one in values.items()
    )
    return f"{{{inside}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _value(value: Any) -> str | None:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else repr(value)
