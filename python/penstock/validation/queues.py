"""Single queues with Poisson and periodic arrivals."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from penstock.result import Result

from . import theory
from .bench import Bench, Reader, fill, flow_text, only, star, summaries
from .registry import Row, case, random, within
from .theory import OVERHEAD

RATE = 10_000_000_000
BYTE_PS = 800.0
"""Time of a byte at `RATE` in ps."""

ONE_PORT = summaries(warmup="$warmup") + star(1, rate="10 Gb/s", length="2 m")
"""First tables of a scenario with one queue, in front of ``h0``; further keys of its links may follow."""
ARRIVALS = flow_text(
    "poisson",
    "sw",
    "h0",
    "frame = $frame",
    'rate_counts = "wire"',
    'source = { poisson = { rate = "$rate" } }',
)
"""A Poisson process of whole frames that arrive at the switch."""
_POISSON = ONE_PORT + 'overhead = "$overhead"\n' + ARRIVALS


def _wait(result: Result) -> dict[str, float]:
    queue = only(result.rows("queues"), port="sw.0->h0")
    return {"mean": queue["wait_mean_ns"], "p99": queue["wait_p99_ns"], "length": queue["queue_frames_mean"]}


def _mg1_rows(
    bench: Bench, sizes: theory.Sizes, frame: str, *, load: float, overhead: int, ms: float, name: str = ""
) -> Iterator[Row]:
    """Mean wait, mean queue and 99th percentile of one M/G/1 queue; `sizes` are on the wire."""
    measured = bench.replicate(
        _POISSON,
        _wait,
        frame=frame,
        overhead=f"{overhead} B",
        rate=f"{load * 10:g} Gb/s",
        **bench.milliseconds(ms, warmup=1),
    )
    arrivals = load / (theory.mean(sizes) * BYTE_PS)  # per picosecond
    wait = theory.mg1_mean_wait(arrivals, [(size * BYTE_PS, share) for size, share in sizes])
    label = f"load {load:g}{name}: "
    busy = 2 if load >= 0.9 else 1  # longer busy periods, hence fewer independent ones per unit of time
    fine, coarse = bench.precision(0.015 * busy), bench.precision(0.025 * busy)
    yield random(label + "mean wait", "ns", wait / 1e3, measured["mean"], precision=fine)
    yield random(label + "mean frames waiting", "frames", arrivals * wait, measured["length"], precision=fine)
    in_bytes = theory.mg1_wait(load, sizes)
    percentile = theory.quantile_as_read(lambda ps: in_bytes(ps / BYTE_PS), 0.99, start=wait)
    yield random(
        label + "99th percentile of the wait", "ns", percentile / 1e3, measured["p99"], precision=coarse
    )


@case(
    "md1",
    "M/D/1: Poisson arrivals, frames of one length",
    compared="Frames of 980 B (1,000 B on the wire, 800 ns) arrive at a switch as a Poisson process and "
    "leave over a 10 Gb/s link. The wait is the time in the queue, zero for frames that find "
    "the link idle. Loads include the overhead on the wire. The occupancy is measured by a "
    "probe and weighted by time.",
    formula="Mean wait W = ρ·S / (2·(1 − ρ)) (Pollaczek-Khinchine with E[S²] = S²); mean number waiting "
    "λ·W (Little). The 99th percentile inverts the transform E[e^(−sW)] = (1 − ρ) / (1 − "
    "ρ·R(s)), where R is the transform of the residual service time. It is interpolated "
    "linearly in a histogram of 32 bins per octave, as in the result tables. The distribution "
    "of the number waiting follows from the chain embedded at departures, whose steps are the "
    "Poisson arrivals in one service.",
    sources=("Kleinrock, Queueing Systems I, 1975, section 5.6",),
    scenario=fill(
        _POISSON, duration="201 ms", warmup="1 ms", overhead="20 B", frame='"980 B"', rate="8 Gb/s"
    ),
    ends=(
        "Arrival times are whole picoseconds.",
        "A frame is in memory while it waits, not while it is transmitted.",
    ),
)
def md1(bench: Bench) -> Iterator[Row]:
    """Compares three loads; at one of them also the occupancy of the queue and of a shared memory."""
    for load, ms in ((0.5, 200), (0.8, 400), (0.95, 3000)):
        yield from _mg1_rows(bench, [(980 + OVERHEAD, 1.0)], '"980 B"', load=load, overhead=OVERHEAD, ms=ms)
    yield from _occupancies(bench, 0.8)


_SHARED = _POISSON.replace(
    """[probes]
bin = "off"
pauses = false
""",
    """[switch.buffer]
total = "64 MiB"
dynamic_threshold = {}

[[probes]]
what = "occupancy"
which = ["sw.0->h0/0", "sw shared"]
every = "1 ms"
""",
)
_FRAME = 980
_LEVELS = (0, 1, 5, 10)


def _occupancy(result: Result) -> dict[str, float]:
    """Means and shares of time from the histograms; levels of the shared memory include one more frame."""
    levels, shares = result.cdf("occupancy_frames", "sw.0->h0/0")
    waiting = dict(zip(levels.tolist(), np.diff(shares, prepend=0.0).tolist(), strict=True))
    found = {f"at most {n}": sum(share for level, share in waiting.items() if level <= n) for n in _LEVELS}
    found["mean"] = sum(level * share for level, share in waiting.items())
    below, share_below = result.cdf("occupancy_bytes", "sw shared")
    in_use = below < (_LEVELS[2] + 1) * _FRAME
    found["shared"] = float(share_below[in_use][-1])
    return found


def _md1_waiting(load: float, most: int) -> list[float]:
    """Shares of time in which 0, 1, ... `most` customers of M/D/1 wait, excluding the one in service.

    The number in the system at departures is a Markov chain, whose steps are Poisson arrivals in one
    service. Arrivals find the same distribution as departures leave, and Poisson arrivals see time
    averages.
    """
    arrivals = [math.exp(-load) * load**k / math.factorial(k) for k in range(most + 3)]
    system = [1 - load]
    for j in range(most + 1):
        into = sum(system[i] * arrivals[j - i + 1] for i in range(1, j + 1))
        system.append((system[j] - system[0] * arrivals[j] - into) / arrivals[0])
    return [system[0] + system[1], *system[2:]]


def _occupancies(bench: Bench, load: float) -> Iterator[Row]:
    measured = bench.replicate(
        _SHARED,
        _occupancy,
        frame=f'"{_FRAME} B"',
        overhead=f"{OVERHEAD} B",
        rate=f"{load * 10:g} Gb/s",
        **bench.milliseconds(1200, warmup=1),
    )
    of = _md1_waiting(load, max(_LEVELS))
    label = f"load {load:g}, histogram of the occupancy: "
    mean = load**2 / (2 * (1 - load))
    yield random(label + "mean", "frames", mean, measured["mean"], precision=bench.precision(0.015))
    fine = bench.precision(0.005)
    for n in _LEVELS:
        name = f"at most {n}"
        yield random(
            label + f"share of time with {name} waiting", "", sum(of[: n + 1]), measured[name], precision=fine
        )
    n = _LEVELS[2]
    name = f"load {load:g}, shared memory: share of time with at most {n} frames in it"
    yield random(name, "", sum(of[: n + 1]), measured["shared"], precision=fine)


MM1_MEAN = 700.0
LARGEST = 9216


def _mm1_sizes() -> theory.Sizes:
    return theory.exponential_sizes(MM1_MEAN, LARGEST)


def sizes_file(bench: Bench, sizes: theory.Sizes) -> str:
    """Writes a file of frame lengths beside the scenarios."""
    lines = [f"{size:.0f},{share!r}" for size, share in sizes]
    return bench.file("sizes.csv", "bytes,weight\n" + "\n".join(lines) + "\n")


@case(
    "mm1",
    "M/M/1: Poisson arrivals, exponential lengths",
    compared="Lengths are exponential with a mean of 700 B, rounded up to whole bytes, 1 B to 9,216 B; "
    "links have no overhead. The first rows of each load are compared with the theory of "
    "exactly these lengths (M/G/1), the last row with M/M/1.",
    formula="M/G/1: as for M/D/1, with the moments of the rounded lengths. M/M/1: W = ρ·S / (1 − ρ); "
    "P(W > t) = ρ·e^(−(1 − ρ)·t/S). Rounding up makes the mean length 700.5 B, and the mean "
    "wait of M/G/1 0.1 % shorter than that of M/M/1 with this mean. Frames truncated at 9,216 B "
    "(two in a million) account for 0.02 %.",
    sources=("Kleinrock, Queueing Systems I, 1975, sections 3.2 and 5.6",),
    scenario=fill(
        _POISSON,
        duration="201 ms",
        warmup="1 ms",
        overhead="0 B",
        frame='{ empirical = "sizes.csv" }',
        rate="8 Gb/s",
    ),
    ends=(
        "Lengths are whole bytes and end at 9,238 B, so that exponential lengths are an approximation.",
        "Frames below 64 B are not Ethernet; the simulator warns and runs them.",
    ),
)
def mm1(bench: Bench) -> Iterator[Row]:
    """Compares two loads, each with M/G/1 and M/M/1."""
    sizes = _mm1_sizes()
    name = sizes_file(bench, sizes)
    for load, ms in ((0.5, 500), (0.8, 1200)):
        rows = list(
            _mg1_rows(
                bench,
                sizes,
                f'{{ empirical = "{name}" }}',
                load=load,
                overhead=0,
                ms=ms,
                name=", against the rounded lengths",
            )
        )
        yield from rows
        ideal = load * theory.mean(sizes) * BYTE_PS / (1 - load) / 1e3
        yield within(
            f"load {load:g}, against M/M/1: mean wait",
            "ns",
            ideal,
            rows[0].values,
            bench.precision(0.015),
            "lengths are rounded (−0.1 %), and random variation",
        )


@case(
    "mg1",
    "M/G/1: Poisson arrivals, a mix of lengths",
    compared="The simple Internet mix (64, 594 and 1,518 B, 7 : 4 : 1), and a mix of 64 B (90 %) "
    "and 9,216 B, each with 20 B of overhead.",
    formula="W = λ·E[S²] / (2·(1 − ρ)) (Pollaczek-Khinchine); the 99th percentile as for M/D/1.",
    sources=("Kleinrock, Queueing Systems I, 1975, section 5.6", "RFC 6985, section 4 (the mix)"),
    scenario=fill(_POISSON, duration="201 ms", warmup="1 ms", overhead="20 B", frame='"imix"', rate="8 Gb/s"),
    ends=("Lengths of successive frames are independent; so are the gaps between them.",),
)
def mg1(bench: Bench) -> Iterator[Row]:
    """Compares IMIX at three loads, and a mix of extremes."""
    mix = theory.with_overhead(theory.IMIX, OVERHEAD)
    for load, ms in ((0.5, 200), (0.8, 600), (0.9, 1000)):
        yield from _mg1_rows(bench, mix, '"imix"', load=load, overhead=OVERHEAD, ms=ms, name=", IMIX")
    extremes = theory.with_overhead([(64, 0.9), (9216, 0.1)], OVERHEAD)
    frame = '{ bimodal = { small = "64 B", large = "9216 B", small_share = 0.9 } }'
    yield from _mg1_rows(
        bench, extremes, frame, load=0.6, overhead=OVERHEAD, ms=1200, name=", 64 B and 9,216 B"
    )


_PERIODIC = (
    summaries(warmup="$warmup")
    + star("$hosts           # the last one receives", rate="10 Gb/s", length="2 m")
    + flow_text(
        "periodic",
        "[$senders]",
        "$sink",
        'frame = "980 B"',
        'rate_counts = "wire"',
        'source = { constant = { rate = "$rate" } }     # with a random phase each',
    )
)


def _periodic(sources: int, period: int) -> dict[str, object]:
    """Keys of periodic sources; `period` is in service times and divides 10 Gb/s."""
    return {
        "hosts": sources + 1,
        "senders": ", ".join(f'"h{i}"' for i in range(sources)),
        "sink": f"h{sources}",
        "rate": f"{RATE // period} b/s",
        "warmup": f"{3 * period * 800} ns",
        "duration": f"{4 * period * 800} ns",
    }


def mean_wait(port: str) -> Reader:
    """Returns a function that reads the mean wait at a port."""
    return lambda result: {"mean": only(result.rows("queues"), port=port)["wait_mean_ns"]}


@case(
    "nddd1",
    "N*D/D/1: periodic sources with random phases",
    compared="N hosts send one frame of 800 ns per period to the same host, each at its own phase. One "
    "period is measured for each of many draws of the phases; each value is the mean over the "
    "draws of one replication.",
    formula="A frame finds the work of the other n = N − 1 sources at a random time: W = ∫ P(V > x) dx "
    "with P(V > x) = Σ_{x<k≤n} C(n,k) ((k−x)/D)^k (1−(k−x)/D)^(n−k) (D−n+x)/(D−k+x), D the period in "
    "service times.",
    sources=(
        "Eckberg, The single server queue with periodic arrival process and deterministic service times, "
        "1979",
        "Roberts and Virtamo, The superposition of periodic cell arrival streams, 1991",
    ),
    scenario=fill(_PERIODIC, **_periodic(8, 10)),
    ends=("All sources have the same period, and the clocks of all hosts run at the same rate.",),
)
def nddd1(bench: Bench) -> Iterator[Row]:
    """Compares few and many sources."""
    draws = bench.choose(200, 60)
    for sources, period in ((8, 10), (16, 20), (38, 40)):
        measured = bench.repeat(
            bench.replications * draws,
            _PERIODIC,
            mean_wait(f"sw.{sources}->h{sources}"),
            **_periodic(sources, period),
        )["mean"]
        means = [sum(measured[i : i + draws]) / draws for i in range(0, len(measured), draws)]
        wait = theory.ndd1_mean_wait(sources, period) * 800
        yield random(
            f"{sources} sources, period {period} frames: mean wait",
            "ns",
            wait,
            means,
            precision=bench.precision(0.05),
        )


_STRICT = (
    ONE_PORT
    + """
[switch]
scheduler = "strict_priority"

"""
)


def _poisson(name: str, priority: int) -> str:
    """A Poisson flow whose lengths and rate are placeholders."""
    return f"""\
[[flows]]
name = "{name}"
from = "sw"
to = "h0"
priority = {priority}
frame = $frame{priority}
rate_counts = "wire"
source = {{ poisson = {{ rate = "$rate{priority}" }} }}
"""


_CLASSES = {"urgent": 7, "middle": 4, "patient": 0}
_PRIORITIES = _STRICT + "\n".join(_poisson(name, priority) for name, priority in _CLASSES.items())
_TWO_PRIORITIES = _STRICT + "\n".join((_poisson("urgent", 7), _poisson("patient", 0)))
_MIXES: dict[str, theory.Sizes] = {
    '"108 B"': [(108, 1.0)],
    '"1522 B"': [(1522, 1.0)],
    '"imix"': theory.IMIX,
}


@case(
    "priorities",
    "Non-preemptive priorities: two and three classes",
    compared="Poisson flows of different priorities and lengths share a link under strict "
    "priority, without preemption.",
    formula="W_k = W_0 / ((1 − σ_(k−1))·(1 − σ_k)) with W_0 = Σ λ_i·E[S_i²]/2 over all classes and σ_k "
    "the load of class k and all more urgent ones (Cobham).",
    sources=("Cobham, Priority assignment in waiting line problems, 1954",),
    scenario=fill(
        _PRIORITIES,
        duration="401 ms",
        warmup="1 ms",
        frame7='"108 B"',
        frame4='"imix"',
        frame0='"1522 B"',
        rate7="2 Gb/s",
        rate4="3 Gb/s",
        rate0="3.5 Gb/s",
    ),
    ends=("Strict priority only; other schedulers are compared in the section on schedulers and shapers.",),
)
def priorities(bench: Bench) -> Iterator[Row]:
    """Compares two classes and three."""
    setups = (
        (_TWO_PRIORITIES, ((7, '"imix"', 0.3), (0, '"1522 B"', 0.5)), 400),
        (_PRIORITIES, ((7, '"108 B"', 0.2), (4, '"imix"', 0.3), (0, '"1522 B"', 0.35)), 800),
    )
    for scenario, classes, ms in setups:
        keys: dict[str, object] = {}
        for priority, frame, load in classes:
            keys |= {f"frame{priority}": frame, f"rate{priority}": f"{load * 10:g} Gb/s"}
        order = {priority: place for place, priority in enumerate(sorted(p for p, _, _ in classes))}
        measured = bench.replicate(
            scenario,
            lambda result: {
                str(queue["class"]): queue["wait_mean_ns"]
                for queue in result.rows("queues")
                if queue["port"] == "sw.0->h0"
            },
            **keys,
            **bench.milliseconds(ms, warmup=1),
        )
        services = [
            [((size + OVERHEAD) * BYTE_PS, share) for size, share in _MIXES[frame]] for _, frame, _ in classes
        ]
        rates = [load / theory.mean(sizes) for (_, _, load), sizes in zip(classes, services, strict=True)]
        waits = theory.cobham(rates, services)
        for (priority, frame, load), wait in zip(classes, waits, strict=True):
            # Each priority has its own class; class numbers equal the priorities or are consecutive from 0.
            key = str(priority) if str(priority) in measured else str(order[priority])
            text = frame.strip('"')
            yield random(
                f"{len(classes)} classes, priority {priority} ({text}, load {load:g}): mean wait",
                "ns",
                wait / 1e3,
                measured[key],
                precision=bench.precision(0.015),
            )
