"""A model of one switch and rate-limited greedy senders, for the congestion controls of layer 2."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.result import Result

from .bench import fill, only, star, summaries
from .theory import wire

_STAR = (
    summaries("$duration ps", pauses=True)
    + star("$hosts", rate="10 Gb/s", delay="$delay ps")
    + """
[host]
rate_limiters = { $scheme = { $reaction } }

[[switch.queue_managers]]
$scheme = { $point }

$flows
"""
)
_FLOW = """
[[flows]]
name = "f$n"
from = "h$n"
to = "h0"
start = "$start ps"
frame = "1480 B"
source = "greedy"
"""
FRAME = 1480
"""Length in bytes of a frame without a tag; 1,500 on the wire."""
LINE = 10**10
"""Rate of all links in b/s."""
MESSAGE = 84 * 800
"""Transmission time of a control frame in picoseconds."""
SEND, ARRIVE, TOLD, TIMER, LEAVE = range(5)


@dataclass
class Sender(ABC):
    """A greedy source behind a rate limiter."""

    pulled: int
    free_at: int = 0
    begun: int = 0
    due: int = 0
    paced_at: tuple[int, int] = (0, 0)
    frames: int = 0
    messages: int = 0
    lowest: int = LINE
    now: int = 0
    length: int = 0
    """Length of the departing frame, including its tag."""

    @abstractmethod
    def rate(self) -> int | None:
        """Rate limit in b/s on the wire, or ``None`` without a limit."""

    @abstractmethod
    def on_feedback(self, feedback: int) -> None:
        """Applies the feedback of a message or of a returned tag."""

    def tag_bytes(self) -> int:
        """Length of the tag of the departing frame."""
        return 0

    def sent(self) -> None:
        """Records the departure of a frame."""
        self.frames += 1

    def timer(self) -> int | None:
        """Handles an expiry of the timer; returns its next expiry."""
        return None

    def next_timer(self) -> int | None:
        """Expiry time of the timer after a message."""
        return None

    def send(self) -> int:
        """Sends a frame through the limiter; returns the earliest time of the next frame."""
        now, gap, rate = self.now, 0, self.rate()
        self.length = FRAME + self.tag_bytes()
        if rate is not None:
            at, rest = self.paced_at
            if now > self.due or at != rate:
                self.due, rest = now, 0
            whole, rest = divmod((self.length + 20) * 8 * 10**12 + rest, rate)
            self.due, self.paced_at = self.due + whole, (rate, rest)
            gap = self.due - now
        self.sent()
        self.pulled = now
        self.begun = max(now, self.free_at)
        self.free_at = self.begun + wire(self.length)
        return max(self.begun, now + gap)


@dataclass
class Point(ABC):
    """A congestion point."""

    now: int = 0
    others: int = 0
    """Number of bytes queued in addition to the frame."""
    length: int = 0
    """Length of the frame."""
    last_begins: int = 0
    """Time at which the last arrived frame starts transmission."""

    @abstractmethod
    def arrive(self) -> int | None:
        """Handles an arriving frame; returns the feedback to its source, if any."""

    def entered(self, begins: int) -> None:
        """Records the transmission start of the frame that just arrived."""
        self.last_begins = begins

    def leave(self) -> int | None:
        """Handles a departing tagged frame; returns the feedback in its tag, if any."""
        return None


def run(senders: Sequence[Sender], point: Point, delay: int, duration: int) -> int:
    """Runs the model.

    Parameters
    ----------
    senders
        Senders. Each starts at `Sender.pulled` and has its own link.
    point
        Congestion point at the port to their common destination.
    delay
        Delay of each link in ps.
    duration
        Duration of the run in ps.

    Returns
    -------
    int
        The longest queue in bytes.
    """
    events: list[tuple[int, int, int, int, bool]] = [
        (sender.pulled, SEND, n, 0, False) for n, sender in enumerate(senders)
    ]
    heapq.heapify(events)
    waiting: list[tuple[int, int]] = []
    free, longest = 0, 0
    while events and events[0][0] < duration:
        now, kind, n, value, tagged = heapq.heappop(events)
        sender = senders[n]
        sender.now = point.now = now
        if kind in (ARRIVE, LEAVE):
            waiting = [frame for frame in waiting if frame[0] > now]
            point.others, point.length = sum(length for _, length in waiting), value
        if kind == SEND:
            following, length = sender.send(), sender.length
            heapq.heappush(events, (sender.free_at + delay, ARRIVE, n, length, length > FRAME))
            heapq.heappush(events, (following, SEND, n, 0, False))
        elif kind == ARRIVE:
            reported = point.arrive()
            if reported is not None:
                heapq.heappush(events, (now + MESSAGE + delay, TOLD, n, reported, False))
            begins = max(now, free)
            if begins > now:
                waiting.append((begins, value))
                longest = max(longest, point.others + value)
            point.entered(begins)
            free = begins + wire(value)
            if tagged:
                heapq.heappush(events, (begins, LEAVE, n, value, True))
        elif kind == LEAVE:
            allowed = point.leave()
            if allowed is not None:
                back = now + wire(value) + 2 * (MESSAGE + delay) + delay
                heapq.heappush(events, (back, TOLD, n, allowed, True))
        elif kind == TOLD:
            sender.on_feedback(value)
            due = sender.next_timer()
            if due is not None:
                heapq.heappush(events, (due, TIMER, n, due, False))
        elif value == sender.next_timer():
            due = sender.timer()
            if due is not None:
                heapq.heappush(events, (due, TIMER, n, due, False))
    return longest


def scenario(scheme: str, starts: list[int], delay: int, duration: int, reaction: str, point: str) -> str:
    """Returns the case as a scenario.

    Parameters
    ----------
    scheme
        ``"qcn"``, ``"bcn"`` or ``"fecn"``.
    starts
        Start time of each source in ps.
    delay
        Delay of each link in ps.
    duration
        Duration of the run in ps.
    reaction, point
        Keys of the reaction points and of the congestion points.
    """
    flows = "".join(fill(_FLOW, n=n, start=start) for n, start in enumerate(starts, start=1))
    return fill(
        _STAR,
        scheme=scheme,
        duration=duration,
        hosts=len(starts) + 1,
        delay=delay,
        reaction=reaction,
        point=point,
        flows=flows,
    )


def measured(found: Result) -> list[tuple[int, int, int, int]]:
    """Per limiter: frames sent, messages received, and lowest and last rate in b/s."""
    return [
        (row["frames_sent"], row["messages"], round(row["rate_min_bps"]), round(row["rate_end_bps"]))
        for row in found.rows("rate_limiters")
    ]


def queue(found: Result) -> dict[str, Any]:
    """The row of the shared queue."""
    return dict(only(found.rows("queues"), port="sw.0->h0", **{"class": 0}))
