"""Compares backward congestion notification with a model of one switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .bench import Bench
from .one_switch import FRAME, LINE, Point, Sender, measured, queue, run, scenario
from .registry import Row, case, exact

_SET_POINT = 24_000
_SEVERE = 135_000
_TAG = 12


@dataclass
class Source(Sender):
    """A greedy source behind a reaction point of BCN."""

    current: int = LINE
    active: bool = False

    def rate(self) -> int | None:
        """The current rate."""
        return self.current if self.active else None

    def tag_bytes(self) -> int:
        """Length in bytes of the rate limit tag, carried by every frame of an active reaction point."""
        return _TAG if self.active else 0

    def sent(self) -> None:
        """Deactivates the reaction point at line rate (a greedy source keeps one frame in its limiter)."""
        super().sent()
        self.active = self.active and self.current < LINE

    def on_feedback(self, feedback: int) -> None:
        """Applies a decrease, an increase, or the end of a stop of zero length."""
        self.messages += 1
        units = feedback / 1500
        if not self.active:
            self.current = LINE
        if feedback > 0:
            self.current = min(int(self.current + 4 * 8e6 * units), LINE)
        elif feedback < 0:
            self.current, self.active = max(int(self.current * max(1 + units / 128, 0.5)), 10**7), True
        else:
            self.current, self.active = min(LINE // 100, self.current), True
        if self.active:
            self.lowest = min(self.lowest, self.current)


@dataclass
class Backward(Point):
    """A congestion point that samples one of every `every` frames."""

    every: int = 100
    passed: int = 0
    before: int = 0

    def arrive(self) -> int | None:
        """Feedback for a sampled frame: negative for any source, positive only for frames with a tag."""
        self.passed = (self.passed + 1) % self.every
        if self.passed:
            return None
        queued = self.others + self.length
        feedback = _SET_POINT - queued - 2 * (queued - self.before)
        self.before = queued
        if queued > _SEVERE:
            return 0
        tagged = self.length > FRAME
        return feedback if feedback < 0 or (feedback > 0 and tagged) else None


_STOP = 'max_stop = "0 s"'


@case(
    "bcn",
    "Backward congestion notification",
    compared="Greedy sources behind reaction points share a link whose queue is a congestion point. A "
    "Python model of the switch, the sources and their messages predicts the result. Stops have "
    "zero length because BCN draws their length at random.",
    formula="Fb = q_eq - q - 2·(q - q_old), in frames, computed for one frame in every `sample_every`. "
    "If Fb < 0, each sampled frame cuts R by the fraction |Fb|/128, at most by half. If Fb > 0, "
    "it raises R by Fb · 4 · 8 Mb/s. Above 90 frames, R drops to 1 % of the link rate.",
    sources=("Jiang and Jain, INFOCOM 2007",),
    scenario=scenario("bcn", [0, 137_000], 1_000_000, 10_000_000_000, _STOP, "sample_every = 20"),
    ends=("A rate change takes effect with the next frame; the gap after the previous frame is unchanged.",),
)
def bcn(bench: Bench) -> Iterator[Row]:
    """Compares the simulator with the model."""
    for count, delay, every in ((2, 1_000_000, 20), (3, 500_000, 100), (8, 4_000_000, 37)):
        starts = [137_000 * n for n in range(count)]
        duration = bench.choose(20, 5) * 1_000_000_000
        found = bench.once(scenario("bcn", starts, delay, duration, _STOP, f"sample_every = {every}"))
        sources = [Source(pulled=start) for start in starts]
        longest = run(sources, Backward(every=every), delay, duration)
        modelled = [(it.frames, it.messages, it.lowest, it.current) for it in sources]
        label = f"{count} sources, {delay / 1e6:g} us, one of {every} frames: "
        alike = sum(one == other for one, other in zip(measured(found), modelled, strict=True))
        yield exact(label + "sources equal to the model", "sources", count, alike)
        counted = sum(row[1] for row in measured(found))
        yield exact(label + "messages", "messages", sum(it.messages for it in sources), counted)
        lowest = min(row[2] for row in measured(found))
        yield exact(label + "lowest rate", "b/s", min(it.lowest for it in sources), lowest)
        yield exact(label + "longest queue", "B", longest, queue(found)["queue_bytes_max"])
