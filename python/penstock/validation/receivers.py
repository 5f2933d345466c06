"""Receiving hosts: their processing rate, and its effect on senders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from penstock.result import Result

from . import theory
from .bench import Bench, fill, flow_text, only, star, summaries
from .registry import Row, case, exact, extremes, random, within

FRAME, PAUSE = 1522, 64
DELAY_PS = 500_000
"""Delay of 100 m of fiber."""

_HOST = (
    summaries(warmup="$warmup", pauses=True)
    + star(2, rate="10 Gb/s", length="100 m")
    + """
[hosts.h1.receive]
$receive

$pfc
"""
    + flow_text("greedy", "h0", "h1", 'source = "greedy"')
)
_PFC = """\
[flow_control.pfc]
response_time = "0 ps"
"""


def _service(per_frame_ns: float, gbps: float) -> Fraction:
    """Processing time of a frame in the host, in picoseconds."""
    return Fraction(round(per_frame_ns * 1000)) + (
        theory.wire_time(FRAME, round(gbps * theory.GBPS)) if gbps else 0
    )


def _keys(per_frame_ns: float, gbps: float) -> str:
    lines = [f'time_per_frame = "{per_frame_ns:g} ns"'] if per_frame_ns else []
    return "\n".join([*lines, f'rate = "{gbps:g} Gb/s"'] if gbps else lines)


@case(
    "receiver",
    "Slow receiving hosts",
    compared="A host sends at line rate to a host with a processing time per frame, per byte, or both. "
    "With PFC, the receiver's NIC pauses the switch and the switch pauses the sender; no frame "
    "is lost and the receiver is never idle. Without flow control, the NIC drops frames that "
    "find its buffer full. In the last rows, a receiver stops reading and resumes.",
    formula="The host processes a frame in S = t + 8·L / r, and exactly n frames in n·S, because the "
    "buffer never runs empty. A host that stops finishes the current frame, and nothing more is "
    "delivered until it resumes. Without flow control, the buffer is a queue with room for ⌊B / "
    "L⌋ frames, including the one in processing.",
    sources=("Hagen 2012, sections 5.3 to 5.5 (receivers slower than their link); counting by hand",),
    scenario=fill(_HOST, duration="20 ms", warmup="2 ms", receive=_keys(0, 4), pfc=_PFC),
    ends=(
        "One core per host, first come, first served over all priorities; no copies.",
        "The minimum buffer that keeps the receiver busy is not determined: XON is half of XOFF here.",
    ),
)
def receiver(bench: Bench) -> Iterator[Row]:
    """Compares throughput with PFC, losses without it, and a host that stops."""
    frames = bench.choose(2000, 400)
    for per_frame_ns, gbps in ((0.0, 4.0), (2_000.0, 0.0), (700.5, 9.0), (0.0, 0.75), (300.0, 9.9)):
        service = _service(per_frame_ns, gbps)
        warm = math.ceil(500 * service)
        span = math.floor(warm + frames * service)
        found = bench.once(
            _HOST,
            warmup=f"{warm} ps",
            duration=f"{span} ps",
            receive=_keys(per_frame_ns, gbps),
            pfc=_PFC,
        )
        flow = only(found.rows("flows"), flow="greedy")
        parts = [f"{per_frame_ns:g} ns per frame"] if per_frame_ns else []
        name = " and ".join([*parts, f"{gbps:g} Gb/s"] if gbps else parts)
        rate = FRAME * 8_000 / float(service)
        name = f"PFC, {name} ({rate:.4g} Gb/s): "
        yield exact(name + f"frames processed in {frames}·S", "frames", frames, flow["frames_delivered"])
        yield exact(name + "frames lost", "frames", 0, flow["frames_dropped"])
        relative = flow["throughput_bps"] / 1e9
        yield within(
            name + "throughput", "Gb/s", rate, [relative], 1e-6, "the run ends at a whole picosecond"
        )
    for room in (1, 5, 40):
        yield from _without(bench, room)
    yield from _stopping(bench)


def _without(bench: Bench, room: int) -> Iterator[Row]:
    """Compares a receiver without flow control, whose buffer is a finite queue."""
    service, duration = _service(0, 4), bench.choose(2_000, 300) * 1_000_000
    found = bench.once(
        _HOST,
        warmup="0 s",
        duration=f"{duration} ps",
        receive=_keys(0, 4) + f'\nbuffer = "{room * FRAME + FRAME - 1} B"',
        pfc="",
    )
    wire = theory.wire(FRAME)
    ends: list[Fraction] = []
    done = lost = 0
    arrival = 2 * (wire + DELAY_PS)
    while arrival <= duration:
        while done < len(ends) and ends[done] <= arrival:
            done += 1
        if len(ends) - done >= room:
            lost += 1
        else:
            ends.append(max(ends[-1], Fraction(arrival)) + service if ends else arrival + service)
        arrival += wire
    drops = [row["frames"] for row in found.rows("drops") if row["cause"] == "receive_buffer"]
    flow = only(found.rows("flows"), flow="greedy")
    name = f"no flow control, buffer of {room} frame{'s' if room > 1 else ''}: "
    yield exact(name + "frames lost in the NIC", "frames", lost, sum(drops))
    taken = sum(end <= duration for end in ends)
    yield exact(name + "frames processed", "frames", taken, flow["frames_delivered"])


def _stopping(bench: Bench) -> Iterator[Row]:
    """Compares a host that stops and resumes, and otherwise receives at line rate."""
    stop, start = 200_000_000, 1_200_000_000
    script = f'script = [{{ at = "{stop} ps", stop = true }}, {{ at = "{start} ps", start = true }}]'
    service = _service(0, 4)
    first = 2 * (theory.wire(FRAME) + DELAY_PS)
    begun = math.floor((stop - first) / service) + 1  # frames whose processing has begun when the host stops
    keys = {"warmup": "0 s", "receive": f"{_keys(0, 4)}\n{script}", "pfc": _PFC}
    before = bench.once(_HOST, duration=f"{start - 1} ps", **keys)
    taken = only(before.rows("flows"), flow="greedy")
    name = "PFC, a host of 4 Gb/s that stops at 200 us and resumes at 1,200 us: "
    yield exact(name + "frames processed until it resumes", "frames", begun, taken["frames_delivered"])
    more = 300
    after = bench.once(_HOST, duration=f"{math.floor(start + more * service) + 1} ps", **keys)
    flow = only(after.rows("flows"), flow="greedy")
    yield exact(name + f"{more}·S later", "frames", begun + more, flow["frames_delivered"])
    yield exact(name + "frames lost", "frames", 0, flow["frames_dropped"])
    causes = {row["tree"]: row["why"] for row in before.rows("congestion")}
    right = sum(why == "slow_receiver" for why in causes.values())
    yield exact(name + "congestion trees attributed to the receiver", "", max(len(causes), 1), right)


_POISSON = (
    summaries(warmup="$warmup")
    + star(1, rate="400 Gb/s")
    + """
[hosts.h0.receive]
time_per_frame = "1 us"
buffer = "$buffer"
"""
    + flow_text("poisson", "sw", "h0", 'frame = "500 B"', 'source = { poisson = { rate = "$rate Gb/s" } }')
)


@case(
    "receiver-queue",
    "A receiving host as a queue",
    compared="Poisson frames arrive over a fast link at a host that processes each for 1 us: the mean "
    "time in the host, and the share lost if its buffer holds three frames.",
    formula="M/D/1: the mean wait before service is ρ·S / (2·(1 − ρ)). With two constant services in a "
    "row, the total wait is that of the slower one alone (Friedman). Losses follow M/D/1/K, "
    "from the Markov chain at departures.",
    sources=(
        "Friedman, Reduction methods for tandem queuing systems, 1965",
        "Cooper, Introduction to Queueing Theory, 1981, section 5.9",
    ),
    scenario=fill(_POISSON, duration="101 ms", warmup="1 ms", buffer="unlimited", rate=3.2),
    ends=(
        "The link delivers frames one after the other, never two at once, which is 1 % of S in the "
        "row of losses.",
    ),
)
def receiver_queue(bench: Bench) -> Iterator[Row]:
    """Compares waits, then losses."""
    link = 520 * 8 / 400 + 10.0
    for load in (0.5, 0.8):
        found = bench.replicate(
            _POISSON, _poisson, buffer="unlimited", rate=f"{4 * load:g}", **bench.milliseconds(400, warmup=2)
        )
        waits = [value - link - 1000 for value in found["latency"]]
        mean = load * 1000 / (2 * (1 - load))
        # A frame that finds the link busy would otherwise have waited in the host: the waits add up.
        yield random(f"load {load:g}: mean wait", "ns", mean, waits, precision=bench.precision(0.02))
    for load in (0.6, 1.1):
        found = bench.replicate(
            _POISSON, _poisson, buffer="1500 B", rate=f"{4 * load:g}", **bench.milliseconds(200, warmup=2)
        )
        loss = theory.mg1k_loss(load / 1000, [(1000, 1.0)], 3)
        reason = "the link spaces frames by 10.4 ns, 1 % of S"
        yield within(
            f"load {load:g}, buffer of 3 frames: share lost",
            "",
            loss,
            found["loss"],
            bench.precision(0.02),
            reason,
        )


def _poisson(result: Result) -> dict[str, float]:
    flow = only(result.rows("flows"), flow="poisson")
    return {"latency": flow["latency_mean_ns"], "loss": flow["frames_dropped"] / flow["frames_sent"]}


_INTERRUPTS = (
    summaries("$duration ps")
    + star(2, rate="10 Gb/s", length="100 m")
    + """
[hosts.h1.receive]
time_per_frame = "1 us"
interrupt_time = "2 us"
interrupt_delay = "$delay us"
interrupt_frames = $frames
"""
    + flow_text(
        "timed",
        "h0",
        "h1",
        'frame = "1000 B"',
        'source = { constant = { rate = "800 Mb/s", random_phase = false } }',
    )
)
_INTERVAL, _EACH, _INTERRUPT = 10_000_000, 1_000_000, 2_000_000
"""Picoseconds between frames of 1000 B at 800 Mb/s, per frame, and per interrupt."""


def interrupted(delay: int, enough: int, frames: int) -> list[int]:
    """Latencies in picoseconds from arrival at the host to the end of processing, one frame per interval."""
    took = list[int]()
    free = 0
    while len(took) < frames:
        first = len(took)
        # The core is idle: frame `first` arrived after the last one was processed.
        wakes = min(first * _INTERVAL + delay, (first + enough - 1) * _INTERVAL)
        free = wakes + _INTERRUPT
        while len(took) * _INTERVAL <= free:
            free += _EACH
            took.append(free - len(took) * _INTERVAL)
    return took[:frames]


@case(
    "interrupts",
    "Interrupt coalescing",
    compared="A host receives a frame every 10 us. Its idle core wakes when a given number of frames "
    "wait, or when the first has waited for a given time. An interrupt takes 2 us, each frame 1 "
    "us. The shortest, mean and longest latency of a frame are compared.",
    formula="The core wakes when the first of both conditions is met. It processes waiting frames in "
    "order, including frames that arrive meanwhile, and sleeps again. The end of processing is "
    "computed for each frame.",
    sources=("Mogul and Ramakrishnan, ACM TOCS 15(3), 1997, section 6", "Counting by hand"),
    scenario=fill(_INTERRUPTS, duration=10_000_000_000, delay=100, frames=4),
    ends=("One core; the number of frames per interrupt is not limited.",),
)
def interrupts(bench: Bench) -> Iterator[Row]:
    """Compares interrupts by number of frames, by time, and immediate ones."""
    count = bench.choose(900, 120)
    way = 2 * (theory.wire(1000) + DELAY_PS)
    for delay_us, enough in ((100, 4), (35, 8), (0, 8), (100, 1), (95, 10)):
        took = interrupted(delay_us * 1_000_000, enough, count)
        # The run ends between the last of these frames and the next.
        ends = [n * _INTERVAL + time for n, time in enumerate(took)]
        last = max(n for n in range(count - 20) if ends[n] + 1_500_000 < ends[n + 1])
        found = bench.once(_INTERRUPTS, duration=way + ends[last] + 1, delay=delay_us, frames=enough)
        flow = only(found.rows("flows"), flow="timed")
        name = f"{enough} frames or {delay_us} us: "
        done = [way + time for time in took[: last + 1]]
        yield exact(name + "frames processed", "frames", len(done), flow["frames_delivered"])
        yield from extremes(name, done, flow, "latency")
        summed = round(flow["latency_mean_ns"] * 1_000 * flow["frames_delivered"])
        yield exact(name + "sum", "ps", sum(done), summed)
