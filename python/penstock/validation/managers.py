"""Queue managers: step marking and RED."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.result import Result

from .bench import Bench, fill, flow_text, link_text, summaries
from .loops import ACK, SEGMENT
from .registry import Row, case, exact, random
from .theory import wire

FAST, SLOW = wire(SEGMENT), wire(SEGMENT, 1_600_000_000)
"""Transmission time of a segment in picoseconds at 10 Gb/s and at 1.6 Gb/s."""
CABLE = 100_000
BACK = wire(ACK, 1_600_000_000) + CABLE + wire(ACK) + CABLE
"""Latency of an acknowledgement to the sender in picoseconds."""
ROUND_TRIP = FAST + CABLE + SLOW + CABLE + BACK

_SLOW_LINK = (
    summaries("$duration ps", warmup="$warmup ps")
    + '[topology.explicit]\nhosts = ["a", "b", "c"]\nswitches = ["sw"]\n\n'
    + link_text("a", "sw", 'rate = "10 Gb/s"\ndelay = "100 ns"')
    + "\n"
    + link_text("c", "sw", 'rate = "10 Gb/s"\ndelay = "100 ns"')
    + "\n"
    + link_text("sw", "b", 'rate = "1.6 Gb/s"\ndelay = "100 ns"')
    + """
[switch]
queue_managers = [{ $manager }]
"""
    + flow_text("bulk", "a", "b", 'frame = "1000 B"', "source = { $source }")
)


def _window(segments: int) -> str:
    return f'window = {{ size = "{segments} frames", ecn = true }}'


def _queue(result: Result) -> dict[str, float]:
    """Statistics of the queue in front of the slow link."""
    (queue,) = (row for row in result.rows("queues") if row["port"].endswith("->b"))
    return {"marks": queue["marks"], "frames": queue["frames"]}


# Step marking

_BURSTS = (
    (60_000_011, 8_000, 9),
    (260_000_017, 4_000, 14),
    (500_000_023, 1_000, 25),
    (900_000_029, 1_000, 40),
)
"""Bursts of raw 1,000 B frames from host c: start in ps, spacing in ns, number of frames."""


def _bursts() -> str:
    return "".join(
        f'\n[[flows]]\nname = "burst{n}"\nfrom = "c"\nto = "b"\nframe = "1000 B"\nstart = "{start} ps"\n'
        f'limit = "{number * SEGMENT} B"\n'
        f'source = {{ constant = {{ rate = "{SEGMENT * 8_000 // gap} Mb/s", '
        "random_phase = false } }\n"
        for n, (start, gap, number) in enumerate(_BURSTS)
    )


@dataclass
class Step:
    """Event-by-event model of step marking at a slow link: a window, and bursts that fill the queue."""

    window: int
    threshold: int
    leaving: bool
    with_frame: bool
    marks: int = 0

    def run(self, duration: int) -> int:
        """Number of marked segments."""
        events: list[tuple[int, str, bool]] = []
        card, waiting, sending = 0, deque[bool](), False
        for _ in range(self.window):
            card += FAST
            heapq.heappush(events, (card + CABLE, "comes", True))
        for start, gap, number in _BURSTS:
            for n in range(number):
                heapq.heappush(events, (start + n * gap * 1_000 + FAST + CABLE, "comes", False))
        last = -1
        while events[0][0] < duration:
            now, what, own = heapq.heappop(events)
            if now == last:
                raise ArithmeticError("two events in the same picosecond: theory does not know their order")
            last = now
            if what == "comes":
                if not self.leaving:
                    self.look(own, len(waiting))
                waiting.append(own)
            else:
                sending = False
                if own:
                    card = max(card, now + CABLE + BACK) + FAST
                    heapq.heappush(events, (card + CABLE, "comes", True))
            if waiting and not sending:
                own, sending = waiting.popleft(), True
                if self.leaving:
                    self.look(own, len(waiting))
                heapq.heappush(events, (now + SLOW, "ends", own))
        return self.marks

    def look(self, own: bool, waiting: int) -> None:
        """Marks a segment above the threshold; raw frames are never marked."""
        self.marks += own and waiting + self.with_frame > self.threshold


@case(
    "step-marking",
    "Step marking, frame by frame",
    compared="A window of 12 segments waits before a slow link, and four bursts without ECN enter the "
    "same queue. All marks are counted, for thresholds from 0 to above the longest queue, on "
    "arrival or departure, with or without the frame itself, in frames or bytes.",
    formula="A frame is marked if and only if the queue is longer than the threshold at that instant. "
    "The theory is a short event-driven model of the queue in Python, with a heap of arrivals "
    "and ends of transmission.",
    sources=(
        "Alizadeh et al., Data center TCP, 2010, section 3.1",
        "Wu et al., Tuning ECN for data center networks, 2012 (marks when a frame leaves)",
    ),
    scenario=fill(
        _SLOW_LINK,
        duration=2_000_000_000,
        warmup=0,
        manager='step = { threshold = "5 frames" }',
        source=_window(12),
    )
    + _bursts(),
    ends=(
        "Only segments of the window are ECN-capable. The window does not react to marks; DCTCP, "
        "which does, is compared in the section on TCP.",
    ),
)
def step_marking(bench: Bench) -> Iterator[Row]:
    """Compares all thresholds that lead to different counts."""
    duration = 2_000_000_000
    variants = [
        (threshold, at, counts)
        for at in ("enqueue", "dequeue")
        for counts in ("without_frame", "with_frame")
        for threshold in (0, 5, 9, 10, 11, 20, 45)
    ]
    units = [("frames", 1) if n % 2 else ("B", SEGMENT) for n in range(len(variants))]
    measured = bench.each(
        _SLOW_LINK + _bursts(),
        _queue,
        [
            {
                "duration": duration,
                "warmup": 0,
                "manager": f'step = {{ threshold = "{threshold * unit} {name}", at = "{at}", '
                f'counts = "{counts}" }}',
                "source": _window(12),
            }
            for (threshold, at, counts), (name, unit) in zip(variants, units, strict=True)
        ],
    )
    for (threshold, at, counts), (name, unit), found in zip(variants, units, measured, strict=True):
        expected = Step(12, threshold, at == "dequeue", counts == "with_frame").run(duration)
        label = f"above {threshold * unit} {name} at {at}, {counts.replace('_', ' ')}: marks"
        yield exact(label, "frames", expected, found["marks"])


# RED

RED_WEIGHT = 0.002


def _red(keys: str) -> str:
    return f'red = {{ action = "mark", mark_above_max = true, {keys} }}'


def survival(spacing: str, p: float) -> list[float]:
    """P(more than n frames between marks), n = 0, 1, ..., for spacings with bounded gaps."""
    more, found = 1.0, list[float]()
    for count in range(1, math.ceil(2 / p) + 1):
        found.append(more)
        if spacing == "uniform":
            chance = p / (1 - count * p) if (count + 1) * p < 1 - 1e-9 else 1.0
        elif count * p < 1 - 1e-9:
            chance = 0.0
        else:
            chance = p / (2 - count * p) if (count + 1) * p < 2 - 1e-9 else 1.0
        more *= 1 - chance
    return found


def steady(after: int, frames: int = 0) -> dict[str, int]:
    """Keys that measure `frames` arrivals at a queue of constant length, after `after` arrivals."""
    phase = FAST + CABLE + ROUND_TRIP - SLOW // 2
    return {"warmup": phase + after * SLOW, "duration": phase + (after + frames) * SLOW}


def found_waiting(window: int, frames: int) -> list[int]:
    """Queue length in frames that each segment of a window finds, from the first segment on."""
    sends = [n * FAST for n in range(window)]
    begins, free, found = list[int](), 0, list[int]()
    for n in range(frames):
        comes = sends[n] + FAST + CABLE
        found.append(sum(begin > comes for begin in begins[-window:]))
        begins.append(max(comes, free))
        free = begins[-1] + SLOW
        sends.append(max(free + CABLE + BACK, sends[-1] + FAST))
    return found


def arrival_above(found: Sequence[int], level: float) -> int:
    """Number, from 1, of the first arrival after which the average is at least `level`.

    The queue grows for the arrivals in `found` and is constant afterwards.
    """
    average = 0.0
    for n, queue in enumerate(found, 1):
        average += RED_WEIGHT * (queue - average)
        if average >= level:
            return n
    queue = found[-1]
    return len(found) + math.ceil(math.log((queue - level) / (queue - average)) / math.log(1 - RED_WEIGHT))


_PAIRS = 40


def _pairs() -> str:
    """Flows over many slow links with one queue each."""
    names = [f'"a{n}", "b{n}"' for n in range(_PAIRS)]
    head, rest = _SLOW_LINK.split("[topology.explicit]")
    rest = rest.split("[switch]")[1].split("[[flows]]")[0]
    links = "".join(
        f'\n[[topology.explicit.links]]\nbetween = ["{host}{n}", "sw"]\nrate = "{rate} Gb/s"\nphy = "none"\n'
        'delay = "100 ns"\n'
        for n in range(_PAIRS)
        for host, rate in (("a", 10), ("b", 1.6))
    )
    flows = "".join(
        f'\n[[flows]]\nname = "bulk{n}"\nfrom = "a{n}"\nto = "b{n}"\nframe = "1000 B"\n'
        "source = { $source }\n"
        for n in range(_PAIRS)
    )
    topology = f'[topology.explicit]\nhosts = [{", ".join(names)}]\nswitches = ["sw"]\n{links}'
    return f"{head}{topology}\n[switch]{rest}{flows}"


def _gap_reader(result: Result) -> dict[str, float]:
    """Returns the share of queues without a mark, and the share with more than one."""
    marks = [row["marks"] for row in result.rows("queues") if "->b" in row["port"]]
    return {
        "none": sum(count == 0 for count in marks) / len(marks),
        "several": sum(count > 1 for count in marks) / len(marks),
    }


_IDLE = 'request_response = { request = "40000 B", response = "64 B", think = "$think ns", ecn = true }'


def idle_marks(think: int, weight: float, level: float, *, arrival: bool, duration: int) -> int:
    """Number of marks if bursts of 40 segments alternate with idle times."""
    average, marks, begins, idle_since = 0.0, 0, 0, 0
    while True:
        starts, free = list[int](), 0
        for n in range(40):
            comes = begins + n * FAST + FAST + CABLE
            if comes >= duration:
                return marks
            waiting = sum(start > comes for start in starts)
            if waiting == 0:
                average *= (1 - weight) ** (max(comes - idle_since, 0) // SLOW)
            if waiting or arrival:
                average += weight * (waiting - average)
            marks += average >= level
            starts.append(max(comes, free))
            idle_since = free = starts[-1] + SLOW
        begins = free + CABLE + BACK + think


@case(
    "red",
    "RED: random early detection",
    compared="A window keeps the queue before a slow link constant, and thereby the average. The number "
    "of marks is compared for all spacings, on both slopes of the probability and in byte mode. "
    "The gaps between marks are compared in 40 such queues. Then the average itself is "
    "compared: the first segment marked after the queue jumps from 0, and the decay in idle "
    "times between bursts.",
    formula="p = max_p·(q − min)/(max − min) between the thresholds, continuing to 1 at 2·max if "
    "gentle; multiplied by L / mean frame in byte mode. Geometric: each frame with p. Uniform: "
    "p / (1 − n·p) for the n-th frame since the last mark; gaps 1 ... 1/p − 1 are equally "
    "likely, with a mean of 1/(2p). Wait: gaps 1/p ... 2/p − 1. No mark in n frames: (1 − p)^n, "
    "or Σ_{k≥n} P(gap > k) / E[gap] (renewal theory). Step response: avg = q·(1 − (1 − w)^n). "
    "Idle: avg·(1 − w)^m, where m is the number of frames that could have been sent in the idle "
    "time, rounded down.",
    sources=(
        "Floyd and Jacobson, Random early detection gateways for congestion avoidance, 1993, sections 4 to 7",
        "Floyd, Recommendation on using the gentle variant of RED, 2000",
        "Feller, An Introduction to Probability Theory and Its Applications I, 1968, chapter XIII (renewals)",
    ),
    scenario=fill(
        _SLOW_LINK,
        **steady(5000, 100_000),
        manager=_red('max_probability = 0.1, spacing = "uniform"'),
        source=_window(12),
    ),
    ends=(
        "The first frame after a mark has count 1, as in the paper's algorithm; the paper's text "
        "derives gaps of 1 ... 1/p.",
        "The window does not react to marks.",
    ),
)
def red(bench: Bench) -> Iterator[Row]:
    """Compares rates, gaps, the step response and idle times."""
    yield from _rates(bench)
    yield from _gaps(bench)
    for window, level in ((12, 5.0), (12, 9.5), (24, 7.25), (24, 21.0)):
        ramp = found_waiting(window, 3 * window)
        first, frames = arrival_above(ramp, level), 5000
        keys = f'weight = {RED_WEIGHT}, min = "1 B", max = "{round(level * SEGMENT)} B", gentle = false, '
        found = _queue(
            bench.once(
                _SLOW_LINK,
                warmup=0,
                duration=steady(frames - window)["warmup"],
                manager=_red(keys + "max_probability = 1e-15"),
                source=_window(window),
            )
        )
        label = f"queue jumps to {ramp[-1]}: first segment with an average of {level:g}"
        yield exact(label, "segments", first, frames - found["marks"] + 1)
    duration = bench.choose(100, 20) * 1_000_000_000
    for exponent in ("elapsed", "elapsed_and_arrival"):
        for think in (1_000, 77_000, 300_000):
            keys = 'weight = 0.02, min = "1 B", max = "9000 B", gentle = false, mean_frame = "1000 B", '
            found = _queue(
                bench.once(
                    _SLOW_LINK,
                    warmup=0,
                    duration=duration,
                    manager=_red(keys + f'idle_exponent = "{exponent}", max_probability = 1e-15'),
                    source=fill(_IDLE, think=think),
                )
            )
            expected = idle_marks(think * 1_000, 0.02, 9.0, arrival=exponent != "elapsed", duration=duration)
            label = f"idle for {think / 1000:g} us between bursts, {exponent.replace('_', ' ')}: marks"
            yield exact(label, "segments", expected, found["marks"])


def _rates(bench: Bench) -> Iterator[Row]:
    frames = bench.choose(100_000, 10_000)
    uniform, wait = (1 / math.fsum(survival(spacing, 0.05)) for spacing in ("uniform", "wait"))
    setups = (
        ("geometric, q = 10", 12, 'max_probability = 0.1, spacing = "geometric"', 0.05),
        ("geometric, q = 6", 8, 'max_probability = 0.5, spacing = "geometric"', 0.05),
        ("geometric, gentle, q = 20", 22, 'max_probability = 0.1, spacing = "geometric"', 0.1 + 0.9 / 3),
        (
            "geometric, by bytes, q = 10,000 B",
            12,
            'min = "5000 B", max = "15000 B", mode = "byte", mean_frame = "500 B", max_probability = 0.1, '
            'spacing = "geometric"',
            0.1,
        ),
        ("uniform, q = 10", 12, 'max_probability = 0.1, spacing = "uniform"', uniform),
        ("wait, q = 10", 12, 'max_probability = 0.1, spacing = "wait"', wait),
    )
    for name, window, keys, share in setups:
        slowly = name == "geometric, q = 10"
        weight = f"weight = {RED_WEIGHT if slowly else 1}, "
        measured = bench.replicate(
            _SLOW_LINK,
            lambda result: {"share": _queue(result)["marks"] / frames},
            manager=_red(weight + keys),
            source=_window(window),
            **steady(6_000 if slowly else 200, frames),
        )["share"]
        yield random(
            f"{name}: share of marked segments", "", share, measured, precision=bench.precision(0.03)
        )


def _gaps(bench: Bench) -> Iterator[Row]:
    scenario, draws = _pairs(), bench.choose(40, 2)
    # After long enough, the initial position in a gap no longer matters.
    setups = {"geometric": (40, (10,)), "uniform": (100, (5, 10, 19)), "wait": (400, (20, 39))}
    for spacing, (after, windows) in setups.items():
        for frames in windows:
            measured = bench.repeat(
                bench.replications * draws,
                scenario,
                _gap_reader,
                manager=_red(f'weight = 1, max_probability = 0.1, spacing = "{spacing}"'),
                source=_window(12),
                **steady(after, frames),
            )
            label = f"{spacing}, p = 0.05: no mark in {frames} frames"
            if spacing == "geometric":
                silent = 0.95**frames
            else:
                more = survival(spacing, 0.05)
                silent = math.fsum(more[frames:]) / math.fsum(more)
            none = measured["none"]
            if not silent:
                yield exact(label, "queues", 0, sum(none) * _PAIRS)
                continue
            means = [math.fsum(none[i : i + draws]) / draws for i in range(0, len(none), draws)]
            yield random(label, "", silent, means, precision=bench.precision(0.06))
            if spacing == "wait":
                label = f"{spacing}, p = 0.05: two marks in {frames} frames"
                yield exact(label, "queues", 0, sum(measured["several"]) * _PAIRS)
