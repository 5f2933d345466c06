"""Starvation: longest times for which eligible classes were not served, by port, and the affected flows.

A class is enabled at a port while its frames are queued and nothing stops it: no pause, no lack of credits,
no link that is down. Weak fairness: a class that remains enabled is eventually served. Strong fairness: a
class that is enabled again and again is eventually served, however often it is stopped in between. No finite
run can show "eventually". A run shows the longest uninterrupted enabled time without service (weak), and the
longest enabled time between two services without the interruptions (strong). Both are compared with a bound.

Both times come from the series ``queue_bytes`` and ``class_tx_bps`` and are accurate to one bin: ``least`` is
a lower bound and ``most`` an upper bound.

Sources: M. Hagen, "Fairness in a data center", 2012, section 2.2 (both definitions); D. Stiliadis and A.
Varma, "Latency-rate servers", IEEE/ACM Trans. Networking 6(5), 1998 (bound of a scheduler). Not modelled:
shapers, for whose tokens a class may wait; order within a class; frames that a class has only in bypass
queues; which of several links between two nodes is down.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock.errors import ArgumentError
from penstock.measurements import of_result

from .class_weights import queue_of_priority

if TYPE_CHECKING:
    from penstock.measurements import Measurements

Array = NDArray[np.float64]
Intervals = list[tuple[float, float]]
Key = tuple[str, int]
"""Port and traffic class."""
Judgement = Literal["fair", "starves", "undecided", "no bound"]

ROUNDS = ("fifo", "strict_priority", "ets", "drr", "drr_awc", "wrr", "vc_table")
"""Schedulers whose latency-rate bound holds from any time on, not only from when a queue becomes active.

Other schedulers can delay a queue to compensate for earlier service in advance."""


@dataclass(frozen=True)
class Span:
    """A duration that is known to one bin of a series.

    Attributes
    ----------
    least_ns, most_ns : float
        Lower and upper bound.
    since_ns : float
        Start, accurate to one bin.
    """

    least_ns: float = 0.0
    most_ns: float = 0.0
    since_ns: float = 0.0

    def judge(self, bound_ns: float | None) -> Judgement:
        """Compares the duration with a bound.

        "undecided" if the bound is between the two limits; narrower bins can decide.
        """
        if bound_ns is None:
            return "no bound"
        if self.least_ns > bound_ns:
            return "starves"
        return "fair" if self.most_ns <= bound_ns else "undecided"


@dataclass(frozen=True)
class Service:
    """Service of a class at a port.

    Attributes
    ----------
    port : str
        As in the table ``ports``.
    traffic_class : int
        As in the table ``queues``.
    weak, strong : Span
        Longest time enabled and not served: uninterrupted, and between two services without interruptions.
    breaks : int
        Number of interruptions during ``strong``.
    waits_still : bool
        True if ``weak`` lasts until the end of the run.
    bound_ns : float or None
        Bound for both; ``None`` if there is none.
    """

    port: str
    traffic_class: int
    weak: Span
    strong: Span
    breaks: int
    waits_still: bool
    bound_ns: float | None

    @property
    def weakly(self) -> Judgement:
        """True if the port was weakly fair to the class."""
        return self.weak.judge(self.bound_ns)

    @property
    def strongly(self) -> Judgement:
        """True if the port was strongly fair to the class."""
        return self.strong.judge(self.bound_ns)


@dataclass(frozen=True)
class FlowService:
    """The port on a flow's paths at which its class waited longest.

    Attributes
    ----------
    flow : str
        As in the table ``flows``.
    worst : Service
        Service at the port with the longest ``strong``.
    silent_ns : float or None
        Longest time without an arrival of the flow, in whole bins; ``None`` without a series.
    """

    flow: str
    worst: Service
    silent_ns: float | None


@dataclass(frozen=True)
class Starvation:
    """Services of a run, longest times first.

    Attributes
    ----------
    classes : list of Service
        Classes of ports with queued frames and recorded series.
    flows : list of FlowService
        Flows with one of these on their path, from the table ``paths``.
    unknown : list of str
        Queues whose series were not recorded or have different bins.
    bin_ns : float
        Width of the widest bin.
    """

    classes: list[Service]
    flows: list[FlowService]
    unknown: list[str]
    bin_ns: float


@of_result
def starvation(result: Measurements, bound_ns: float | None = None) -> Starvation:
    """Returns the longest times for which classes and flows of a run were not served.

    Parameters
    ----------
    result : Result or Measurements
        Result with the series ``queue_bytes`` and ``class_tx_bps``. By default only the busiest are recorded.
    bound_ns : float, optional
        Maximum time for which an eligible class may be unserved. Default: by scheduler, from `bounds`.

    Raises
    ------
    ArgumentError
        If the bound is not a time above 0.
    """
    if bound_ns is not None and not 0 < bound_ns < float("inf"):
        raise ArgumentError(f"bound_ns is {bound_ns!r}; expected a time above 0")
    guaranteed = bounds(result) if bound_ns is None else {}
    curves, ports = result.curves(), {row["port"]: row for row in result.rows("ports")}
    sent, left = curves.get("class_tx_bps", {}), _left(result)
    stops, unseen = _stops(result, ports)
    changing = any(row["what"] == "rate" for row in result.rows("faults"))
    found: list[Service] = []
    unknown: list[str] = []
    width = 0.0
    waiting = curves.get("queue_bytes", {})
    for name in sorted({*waiting, *(f"{port}/{one}" for port, one in left)}):
        port, _, number = name.rpartition("/")
        if port not in ports:
            continue  # an ingress counter
        line = sent.get(name)
        if line is None and name in waiting and left.get((port, int(number))) == 0:
            line = (waiting[name][0], np.zeros_like(waiting[name][1]))
        if (
            port in unseen
            or name not in waiting
            or line is None
            or not np.array_equal(line[0], waiting[name][0])
        ):
            unknown.append(name)
            continue
        key = (port, int(number))
        rate = float("inf") if changing else ports[port]["rate_bps"]
        gaps = _Gaps(line[0], waiting[name][1] > 0, line[1], rate, stops.get(key, _NEVER))
        width = max(width, gaps.width)
        if gaps.waits.any():
            found.append(gaps.service(key, bound_ns if bound_ns is not None else guaranteed.get(key)))
    found.sort(key=lambda one: (-one.strong.least_ns, -one.strong.most_ns, one.port, one.traffic_class))
    return Starvation(found, _flows(result, found), unknown, width)


@of_result
def bounds(result: Measurements) -> dict[Key, float]:
    """Returns the maximum time in ns for which each scheduler may leave an eligible class unserved.

    The bound is the latency of the scheduler's guarantee plus the time of a maximum frame at the guaranteed
    rate: within it, a whole frame is sent. There is no bound for classes below a strict class, groups of
    several queues, classes with shapers, schedulers that are not in `ROUNDS`, and for any port if
    `[[faults]]` change schedulers.
    """
    if any(row["what"] == "scheduler" for row in result.rows("faults")):
        return {}
    carried: dict[str, int] = defaultdict(int)
    for port, number in _left(result):
        carried[port] = max(carried[port], number)
    found = {}
    for queue in json.loads(_core.guarantees(result.scenario_toml, "scenario.toml")):
        if queue["scheduler"] in ROUNDS and queue["rate_bps"]:
            turn_ns = queue["longest_frame_bytes"] * 8e9 / queue["rate_bps"]
            found[queue["port"], queue["class"]] = queue["latency_ps"] / 1e3 + turn_ns
            if queue["scheduler"] == "strict_priority" and queue["port"] in carried:
                # Of the strict queues only the highest non-empty one has a guarantee.
                found[queue["port"], carried[queue["port"]]] = found[queue["port"], queue["class"]]
    return found


@dataclass(frozen=True)
class _Stops:
    """Sorted, disjoint intervals in which a class was stopped."""

    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Total stopped time."""
        return sum(self.ends) - sum(self.starts)

    @classmethod
    def of(cls, intervals: Intervals) -> _Stops:
        merged = cls()
        for start, end in sorted(intervals):
            if merged.ends and start <= merged.ends[-1]:
                merged.ends[-1] = max(merged.ends[-1], end)
            else:
                merged.starts.append(start)
                merged.ends.append(end)
        return merged

    def free(self, start: float, end: float) -> Intervals:
        """Parts of an interval in which the class was not stopped."""
        pieces, at = [], bisect_right(self.ends, start)
        while start < end:
            stop = self.starts[at] if at < len(self.starts) else end
            if min(stop, end) > start:
                pieces.append((start, min(stop, end)))
            start = self.ends[at] if at < len(self.ends) else end
            at += 1
        return pieces


_NEVER = _Stops()
_ROUNDING_NS = 1e-3


class _Gaps:
    """Times between services of one class, from its bins."""

    def __init__(
        self, times: Array, waits: NDArray[np.bool_], bps: Array, rate: float, stops: _Stops
    ) -> None:
        self.times, self.waits, self.stops = times, waits, stops
        self.width = float(times[1] - times[0]) if len(times) > 1 else 0.0
        self.sends = bps > 0
        # Possible time without service in a bin with queued frames; 0 at both ends of the run.
        idle = np.where(waits, self.width * np.clip(1.0 - bps / rate, 0.0, 1.0), 0.0)
        self.idle = np.concatenate([idle, [0.0]])  # index -1: before the first and after the last bin

    def service(self, key: Key, bound: float | None) -> Service:
        weak = strong = self._between_neighbours()
        within = (0, 0)
        for first, last in _runs(~self.sends):
            pieces = [(first + begin, first + end) for begin, end in _runs(self.waits[first:last])]
            for piece in pieces:
                weak = _longer(weak, self._unbroken(*piece))
            in_all = self._in_all(first, last, pieces)
            if pieces and _order(in_all) > _order(strong):
                within = (first, last)
            strong = _longer(strong, in_all)
        start, end = (self._at(index) for index in within)
        breaks = sum(start < stop < end for stop in self.stops.starts)
        # A time that lasts until the end has no service in any bin up to the last one.
        lasts = (
            weak.least_ns > 0 and weak.since_ns + weak.least_ns >= self._at(len(self.times)) - _ROUNDING_NS
        )
        return Service(*key, weak, strong, breaks, lasts, bound)

    def _at(self, index: int) -> float:
        return float(self.times[0] + index * self.width)

    def _between_neighbours(self) -> Span:
        """Upper bound of the longest gap between services in two consecutive bins."""
        most = self.idle[:-2] + self.idle[1:-1]
        both = self.sends[:-1] & self.sends[1:] & (self.waits[:-1] | self.waits[1:])
        longest, since = 0.0, 0.0
        for at in np.flatnonzero(both)[np.argsort(-most[both], kind="stable")]:
            if most[at] <= longest:
                break
            free = self.stops.free(self._at(at), self._at(at + 2))
            known = min(float(most[at]), max((end - start for start, end in free), default=0.0))
            if known > longest:
                longest, since = known, self._at(at)
        return Span(0.0, longest, since)

    def _edges(self, begin: int, end: int) -> tuple[float, float]:
        """Upper bound of the time without service in the bins before and after a run of bins."""
        return float(self.idle[begin - 1]), float(self.idle[end] if end < len(self.times) else 0.0)

    def _unbroken(self, begin: int, end: int) -> Span:
        # Frames may have arrived at the end of the first bin; service in the bin before may have been early.
        before, after = self._edges(begin, end)
        certain = self.stops.free(self._at(begin + 1), self._at(end))
        possible = self.stops.free(self._at(begin) - before, self._at(end) + after)
        least, since = max(((stop - start, start) for start, stop in certain), default=(0.0, self._at(begin)))
        return Span(least, max((stop - start for start, stop in possible), default=0.0), since)

    def _in_all(self, first: int, last: int, pieces: list[tuple[int, int]]) -> Span:
        before, after = self._edges(first, last)
        least = sum(self._free(begin + 1, end) for begin, end in pieces)
        most = sum(self._free(begin, end) for begin, end in pieces)
        return Span(least, most + before + after, self._at(first))

    def _free(self, begin: int, end: int) -> float:
        return sum(stop - start for start, stop in self.stops.free(self._at(begin), self._at(end)))


def _order(span: Span) -> tuple[float, float]:
    return span.least_ns, span.most_ns


def _longer(one: Span, other: Span) -> Span:
    """Bounds of the longer of two durations; starts where the one with the larger lower bound does."""
    since = max(one, other, key=_order).since_ns
    return Span(max(one.least_ns, other.least_ns), max(one.most_ns, other.most_ns), since)


def _runs(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Intervals in which the mask is true: start, and end (exclusive)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    yield from ((int(begin), int(end)) for begin, end in edges.reshape(-1, 2))


def _left(result: Measurements) -> dict[Key, int]:
    """Frames that left each queue in the measured time. With a warm-up, more may have left before."""
    return {(row["port"], row["class"]): row["frames"] for row in result.rows("queues")}


def _stops(
    result: Measurements, ports: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[Key, _Stops], set[str]]:
    """Intervals in which classes could not send, and ports whose pauses were not recorded."""
    queues = queue_of_priority(result.scenario_toml, _hosts(result))
    found: dict[Key, Intervals] = defaultdict(list)
    paused: dict[str, Intervals] = defaultdict(list)
    for row in result.rows("pauses"):
        if row["reason"] != "bypass_credits":
            interval = (row["start_ns"], float("inf") if row["end_ns"] is None else row["end_ns"])
            found[row["port"], queues(ports[row["port"]]["node"])[row["priority"]]].append(interval)
            paused[row["port"]].append(interval)
    unseen = {
        port
        for port, row in ports.items()
        if _Stops.of(paused[port]).total < row["paused_s"] * 1e9 - _ROUNDING_NS * (1 + len(paused[port]))
    }
    dark = _dark(result)
    for port, facts in ports.items() if dark else ():
        names = (facts["node"], f"{facts['node']}<->{facts['peer']}", f"{facts['peer']}<->{facts['node']}")
        for number in set(queues(facts["node"])):
            found[port, number] += [span for name in names for span in dark.get(name, ())]
    return {key: _Stops.of(intervals) for key, intervals in found.items()}, unseen


def _dark(result: Measurements) -> dict[str, Intervals]:
    """Intervals in which links were down or switches were restarting."""
    found: dict[str, Intervals] = defaultdict(list)
    for row in result.rows("faults"):
        if row["what"] in ("link_down", "restart"):
            found[row["where"]].append((row["time_ns"], float("inf")))
        elif row["what"] in ("link_up", "restarted") and row["where"] in found:
            found[row["where"]][-1] = (found[row["where"]][-1][0], row["time_ns"])
    return found


def _hosts(result: Measurements) -> set[str]:
    return {row["source"] for row in result.rows("flows")} | {
        row["destination"] for row in result.rows("paths")
    }


def _flows(result: Measurements, classes: list[Service]) -> list[FlowService]:
    """Service of each flow at the port on its paths with the longest time without service."""
    of_key = {(one.port, one.traffic_class): (rank, one) for rank, one in enumerate(classes)}
    queues = queue_of_priority(result.scenario_toml, _hosts(result))
    node = {row["port"]: row["node"] for row in result.rows("ports")}
    priority = {row["flow"]: row["class"] for row in result.rows("flows")}
    arrives = result.curves().get("flow_throughput_bps", {})
    ways: dict[str, dict[str, None]] = defaultdict(dict)
    for row in result.rows("paths"):
        ways[row["flow"]] |= dict.fromkeys(row["ports"].split())
    found = []
    for flow, way in ways.items():
        keys = [(port, queues(node[port])[priority[flow]]) for port in way]
        ranked = [of_key[key] for key in keys if key in of_key]
        if ranked:
            worst = min(ranked, key=lambda one: one[0])
            found.append((worst[0], FlowService(flow, worst[1], _silence(arrives.get(flow)))))
    return [one for _, one in sorted(found, key=lambda one: (one[0], one[1].flow))]


def _silence(line: tuple[Array, Array] | None) -> float | None:
    if line is None or len(line[0]) < 2:
        return None
    longest = max((end - begin for begin, end in _runs(line[1] == 0)), default=0)
    return longest * float(line[0][1] - line[0][0])
