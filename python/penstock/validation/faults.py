"""Faults: lost frames, and the effect of a link rate change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from penstock.result import Result

from . import theory
from .bench import Bench, around_a_switch, chain, fill, flow_text, only, picoseconds, summaries
from .registry import Row, case, exact, random
from .theory import GBPS, OVERHEAD, wire

FRAME, PAUSE = 1522, 64
FAR_PS = 1_500_000
"""Delay of 300 m of fiber."""
NEAR_PS = 10_000
"""Delay of 2 m of fiber."""

_PATH = (
    summaries()
    + """\
"""
    + around_a_switch(
        source='rate = "10 Gb/s"\nlength = "300 m"',
        sink='rate = "$out Gb/s"\nlength = "300 m"',
    )
    + flow_text(
        "steady",
        "source",
        "sink",
        'frame = "1000 B"',
        'limit = "$limit B"',
        'source = { constant = { rate = "$rate Gb/s", random_phase = false } }',
    )
    + """
[[faults]]
link = ["$from", "$to"]
$fault
"""
)
LENGTH = 1000


def _outage(at: int, lasts: int, waiting: str) -> str:
    return f'at = "{at} ps"\ndown = true\nduration = "{lasts} ps"\nwaiting = "{waiting}"'


@case(
    "link-down",
    "A link that goes down and comes back",
    compared="Frames of 1,000 B cross a host, a switch and two links at even intervals; one link goes "
    "down and comes back. Outages begin and end at the picosecond at which a frame begins or "
    "ends, and one picosecond off it. In the last rows the second link is slower, so that "
    "frames wait for it when it goes down; they are either lost or kept.",
    formula="A frame is lost if and only if part of it is on the link while the link is down: the frame "
    "began before the end of the outage, and its last bit arrives after the start of the "
    "outage. Within one picosecond, frames are processed before faults. With `waiting = "
    '"lost"`, frames that are queued at the sending end when the link goes down, or that arrive '
    "there during the outage, are lost too. Frames that are kept leave one after the other from "
    "the end of the outage on (Lindley's recursion with one gap).",
    sources=("Counting by hand; Lindley, The theory of queues with a single server, 1952",),
    scenario=fill(
        _PATH,
        duration="1 ms",
        out=10,
        rate=5,
        limit=100_000,
        **{"from": "source"},
        to="sw",
        fault=_outage(40_000_000, 20_000_000, "lost"),
    ),
    ends=(
        "The sender detects the outage only after its frame has ended. No part of an interrupted "
        "frame arrives.",
        "Negotiation takes no time: the link carries frames as soon as it is back.",
    ),
)
def link_down(bench: Bench) -> Iterator[Row]:
    """Outages of the first link, of the second link, and of the second link with a queue."""
    count = bench.choose(400, 100)
    created = [k * 1_600_000 for k in range(count)]
    on_link = wire(LENGTH) + FAR_PS
    begins, ends = created[10], created[10] + on_link
    outages = (
        (ends, 5_000_000, "last bit arrives as the link goes down"),
        (ends - 1, 5_000_000, "last bit would arrive 1 ps later"),
        (begins - 5_000_000, 4_999_999, "frame begins 1 ps after the link returns"),
        (begins - 5_000_000, 5_000_000, "frame is due as the link returns"),
        (7_654_321, 33_333_333, "33 us"),
        (7_654_321, 1, "1 ps"),
    )
    for at, lasts, what in outages:
        lost = [not _survives(start, start + on_link, at, at + lasts) for start in created]
        yield from _losses(bench, _Cut(count, at, lasts), what, sum(lost))
    inner = [start + on_link for start in created]  # arrivals at the switch; both links have the same rate
    at, lasts = 50_000_000, 20_000_000
    lost = [not _survives(start, start + on_link, at, at + lasts) for start in inner]
    yield from _losses(bench, _Cut(count, at, lasts, ends=("sw", "sink")), "20 us", sum(lost))
    for waiting in ("lost", "kept"):
        queue = _Broken.of(inner, wire(LENGTH, 4 * GBPS), FAR_PS, at, at + lasts, keep=waiting == "kept")
        found = _Cut(count, at, lasts, ends=("sw", "sink"), waiting=waiting, out=4).run(bench)
        name = f"link 2 of 4 Gb/s, 20 us, {queue.waited} frames wait, {waiting}: "
        yield exact(name + "frames lost", "frames", queue.lost, found["lost"])
        yield exact(name + "frames delivered", "frames", len(queue.arrived), found["delivered"])
        latencies = [
            end - start for start, end in zip(created, queue.arrivals, strict=True) if end is not None
        ]
        yield exact(name + "sum of latencies", "ps", sum(latencies), found["sum"])
        yield exact(name + "longest latency", "ps", max(latencies), found["longest"])


def _survives(begins: int, ends: int, down: int, up: int) -> bool:
    return ends <= down or begins > up


@dataclass(frozen=True)
class _Cut:
    """Evenly spaced frames, and an outage of the link between two nodes, `ends`. Times in picoseconds."""

    count: int
    at: int
    lasts: int
    ends: tuple[str, str] = ("source", "sw")
    waiting: str = "lost"
    out: int = 10

    def run(self, bench: Bench) -> Mapping[str, float]:
        """The measurements."""
        fault = _outage(self.at, self.lasts, self.waiting)
        keys = {"from": self.ends[0], "to": self.ends[1], "out": self.out, "rate": 5, "fault": fault}
        return _read(bench.once(_PATH, duration=f"{4 * self.count} us", limit=self.count * LENGTH, **keys))


def _losses(bench: Bench, cut: _Cut, what: str, lost: int) -> Iterator[Row]:
    found = cut.run(bench)
    name = f"link {1 if cut.ends[0] == 'source' else 2}, {what}: "
    yield exact(name + "frames lost", "frames", lost, found["lost"])
    yield exact(name + "frames delivered", "frames", cut.count - lost, found["delivered"])


def _read(result: Result) -> dict[str, float]:
    flow = only(result.rows("flows"), flow="steady")
    drops = result.rows("drops")
    by_the_fault = sum(row["frames"] for row in drops if row["cause"] == "link_down")
    whole = all(row["cause"] == "link_down" for row in drops)
    return {
        "lost": by_the_fault if whole and by_the_fault == flow["frames_dropped"] else math.nan,
        "delivered": flow["frames_delivered"],
        "sum": round(flow["latency_mean_ns"] * 1_000 * flow["frames_delivered"]),
        "shortest": picoseconds(flow["latency_min_ns"]),
        "longest": picoseconds(flow["latency_max_ns"]),
    }


class _Broken:
    """A queue in front of a link with one outage; times in picoseconds."""

    def __init__(self, arrivals: Sequence[int | None], waited: int) -> None:
        self.arrivals = arrivals
        """Arrival times at the far end, ``None`` for a lost frame."""
        self.waited = waited
        self.arrived = [end for end in arrivals if end is not None]
        self.lost = len(arrivals) - len(self.arrived)

    @classmethod
    def of(cls, came: Sequence[int], service: int, delay: int, down: int, up: int, *, keep: bool) -> _Broken:
        free, waited = 0, 0
        ends: list[int | None] = []
        for arrival in came:
            start = max(free, arrival)
            if start < down:
                free = start + service
                ends.append(free + delay if free + delay <= down else None)
                continue
            waited += arrival < down
            if not keep and arrival <= up:
                ends.append(None)
                continue
            start = max(start, up)
            free = start + service
            ends.append(free + delay)
        return cls(ends, waited)


_BITS = (
    summaries(warmup="$warmup")
    + chain(2, 1, rate="100 Gb/s")
    + flow_text(
        "probe", "h0.0", "h1.0", 'frame = "$length B"', 'source = { poisson = { rate = "$rate Gb/s" } }'
    )
    + """
[[faults]]
link = $link
bit_error_rate = $probability
"""
)


@case(
    "bit-errors",
    "Frames with bit errors",
    compared="Poisson frames of one length cross one link, then three, with bit error probability p. A "
    "frame with a bit error is discarded on arrival.",
    formula="A frame of L bytes is lost with probability 1 − (1 − p)^(8·L) on each link.",
    sources=("Independent bits; IEEE 802.3 clause 3.4 (a frame with a wrong check sequence is discarded)",),
    scenario=fill(
        _BITS,
        duration="21 ms",
        warmup="1 ms",
        length=1522,
        rate=90,
        link='["sw0", "sw1"]',
        probability="1e-6",
    ),
    ends=(
        "Preamble and gap have no bit errors, and errors do not come in bursts.",
        "Every error is detected: the 32-bit frame check sequence is assumed to be perfect.",
    ),
)
def bit_errors(bench: Bench) -> Iterator[Row]:
    """Compares errors on one link, then on all three."""
    cases = ((1522, 1e-6, 60), (1522, 1e-4, 10), (64, 1e-5, 25), (64, 1e-3, 4), (512, 2e-5, 10))
    for links, repeats in (('["sw0", "sw1"]', 1), ('"all"', 3)):
        for length, probability, ms in cases:
            if repeats > 1 and probability == 1e-6:
                continue  # same mean, and slow
            losses = bench.replicate(
                _BITS,
                _share_lost,
                length=length,
                rate=90 if length > 64 else 60,
                link=links,
                probability=f"{probability:g}",
                **bench.milliseconds(ms, warmup=0.1),
            )["lost"]
            survives = (1 - probability) ** (8 * length * repeats)
            name = f"{length} B, p = {probability:g}, {repeats} link{'s' if repeats > 1 else ''}: share lost"
            yield random(name, "", 1 - survives, losses, precision=bench.precision(0.015))


def _share_lost(result: Result) -> dict[str, float]:
    flow = only(result.rows("flows"), flow="probe")
    ended = flow["frames_dropped"] + flow["frames_delivered"]
    others = [row for row in result.rows("drops") if row["cause"] != "bit_error"]
    return {"lost": flow["frames_dropped"] / ended if not others else math.nan}


_PAUSES = (
    """\
[simulation]
duration = "$duration"
on_lossless_drop = "count"

[probes]
bin = "off"

"""
    + around_a_switch(
        sender='rate = "10 Gb/s"\nlength = "2 m"',
        sink='rate = "4 Gb/s"\nlength = "2 m"',
    )
    + """
[flow_control.pfc]
xoff = "20 frames"
xon = "4 frames"
headroom = "10 frames"
pause_quanta = 1000
response_time = "0 ps"
"""
    + flow_text("greedy", "sender", "sink", 'source = "greedy"')
    + """
[[faults]]
link = ["sender", "sw"]
pause_loss = $probability
"""
)


@case(
    "lost-pauses",
    "Lost pause frames",
    compared="A 10 Gb/s host feeds a 4 Gb/s link under PFC, and its link loses pause frames. If all of "
    "them are lost, the queue fills up to XOFF plus headroom, and every frame that arrives at "
    "the full queue is dropped. If half are lost, the statistics count half as lost.",
    formula="Frame k arrives at (k + 1)·t + d. A frame leaves T after the one before it. Frame k is "
    "lost if 20 + 10 frames wait, the limit of XOFF plus headroom. Losses of individual pause "
    "frames are independent.",
    sources=("Lindley's recursion with a finite buffer",),
    scenario=fill(_PAUSES, duration="1 ms", probability=1),
    ends=("A pause frame is lost as a whole; its sender is not notified.",),
)
def lost_pauses(bench: Bench) -> Iterator[Row]:
    """Compares the loss of all pause frames, then of half of them."""
    for us in (500, 2_000):
        found = bench.once(_PAUSES, duration=f"{us} us", probability=1)
        delivered, lost = _full(us * 1_000_000)
        flow = only(found.rows("flows"), flow="greedy")
        name = f"all pause frames lost, {us:,} us: "
        yield exact(name + "frames delivered", "frames", delivered, flow["frames_delivered"])
        yield exact(name + "frames lost", "frames", lost, flow["frames_dropped"])
        yield exact(name + "pauses in force", "", 0, len(found.rows("pauses")))
    shares = bench.replicate(
        _PAUSES, _share_of_pauses, duration=f"{bench.choose(1000, 100)} ms", probability=0.5
    )["lost"]
    name = "half of the pause frames lost: share counted as lost"
    yield random(name, "", 0.5, shares, precision=bench.precision(0.02))


def _full(duration: int) -> tuple[int, int]:
    """Number of frames delivered and lost if the sender is never paused; times in picoseconds."""
    came, service, room = wire(FRAME), wire(FRAME, 4 * GBPS), 30
    starts: list[int] = []
    delivered = lost = free = place = 0
    arrival = came + NEAR_PS
    while arrival <= duration:
        while place < len(starts) and starts[place] <= arrival:
            place += 1  # the frames from here on are still queued
        if len(starts) - place >= room and free > arrival:
            lost += 1
        else:
            start = max(free, arrival)
            starts.append(start)
            free = start + service
            delivered += free + NEAR_PS <= duration
        arrival += came
    return delivered, lost


def _share_of_pauses(result: Result) -> dict[str, float]:
    port = only(result.rows("ports"), node="sw", peer="sender")
    return {"lost": port["pauses_lost"] / (port["pauses_sent"] + port["resumes_sent"])}


@case(
    "link-rate",
    "A link that changes its rate",
    compared="Frames of 1,000 B at 3 Gb/s cross a link that changes its rate during a frame and at the "
    "beginning of a frame. The new rate is slower, faster, or so slow that a queue builds up. "
    "Shortest, longest and summed latency are equal to the picosecond.",
    formula="Lindley's recursion in which each frame takes (L + 20)·8/C, where C is the rate at the "
    "time at which the frame begins. The frame on the wire completes at the old rate, and so "
    "does one that begins in the picosecond of the change.",
    sources=("Lindley, The theory of queues with a single server, 1952",),
    scenario=fill(
        _PATH,
        duration="1 ms",
        out=10,
        rate=3,
        limit=100_000,
        **{"from": "sw"},
        to="sink",
        fault='at = "50 us"\nrate = "1 Gb/s"',
    ),
    ends=(
        "A rate change takes no time.",
        "Headroom and response times remain those of the initial, fastest rate, and so does the "
        "link rate that schedulers use.",
    ),
)
def link_rate(bench: Bench) -> Iterator[Row]:
    """Compares changes from 10 Gb/s to other rates, during a frame and at its beginning."""
    count = bench.choose(200, 50)
    step = Fraction(LENGTH * 8 * 1_000, 3)
    created = [math.floor(k * step) for k in range(count)]
    came = [start + wire(LENGTH) + FAR_PS for start in created]
    for gbps, at in (
        (1, 50_000_000),
        (2.5, came[20] + 400_000),
        (4, came[20]),
        (25, came[20] + 1),
        (40, 60_000_000),
    ):
        free, latencies = Fraction(0), []
        for start, arrival in zip(created, came, strict=True):
            begins = max(free, Fraction(arrival))
            free = begins + theory.wire_time(LENGTH + OVERHEAD, round((10 if begins <= at else gbps) * GBPS))
            latencies.append(math.floor(free) + FAR_PS - start)
        fault = f'at = "{at} ps"\nrate = "{gbps:g} Gb/s"'
        keys = {"from": "sw", "to": "sink", "out": 10, "rate": 3, "limit": count * LENGTH, "fault": fault}
        found = _read(bench.once(_PATH, duration="3 ms", **keys))
        name = f"10 to {gbps:g} Gb/s at {at / 1e6:.6f} us: "
        yield exact(name + "frames delivered", "frames", count, found["delivered"])
        yield exact(name + "shortest latency", "ps", min(latencies), found["shortest"])
        yield exact(name + "longest latency", "ps", max(latencies), found["longest"])
        yield exact(name + "sum of latencies", "ps", sum(latencies), found["sum"])
