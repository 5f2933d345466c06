"""Goodput of flows before, during and after each fault.

Not modelled: overlapping faults (each has its own row); random faults without a duration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.measurements import of_result
from penstock.units import rate_back

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

METRIC = "flow_throughput_bps"
ENDS = {
    "link_down": "link_up",
    "bit_errors_begin": "bit_errors_end",
    "pause_loss_begins": "pause_loss_ends",
    "frame_loss_begins": "frame_loss_ends",
    "restart": "restarted",
    "reading_stops": "reading_starts",
    "rate": "rate",
}
"""Kind of row that ends a fault, in the table ``faults``. The next rate of a link ends the current one."""


@dataclass(frozen=True)
class Outage:
    """A fault with the total receive rate of all flows before, during and after it.

    Attributes
    ----------
    what, where : str
        As in the table ``faults``.
    begin_ns, end_ns : float
        Start and end in ns; a fault that does not end lasts to the end of the run.
    before_bps, during_bps, after_bps : float or None
        Mean rate in b/s, headers included. The intervals before and after have the length of the fault, cut
        at other faults and at the ends of the run. ``None``: empty interval, or no series recorded.
    """

    what: str
    where: str
    begin_ns: float
    end_ns: float
    before_bps: float | None
    during_bps: float | None
    after_bps: float | None


@of_result
def outages(result: Measurements) -> list[Outage]:
    """Returns the faults of a run with a duration, in order of their start."""
    if "faults" not in result.table_names:
        return []
    events = sorted(result.rows("faults"), key=lambda row: float(row["time_ns"]))
    if not events:
        return []
    last = float(result.run["simulated_s"]) * 1e9
    spans = list(_spans(events, _nominal(result.topology), last))
    edges = sorted({0.0, last, *(edge for _, begin, end in spans for edge in (begin, end))})
    received = _Received([*result.curves().get(METRIC, {}).values()], last)
    found = []
    for event, begin, end in spans:
        length = end - begin
        earliest = max((edge for edge in edges if edge < begin), default=begin)
        latest = min((edge for edge in edges if edge > end), default=end)
        found.append(
            Outage(
                event["what"],
                event["where"],
                begin,
                end,
                received.mean(max(earliest, begin - length), begin),
                received.mean(begin, end),
                received.mean(end, min(latest, end + length)),
            )
        )
    return found


@of_result
def are_of_all(result: Measurements) -> bool:
    """True if every flow that received frames has a series. Flows without one are missing in the rates."""
    some = sum(1 for row in result.rows("flows") if row["frames_delivered"])
    return len(result.curves().get(METRIC, {})) >= some


def _nominal(topology: dict[str, Any]) -> dict[str, float]:
    """Rate of each link and each direction without faults, by its name in the table.

    A link with different rates by direction has no common rate.
    """
    nominal: dict[str, float] = {}
    for link in topology["links"]:
        a, b, rate, back = link["a"], link["b"], float(link["rate_bps"]), rate_back(link)
        nominal |= {f"{a}->{b}": rate, f"{b}->{a}": back}
        if rate == back:
            nominal |= {f"{a}<->{b}": rate, f"{b}<->{a}": rate}
    return nominal


def _spans(
    events: list[dict[str, Any]], nominal: dict[str, float], last: float
) -> list[tuple[dict[str, Any], float, float]]:
    """Faults with their start and end."""
    found = []
    for number, event in enumerate(events):
        what, where = event["what"], event["where"]
        if what not in ENDS or (what == "rate" and event["value"] == nominal.get(where)):
            continue
        ends = (
            float(other["time_ns"])
            for other in events[number + 1 :]
            if other["where"] == where and other["what"] == ENDS[what]
        )
        begin, end = float(event["time_ns"]), next(ends, last)
        if end > begin:
            found.append((event, begin, min(end, last)))
    return found


class _Received:
    """Bits received by all flows up to a time; piecewise linear."""

    def __init__(self, series: list[tuple[NDArray[Any], NDArray[Any]]], last: float) -> None:
        self._cumulated = []
        for times, rates in series:
            edges = np.append(times, last)
            bits = np.concatenate(([0.0], np.cumsum(rates * np.diff(edges) * 1e-9)))
            self._cumulated.append((edges, bits))

    def mean(self, begin: float, end: float) -> float | None:
        """Mean rate in b/s over an interval in ns."""
        if end <= begin or not self._cumulated:
            return None
        between = (np.interp([begin, end], edges, bits) for edges, bits in self._cumulated)
        return float(sum(b - a for a, b in between)) / (end - begin) * 1e9
