"""Bypass queues: time that frames of a flow waited in them while other frames of their class passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from penstock import arrow
from penstock.library import toml
from penstock.measurements import of_result, rows

if TYPE_CHECKING:
    from penstock.measurements import Measurements

_EXACT_NS = 1e-3


@dataclass
class Waits:
    """Waits of one port caused by one congestion tree.

    Attributes
    ----------
    bypass_ns, class_ns : float
        Time that bypass queues waited alone, and time that whole classes waited.
    all_known : bool
        True if the table has every wait.
    """

    bypass_ns: float = 0.0
    class_ns: float = 0.0
    all_known: bool = True


@of_result
def of_flow(result: Measurements, flow: dict[str, Any]) -> dict[tuple[str, int], Waits]:
    """Waits during which frames of a flow may have been in a bypass queue, by port and tree number.

    Empty for a flow that is not bypassable: its frames are never in a bypass queue.
    """
    scenario = toml(result.scenario_toml)
    if not _is_bypassable(scenario, flow) or "pauses" not in result.table_names:
        return {}
    pauses = result.table("pauses")
    lasted = pc.subtract(pauses["end_ns"], pauses["start_ns"])
    keys = ["port", "tree", "reason"]
    parts = arrow.table({**{key: pauses[key] for key in keys}, "ns": lasted})
    # With a selection of recorded ports, there may have been more waits.
    all_known = not isinstance(scenario.get("probes"), list)
    waits: dict[tuple[str, int], Waits] = {}
    for row in rows(arrow.sums_by(parts, keys, "ns")):
        own = waits.setdefault((row["port"], row["tree"]), Waits(all_known=all_known))
        if row["reason"] == "bypass_credits":
            own.bypass_ns += row["ns_sum"]
        else:
            own.class_ns += row["ns_sum"]
    return waits


def _is_bypassable(scenario: dict[str, Any], flow: dict[str, Any]) -> bool:
    name = flow["flow"].partition("[")[0]
    return any(row["name"] == name and row.get("bypassable") for row in scenario.get("flows", []))


def passed(
    result: Measurements, flow: dict[str, Any], ports: list[str], share: Callable[[float], str]
) -> Iterator[str]:
    """Ports where a non-bypassable flow could pass others, with times; `share` formats a time."""
    scenario = toml(result.scenario_toml)
    if "pauses" not in result.table_names or _is_bypassable(scenario, flow):
        return
    pauses = result.table("pauses")
    chosen = pc.and_(
        arrow.call("equal", pauses["reason"], "bypass_credits"),
        arrow.call("equal", pauses["priority"], flow["class"]),
    )
    waits = pauses.filter(chosen)
    lasted = pc.subtract(waits["end_ns"], waits["start_ns"])
    totals = arrow.sums_by(arrow.table({"port": waits["port"], "ns": lasted}), ["port"], "ns")
    known = {row["port"]: row["ns_sum"] for row in rows(totals)}
    for port in ports:
        if port in known:
            yield (
                f"At {port} it could pass frames in the bypass queue of its class, which waited there for "
                f"{share(known[port])} of the time."
            )


def held(port: str, paused_ns: float, waits: Waits | None, share: Callable[[float], str]) -> str:
    """Time for which a flow was held back at a port, and its part in a bypass queue; `share` formats it."""
    long = f"for {share(paused_ns)} of the time"
    if waits is None or not waits.bypass_ns:
        return f"at {port} {long}"
    if not waits.all_known:
        return f"at {port} {long}, also in a bypass queue that others passed,"
    if not waits.class_ns:
        return f"in a bypass queue at {port} {long}"
    # If the flow was not there all the time, the waits that delayed it are unknown.
    always = paused_ns >= waits.bypass_ns + waits.class_ns - _EXACT_NS
    most = f"for {'' if always else 'up to '}{share(min(waits.bypass_ns, paused_ns))}"
    return f"at {port} {long}, {most} in a bypass queue that others passed,"
