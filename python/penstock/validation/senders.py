"""Sending hosts: blocking threads, and processing time per frame."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from . import theory
from .bench import Bench, fill, flow_text, only, star, summaries
from .registry import Row, case, exact

FRAME = 1000
DELAY_PS = 500_000
"""Delay of 100 m of fiber."""
WIRE = theory.wire(FRAME)
WAY = 2 * (WIRE + DELAY_PS)
"""Latency in picoseconds from a NIC through the switch to the other host."""

_THREADS = (
    summaries("$duration ps")
    + star(2, rate="10 Gb/s", length="100 m")
    + """
[host]
queue_limit = "1 frame"
$send
"""
    + flow_text("threads", "h0", "h1", 'frame = "1000 B"')
    + """
[flows.source.threads]
rate = "$rate"
count = $count
burst = $burst
delay = "$delay us"
random_phase = false
"""
)


def departures(count: int, burst: int, work: int, delay: int, cost: int, until: int) -> list[int]:
    """Returns the times in picoseconds at which frames of blocking threads start transmission.

    Parameters
    ----------
    count, burst
        Number of threads, and number of frames that each sends between two delays; positive.
    work, delay
        Picoseconds of work per frame, and of delay after a burst, per thread.
    cost
        Picoseconds of host processing per frame.
    until
        Time limit in picoseconds; frames that would begin later are excluded.
    """
    due, left = [0] * count, [burst] * count
    begins = list[int]()
    core = link = 0
    room = 0  # time at which the NIC's single slot becomes free
    while True:
        thread = min(range(count), key=lambda n: (due[n], n))
        sent = max(due[thread], room)
        left[thread] -= 1
        due[thread] = sent + work
        if left[thread] == 0:
            left[thread], due[thread] = burst, due[thread] + delay
        core = max(core, sent) + cost
        begin = max(core, link)
        link = begin + WIRE
        # A frame occupies the slot from the start of processing until its transmission starts.
        room = begin
        if begin > until:
            return begins
        begins.append(begin)


@case(
    "threads",
    "Blocking sender threads",
    compared="Threads send in a loop, with and without a delay after a burst, through a NIC with room "
    "for one frame. The host takes no time, or a constant time, for each frame.",
    formula="A thread sends when its work and its delay are over and there is room; the thread that has "
    "waited longest goes first. Host and link each handle one frame at a time. The end of each "
    "frame is computed.",
    sources=("Hagen 2012, section 5.1 (threads, delay)", "Counting by hand"),
    scenario=fill(_THREADS, duration=10_000_000_000, rate="6.4 Gb/s", count=4, burst=1, delay=0, send=""),
    ends=("Threads do not share processors; one core processes the frames of a flow.",),
)
def threads(bench: Bench) -> Iterator[Row]:
    """Compares the number of frames sent, with and without processing time of the host."""
    duration = bench.choose(20_000_000_000, 2_000_000_000)
    for gbps, count, burst, delay_us, cost_ns in (
        (6.4, 1, 1, 0, 0.0),
        (6.4, 4, 1, 0, 0.0),
        (6.4, 1, 1, 0, 1_198.0),
        (6.4, 4, 1, 0, 1_198.0),
        (8.0, 16, 16, 1000, 0.0),
        (8.0, 16, 1, 1000, 0.0),
        (2.0, 3, 5, 7, 1_500.0),
        (40.0, 2, 3, 10, 300.0),
    ):
        cost = round(cost_ns * 1000)
        work = Fraction(FRAME * 8 * 10**12, round(gbps * theory.GBPS))
        send = f'send.time_per_frame = "{cost_ns:g} ns"' if cost else ""
        found = bench.once(
            _THREADS,
            duration=duration,
            rate=f"{gbps:g} Gb/s",
            count=count,
            burst=burst,
            delay=delay_us,
            send=send,
        )
        flow = only(found.rows("flows"), flow="threads")
        begins = departures(count, burst, math.floor(work), delay_us * 1_000_000, cost, duration)
        done = sum(begin + WAY <= duration for begin in begins)
        name = f"{count} of {gbps:g} Gb/s"
        name += f", {burst} frames and {delay_us} us" if delay_us else ""
        name += f", {cost_ns:g} ns per frame" if cost else ""
        yield exact(f"{name}: frames delivered", "frames", done, flow["frames_delivered"])
        yield exact(f"{name}: frames lost", "frames", 0, flow["frames_dropped"])


_BOTH = (
    summaries("$duration ps")
    + star(2, rate="10 Gb/s", length="100 m")
    + """
[hosts.h0]
send = { time_per_frame = "$send ns" }
receive = { time_per_frame = "$receive ns", buffer = "unlimited" }
"""
    + flow_text(
        "out",
        "h0",
        "h1",
        'frame = "1000 B"',
        'source = { constant = { rate = "$out Mb/s", random_phase = false } }',
    )
    + flow_text(
        "in",
        "h1",
        "h0",
        'frame = "1000 B"',
        'source = { constant = { rate = "$in Mb/s", random_phase = false } }',
    )
)


@case(
    "one-core",
    "One core for sending and receiving",
    compared="A host's core processes frames in both directions; the sum of all latencies is compared.",
    formula="The core processes frames one after the other, in order of arrival. A frame to be sent "
    "then waits for the link.",
    sources=("Counting by hand",),
    scenario=fill(_BOTH, duration=1_000_000_000, send=500, receive=900, out=2000, **{"in": 3000}),
    ends=("Frames of opposite directions never arrive in the same picosecond here.",),
)
def one_core(bench: Bench) -> Iterator[Row]:
    """Compares latencies of frames in both directions."""
    duration = bench.choose(5_000_000_000, 500_000_000)
    for send_ns, receive_ns, out_mbps, in_mbps in (
        (500, 900, 2000, 3000),
        (3000, 100, 2500, 1000),
        (700, 1300, 4100, 4000),
    ):
        sums = _worked_off(send_ns * 1000, receive_ns * 1000, out_mbps, in_mbps, duration)
        keys = {"send": send_ns, "receive": receive_ns, "out": out_mbps, "in": in_mbps}
        found = bench.once(_BOTH, duration=duration, **keys)
        for flow, (count, total) in sums.items():
            row = only(found.rows("flows"), flow=flow)
            name = f"{send_ns} ns for {out_mbps} Mb/s out, {receive_ns} ns for {in_mbps} Mb/s in: {flow}, "
            yield exact(name + "frames", "frames", count, row["frames_delivered"])
            summed = round(row["latency_mean_ns"] * 1_000 * row["frames_delivered"])
            yield exact(name + "sum of latencies", "ps", total, summed)


def _worked_off(
    send: int, receive: int, out_mbps: int, in_mbps: int, duration: int
) -> dict[str, tuple[int, int]]:
    """Number of frames delivered in each direction by then, and their summed latency in ps."""
    gaps = {"out": Fraction(8 * 10**9, out_mbps), "in": Fraction(8 * 10**9, in_mbps)}
    tasks = list[tuple[int, str, int]]()
    for flow, gap in gaps.items():
        starts = [math.floor(n * gap) for n in range(math.ceil(duration / gap))]
        tasks += [(at + (WAY if flow == "in" else 0), flow, at) for at in starts]
    core = link = 0
    sums = {"out": (0, 0), "in": (0, 0)}
    for at, flow, made in sorted(tasks):
        core = max(core, at) + (send if flow == "out" else receive)
        end = core
        if flow == "out":
            link = max(core, link) + WIRE
            end = link - WIRE + WAY
        if end <= duration:
            count, total = sums[flow]
            sums[flow] = (count + 1, total + end - made)
    return sums
