"""Queue pairs in the error state, described in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock import arrow
from penstock.measurements import of_result, rows
from penstock.units import duration

if TYPE_CHECKING:
    from penstock.measurements import Measurements


@of_result
def of_run(result: Measurements) -> str | None:
    """Describes the queue pairs in the error state; ``None`` if there are none."""
    failed, many = _failed(result)
    if not failed:
        return None
    first = failed[0]
    return (
        f"queue pairs in error: {len(failed):,} of {many:,}, the first of {first['flow']} to "
        f"{first['destination']} at {_when(first)} (table queue_pairs)"
    )


@of_result
def of_flows(result: Measurements, flows: set[str], destination: str | None = None) -> str | None:
    """Describes the queue pairs of some flows in the error state, to one host or to all."""
    failed, many = _failed(result, flows, destination)
    if not failed:
        return None
    if many == 1:
        return f"Its queue pair entered the error state at {_when(failed[0])} and no longer sends."
    entered = "one" if len(failed) == 1 else f"{len(failed):,}"
    return (
        f"Of its {many:,} queue pairs {entered} entered the error state, the first, to "
        f"{failed[0]['destination']}, at {_when(failed[0])}; they no longer send."
    )


def _failed(
    result: Measurements, flows: set[str] | None = None, destination: str | None = None
) -> tuple[list[dict[str, Any]], int]:
    """Queue pairs in the error state in order of time, and the total number of queue pairs."""
    if "queue_pairs" not in result.table_names:
        return [], 0
    pairs = result.table("queue_pairs")
    if flows is not None:
        pairs = pairs.filter(
            pc.is_in(pairs["flow"].cast(pa.string()), value_set=arrow.strings(sorted(flows)))
        )
    if destination is not None:
        pairs = pairs.filter(arrow.call("equal", pairs["destination"].cast(pa.string()), destination))
    failed = rows(pairs.filter(pc.is_finite(arrow.call("fill_null", pairs["failed_ns"], math.nan))))
    return sorted(failed, key=lambda row: float(row["failed_ns"])), pairs.num_rows


def _when(row: dict[str, Any]) -> str:
    counts = {"timeout": row["timeouts"], "RNR NAK": row["rnr_naks_received"]}
    counted = [f"{number:,} {what}{'s' * (number != 1)}" for what, number in counts.items() if number]
    return f"{duration(row['failed_ns'])} after {' and '.join(counted)}"
