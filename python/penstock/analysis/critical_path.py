"""The critical path of a job: the chain of steps that determined its time, divided by cause.

The path is traced back from the last event. A step on a processor follows the previous step there. A receive
that waited ended with its message, and the message started when its sender posted it. Segments are
contiguous, so their lengths sum to the time of the job, to the picosecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import arrow
from penstock.errors import InputError
from penstock.measurements import of_result
from penstock.units import count, duration, share, size

from . import messages
from .rank_steps import COMPUTE, NEVER, RECEIVE, RECEIVE_COST, SEND, SEND_COST, Steps, steps_of

if TYPE_CHECKING:
    from penstock.measurements import Measurements

CAUSES: Mapping[str, str] = {
    "computation": "computation",
    "straggler": "computation slower than on the median rank",
    "host_cost": "host costs of messages",
    "transmission": "transmission, as on an empty fabric",
    "queueing": "queues and earlier messages",
    "pause": "pauses and links that were down",
    "retransmission": "retransmissions and timeouts",
    "control": "congestion control (rate and window)",
    "receiver": "receiver not ready",
    "acknowledgement": "acknowledgements in flight",
}
"""Causes of the time on a critical path. Ties are broken in this order."""

_OF_WAITS = {
    "again": "retransmission",
    "receiver": "receiver",
    "pause": "pause",
    "control": "control",
    "behind": "queueing",
    "nic": "queueing",
}
"""Maps each kind of wait of a message at its sender to its cause."""
_WORST = 3
"""Number of messages of a path that are described, largest delay first."""
_LEAST = 0.0005
"""Share of the path below which a cause is not listed."""
_ALIKE = 0.5
"""Share of the ranks that must execute an operation for its median over ranks to be used."""


@dataclass(frozen=True)
class Segment:
    """A part of a critical path.

    Attributes
    ----------
    kind : str
        "compute", "send_cost", "receive_cost", "message" or "acknowledgement".
    step : int
        Row of the step among the steps of the job.
    rank, peer : int
        The rank; for a message, its sender and receiver.
    begin_ps, end_ps : int
        Start and end, in picoseconds.
    bytes : int
        Size of the message; 0 for other segments.
    parts : dict
        Picoseconds by the keys of `CAUSES`; they sum to the length of the segment.
    """

    kind: str
    step: int
    rank: int
    peer: int
    begin_ps: int
    end_ps: int
    bytes: int = 0
    parts: dict[str, int] = field(default_factory=dict)

    @property
    def length_ps(self) -> int:
        """Length in picoseconds."""
        return self.end_ps - self.begin_ps

    @property
    def late_ps(self) -> int:
        """Time of a message beyond its transmission, in picoseconds; 0 for other segments."""
        return self.length_ps - self.parts.get("transmission", 0) if self.kind == "message" else 0


@dataclass(frozen=True)
class CriticalPath:
    """The critical path of a job, or of one of its iterations.

    Attributes
    ----------
    steps : Steps
        The steps of the job.
    begin_ps, end_ps : int
        Start and end of the job or iteration.
    segments : tuple of Segment
        Contiguous segments in order of time.
    is_measured : bool
        True if the causes of delay of every completed message were measured. If false, ``queueing`` contains
        all of the delay.
    """

    steps: Steps
    begin_ps: int
    end_ps: int
    segments: tuple[Segment, ...]
    is_measured: bool

    @property
    def length_ps(self) -> int:
        """Time of the job or iteration."""
        return self.end_ps - self.begin_ps

    @property
    def parts(self) -> dict[str, int]:
        """Picoseconds by the keys of `CAUSES`; they sum to `length_ps`."""
        return {
            cause: sum(segment.parts.get(cause, 0) for segment in self.segments)
            for cause in CAUSES
            if any(cause in segment.parts for segment in self.segments)
        }

    def to_dict(self) -> dict[str, Any]:
        """Returns the path as a JSON object, with times in nanoseconds."""
        return {
            "begin_ns": self.begin_ps / 1e3,
            "end_ns": self.end_ps / 1e3,
            "parts_ns": {cause: ps / 1e3 for cause, ps in self.parts.items()},
            "segments": [
                {
                    "kind": one.kind,
                    "rank": one.rank,
                    "peer": one.peer,
                    "bytes": one.bytes,
                    "begin_ns": one.begin_ps / 1e3,
                    "end_ns": one.end_ps / 1e3,
                    "parts_ns": {cause: ps / 1e3 for cause, ps in one.parts.items()},
                }
                for one in self.segments
            ],
        }


@of_result
def critical_path(result: Measurements, job: str, iteration: int | None = None) -> CriticalPath | None:
    """Finds the critical path of one iteration of a job, or of all recorded iterations that have ended.

    Parameters
    ----------
    result : Result
        Result of the run.
    job : str
        Name of the job.
    iteration : int, optional
        Number of the iteration, from 0. Default: all.

    Returns
    -------
    CriticalPath or None
        ``None`` if no recorded iteration has ended.

    Raises
    ------
    InputError
        If the job has no such iteration, or it is not recorded.
    """
    own = next((row for row in result.rows("jobs") if row["job"] == job), None)
    steps = steps_of(result, job)
    recorded = 0 if own is None else min(own.get("recorded") or 0, own["finished"])
    if iteration is not None and not 0 <= iteration < recorded:
        expected = f"expected 0 to {recorded - 1}" if recorded else "no completed iteration is recorded"
        raise InputError(f"{job}#{iteration}: iteration not recorded; {expected}")
    if steps is None or not recorded:
        return None
    last = steps.of_iteration(recorded - 1 if iteration is None else iteration)
    begin = int(steps.requested[steps.of_iteration(iteration or 0)].min())
    ended = last[steps.end[last] < NEVER]
    at = int(ended[np.argmax(steps.end[ended])])
    end = int(steps.end[at])
    walk = _Walk(result, steps)
    segments = tuple(_clipped(walk.back(at, begin), begin))
    sends = (steps.kind == SEND) & (steps.end < NEVER)
    return CriticalPath(steps, begin, end, segments, bool(steps.measured[sends].all()))


def _clipped(found: Iterator[Segment], begin: int) -> list[Segment]:
    """Returns the segments after `begin` in order of time; a segment that contains `begin` is cut there."""
    segments = [one for one in found if one.end_ps > max(one.begin_ps, begin)][::-1]
    first = segments[0] if segments else None
    if first is not None and first.begin_ps < begin:
        parts = _of_end(first.parts, first.end_ps - begin)
        segments[0] = replace(first, begin_ps=begin, parts=parts)
    return segments


def _of_end(parts: Mapping[str, int], length: int) -> dict[str, int]:
    """Scales parts in proportion so that they sum to `length`."""
    whole, given, kept = sum(parts.values()), 0, {}
    until = 0
    for cause, ps in parts.items():
        until += ps
        upto = until * length // whole
        kept[cause], given = upto - given, upto
    return {cause: ps for cause, ps in kept.items() if ps}


class _Walk:
    """Traces the steps of a job backwards."""

    def __init__(self, result: Measurements, steps: Steps) -> None:
        self._steps = steps
        self._delivered = steps.delivered
        self._pauses = _Pauses(result, steps)
        self._medians: dict[tuple[int, int], int] = {}

    def back(self, at: int, begin: int) -> Iterator[Segment]:
        """Yields segments backwards from the end of a step to the time `begin`."""
        while True:
            segment, before, own = self._segment(at)
            yield from segment
            since = segment[-1].begin_ps
            if since <= begin or before == own:
                return
            at = before

    def _segment(self, at: int) -> tuple[list[Segment], int, int]:
        """Returns the segments that end with a step, the previous step, and the step that it belongs to."""
        steps = self._steps
        kind, rank, end = int(steps.kind[at]), int(steps.rank[at]), int(steps.end[at])
        if kind in (COMPUTE, SEND_COST, RECEIVE_COST):
            return [self._work(at)], int(steps.after[at]), at
        if kind == SEND:
            return self._acknowledged(at), int(steps.after[at]), at
        send = int(steps.message[at])
        if send != at and steps.begin[at] >= steps.requested[at]:
            found = [self._message(send, int(steps.begin[at]))]
            return found, int(steps.after[send]), send
        waited = Segment("receive", at, rank, int(steps.peer[at]), int(steps.requested[at]), end)
        return [waited], int(steps.after[at]), at

    def _work(self, at: int) -> Segment:
        steps = self._steps
        kind, rank = int(steps.kind[at]), int(steps.rank[at])
        begin, end = int(steps.begin[at]), int(steps.end[at])
        took = end - begin
        if kind == COMPUTE:
            usual = min(self._median(at), took)
            parts = {"computation": usual, **({"straggler": took - usual} if took > usual else {})}
        else:
            parts = {"host_cost": took}
        name = ("compute", "send_cost", "receive_cost")[kind]
        return Segment(name, at, rank, int(steps.peer[at]), begin, end, int(steps.size[at]), parts)

    def _median(self, at: int) -> int:
        """Median time of a computation over its ranks; the own time if too few ranks execute it."""
        steps = self._steps
        key = (int(steps.iteration[at]), int(steps.operation[at]))
        if key not in self._medians:
            same = (steps.kind == COMPUTE) & (steps.iteration == key[0]) & (steps.operation == key[1])
            times = (steps.end - steps.begin)[same & (steps.end < NEVER)]
            alike = len(times) > 2 and len(times) >= _ALIKE * steps.ranks
            self._medians[key] = int(np.sort(times)[len(times) // 2]) if alike else NEVER
        return self._medians[key]

    def _acknowledged(self, send: int) -> list[Segment]:
        """Returns a message and its acknowledgement, last segment first."""
        steps = self._steps
        end, since = int(steps.end[send]), int(steps.requested[send])
        delivered = min(int(self._delivered[send]), end)
        if int(self._delivered[send]) >= NEVER:
            # No receive has matched the message yet: it cannot be delivered before its ideal time.
            delivered = min(end, since + int(steps.ideal[send]))
        rank, peer, length = int(steps.rank[send]), int(steps.peer[send]), int(steps.size[send])
        back = Segment(
            "acknowledgement", send, rank, peer, delivered, end, length, {"acknowledgement": end - delivered}
        )
        return [back, self._message(send, delivered)]

    def _message(self, send: int, delivered: int) -> Segment:
        """Returns the segment of a message up to its delivery."""
        steps = self._steps
        since = int(steps.requested[send])
        left = delivered - since
        parts: dict[str, int] = {}

        def take(cause: str, ps: int) -> None:
            nonlocal left
            part = min(max(ps, 0), left)
            if part:
                parts[cause] = parts.get(cause, 0) + part
                left -= part

        take("transmission", int(steps.ideal[send]))
        for name, cause in _OF_WAITS.items():
            take(cause, int(steps.waits[name][send]))
        if left:
            take("pause", self._pauses.on_way(send, since, delivered))
        take("queueing", left)
        rank, peer = int(steps.rank[send]), int(steps.peer[send])
        return Segment("message", send, rank, peer, since, delivered, int(steps.size[send]), parts)


class _Pauses:
    """Pauses of the switch ports on the path of messages."""

    def __init__(self, result: Measurements, steps: Steps) -> None:
        self._result, self._steps = result, steps
        self._of_pair: dict[tuple[int, int], np.ndarray[Any, Any]] = {}
        self._known: dict[str, list[tuple[int, int]]] | None = None

    def on_way(self, send: int, begin: int, end: int) -> int:
        """Picoseconds for which a port on the path of a message was paused, between two times."""
        from .rank_steps import union_length

        pair = (int(self._steps.rank[send]), int(self._steps.peer[send]))
        if pair not in self._of_pair:
            self._of_pair[pair] = self._between(*pair)
        spans = self._of_pair[pair]
        met = spans[(spans[:, 0] < end) & (spans[:, 1] > begin)] if len(spans) else spans
        if not len(met):
            return 0
        return union_length(np.maximum(met[:, 0], begin), np.minimum(met[:, 1], end))

    def _between(self, rank: int, peer: int) -> np.ndarray[Any, Any]:
        if self._known is None:
            self._known = {}
            for row in self._result.rows("pauses") if "pauses" in self._result.table_names else ():
                end = row["end_ns"] if row["end_ns"] is not None else row["start_ns"]
                span = (round(row["start_ns"] * 1e3), round(end * 1e3))
                self._known.setdefault(f"{row['port']}/{row['priority']}", []).append(span)
        ports = _way_of(self._result, self._steps, rank, peer) if self._known else []
        flow_class = _class_of(self._result, self._steps, rank) if ports else 0
        spans = [span for port in ports[1:] for span in self._known.get(f"{port}/{flow_class}", ())]
        return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _flow(steps: Steps, rank: int) -> str:
    return f"{steps.job}[{steps.hosts[rank]}]"


def _way_of(result: Measurements, steps: Steps, rank: int, peer: int) -> list[str]:
    """Egress ports on the path between two ranks; empty if paths were not recorded."""
    if "paths" not in result.table_names:
        return []
    paths = result.table("paths")
    own = arrow.call("equal", paths["flow"], _flow(steps, rank))
    found = paths.filter(arrow.call("and", own, arrow.call("equal", paths["destination"], steps.hosts[peer])))
    return str(found["ports"][0].as_py()).split() if found.num_rows else []


def _class_of(result: Measurements, steps: Steps, rank: int) -> int:
    """Priority of the messages of a rank."""
    flows = result.table("flows")
    found = flows.filter(arrow.call("equal", flows["flow"], _flow(steps, rank)))
    return int(found["class"][0].as_py()) if found.num_rows else 0


def sentences(result: Measurements, job: str, iteration: int | None = None) -> Iterator[str]:
    """Describes the critical path of a job; empty if no recorded iteration has ended."""
    found = critical_path(result, job, iteration)
    if found is None or not found.length_ps:
        return
    hops = [one for one in found.segments if one.kind == "message"]
    ranks = {one.rank for one in found.segments} | {one.peer for one in hops}
    ended = found.segments[-1]
    over = f"{count(len(hops))} message{'' if len(hops) == 1 else 's'}"
    yield (
        f"The critical path ({duration(found.length_ps / 1e3)}) ends at rank {_end_of(ended)} "
        f"({found.steps.hosts[_end_of(ended)]}) and has {over} on {count(len(ranks))} ranks."
    )
    shares = [
        f"{duration(ps / 1e3)} ({share(ps / found.length_ps)}) {CAUSES[cause]}"
        for cause, ps in sorted(found.parts.items(), key=lambda item: -item[1])
        if ps >= _LEAST * found.length_ps
    ]
    yield f"Time by cause: {'; '.join(shares)}."
    if not found.is_measured:
        yield (
            "Delays of messages without a transport are not divided by cause: queueing contains all of them."
        )
    yield from _worst(result, found)


def _end_of(segment: Segment) -> int:
    return segment.peer if segment.kind == "message" else segment.rank


def _worst(result: Measurements, found: CriticalPath) -> Iterator[str]:
    """Describes the messages of the path with the largest delays, with cause and place."""
    late = sorted((one for one in found.segments if one.late_ps > 0), key=lambda one: -one.late_ps)
    hosts = found.steps.hosts
    for one in late[:_WORST]:
        if one.late_ps < _LEAST * found.length_ps:
            return
        causes = [
            f"{CAUSES[cause]} {duration(ps / 1e3)}"
            for cause, ps in sorted(one.parts.items(), key=lambda item: -item[1])
            if cause != "transmission" and ps >= _LEAST * found.length_ps
        ]
        yield (
            f"Rank {one.rank} ({hosts[one.rank]}) to rank {one.peer} ({hosts[one.peer]}), {size(one.bytes)} "
            f"at {duration(one.begin_ps / 1e3)}: delay {duration(one.late_ps / 1e3)}: {', '.join(causes)}."
        )
        yield from (f"  {line}" for line in messages.waited(result, _as_message(result, found.steps, one)))


def _as_message(result: Measurements, steps: Steps, segment: Segment) -> messages.Span:
    return messages.Span(
        ports=_way_of(result, steps, segment.rank, segment.peer),
        priority=_class_of(result, steps, segment.rank),
        start_ns=segment.begin_ps / 1e3,
        end_ns=segment.end_ps / 1e3,
    )


__all__ = ["CAUSES", "RECEIVE", "CriticalPath", "Segment", "critical_path", "sentences"]
