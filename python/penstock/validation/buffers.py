"""Small queues and shared memory: loss and occupancy by frame size and buffer limit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from penstock.result import Result

from . import theory
from .bench import Bench, Reader, fill, flow_text, only, star, summaries
from .queues import ARRIVALS, BYTE_PS, LARGEST, MM1_MEAN, ONE_PORT, sizes_file
from .registry import Row, case, exact, random, within
from .theory import OVERHEAD

_LIMITED = (
    ONE_PORT
    + """\
overhead = "$overhead"

[switch.buffer]
queue = "$limit"
"""
    + ARRIVALS
)


def _loss(flow: str) -> Reader:
    def read(result: Result) -> dict[str, float]:
        row = only(result.rows("flows"), flow=flow)
        return {"loss": row["frames_dropped"] / row["frames_sent"]}

    return read


@case(
    "loss",
    "Loss of M/D/1/K and M/M/1/K",
    compared="A queue holds at most q frames. The limit counts waiting frames only, whereas K in the "
    "theory includes the frame in transmission, so K = q + 1.",
    formula="M/G/1/K: loss = 1 − 1/(p0 + ρ), p0 from the embedded Markov chain at departures, with the exact "
    "lengths. M/M/1/K: loss = (1 − ρ)·ρ^K / (1 − ρ^(K+1)).",
    sources=("Cooper, Introduction to Queueing Theory, 1981, section 5.9",),
    scenario=fill(
        _LIMITED,
        duration="201 ms",
        warmup="1 ms",
        overhead="20 B",
        limit="3 frames",
        frame='"980 B"',
        rate="9 Gb/s",
    ),
    ends=("The frame in transmission occupies no memory; switches that hold it until its end lose more.",),
)
def loss(bench: Bench) -> Iterator[Row]:
    """Fixed and exponential lengths."""
    fixed = [(1000 * BYTE_PS, 1.0)]
    for load, limit, ms in ((0.8, 1, 200), (0.9, 3, 400), (1.2, 8, 200)):
        losses = _losses(bench, load, limit, ms, overhead="20 B", frame='"980 B"')
        yield random(
            f"M/D/1/{limit + 1}, load {load:g}: share lost",
            "",
            theory.mg1k_loss(load / (1000 * BYTE_PS), fixed, limit + 1),
            losses,
            precision=bench.precision(0.015),
        )
    sizes = theory.exponential_sizes(MM1_MEAN, LARGEST)
    name = sizes_file(bench, sizes)
    for load, limit, ms in ((0.8, 3, 400), (0.9, 10, 1200)):
        losses = _losses(bench, load, limit, ms, overhead="0 B", frame=f'{{ empirical = "{name}" }}')
        in_time = [(size * BYTE_PS, share) for size, share in sizes]
        arrivals = load / theory.mean(in_time)
        yield random(
            f"M/M/1/{limit + 1}, load {load:g}, rounded lengths: share lost",
            "",
            theory.mg1k_loss(arrivals, in_time, limit + 1),
            losses,
            precision=bench.precision(0.015),
        )
        yield within(
            f"M/M/1/{limit + 1}, load {load:g}, against the closed form: share lost",
            "",
            theory.mm1k_loss(load, limit + 1),
            losses,
            bench.precision(0.015),
            "lengths are rounded to whole bytes, and chance",
        )


def _losses(bench: Bench, load: float, limit: int, ms: float, **keys: str) -> list[float]:
    """Returns the share of Poisson frames lost at a queue of `limit` frames, one value per replication."""
    keys |= {"limit": f"{limit} frames", "rate": f"{load * 10:g} Gb/s", **bench.milliseconds(ms, warmup=1)}
    return bench.replicate(_LIMITED, _loss("poisson"), **keys)["loss"]


_TWO_SIZES = (
    ONE_PORT
    + """
[switch]
queues = "shared"
scheduler = "fifo"
buffer = { queue = "$limit" }
"""
    + flow_text(
        "short",
        "sw",
        "h0",
        'frame = "500 B"',
        'rate_counts = "wire"',
        'source = { poisson = { rate = "4 Gb/s" } }',
    )
    + flow_text(
        "long",
        "sw",
        "h0",
        'frame = "1500 B"',
        'rate_counts = "wire"',
        'source = { poisson = { rate = "5 Gb/s" } }',
    )
)


@case(
    "buffers",
    "Buffers limited in bytes and in frames",
    compared="Short (500 B) and long (1,500 B) frames share a FIFO queue. A limit in bytes admits short "
    "frames when long ones no longer fit; a limit in frames treats both alike. If all frames "
    "have the same length, both limits produce the same run, frame by frame.",
    formula="A Markov renewal process over the sequence of waiting frames, observed at the start of "
    "each service. During a service, the sequence grows with the matrix exponential of the "
    "arrivals that fit. The loss of a class is the share of time in which its frames do not fit "
    "(PASTA).",
    sources=(
        "Çinlar, Introduction to Stochastic Processes, 1975, chapter 10",
        "Wolff, Poisson arrivals see time averages, 1982",
    ),
    scenario=fill(_TWO_SIZES, duration="201 ms", warmup="1 ms", limit="3000 B"),
    ends=("Memory is counted in bytes of frames, not in cells.",),
)
def buffers(bench: Bench) -> Iterator[Row]:
    """Compares two sizes under both kinds of limits, then one size."""
    lengths = (500, 1500)
    services = [(length + OVERHEAD) * BYTE_PS for length in lengths]
    rates = [load / service for load, service in zip((0.4, 0.5), services, strict=True)]

    def bytes_fit(waiting: tuple[int, ...], kind: int) -> bool:
        return sum(lengths[entry] for entry in waiting) + lengths[kind] <= 3000

    def frames_fit(waiting: tuple[int, ...], _: int) -> bool:
        return len(waiting) < 3

    def read(result: Result) -> dict[str, float]:
        return {flow: _loss(flow)(result)["loss"] for flow in ("short", "long")}

    for limit, fits in (("3000 B", bytes_fit), ("3 frames", frames_fit)):
        measured = bench.replicate(_TWO_SIZES, read, limit=limit, **bench.milliseconds(400, warmup=1))
        expected = theory.fifo_losses(rates, services, fits)
        for flow, share in zip(("short", "long"), expected, strict=True):
            yield random(
                f"limit {limit}, {flow} frames: share lost",
                "",
                share,
                measured[flow],
                precision=bench.precision(0.015),
            )
    for limit in ("4900 B", "5879 B"):
        lost = [
            only(
                bench.once(
                    _LIMITED,
                    duration="20 ms",
                    warmup="0 s",
                    overhead="20 B",
                    limit=each,
                    frame='"980 B"',
                    rate="9.5 Gb/s",
                ).rows("flows"),
                flow="poisson",
            )["frames_dropped"]
            for each in ("5 frames", limit)
        ]
        yield exact(f"frames of 980 B, {limit} against 5 frames: frames lost", "frames", lost[0], lost[1])


_SHARED = (
    summaries("$duration us", warmup="$warmup us")
    + star(12, rate="10 Gb/s", length="20 m")
    + """
[switch.buffer]
total = "$memory B"
dynamic_threshold = { alpha = $alpha }
"""
)


def _into(busy: int) -> str:
    """Flows from two greedy hosts to each of `busy` others."""
    return "".join(
        f'\n[[flows]]\nname = "to{n}.{sender}"\nfrom = "h{4 + 2 * n + sender}"\nto = "h{n}"\n'
        f'frame = "1000 B"\nstart = "{3 * sender + 5 * n} ns"\nsource = "greedy"\n'
        for n in range(busy)
        for sender in range(2)
    )


@case(
    "dynamic-thresholds",
    "Dynamic thresholds for shared memory",
    compared="Two greedy hosts overload each of one to four switch ports. All queues share one memory, "
    "and each may hold α times the free part. The mean occupancy of the busy queues is measured "
    "in steady state.",
    formula="Each of n busy queues holds α / (1 + n·α) of the memory, and 1 / (1 + n·α) stays free.",
    sources=(
        "Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet switches, 1998, "
        "section III",
    ),
    scenario=fill(_SHARED, duration=6_000, warmup=4_000, memory=2_000_000, alpha=1.0) + _into(2),
    ends=(
        "Guaranteed minima, headroom and lossless classes are not covered here; the engine's tests "
        "check them by arithmetic.",
    ),
)
def dynamic_thresholds(bench: Bench) -> Iterator[Row]:
    """Small and large shares."""
    memory = bench.choose(2_000_000, 500_000)
    settle = bench.choose(6_000, 1_500)
    for alpha in (0.5, 1.0, 2.0, 8.0):
        for busy in (1, 2, 4):
            found = bench.once(
                _SHARED + _into(busy),
                duration=settle + 500,
                warmup=settle,
                memory=memory,
                alpha=alpha,
            )
            held = [only(found.rows("queues"), port=f"sw.{n}->h{n}")["queue_bytes_mean"] for n in range(busy)]
            share = memory * alpha / (1 + busy * alpha)
            tolerance = (1 + busy) * 1_000 / share
            yield within(
                f"α = {alpha:g}, {busy} busy: mean occupancy of a busy queue",
                "B",
                share,
                [math.fsum(held) / busy],
                tolerance,
                "frames are admitted whole, so each queue is up to one frame off its threshold",
            )
