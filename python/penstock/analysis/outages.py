"""Goodput of flows before, during and after each fault.

Not modelled: faults that overlap, of which each has its own row; random faults of no duration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.links import rate_back
from penstock.measurements import of_result

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
"""The kind of row that ends a fault, in the table ``faults``; a rate ends with the next one of its link."""


@dataclass(frozen=True)
class Outage:
    """A fault, and the rate at which all flows together received around it.

    Attributes
    ----------
    what, where : str
        As in the table ``faults``.
    begin_ns, end_ns : float
        From when to when, in ns; one that does not end lasts to the end of the run.
    before_bps, during_bps, after_bps : float or None
        Mean rate in bits/s, headers included. Before and after are as long as the fault, or shorter where
        another fault begins or ends, or the run does; ``None``: nothing is left, or no series was recorded.
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
    """The faults of a run that last for some time, in the order of their beginnings."""
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
    """Returns true if each flow that received something has a series: others are not in the means."""
    some = sum(1 for row in result.rows("flows") if row["frames_delivered"])
    return len(result.curves().get(METRIC, {})) >= some


def _nominal(topology: dict[str, Any]) -> dict[str, float]:
    """The rate of each link and each of its directions without faults, by its name in the table.

    A link whose directions differ has none that is of both.
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
    """Faults with their beginnings and ends."""
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
    """Bits that all flows have received by some time, piecewise linear."""

    def __init__(self, series: list[tuple[NDArray[Any], NDArray[Any]]], last: float) -> None:
        self._cumulated = []
        for times, rates in series:
            edges = np.append(times, last)
            bits = np.concatenate(([0.0], np.cumsum(rates * np.diff(edges) * 1e-9)))
            self._cumulated.append((edges, bits))

    def mean(self, begin: float, end: float) -> float | None:
        """The rate in bits/s in an interval of ns."""
        if end <= begin or not self._cumulated:
            return None
        between = (np.interp([begin, end], edges, bits) for edges, bits in self._cumulated)
        return float(sum(b - a for a, b in between)) / (end - begin) * 1e9
