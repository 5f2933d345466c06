"""Compares forward explicit congestion notification with a model of one switch, and with its equilibrium."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .bench import Bench
from .one_switch import FRAME, LINE, Point, Sender, measured, queue, run, scenario
from .registry import Row, case, exact, within

_TAG = 12
_BYTES = FRAME + 20
"""Bytes of a frame on the wire."""


@dataclass
class Source(Sender):
    """A greedy source behind a reaction point of FECN."""

    interval: int = 10**9
    forget: int = 10**10
    current: int = LINE // 20
    tagged_at: int | None = None
    forgets_at: int | None = None
    tags: int = 0
    returned: int = 0

    def rate(self) -> int | None:
        """The current rate."""
        return self.current

    def tag_bytes(self) -> int:
        """Length of the tag, or 0; a frame carries a tag if an interval has passed since the last one."""
        if self.tagged_at is not None and self.now - self.tagged_at < self.interval:
            return 0
        self.tagged_at = self.now
        self.tags += 1
        return _TAG

    def on_feedback(self, feedback: int) -> None:
        """Handles a returned tag."""
        self.returned += 1
        self.current = min(max(feedback, 10**7), LINE)
        self.lowest = min(self.lowest, self.current)
        self.forgets_at = self.now + self.forget

    def next_timer(self) -> int | None:
        """Time at which the rate limit expires."""
        return self.forgets_at

    def timer(self) -> int | None:
        """Removes the rate limit."""
        self.current, self.forgets_at = LINE // 20, None
        return None


@dataclass
class Advertising(Point):
    """A congestion point with an advertised rate, as in the slides of Jiang, Jain and So-In."""

    interval: int = 10**9
    aim: int = 24_000
    severe: int = 72_000
    linear: bool = False
    alpha: float = 0.5
    limited: bool = True
    rate: float = LINE / 20
    before: float = LINE / 20
    increase: float = LINE / 20
    bits: int = 0
    ends: int = 0
    stays: list[tuple[int, int, int]] = field(default_factory=list)
    """Arrival time, departure time and length of each frame."""

    def control(self, queued: int) -> float:
        """The queue control function."""
        if self.linear:
            return max(1.0 - 0.1 * (queued - self.aim) / self.aim, 0.1)
        if queued <= self.aim:
            return 1.002 * self.aim / ((1.002 - 1.0) * queued + self.aim)
        return max(1.1 * self.aim / ((1.1 - 1.0) * queued + self.aim), 0.1)

    def entered(self, begins: int) -> None:
        """Records a frame that starts transmission at `begins`."""
        self.stays.append((self.now, begins, self.length))

    def advance(self) -> None:
        """Processes all intervals that have ended."""
        if self.ends == 0:
            self.ends = self.interval
        while self.ends <= self.now:
            end = self.ends
            self.stays = [stay for stay in self.stays if stay[1] >= end]
            queued = sum(length for comes, _, length in self.stays if comes < end)
            self.ends += self.interval
            if self.bits == 0:
                continue
            load = self.bits * 1e12 / self.interval / (self.control(queued) * LINE)
            following = self.alpha * self.rate / load + (1.0 - self.alpha) * self.before
            if self.limited:
                if queued < self.aim:
                    self.increase *= 1.414
                elif queued > self.severe:
                    self.increase *= 0.707
                self.increase = min(max(self.increase, 0.001 * LINE), float(LINE))
                following = min(following, self.rate + self.increase)
            self.before, self.rate = self.rate, min(max(following, 0.001 * LINE), float(LINE))
            self.bits = 0

    def arrive(self) -> None:
        """Adds an arriving frame to the arrivals of the interval."""
        self.advance()
        self.bits += 8 * (self.length + 20)

    def leave(self) -> int | None:
        """Advertised rate for the tag of a departing frame, from the only switch on the path."""
        self.advance()
        return int(self.rate)


_EVEN = "above_set_point = 1.02, below_set_point = 1.02"


def _text(count: int, delay: int, duration: int, point: str, reaction: str = "") -> str:
    return scenario("fecn", [137_000 * n for n in range(count)], delay, duration, reaction, point)


@case(
    "fecn",
    "Forward explicit congestion notification",
    compared="Greedy sources behind reaction points share a link whose queue is a congestion point. "
    "First, several sets of enhancements are compared with a Python model of the switch, the "
    "sources and their tags. Then the equilibrium is compared with the fluid: rates of C/N, the "
    "queue at its set point, and the number of tags.",
    formula="r' = α·r/ρ + (1 - α)·r_before, ρ = A/(f(q)·C), f(q) = a·Q/((a - 1)·q + Q). The increase r' "
    "- r is limited to ΔR, which grows by a factor of 1.414 below Q and shrinks by 0.707 above "
    "3·Q. In equilibrium A = C and f(q) = 1, so q = Q and r = C/N. A flow sends one tag per T.",
    sources=("Jiang, Jain and So-In, IEEE 802.1au, March 2007",),
    scenario=_text(4, 1_000_000, 40_000_000_000, ""),
    ends=(
        "The queue settles at its set point if f is as steep above as below (a = b = 1.02). With a "
        "= 1.1 and b = 1.002, as printed, one frame too many weighs 50 times as much as one too "
        "few, and the queue stays below the set point.",
        "A tag leaves with the first frame after T, so slightly less than one tag per T is sent.",
    ),
)
def fecn(bench: Bench) -> Iterator[Row]:
    """Compares the simulator with the model and with the equilibrium."""
    duration = bench.choose(40, 12) * 10**9
    sets: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("all enhancements", "", {}),
        ("linear queue control", 'queue_control = "linear"', {"linear": True}),
        ("no averaging", "average_weight = 1.0", {"alpha": 1.0}),
        ("increases not limited", "limit_increase = false", {"limited": False}),
        ("T = 300 us", 'interval = "300 us"', {"interval": 300_000_000}),
    )
    for n, (name, keys, changes) in enumerate(sets):
        count, delay = ((2, 1_000_000), (4, 4_000_000), (3, 500_000))[n % 3]
        interval = changes.get("interval", 10**9)
        reaction = f'interval = "{interval} ps"'
        found = bench.once(_text(count, delay, duration, keys, reaction))
        sources = [Source(pulled=137_000 * n, interval=interval) for n in range(count)]
        longest = run(sources, Advertising(**changes), delay, duration)
        label = f"{count} sources, {delay / 1e6:g} us, {name}: "
        rows = found.rows("rate_limiters")
        tags = [(row["tags_sent"], row["tags_returned"]) for row in rows]
        both = zip(measured(found), tags, sources, strict=True)
        alike = sum(
            (sent, end) == (it.frames, it.current) and tagged == (it.tags, it.returned)
            for (sent, _, _, end), tagged, it in both
        )
        yield exact(label + "sources equal to the model", "sources", count, alike)
        yield exact(label + "longest queue", "B", longest, queue(found)["queue_bytes_max"])
        yield exact(label + "advertised rate", "b/s", sources[0].current, measured(found)[0][3])
    yield from _at_rest(bench)


def _at_rest(bench: Bench) -> Iterator[Row]:
    """Equilibrium: rates of C/N, the queue at its set point, one tag per interval T."""
    for count in (4, 16):
        duration = 400
        warmup = 'duration = "$duration ps"'.replace("$duration", str(duration * 10**9))
        text = _text(count, 1_000_000, duration * 10**9, _EVEN).replace(
            warmup, warmup + f'\nwarmup = "{duration // 2} ms"'
        )
        found = bench.once(text)
        label = f"{count} sources in equilibrium: "
        rates = [row["throughput_bps"] * _BYTES / FRAME for row in found.rows("flows")]
        why = "the queue varies by a frame or two around its set point"
        yield within(label + "rate, wire bits", "b/s", LINE / count, rates, 0.005, why)
        yield within(label + "mean queue", "B", 24_000, [queue(found)["queue_bytes_mean"]], 0.05, why)
        tags = [float(row["tags_sent"]) for row in found.rows("rate_limiters")]
        gap = _BYTES * 8 * count / LINE * 1e3
        sent = duration / 2 / (1 + gap / 2)
        why = "a tag waits for the next frame, on average half a frame interval"
        yield within(label + "tags per flow", "tags", sent, tags, 0.01, why)
