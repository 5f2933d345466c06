"""Bursty sources: fluid theory, and the documented statistics of all kinds of sources."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from penstock.result import Result

from . import theory
from .bench import Bench, Reader, fill, flow_text, only, star, summaries
from .registry import Row, case, exact, random, within

_BURSTS = (
    summaries(warmup="$warmup")
    + star("$hosts           # the last one receives", rate="10 Gb/s", length="2 m")
    + """\
overhead = "0 B"
"""
    + flow_text(
        "bursts",
        "[$senders]",
        "$sink",
        'frame = "500 B"',
        'source = { on_off = { peak = "$peak", on = { exponential = "100 us" }, '
        'off = { exponential = "$off" } } }',
    )
)
_ON_NS = 100_000.0


def _bursts(sources: int, peak: float, on_share: float) -> dict[str, object]:
    return {
        "hosts": sources + 1,
        "senders": ", ".join(f'"h{i}"' for i in range(sources)),
        "sink": f"h{sources}",
        "peak": f"{peak:g} Gb/s",
        "off": f"{_ON_NS * (1 - on_share) / on_share:g} ns",
    }


@case(
    "bursts",
    "On/off aggregates against fluid theory",
    compared="N sources with exponential bursts (mean 100 µs) and silences share a 10 Gb/s link. A burst "
    "has tens of frames, so the queue is close to a fluid. The mean wait, its percentiles and "
    "the decay of the tail are compared.",
    formula="F'(x)·D = F(x)·M for F_i(x) = P(i sources on, Q ≤ x), where M is the generator of the "
    "number of active sources and D = diag(i − c), with c the link rate in peak rates; F_i(0) = "
    "0 for i > c. All eigenvalues are used. An arrival finds more than x with probability Σ "
    "i·(F_i(∞) − F_i(x)) / Σ i·F_i(∞). The tail falls as e^(−r·x), r = (1 − ρ)(1 + λ)/(1 − "
    "c/N), where λ is the mean on-time over the mean off-time and x is in units of what a "
    "source sends in a mean on-time.",
    sources=(
        "Anick, Mitra and Sondhi, Stochastic theory of a data-handling system with multiple sources, 1982",
    ),
    scenario=fill(_BURSTS, duration="2010 ms", warmup="10 ms", **_bursts(10, 2.2, 0.36)),
    ends=(
        "A fluid has no frames. In the simulator, a frame also waits for frames that arrive at the "
        "same time when the total rate does not exceed the link.",
        "Percentiles are read from a histogram (error at most 1/32 of the value).",
    ),
)
def bursts(bench: Bench) -> Iterator[Row]:
    """Few fast and many slow sources."""
    reason = "frames instead of fluid, and random variation"
    for sources, peak, on_share, ms in ((10, 2.2, 0.36, 2000), (16, 1.5, 0.36, 2000)):
        capacity = 10 / peak
        fluid = theory.FluidQueue.solve(sources, on_share, capacity)
        unit = _ON_NS / capacity  # link time for the bytes that a source sends in a mean on-time
        closed = theory.decay_closed_form(sources, on_share, capacity)
        if not math.isclose(fluid.decay, closed, rel_tol=1e-6):
            raise ArithmeticError(f"two forms of the decay rate differ: {fluid.decay} and {closed}")
        waits = bench.replicate(
            _BURSTS,
            _waits(f"sw.{sources}->h{sources}"),
            **_bursts(sources, peak, on_share),
            **bench.milliseconds(ms, warmup=10),
        )
        name = f"{sources} sources of {peak:g} Gb/s, load {sources * on_share / capacity:.3f}: "
        mean = fluid.mean_found() * unit / 1e3
        yield within(name + "mean wait", "us", mean, waits["mean"], bench.precision(0.05), reason)
        tail = {}
        for key, share, tolerance in (("p90", 0.9, 0.06), ("p99", 0.99, 0.08)):
            tail[key] = theory.quantile(fluid.found_at_most, share, start=1.0) * unit / 1e3
            label = f"{name}{100 * share:g}th percentile of the wait"
            yield within(label, "us", tail[key], waits[key], bench.precision(tolerance), reason)
        apart = (sum(waits["p99"]) - sum(waits["p90"])) / len(waits["p90"])
        expected = math.log(10) / (tail["p99"] - tail["p90"])
        label = f"{name}decay from the 90th to the 99th percentile (r = {closed / unit * 1e3:.4f})"
        yield within(label, "1/us", expected, [math.log(10) / apart], bench.precision(0.08), reason)


def _waits(port: str) -> Reader:
    def read(result: Result) -> dict[str, float]:
        queue = only(result.rows("queues"), port=port)
        return {key: queue[f"wait_{key}_ns"] / 1e3 for key in ("mean", "p90", "p99")}

    return read


_SOURCE = (
    summaries().replace('"off"', '"$bin"')
    + star(2, rate="$line Gb/s", length="2 m")
    + flow_text("source", "$sender", "h1", "frame = $frame", "source = { $source }")
)


def _counts(length: int, bin_ns: float) -> Reader:
    def read(result: Result) -> dict[str, float]:
        _, values = result.series("flow_throughput_bps", "source")
        counts = np.round(np.asarray(values)[1:-1] * bin_ns * 1e-9 / (8 * length))
        return {
            "rate": only(result.rows("flows"), flow="source")["bytes_sent"] * 8,
            "dispersion": float(counts.var(ddof=1) / counts.mean()),
            "spread": float(counts.max() - counts.min()),
        }

    return read


@case(
    "generators",
    "Sources: rates, lengths and the index of dispersion",
    compared="Each kind of source sends over a 400 Gb/s link, where no frame waits; the Bernoulli source "
    "uses the slots of its 10 Gb/s link. Frames are counted in bins at the receiver. The index "
    "of dispersion is the variance of the counts over their mean.",
    formula="Index of dispersion: Poisson 1; Bernoulli 1 − p, p = r/C·(L + 20)/L; constant rate: counts "
    "differ by at most one; exponential on/off: 2·P·(1 − π)·(s·T − 1 + e^(−s·T)) / (s²·T), "
    "where P is the frames per second while on, π the share of time on, s = 1/on + 1/off, and T "
    "the bin; bursts of n frames: n. Pareto times are truncated at 100 means; their mean still "
    "equals the configured value.",
    sources=("Cox and Lewis, The Statistical Analysis of Series of Events, 1966",),
    scenario=fill(
        _SOURCE,
        duration="200 ms",
        bin="100 us",
        line=400,
        sender="sw",
        frame='"1000 B"',
        source='poisson = { rate = "1 Gb/s" }',
    ),
    ends=("A source is independent of the queue behind it unless the NIC is full.",),
)
def generators(bench: Bench) -> Iterator[Row]:
    """Compares every kind of source and every length distribution."""
    yield from _rates_and_dispersion(bench)
    yield from _mean_lengths(bench)


def _rates_and_dispersion(bench: Bench) -> Iterator[Row]:
    fine, coarse = bench.precision(0.01), bench.precision(0.04)
    poisson = _count(bench, 'poisson = { rate = "1 Gb/s" }', ms=1600, bin_us=100)
    yield random("Poisson, 1 Gb/s: rate", "Gb/s", 1.0, poisson["rate"], precision=fine)
    yield random("Poisson: index of dispersion", "", 1.0, poisson["dispersion"], precision=coarse)
    slots = {"sender": "h0", "line": 10}
    bernoulli = _count(bench, 'bernoulli = { rate = "4 Gb/s" }', ms=800, bin_us=81.6, **slots)
    yield random("Bernoulli, 4 Gb/s: rate", "Gb/s", 4.0, bernoulli["rate"], precision=fine)
    less = 1 - 0.4 * 1.02
    yield random("Bernoulli: index of dispersion", "", less, bernoulli["dispersion"], precision=coarse)
    constant = _count(bench, 'constant = { rate = "3 Gb/s" }', ms=160, bin_us=100)
    yield exact("constant, 3 Gb/s: counts of 100 µs differ by at most", "frames", 1, max(constant["spread"]))
    peak_bits, on, off, window = 4.0, 50.0, 150.0, 500.0
    on_off = _count(
        bench,
        'on_off = { peak = "4 Gb/s", on = { exponential = "50 us" }, off = { exponential = "150 us" } }',
        ms=4000,
        bin_us=window,
    )
    rate = peak_bits * on / (on + off)
    yield random("on/off, exponential: rate", "Gb/s", rate, on_off["rate"], precision=2 * fine)
    yield within(
        "on/off, exponential: index of dispersion",
        "",
        theory.on_off_dispersion(peak_bits * 1e3 / 8e3, on, off, window),
        on_off["dispersion"],
        bench.precision(0.04),
        "frames instead of fluid, and random variation",
    )
    for shape, ms in ((1.5, 4000), (1.1, 16000)):
        pareto = _count(
            bench,
            f'on_off = {{ peak = "4 Gb/s", on = {{ pareto = {{ mean = "50 us", shape = {shape} }} }}, '
            'off = { exponential = "50 us" } }',
            ms=ms,
            bin_us=window,
        )
        label = f"on/off, Pareto bursts of shape {shape}: rate"
        yield random(label, "Gb/s", 2.0, pareto["rate"], precision=2 * fine)

    yield from _aggregates(bench)


def _aggregates(bench: Bench) -> Iterator[Row]:
    """Aggregates of many sources, and bursts."""
    fine = bench.precision(0.01)
    streams = _count(bench, 'streams = { rate = "10 Mb/s", count = 100 }', ms=160, bin_us=800)
    label = "100 streams of 10 Mb/s: counts per 800 µs (the interval of a stream) differ by at most"
    yield exact(label, "frames", 0, max(streams["spread"]))
    bursts = _count(bench, 'bursts = { rate = "4 Gb/s", frames = 60 }', ms=4000, bin_us=1000)
    yield random("bursts of 60 frames, 4 Gb/s: rate", "Gb/s", 4.0, bursts["rate"], precision=2 * fine)
    yield random("bursts: index of dispersion", "", 60.0, bursts["dispersion"], precision=4 * fine)
    pictures = 'video = { rate = "10 Mb/s", count = 100, interval = "1 ms" }'
    video = _count(bench, pictures, ms=800, bin_us=100)
    yield random("video, 100 of 10 Mb/s: rate", "Gb/s", 1.0, video["rate"], precision=2 * fine)


def _count(bench: Bench, source: str, *, ms: int, bin_us: float, **keys: object) -> dict[str, list[float]]:
    """Returns rate, dispersion and spread of frame counts in bins, by default of arrivals at the switch."""
    measured = ms // _shorter(bench)
    found = bench.replicate(
        _SOURCE,
        _counts(1000, bin_us * 1e3),
        **{"line": 400, "sender": "sw", **keys},
        duration=f"{measured} ms",
        bin=f"{bin_us:g} us",
        frame='"1000 B"',
        source=source,
    )
    found["rate"] = [bits / (measured * 1e-3) / 1e9 for bits in found["rate"]]
    return found


def _mean_lengths(bench: Bench) -> Iterator[Row]:
    uniform = (64 + 1518) / 2
    bimodal = 0.7 * 64 + 0.3 * 1500
    ends = 64 / 2176
    pareto = 1.3 * 64 * (1 - ends**0.3) / (0.3 * (1 - ends**1.3))
    for name, frame, length in (
        ("IMIX", '"imix"', theory.mean(theory.IMIX)),
        ("uniform, 64 to 1518 B", '{ uniform = { min = "64 B", max = "1518 B" } }', uniform),
        ("Pareto, shape 1.3, 64 to 2176 B", '{ bounded_pareto = { shape = 1.3, max = "2176 B" } }', pareto),
        ("bimodal", '{ bimodal = { small = "64 B", large = "1500 B", small_share = 0.7 } }', bimodal),
    ):
        found = bench.replicate(
            _SOURCE,
            _mean_length,
            duration=f"{200 // _shorter(bench)} ms",
            bin="off",
            line=400,
            sender="sw",
            frame=frame,
            source='poisson = { rate = "4 Gb/s" }',
        )["length"]
        yield random(f"{name}: mean length", "B", length, found, precision=bench.precision(0.01))


def _shorter(bench: Bench) -> int:
    return bench.choose(1, 8)


def _mean_length(result: Result) -> dict[str, float]:
    flow = only(result.rows("flows"), flow="source")
    return {"length": flow["bytes_sent"] / flow["frames_sent"]}
