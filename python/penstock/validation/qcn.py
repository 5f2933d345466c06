"""Quantised congestion notification beside a model of one switch."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.result import Result

from .bench import Bench, fill, only
from .loops import picoseconds
from .registry import Row, case, exact, within

_STAR = """\
[simulation]
duration = "$duration ps"

[probes]
bin = "off"

[topology.star]
hosts = $hosts
rate = "10 Gb/s"
delay = "$delay ps"

[host]
rate_limiters = { qcn = { $reaction } }

[[switch.queue_managers]]
qcn = { $point }

$flows
"""
_FLOW = """
[[flows]]
name = "f$n"
from = "h$n"
to = "h0"
start = "$start ps"
frame = "1480 B"
source = "greedy"
"""
_FRAME = 1480
_WIRE = (_FRAME + 20) * 800
"""Picoseconds of a frame at 10 Gb/s."""
_MESSAGE = 84 * 800
_LINE = 10**10
_SET_POINT = 26_000
_SAMPLES = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)


@dataclass
class Source:
    """A greedy source behind a reaction point, as IEEE 802.1Q clauses 31 and 32 have it."""

    pulled: int
    begun: int = -_WIRE
    current: int = _LINE
    target: int = _LINE
    active: bool = False
    stages: list[int] = field(default_factory=lambda: [0, 0])
    bytes_left: int = 0
    timer: int = 0
    due: int = 0
    paced_at: tuple[int, int] = (0, 0)
    frames: int = 0
    messages: int = 0
    lowest: int = _LINE

    def cut(self, now: int, feedback: int, cycle: int, period: int) -> None:
        """A message has come."""
        self.messages += 1
        if self.stages[0] > 0 or not self.active:
            self.target, self.bytes_left = self.current, cycle
        self.stages, self.active = [0, 0], True
        self.current = max(int(self.current * (1 - min(feedback / 128, 0.5))), 5_000_000)
        self.lowest = min(self.lowest, self.current)
        self.timer = now + period

    def recover(self) -> None:
        """A cycle is over."""
        low, high = sorted(self.stages)
        if sum(self.stages) == 1 and self.target > 10 * self.current:
            self.target = max(self.target // 8, self.current)
        elif high > 5:
            self.target += 50_000_000 * (low - 5) if low > 5 else 5_000_000
        self.target = min(self.target, _LINE)
        self.current = min(-(-(self.target + self.current) // 2), _LINE)

    def send(self, now: int, cycle: int) -> int:
        """A frame passes the limiter now; when the next one may."""
        self.frames += 1
        gap = 0
        if self.active:
            rate, rest = self.paced_at
            if now > self.due or rate != self.current:
                self.due, rest = now, 0
            whole, rest = divmod((_FRAME + 20) * 8 * 10**12 + rest, self.current)
            self.due, self.paced_at = self.due + whole, (self.current, rest)
            gap = self.due - now
            self.bytes_left -= _FRAME
            if self.bytes_left < 0:
                self.stages[0] += 1
                self.bytes_left = cycle if self.stages[0] < 5 else cycle // 2
                self.recover()
        self.pulled = now
        self.begun = max(now, self.begun + _WIRE)
        return max(self.begun, now + gap)


def model(starts: list[int], delay: int, duration: int, cycle: int, period: int) -> tuple[list[Source], int]:
    """The sources at the end, and the longest queue in bytes."""
    sources = [Source(pulled=start) for start in starts]
    events = [(start, 0, n, 0) for n, start in enumerate(starts)]
    heapq.heapify(events)
    waiting: list[int] = []
    free, before, until_sample, longest = 0, 0, 150_000, 0
    while events and events[0][0] < duration:
        now, kind, n, feedback = heapq.heappop(events)
        source = sources[n]
        if kind == 0:
            following = source.send(now, cycle)
            heapq.heappush(events, (source.begun + _WIRE + delay, 1, n, 0))
            heapq.heappush(events, (following, 0, n, 0))
        elif kind == 1:
            waiting = [begins for begins in waiting if begins > now]
            length = _FRAME * (len(waiting) + 1)
            until_sample -= _FRAME
            if until_sample < 0:
                most = 5 * _SET_POINT
                excess = min(max(length - _SET_POINT + 2 * (length - before), 0), most)
                quantised, before = 63 * excess // most, length
                until_sample = _SAMPLES[quantised // 8]
                if quantised:
                    heapq.heappush(events, (now + _MESSAGE + delay, 2, n, quantised))
            begins = max(now, free)
            if begins > now:
                waiting.append(begins)
                longest = max(longest, length)
            free = begins + _WIRE
        elif kind == 2:
            source.cut(now, feedback, cycle, period)
            heapq.heappush(events, (source.timer, 3, n, 0))
        elif source.active and now == source.timer:
            source.stages[1] += 1
            source.timer = now + (period if source.stages[1] < 5 else period // 2)
            source.recover()
            heapq.heappush(events, (source.timer, 3, n, 0))
    return sources, longest


def _scenario(starts: list[int], delay: int, duration: int, reaction: str, point: str) -> str:
    flows = "".join(fill(_FLOW, n=n, start=start) for n, start in enumerate(starts, start=1))
    return fill(
        _STAR,
        duration=duration,
        hosts=len(starts) + 1,
        delay=delay,
        reaction=reaction,
        point=point,
        flows=flows,
    )


@case(
    "qcn",
    "Quantised congestion notification",
    compared="Greedy sources behind reaction points share a link whose queue is a congestion point, "
    "without jitter and with short cycles, beside a model of the switch, the sources and their "
    "messages in 100 lines of Python. Then with the jitter and the cycles of the standard: the queue "
    "against its set point.",
    formula="Fb = -(q - q_eq + 2·(q - q_old)), in 63 steps of 5·q_eq; R is cut by Fb/128 of it; five "
    "cycles of fast recovery, then 5 Mb/s or 50 Mb/s a cycle and more. A frame leaves "
    "8·(L + 20)/R after the one before.",
    sources=("IEEE 802.1Q-2018, clauses 30 to 32",),
    scenario=_scenario([0, 137_000], 1_000_000, 10_000_000_000, "jitter_share = 0", "jitter_share = 0"),
    ends=("A change of the rate holds from the next frame on: the gap after the last one stays.",),
)
def qcn(bench: Bench) -> Iterator[Row]:
    """Beside the model, and at its set point."""
    for count, delay, cycle, period in (
        (2, 1_000_000, 15_000, 200),
        (3, 500_000, 150_000, 1000),
        (8, 4_000_000, 30_000, 500),
    ):
        starts = [137_000 * n for n in range(count)]
        duration = bench.choose(20, 5) * 1_000_000_000
        reaction = f'jitter_share = 0, byte_reset = "{cycle} B", time_reset = "{period} us"'
        found = bench.once(_scenario(starts, delay, duration, reaction, "jitter_share = 0"))
        sources, longest = model(starts, delay, duration, cycle, period * 1_000_000)
        yield from _beside(found, sources, longest, delay)
    text = _scenario([0, 137_000, 274_000, 411_000], 1_000_000, bench.choose(400, 100) * 10**9, "", "")
    deep = bench.once(text)
    queue = only(deep.rows("queues"), port="sw.0->h0", **{"class": 0})
    used = 100 * only(deep.rows("ports"), port="sw.0->h0")["utilisation"]
    label = "four sources as in the standard: "
    why = "the set point is aimed at, and the first overshoot is part of the mean"
    yield within(label + "mean queue", "B", _SET_POINT, [queue["queue_bytes_mean"]], 0.15, why)
    yield within(label + "the link in use", "%", 100, [used], 0.01, "the queue runs empty now and then")


def _beside(found: Result, sources: list[Source], longest: int, delay: int) -> Iterator[Row]:
    limiters = found.rows("rate_limiters")
    measured = [
        (row["frames_sent"], row["messages"], round(row["rate_min_bps"]), round(row["rate_end_bps"]))
        for row in limiters
    ]
    modelled = [(it.frames, it.messages, it.lowest, it.current) for it in sources]
    label = f"{len(sources)} sources, {delay / 1e6:g} us: "
    alike = sum(one == other for one, other in zip(measured, modelled, strict=True))
    what = "sources as in the model"
    yield exact(label + what, "sources", len(sources), alike)
    messages = sum(row["messages"] for row in limiters)
    yield exact(label + "messages", "messages", sum(it.messages for it in sources), messages)
    lowest = min(rate for _, _, rate, _ in measured)
    yield exact(label + "lowest rate", "b/s", min(it.lowest for it in sources), lowest)
    queue = only(found.rows("queues"), port="sw.0->h0", **{"class": 0})
    yield exact(label + "longest queue", "B", longest, queue["queue_bytes_max"])
    shortest = picoseconds(min(row["message_delay_min_ns"] for row in limiters))
    yield exact(label + "shortest delay of a message", "ps", _MESSAGE + delay, shortest)
