"""Connections: flows whose two ends answer each other (table ``connections``), described in sentences.

The offered load of a connection depends on the answers it receives. Its throughput is therefore compared with
the maximum that its window or outstanding requests allow on an empty fabric (table ``demands``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import arrow, measurements
from penstock.library import toml
from penstock.measurements import numpy_of, of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements

DURATIONS = ("min", "mean", "p99", "max")
"""Columns with statistics of round trips and exchanges."""

EXCHANGE = ("requester", "conversation", "mpi_exchange", "fcoe")
"""Endpoints whose timed quantity is an exchange, not a round trip."""

COMPLETES = ("tcp_sender", "window_sender")
"""Endpoints whose rows contain the time at which the whole flow was acknowledged."""

HELD = {
    "application": "application",
    "receive_window": "receive window or send buffer",
    "congestion_control": "congestion control",
    "pause": "pauses at its NIC",
    "host": "busy NIC",
}
"""Limits of a TCP sender. Each is a column ``held_by_*``."""

PATHS_CHOSEN = (
    "Switches choose a path for each frame (path_choice): the ports named are on the planned path, "
    "and frames also took other paths."
)


@of_result
def rows(result: Measurements) -> list[dict[str, Any]]:
    """Returns the rows of the table ``connections``; empty for results of earlier versions.

    Durations are ``None`` where nothing was timed.
    """
    return measurements.rows(table(result)) if "connections" in result.table_names else []


@of_result
def table(result: Measurements) -> pa.Table:
    """The table ``connections`` with null for durations where nothing was timed.

    Raises
    ------
    UnknownNameError
        If the result has no such table.
    """
    found = result.table("connections")
    for what, number in (("round_trip", "round_trips"), ("exchange", "exchanges")):
        timed = arrow.call("greater", found[number], 0)
        for name in DURATIONS:
            column = f"{what}_{name}_ns"
            values = arrow.call("if_else", timed, found[column], pa.NULL)
            found = found.set_column(found.schema.get_field_index(column), column, values)
    return found


@of_result
def of_flow(result: Measurements, flow: str) -> dict[str, Any] | None:
    """Returns the connection of a flow; ``None`` if the flow is not a connection."""
    return next((row for row in rows(result) if row["flow"] == flow), None)


@of_result
def unfinished(result: Measurements) -> list[str]:
    """Names of the TCP flows with a `limit` that they had not reached when the run ended."""
    if "demands" not in result.table_names:
        return []
    known = result.table("connections") if "connections" in result.table_names else None
    if known is None or not known.num_rows:
        return []
    demands = result.table("demands")
    limited = demands["flow"].filter(pc.is_finite(demands["limit_bytes"])).unique()
    waits = np.isnan(numpy_of(known["completed_ns"]).astype(np.float64))
    own = (
        waits
        & (arrow.places(known["flow"], limited) >= 0)
        & (arrow.places(known["endpoint"], arrow.strings(COMPLETES)) >= 0)
    )
    found: list[str] = arrow.take(known["flow"], np.flatnonzero(own)).to_pylist()
    return found


def timed(row: dict[str, Any]) -> tuple[str, int, dict[str, float | None]]:
    """A timed quantity of a connection: name, count, and durations in nanoseconds."""
    what = "exchange" if row["endpoint"] in EXCHANGE else "round_trip"
    return (
        f"{what}s".replace("_", " "),
        row[f"{what}s"],
        {name: row[f"{what}_{name}_ns"] for name in DURATIONS},
    )


def held(row: dict[str, Any]) -> dict[str, float]:
    """Divides the time of a TCP connection by the limit that delayed it.

    Parameters
    ----------
    row : dict
        A row of the table ``connections``.

    Returns
    -------
    dict of str to float
        Share of the time from the start of the sender to the last acknowledgement, by the keys of `HELD`; the
        shares sum to 1. Empty if the connection is not TCP, has not started, or was recorded by an earlier
        version.
    """
    shares = {by: row.get(f"held_by_{by}") for by in HELD}
    known = {by: share for by, share in shares.items() if share is not None and math.isfinite(share)}
    return known if len(known) == len(HELD) else {}


@of_result
def most_bps(result: Measurements, flow: str) -> float:
    """Maximum demand of a connection in b/s of frames (DA to FCS); infinite if unbounded."""
    if "demands" not in result.table_names:
        return math.inf
    demand_rates = [row["rate_bps"] for row in result.table("demands").to_pylist() if row["flow"] == flow]
    return max(demand_rates, default=math.inf)


@of_result
def chooses_paths(result: Measurements) -> bool:
    """Returns true if a switch chooses a path for each frame instead of each flow."""
    scenario = toml(result.scenario_toml)
    switches = [scenario.get("switch", {}), *scenario.get("switches", {}).values()]
    choices = [switch.get("path_choice", "hash") for switch in switches]
    return any(choice != "hash" and not (isinstance(choice, dict) and "hash" in choice) for choice in choices)


def sentences(result: Measurements, row: dict[str, Any]) -> Iterator[str]:
    """Describes a connection in sentences."""
    from penstock.units import duration, rate

    what, number, times = timed(row)
    follows = "responses" if row["endpoint"] in EXCHANGE else "acknowledgements"
    yield f"It is a connection: its load depends on its {follows}."
    if number:
        least, mean, most = (duration(times[name]) for name in ("min", "mean", "max"))
        yield f"{number:,} {what}: minimum {least}, mean {mean}, maximum {most}."
    else:
        yield f"It completed none of its {what}."
    demand_rates = most_bps(result, row["flow"])
    if math.isfinite(demand_rates):
        yield f"On an empty fabric it could send at most {rate(demand_rates)}."
    if shares := held(row):
        ordered = sorted(shares.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{HELD[by]} {share:.1%}" for by, share in ordered if share > 0)
        yield f"Time limited by: {listed.replace('%', ' %')}."
    if row["completed_ns"] is not None and math.isfinite(row["completed_ns"]):
        yield f"Its transfer completed at {duration(row['completed_ns'])}."
    for port in (row.get("withheld_at") or "").split():
        yield (
            f"Nothing is sent through {port}: no flow control is in force there for its priority, and T11 "
            "requires lossless Ethernet for FCoE (requires_lossless)."
        )
    if row.get("exchanges_aborted"):
        yield (
            f"Exchanges that exceeded ulp_tov, and were aborted and repeated: {row['exchanges_aborted']:,}."
        )
    if row.get("timeouts"):
        yield f"It had {row['timeouts']:,} timeouts, and sent nothing while it waited for them."
    if row.get("marks_echoed"):
        yield f"{row['marks_echoed']:,} acknowledgements carried a congestion mark."
    if row["segments_sent_again"]:
        yield f"{row['segments_sent_again']:,} segments were retransmitted."
    if row["frames_discarded"]:
        discarded = f"{row['frames_discarded']:,} frames"
        yield f"{discarded} were discarded: out of order, duplicate or too late."
        if not row["segments_sent_again"] and row["endpoint"] == "window_sender":
            yield "Without a retransmission timeout it has stopped."
