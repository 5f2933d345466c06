"""Pauses without randomness: cycles of XOFF and XON, and the headroom of a lossless queue."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from penstock import _core
from penstock.result import Result

from . import theory
from .bench import Bench, around_a_switch, fill, flow_text, only, summaries
from .registry import Row, case, exact
from .theory import GBPS, OVERHEAD

FRAME, PAUSE = 1522, 64

_CYCLE = (
    summaries(warmup="$warmup", pauses=True)
    + """\
"""
    + around_a_switch(
        sender='rate = "$fast Gb/s"\nlength = "$metres m"',
        sink='rate = "$slow Gb/s"\nlength = "2 m"',
    )
    + """
[flow_control.$kind]
accounting = "$accounting"
xoff = "$xoff frames"
xon = "$xon frames"
response_time = "$response ps"
resume = $resume
refresh = $resume
pause_quanta = $quanta
"""
    + flow_text("greedy", "sender", "sink", 'source = "greedy"')
)


def _wire(length: int, gbps: float) -> int:
    time = theory.wire_time(length + OVERHEAD, round(gbps * GBPS))
    if time.denominator != 1:
        raise ValueError(f"{length} B at {gbps} Gb/s are not a whole number of picoseconds")
    return int(time)


@dataclass(frozen=True)
class _Setup:
    """A fast link that feeds a slow one, with rates in Gb/s, watermarks in frames and response in ps."""

    kind: str
    accounting: str
    fast: float
    slow: float
    metres: int
    xoff: int
    xon: int | None
    response: int
    quanta: int = 65535

    @property
    def name(self) -> str:
        """The setup as a label for reports."""
        xon = f"XON {self.xon}" if self.xon is not None else f"no XON, {self.quanta} quanta"
        rates = f"{self.fast:g} into {self.slow:g} Gb/s, {self.metres:,} m"
        return f"{self.kind.upper()}, {self.accounting}, {rates}, XOFF {self.xoff}, {xon} frames"

    @property
    def keys(self) -> dict[str, object]:
        """Keys of the scenario."""
        return {
            **asdict(self),
            "fast": f"{self.fast:g}",
            "slow": f"{self.slow:g}",
            "xon": self.xon or 0,
            "resume": "false" if self.xon is None else "true",
        }

    @property
    def cycle(self) -> theory.PauseCycle:
        """The cycle predicted by theory."""
        # Egress accounting compares the queue without the arriving frame for XOFF, and with the departing
        # frame for XON: both watermarks act one frame later.
        later = 1 if self.accounting == "egress" else 0
        held = theory.wire_time(self.quanta * 512 // 8, round(self.fast * GBPS))
        loop = theory.PauseLoop(
            frame=_wire(FRAME, self.fast),
            out=_wire(FRAME, self.slow),
            pause=_wire(PAUSE, self.fast),
            delay=self.metres * 5_000,
            response=self.response,
            held=math.floor(held),
        )
        return loop.cycle(self.xoff + later, None if self.xon is None else self.xon - later)


@case(
    "cycles",
    "PAUSE and PFC: throughput by watermarks and delay",
    compared="A greedy host feeds a slower link through a switch. XOFF stops it, XON resumes it; if XON "
    "comes too late for the delay of the loop, the queue runs empty. The run is periodic: the "
    "period (from the start of one pause to the next) and the frames of twenty periods equal "
    "theory. The last rows find the minimum XON that loses no throughput. With egress "
    "accounting, XOFF compares the queue without the arriving frame, so the cycle is that of a "
    "watermark one frame higher.",
    formula="Let t be the time of a frame on the ingress link, T on the egress link, p the time of a "
    "pause frame, d the delay of the link and h the response time. The first frame k (arriving "
    "at k·t) that finds k + 1 − (⌊k·t/T⌋ + 1) ≥ XOFF frames waiting triggers XOFF. The sender "
    "stops at s = k·t + p + d + h, after n = ⌊(s + d)/t⌋ + 2 frames. The switch sends XON when "
    "frame n − XON begins to leave, at (n − 1 − XON)·T. The next frame arrives p + d + h + t + "
    "d later, and the period is the maximum of that time and n·T. No throughput is lost if and "
    "only if (XON + 1)·T ≥ p + 2·d + h + t. Without XON, a pause ends after its pause time q, "
    "counted from the arrival of the pause frame.",
    sources=("IEEE 802.3 Annex 31B; IEEE 802.1Q clause 36", "Hagen 2012, section 7.2 (the low watermark)"),
    scenario=fill(
        _CYCLE,
        duration="2 ms",
        warmup="0 s",
        fast=10,
        slow=4,
        metres=300,
        kind="pfc",
        accounting="ingress",
        xoff=8,
        xon=1,
        response=3_072_000,
        resume="true",
        quanta=65535,
    ),
    ends=(
        "One sender; with several, cycles depend on the order of their frames.",
        "Egress accounting compares the queue with the departing frame still in it, so the queue "
        "never reaches an XON of 0 frames. Such a pause ends only when its time expires.",
        "The formula assumes that the link is idle when the pause frame is sent and that the egress "
        "link is slower than the ingress link.",
    ),
)
def cycles(bench: Bench) -> Iterator[Row]:
    """Compares cycles in which the queue does or does not run empty."""
    for setup in (
        _Setup("pfc", "ingress", 10, 4, 300, 8, 1, 3_072_000),
        _Setup("pfc", "ingress", 10, 4, 300, 8, 0, 3_072_000),
        _Setup("pfc", "ingress", 40, 10, 1000, 20, 2, 1_510_400),
        _Setup("pfc", "ingress", 100, 25, 2000, 40, 5, 2_017_280),
        _Setup("pfc", "egress", 10, 4, 300, 8, 1, 3_072_000),
        _Setup("pause", "ingress", 10, 2.5, 10_000, 60, 3, 3_072_000),
        _Setup("pause", "egress", 40, 10, 300, 12, 1, 1_510_400),
        _Setup("pfc", "ingress", 10, 4, 300, 8, None, 3_072_000, quanta=800),
    ):
        yield from _periods(bench, setup)
    for fast, slow, metres, xoff, response in (
        (10, 4, 300, 20, 3_072_000),
        (40, 10, 1000, 40, 1_510_400),
        (100, 40, 300, 90, 2_017_280),
    ):
        setups = [_Setup("pfc", "ingress", fast, slow, metres, xoff, xon, response) for xon in range(xoff)]
        least = next(setup.xon for setup in setups if setup.cycle.idle == 0)
        measured = next(setup.xon for setup in setups if _keeps_the_link_busy(bench, setup))
        assert least is not None and measured is not None  # noqa: S101 (each setup has an XON)
        name = f"{fast:g} into {slow:g} Gb/s, {metres:,} m: minimum XON without loss of throughput"
        yield exact(name, "frames", least, measured)


def _periods(bench: Bench, setup: _Setup) -> Iterator[Row]:
    """Compares the period of a cycle, and the number of frames in twenty."""
    cycle, keys = setup.cycle, setup.keys
    first = bench.once(_CYCLE, duration=f"{10 * cycle.period} ps", warmup="0 s", **keys)
    # PAUSE stops all priorities, and each has a row.
    starts = [round(row["start_ns"] * 1_000) for row in first.rows("pauses") if row["priority"] == 0]
    periods = [after - before for before, after in pairwise(starts)]
    yield exact(f"{setup.name}: shortest period", "ps", cycle.period, min(periods))
    yield exact(f"{setup.name}: longest period", "ps", cycle.period, max(periods))
    window = bench.once(_CYCLE, warmup=f"{5 * cycle.period} ps", duration=f"{25 * cycle.period} ps", **keys)
    frames = only(window.rows("flows"), flow="greedy")["frames_delivered"]
    share = cycle.frames * _wire(FRAME, setup.slow) / cycle.period
    label = f"{setup.name}: frames in 20 periods ({share:.1%} of the link)"
    yield exact(label, "frames", 20 * cycle.frames, frames)


def _keeps_the_link_busy(bench: Bench, setup: _Setup) -> bool:
    period = _wire(FRAME, setup.slow)
    found = bench.once(_CYCLE, warmup=f"{200 * period} ps", duration=f"{1200 * period} ps", **setup.keys)
    return bool(only(found.rows("flows"), flow="greedy")["frames_delivered"] == 1000)


_HEADROOM = (
    """\
[simulation]
duration = "$duration ps"
on_lossless_drop = "count"

[probes]
bin = "off"

"""
    + around_a_switch(
        sender='rate = "$gbps Gb/s"\nlength = "$metres m"\ninterface_delay = "$interface ps"',
        sink='rate = "10 Mb/s"\nlength = "2 m"',
    )
    + """
[flow_control.pfc]
priorities = [3]
xoff = "$xoff B"
xon = "0 B"
headroom = "$headroom B"
"""
    + flow_text("data", "sender", "sink", "priority = 3", 'source = "greedy"')
    + """
[[flows]]
name = "blocker"         # one longest frame on the way of the pause frame
from = "sw"
to = "sender"
start = "$start ps"
limit = "1522 B"
source = { constant = { rate = "1 Gb/s", random_phase = false } }
"""
)
INTERFACE_BITS = {10: 12_288, 25: 40_960, 40: 57_344, 100: 112_128, 200: 231_936, 400: 463_360}
"""MAC and PHY delay of one station by rate in Gb/s, in bit times: sums over the sublayers in `PHYS`."""
PHYS = {
    10: "10GBASE-R",
    25: "25GBASE-R RS-FEC",
    40: "40GBASE-R FEC",
    100: "100GBASE-R RS-FEC",
    200: "200GBASE-R",
    400: "400GBASE-R",
}
RESPONSE_QUANTA = {10: 60, 25: 80, 40: 118, 100: 394, 200: 453, 400: 905}
"""Response time limit by rate in Gb/s, in quanta of 512 bit times (IEEE 802.3, 31B.3.7)."""
LENGTHS = (5, 100, 300)
XOFF_FRAMES = 3


class _Loop:
    """Bytes that arrive after XOFF on a link of a given length, by the phase of the blocking frame."""

    def __init__(self, gbps: int, metres: int) -> None:
        self.gbps, self.metres = gbps, metres
        self.interface = int(theory.wire_time(1, gbps * GBPS) * INTERFACE_BITS[gbps] / 8)
        self.delay = metres * 5_000 + self.interface
        self.response = int(theory.wire_time(64, gbps * GBPS) * RESPONSE_QUANTA[gbps])
        self.frame, self.pause = _wire(FRAME, gbps), _wire(PAUSE, gbps)
        self.crossed = (XOFF_FRAMES + 1) * self.frame + self.delay  # the first frame does not wait

    def frames(self, blocked: int) -> int:
        return theory.frames_after_xoff(self.frame, blocked, self.pause, self.delay, self.response)

    @property
    def most(self) -> int:
        """Headroom for the worst phase, in which a frame of maximum size begins just before XOFF."""
        return self.frames(self.frame - 1)

    @property
    def bound_bits(self) -> int:
        """2·M + P + 2·C + 2·I + H."""
        cable = math.ceil(self.metres * 5 * self.gbps)
        return (
            2 * (FRAME + OVERHEAD) * 8
            + (PAUSE + OVERHEAD) * 8
            + 2 * cable
            + 2 * INTERFACE_BITS[self.gbps]
            + RESPONSE_QUANTA[self.gbps] * 512
        )

    def phases(self, count: int) -> list[int]:
        """Remaining times of the blocking frame: evenly spaced, and around each step of `frames`."""
        found = {1 + (self.frame - 2) * place // (count - 1) for place in range(count)}
        loop = self.pause + 2 * self.delay + self.response
        step = -loop % self.frame  # from here on one more frame arrives
        found |= {blocked for blocked in (step - 1, step, self.frame - 1) if 0 < blocked < self.frame}
        return sorted(found)

    def variants(self, headroom: int, phases: Sequence[int], *, below: int = 0) -> list[dict[str, object]]:
        """Keys of the scenario for each phase; XOFF is `below` bytes below a whole number of frames."""
        return [
            {
                "duration": self.crossed + 2 * (self.delay + self.frame) + self.response + 10 * self.frame,
                "gbps": self.gbps,
                "metres": self.metres,
                "interface": self.interface,
                "xoff": XOFF_FRAMES * FRAME - below,
                "headroom": headroom,
                "start": self.crossed - (self.frame - blocked),
            }
            for blocked in phases
        ]


@case(
    "headroom",
    "Minimum headroom without loss",
    compared="A sender at line rate, an egress link that drains nothing, and a frame of maximum size in "
    "front of the pause frame at every phase: 10 to 400 Gb/s, 5 to 300 m, standard interface "
    "and response delays. With the headroom of theory, no phase loses a frame. With one byte "
    "less, exactly the phases predicted by theory lose one frame each. Phases are evenly "
    "spaced; they include the picoseconds just before and after the phase from which one more "
    "frame arrives. In the last rows XOFF is one byte past a frame boundary.",
    formula="After the frame that crosses XOFF, ⌊(b + p + 2·d + h)/t⌋ + 1 frames arrive, where b is the "
    "remaining time of the blocking frame. The minimum headroom is that number times L, for b "
    "just below t. In bit times: ⌊TotalDelay / t⌋ frames with TotalDelay = 2·M + P + 2·C + 2·I "
    "+ H of IEEE 802.1Qbb Annex O. That bound counts bits on the wire and is not rounded to "
    "whole frames, so it exceeds the minimum headroom by less than one frame plus 20 B per "
    "frame.",
    sources=("IEEE 802.1Qbb-2011 Annex O; Hagen 2012, equation 7.3", "IEEE 802.3 clause 31B.3.7 (response)"),
    scenario=fill(_HEADROOM, **_Loop(10, 300).variants(_Loop(10, 300).most * FRAME, [1_000])[0]),
    ends=(
        "The clocks of both stations run at the same rate.",
        "Interface delays are those of `penstock explain phy`, most of which are recalled and not verified.",
    ),
)
def headroom(bench: Bench) -> Iterator[Row]:
    """Compares all rates and lengths."""
    count = bench.choose(64, 8)
    for gbps in INTERFACE_BITS:
        for metres in LENGTHS:
            loop = _Loop(gbps, metres)
            phases = loop.phases(count)
            enough = loop.most * FRAME
            name = f"{gbps} Gb/s, {metres} m"
            expected = sum(loop.frames(blocked) == loop.most for blocked in phases)
            for room, loses in ((enough, 0), (enough - 1, expected)):
                label = f"{name}, headroom {room:,} B: lost over {len(phases)} phases"
                yield exact(label, "frames", loses, _lost_over(bench, loop.variants(room, phases)))
            report = json.loads(
                _core.headroom({"rate": f"{gbps} Gb/s", "length": f"{metres} m", "phy": PHYS[gbps]})
            )
            if metres == LENGTHS[-1]:
                below = FRAME - 1
                for room, loses in ((enough + below, 0), (enough + below - 1, expected)):
                    label = f"{name}, XOFF one byte past a frame, headroom {room:,} B: lost"
                    lost = _lost_over(bench, loop.variants(room, phases, below=below))
                    yield exact(label, "frames", loses, lost)
            label = f"{name}: bound by penstock headroom"
            yield exact(label, "bit times", loop.bound_bits, report["total_bit_times"])


def _lost_over(bench: Bench, variants: Sequence[Mapping[str, object]]) -> float:
    return sum(found["lost"] for found in bench.each(_HEADROOM, _lost, variants))


def _lost(result: Result) -> dict[str, float]:
    flow = only(result.rows("flows"), flow="data")
    others = [row for row in result.rows("drops") if row["cause"] != "headroom"]
    return {"lost": flow["frames_dropped"] if not others else math.nan}
