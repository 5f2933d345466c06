"""Rate limiters: which congestion points slowed down a flow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.measurements import Measurements
from penstock.units import rate

NAMED = 3
"""Congestion points that are named."""


def of_flow(result: Measurements, flow: dict[str, Any]) -> Iterator[str]:
    """Sentences on the congestion points that slowed down the limiter of a flow, the most frequent first.

    Parameters
    ----------
    result : Result
        Of any run.
    flow : dict
        Its row in the table ``flows``.
    """
    if "slowdowns" not in result.table_names:
        return
    to, priority = f"to {flow['destination']}", f"priority {flow['class']}"
    names = {flow["flow"], priority, f"{to}, {priority}", to}
    rows = [
        row for row in result.rows("slowdowns") if row["host"] == flow["source"] and row["limiter"] in names
    ]
    rows.sort(key=lambda row: -row["times"])
    for row in rows[:NAMED]:
        times = "once" if row["times"] == 1 else f"{row['times']:,} times"
        mean = row["cut_bps"] / row["times"]
        where = "all classes" if row["measures"] == "port" else f"class {row['class']}"
        yield (
            f"The congestion point at {row['port']} ({where}) lowered its rate {times}, by "
            f"{rate(mean)} on average, to {rate(row['rate_min_bps'])} at least."
        )
    if len(rows) > NAMED:
        yield f"And {len(rows) - NAMED} more congestion points did."
