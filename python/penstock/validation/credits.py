"""Credits, without randomness: throughput of a link by number of credits, and waits for credits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.qos.arbitration import Need, longest_turn
from penstock.qos.arbitration import fill as fill_table
from penstock.result import Result

from . import theory
from .bench import Bench, fill, flow_text, only, star, summaries
from .registry import Row, bounded, case, exact

UNIT = 64
DURATION_PS = 2_000_000_000

_LINK = (
    summaries("2 ms", pauses=True)
    + """\
[topology.explicit]
hosts = ["a", "b"]

[[topology.explicit.links]]
between = ["a", "b"]
rate = "10 Gb/s"
delay = "$delay ps"
phy = "none"

[flow_control.credit]
buffer = "$buffer B"
update_after = "1 B"
update_delay = "$update ps"
"""
    + flow_text("greedy", "a", "b", 'frame = "$frame B"', 'source = "greedy"')
)


@dataclass(frozen=True)
class _Setup:
    """A link of 10 Gb/s: its delay and the delay of updates in picoseconds, and its buffer in credits."""

    frame: int
    delay: int
    update: int
    credits: int

    @property
    def name(self) -> str:
        """The setup as a label for reports."""
        frame = f"{self.frame:,} B, {self.delay / 1e6:g} us"
        return f"{frame}, updates {self.update / 1e3:g} ns, {self.credits:,} credits"

    @property
    def takes(self) -> int:
        """Transmission time of a frame on the link."""
        return theory.wire(self.frame)

    @property
    def round_trip(self) -> int:
        """Time from the first bit of a frame until the update that returns its credits takes effect."""
        return self.takes + self.delay + self.delay + self.update

    @property
    def at_once(self) -> int:
        """Number of frames that the buffer holds."""
        return self.credits // -(-self.frame // UNIT)

    @property
    def delivered(self) -> int:
        """Number of frames that arrive before the end of the run, counted in full credit windows."""
        period = max(self.round_trip, self.at_once * self.takes)
        windows, rest = divmod(DURATION_PS - 1 - self.takes - self.delay, period)
        return windows * self.at_once + min(self.at_once, rest // self.takes + 1)

    @property
    def waited(self) -> int:
        """Total time in picoseconds that frames wait for credits before the end of the run."""
        before = (self.at_once - 1) * self.takes
        if self.round_trip >= self.at_once * self.takes:
            return DURATION_PS - before
        gap = max(0, self.round_trip - before)
        return sum(min(gap, DURATION_PS - begins) for begins in range(before, DURATION_PS, self.takes))


def _delivered(result: Result) -> int:
    frames: int = only(result.rows("flows"), flow="greedy")["frames_delivered"]
    return frames


def _waited(result: Result) -> int:
    waited: float = only(result.rows("credits"), port="a.0->b")["waited_s"]
    return round(waited * 1e12)


@case(
    "credits",
    "Credits: throughput by buffer and delay",
    compared="A greedy host sends over one link. The number of frames that arrive and the total time "
    "that frames wait for credits equal theory to the frame and the picosecond.",
    formula="Let t be the transmission time of a frame, d the delay of the link, and u the delay of an "
    "update after the arrival of a frame. The credits of a frame return R = t + d + d + u after "
    "its first bit. With credits for n frames, n frames leave every max(R, n·t), so the link "
    "carries n·t/R of its rate until it is full. From the start of the n-th frame, at (n − "
    "1)·t, the next frame always waits for credits if n·t ≤ R. Otherwise it waits for R − (n − "
    "1)·t per frame if that is above 0.",
    sources=("Martinez 2006, section 2", "Counting by hand"),
    scenario=fill(_LINK, delay=1_000_000, update=10_000, frame=2176, buffer=136 * UNIT),
    ends=(
        "Every frame is advertised at once. If update_after exceeds a frame, updates wait for more "
        "frames or for update_within.",
        "A buffer returns credits when a frame begins to leave it.",
    ),
)
def room(bench: Bench) -> Iterator[Row]:
    """Compares buffers from one frame to more than a round trip."""
    setups = [
        *(_Setup(2176, 1_000_000, 10_000, 34 * frames) for frames in (1, 2, 3)),
        _Setup(1088, 5_000_000, 0, 17 * 11),
        _Setup(1088, 5_000_000, 0, 17 * 13),
        _Setup(65, 700_000, 50_000, 41),
        _Setup(64, 700_000, 50_000, 41),
    ]
    for setup in setups:
        found = bench.once(
            _LINK,
            delay=setup.delay,
            update=setup.update,
            frame=setup.frame,
            buffer=setup.credits * UNIT,
        )
        yield exact(f"{setup.name}: frames delivered", "frames", setup.delivered, _delivered(found))
        yield exact(f"{setup.name}: waited for credits", "ps", setup.waited, _waited(found))


_TABLE = (
    summaries("$duration ms", pauses=True)
    + star(5, rate="2 Gb/s", delay="20 ns")
    + """\
overhead = "0 B"

[host]
queues = [0, 1, 2, 3, 3, 3, 3, 3]

[switch]
queues = [0, 1, 2, 3, 3, 3, 3, 3]
scheduler = { dtable = { entries = $entries } }

[flow_control.credit]
buffer = "8704 B"
channels = [0, 1, 2, 3, 3, 3, 3, 3]
"""
)

_FLOW = """
[[flows]]
name = "$name"
from = "h$name"
to = "h4"
priority = $name
frame = $frame
source = $source
"""

NEEDS = (Need(16, 4), Need(12, 6), Need(35, 3), Need(1, 64))
"""Weights of the four classes in a table of 64 entries."""


def _table(tagged: int, duration: int) -> str:
    """Three classes that are always backlogged, and one that occasionally sends a small frame."""
    text = fill(_TABLE, duration=duration, entries=list(fill_table(64, dict(enumerate(NEEDS)))))
    small = ('"128 B"', '{ poisson = { rate = "2 Mb/s" } }')
    waiting = ('{ bimodal = { small = "64 B", large = "2176 B", small_share = 0.97 } }', '"greedy"')
    for key in range(len(NEEDS)):
        frame, source = small if key == tagged else waiting
        text += fill(_FLOW, name=key, frame=frame, source=source)
    return text


@case(
    "table-turns",
    "Worst-case wait with an arbitration table",
    compared="One class occasionally sends a small frame; the three others always have frames of 64 and "
    "2,176 B. Its longest wait must not exceed the bound given by the distance between its "
    "table entries.",
    formula="An entry sends at most twice the longest frame minus one credit, 67 credits of 64 B. "
    "Between two entries of a class at distance d, at most d · 67 credits are sent.",
    sources=("Martinez 2006, section 4",),
    scenario=_table(0, 100),
    ends=(
        "A class that exceeds the share of its entries also waits for its own frames.",
        "One port only. The bound excludes waits for credits further along the path.",
    ),
)
def table_turns(bench: Bench) -> Iterator[Row]:
    """Compares each class in turn as the one that rarely sends."""
    for tagged, need in enumerate(NEEDS):
        distance = need.distance or 64
        found = bench.once(_table(tagged, bench.choose(400, 40)))
        queue = only(found.rows("queues"), port="sw.4->h4", **{"class": tagged})
        yield bounded(
            f"entries at most {distance} apart: longest wait",
            "us",
            longest_turn(distance, 2 * theory.GBPS) * 1e6,
            queue["wait_max_ns"] / 1e3,
            0.4,
            "an entry sends half of its maximum on average, and the class's own entries pass unused",
        )
