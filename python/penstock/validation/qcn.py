"""Compares quantized congestion notification with a model of one switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.result import Result

from .bench import Bench, only, picoseconds
from .one_switch import LINE, MESSAGE, Point, Sender, measured, queue, run, scenario
from .registry import Row, case, exact, within

_SET_POINT = 26_000
_SAMPLES = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)


@dataclass
class Source(Sender):
    """A greedy source behind a reaction point of IEEE 802.1Q clauses 31 and 32."""

    cycle: int = 150_000
    period: int = 15 * 10**9
    current: int = LINE
    target: int = LINE
    active: bool = False
    stages: list[int] = field(default_factory=lambda: [0, 0])
    bytes_left: int = 0
    timer_due: int = 0

    def rate(self) -> int | None:
        """The current rate."""
        return self.current if self.active else None

    def on_feedback(self, feedback: int) -> None:
        """Applies a rate cut."""
        self.messages += 1
        if self.stages[0] > 0 or not self.active:
            self.target, self.bytes_left = self.current, self.cycle
        self.stages, self.active = [0, 0], True
        self.current = max(int(self.current * (1 - min(feedback / 128, 0.5))), 5_000_000)
        self.lowest = min(self.lowest, self.current)
        self.timer_due = self.now + self.period

    def recover(self) -> None:
        """Ends a cycle of recovery."""
        low, high = sorted(self.stages)
        if sum(self.stages) == 1 and self.target > 10 * self.current:
            self.target = max(self.target // 8, self.current)
        elif high > 5:
            self.target += 50_000_000 * (low - 5) if low > 5 else 5_000_000
        self.target = min(self.target, LINE)
        self.current = min(-(-(self.target + self.current) // 2), LINE)

    def sent(self) -> None:
        """Advances the byte counter."""
        super().sent()
        if not self.active:
            return
        self.bytes_left -= self.length
        if self.bytes_left < 0:
            self.stages[0] += 1
            self.bytes_left = self.cycle if self.stages[0] < 5 else self.cycle // 2
            self.recover()

    def next_timer(self) -> int | None:
        """Handles an expiry of the reaction point's timer."""
        return self.timer_due if self.active else None

    def timer(self) -> int | None:
        """Ends a cycle of the timer."""
        self.stages[1] += 1
        self.timer_due = self.now + (self.period if self.stages[1] < 5 else self.period // 2)
        self.recover()
        return self.timer_due


@dataclass
class Quantised(Point):
    """The congestion point of clause 30."""

    before: int = 0
    until_sample: int = 150_000

    def arrive(self) -> int | None:
        """Feedback for a sampled frame; one frame is sampled per given number of bytes."""
        queued = self.others + self.length
        self.until_sample -= self.length
        if self.until_sample >= 0:
            return None
        most = 5 * _SET_POINT
        excess = min(max(queued - _SET_POINT + 2 * (queued - self.before), 0), most)
        quantised, self.before = 63 * excess // most, queued
        self.until_sample = _SAMPLES[quantised // 8]
        return quantised or None


@case(
    "qcn",
    "Quantised congestion notification",
    compared="Greedy sources behind reaction points share a link whose queue is a congestion point. "
    "First, without jitter and with short cycles, the run is compared with a Python model of "
    "the switch, the sources and their messages. Then, with the jitter and the cycles of the "
    "standard, the mean queue is compared with its set point.",
    formula="Fb = -(q - q_eq + 2·(q - q_old)), in 63 steps up to 5·q_eq. R is cut by the fraction "
    "Fb/128. Five cycles of fast recovery follow, then R increases by 5 Mb/s or 50 Mb/s per "
    "cycle and more. A frame leaves 8·(L + 20)/R after the previous one.",
    sources=("IEEE 802.1Q-2018, clauses 30 to 32",),
    scenario=scenario("qcn", [0, 137_000], 1_000_000, 10_000_000_000, "jitter_share = 0", "jitter_share = 0"),
    ends=("A rate change takes effect with the next frame; the gap after the previous frame is unchanged.",),
)
def qcn(bench: Bench) -> Iterator[Row]:
    """Compares the simulator with the model, and at its set point."""
    for count, delay, cycle, period in (
        (2, 1_000_000, 15_000, 200),
        (3, 500_000, 150_000, 1000),
        (8, 4_000_000, 30_000, 500),
    ):
        starts = [137_000 * n for n in range(count)]
        duration = bench.choose(20, 5) * 1_000_000_000
        reaction = f'jitter_share = 0, byte_reset = "{cycle} B", time_reset = "{period} us"'
        found = bench.once(scenario("qcn", starts, delay, duration, reaction, "jitter_share = 0"))
        sources = [Source(pulled=start, cycle=cycle, period=period * 1_000_000) for start in starts]
        longest = run(sources, Quantised(), delay, duration)
        yield from _beside(found, sources, longest, delay)
    text = scenario("qcn", [0, 137_000, 274_000, 411_000], 1_000_000, bench.choose(400, 100) * 10**9, "", "")
    deep = bench.once(text)
    mean = queue(deep)["queue_bytes_mean"]
    used = 100 * only(deep.rows("ports"), port="sw.0->h0")["utilisation"]
    label = "four sources with standard parameters: "
    why = "the control oscillates around the set point, and the mean includes the first overshoot"
    yield within(label + "mean queue", "B", _SET_POINT, [mean], 0.15, why)
    yield within(label + "link utilization", "%", 100, [used], 0.01, "the queue is occasionally empty")


def _beside(found: Result, sources: list[Source], longest: int, delay: int) -> Iterator[Row]:
    limiters = found.rows("rate_limiters")
    modelled = [(it.frames, it.messages, it.lowest, it.current) for it in sources]
    label = f"{len(sources)} sources, {delay / 1e6:g} us: "
    alike = sum(one == other for one, other in zip(measured(found), modelled, strict=True))
    what = "sources equal to the model"
    yield exact(label + what, "sources", len(sources), alike)
    messages = sum(row["messages"] for row in limiters)
    yield exact(label + "messages", "messages", sum(it.messages for it in sources), messages)
    lowest = min(rate for _, _, rate, _ in measured(found))
    yield exact(label + "lowest rate", "b/s", min(it.lowest for it in sources), lowest)
    yield exact(label + "longest queue", "B", longest, queue(found)["queue_bytes_max"])
    shortest = picoseconds(min(row["message_delay_min_ns"] for row in limiters))
    yield exact(label + "shortest delay of a message", "ps", MESSAGE + delay, shortest)
