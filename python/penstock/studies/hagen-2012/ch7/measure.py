"""The measures of the chapter, from the tables of a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from penstock.result import Result

AGGRESSION_NS = 4e6
"""Time at which the aggressor switches to line rate."""

Series = npt.NDArray[np.float64]


class Run:
    """One run of a fabric with one congested link, measured at its inputs.

    Parameters
    ----------
    result : Result
        Result with time series and pauses.
    since_ns : float
        Start of the measurement.
    """

    def __init__(self, result: Result, since_ns: float = AGGRESSION_NS) -> None:
        self.result = result
        self.since_ns = since_ns
        self.end_ns = round(float(result.run["simulated_s"]) * 1e9)

    @cached_property
    def _received(self) -> dict[str, tuple[Series, Series]]:
        """Received bits per second at the switch, by the host at the other end of the link."""
        switches = {node["name"] for node in self.result.topology["nodes"] if node["role"] == "switch"}
        found = {}
        for port, series in self.result.all_series("port_rx_bps").items():
            end, peer = port.split("->")
            if end.rsplit(".", 1)[0] in switches:
                found[peer] = series
        return found

    def input(self, host: str) -> tuple[Series, Series]:
        """Start of each bin (ns) and throughput (b/s) of the link from this host."""
        return self._received[host]

    def rate(self, host: str) -> float:
        """Mean throughput of the link from this host, in b/s."""
        times, values = self.input(host)
        return float(values[times >= self.since_ns].mean())

    def deviation(self, host: str, bins: int = 1) -> float:
        """Standard deviation of the throughput from this host, over groups of `bins` bins, in b/s."""
        times, values = self.input(host)
        measured = values[times >= self.since_ns]
        whole = len(measured) // bins * bins
        return float(measured[:whole].reshape(-1, bins).mean(axis=1).std())

    def output(self, port: str) -> tuple[Series, Series]:
        """Start of each bin (ns) and throughput (b/s) out of a port."""
        return self.result.series("port_tx_bps", port)

    def utilisation(self, port: str, since_ns: float | None = None) -> float:
        """Share of the time since `since_ns` in which a port was sending, including line overhead."""
        times, values = self.output(port)
        row = next(row for row in self.result.rows("ports") if row["port"] == port)
        wire = float(row["utilisation"]) * float(row["rate_bps"]) * self.end_ns / 1e9
        overhead = wire / (8 * float(row["bytes_sent"])) if row["bytes_sent"] else 1.0
        since = self.since_ns if since_ns is None else since_ns
        return float(values[times >= since].mean()) * overhead / float(row["rate_bps"])

    @cached_property
    def _pauses(self) -> list[tuple[str, float, float]]:
        rows = self.result.rows("pauses")
        return [
            (row["port"].split(".")[0], float(row["start_ns"]), float(row["end_ns"] or self.end_ns))
            for row in rows
        ]

    def spans(self, host: str) -> list[tuple[float, float]]:
        """Start and end (ns) of each pause of the host."""
        return [(start, end) for name, start, end in self._pauses if name == host]

    def pauses(self, host: str) -> int:
        """Number of pauses of the host."""
        return len(self.spans(host))

    def paused(self, host: str) -> float:
        """Share of the time in which the host was paused."""
        spans = ((max(start, self.since_ns), end) for start, end in self.spans(host))
        return sum(end - start for start, end in spans if end > start) / (self.end_ns - self.since_ns)

    def paused_before(self, time_ns: float) -> int:
        """Number of pauses of all ports that began before a time."""
        return sum(start < time_ns for _, start, _ in self._pauses)

    def wrong_picks(self, victims: Sequence[str], aggressor: str) -> tuple[int, int]:
        """Pauses of one victim while no other host is paused; how many of them the aggressor's pause joins.

        The aggressor is paused before such a pause ends if the queue goes on to the high watermark. Picks
        within the last 0.1 ms of the run are left out.
        """
        spans = [(start, end, name) for name, start, end in self._pauses]
        picks = joined = 0
        for start, end, name in spans:
            if name not in victims or start > self.end_ns - 1e5:
                continue
            if any(other != name and begin <= start < until for begin, until, other in spans):
                continue
            picks += 1
            joined += any(start < begin < end for begin, _, other in spans if other == aggressor)
        return picks, joined

    def stopped(self) -> Counter[str]:
        """Number of pauses of each node."""
        return Counter(name for name, _, _ in self._pauses)

    @cached_property
    def drops(self) -> int:
        """Number of lost frames."""
        return sum(int(row["frames_dropped"]) for row in self.result.rows("flows"))


def median(values: Sequence[float]) -> float:
    """The median."""
    return float(np.median(np.asarray(values, dtype=float)))


def gbps(value_bps: float, digits: int = 2) -> str:
    """A rate without its unit, in Gb/s."""
    return f"{value_bps / 1e9:.{digits}f}"
