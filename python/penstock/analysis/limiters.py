"""Rate limiters: congestion points that reduced the rate of a flow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.measurements import Measurements
from penstock.units import rate

NAMED = 3
"""Maximum number of congestion points listed."""


def of_flow(result: Measurements, flow: dict[str, Any]) -> Iterator[str]:
    """Describes the congestion points that reduced the rate of a flow, most frequent first.

    Parameters
    ----------
    result : Result
        Result of any run.
    flow : dict
        Row of the flow in the table ``flows``.
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
            f"The congestion point at {row['port']} ({where}) reduced its rate {times}, by "
            f"{rate(mean)} on average, to no less than {rate(row['rate_min_bps'])}."
        )
    if len(rows) > NAMED:
        yield f"{len(rows) - NAMED} more congestion points also reduced it."
