"""Schedulers: shares, effect of the accounted length, worst-case delay; and shapers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from penstock.result import Result

from . import theory
from .bench import Bench, fill, only, picoseconds, star, summaries
from .registry import Row, bounded, case, exact, within
from .theory import OVERHEAD, wire

FRAME, HEADER = 1522, 18
LINK = 10_000_000_000
ROUNDING = "only the division of two counts is rounded"

_BACKLOGGED = (
    summaries("$duration ps", warmup="$warmup ps")
    + star("$hosts", rate="10 Gb/s")
    + """
[switch]
queues = [0, 1, 2, 3, 3, 3, 3, 3]
scheduler = $scheduler

"""
)
_SENDER = """\
[[flows]]
name = "class$number"
from = "h$host"
to = "h$last"
priority = $number
frame = "$length B"
source = "greedy"

"""


def _backlogged(lengths: Sequence[int], scheduler: str, duration: int, warmup: int) -> str:
    """One host per class, each sending at line rate to one further host."""
    head = {"duration": duration, "warmup": warmup, "hosts": len(lengths) + 1, "scheduler": scheduler}
    queues = [*range(len(lengths)), *[len(lengths) - 1] * (8 - len(lengths))]
    text = fill(_BACKLOGGED, **head).replace("[0, 1, 2, 3, 3, 3, 3, 3]", str(queues))
    senders = (
        fill(_SENDER, number=number, host=number, last=len(lengths), length=length)
        for number, length in enumerate(lengths)
    )
    return text + "".join(senders)


def _delivered(result: Result, count: int) -> list[int]:
    rows = result.rows("flows")
    return [only(rows, flow=f"class{number}")["frames_delivered"] for number in range(count)]


SHARERS = {
    "wrr": "{{ wrr = {{ weights = {weights} }} }}",
    "wrr, interleaved": "{{ wrr = {{ weights = {weights}, interleaved = true }} }}",
    "drr": "{{ drr = {{ weights = {weights} }} }}",
    "wfq": "{{ wfq = {{ weights = {weights} }} }}",
    "wf2q_plus": "{{ wf2q_plus = {{ weights = {weights} }} }}",
    "scfq": "{{ scfq = {{ weights = {weights} }} }}",
    "scfq_ca": "{{ scfq_ca = {{ weights = {weights} }} }}",
}


@case(
    "shares",
    "Weighted shares",
    compared="Four backlogged classes with frames of one length and weights 1 : 2 : 3 : 10. Over whole "
    "rounds, the share of each class in frames equals its weight exactly.",
    formula="Once the order repeats, class i sends k·w_i of any k·Σw frames of a busy link.",
    sources=("Shreedhar and Varghese 1996 (DRR); Golestani 1994 (SCFQ); Bennett and Zhang 1997 (WF2Q+)",),
    scenario=_backlogged(
        [FRAME] * 4, SHARERS["wfq"].format(weights=[1, 2, 3, 10]), 2_000_000_000, 500_000_000
    ),
    ends=(
        "Classes that are not always backlogged share what is left; that is compared in the worst delays "
        "below.",
    ),
)
def shares(bench: Bench) -> Iterator[Row]:
    """Compares all schedulers with weights, and ETS."""
    weights = [1, 2, 3, 10]
    rounds = bench.choose(200, 20)
    step = sum(weights) * wire(FRAME)
    percents = [8, 12, 20, 60]
    classes = ", ".join(f"{{ queues = [{i}], percent = {p} }}" for i, p in enumerate(percents))
    runs = [(name, form.format(weights=weights), weights, rounds * 16) for name, form in SHARERS.items()]
    runs.append(
        ("ets, 8 : 12 : 20 : 60 %", f"{{ ets = {{ classes = [{classes}] }} }}", percents, rounds * 25)
    )
    for name, scheduler, parts, frames in runs:
        warmup = 40 * step
        text = _backlogged([FRAME] * 4, scheduler, warmup + frames * wire(FRAME), warmup)
        got = _delivered(bench.once(text), 4)
        for number, part in enumerate(parts):
            expected = frames * part // sum(parts)
            yield exact(f"{name}: frames of class {number} of {frames:,}", "frames", expected, got[number])


@case(
    "billing",
    "Deficit round robin: effect of the accounted length on small frames",
    compared="Two backlogged queues have equal quanta, one with small frames, one with frames of 1,522 "
    "B. The accounted length is L + 20, as in Hagen's switch, or L. Whole periods of both "
    "deficit counters are measured, so that counts are exact. In the last rows the small frames "
    "have the weight of theory, and both queues carry the same payload.",
    formula="Equal accounted bytes make frames in proportion to 1 / a(L), a being the accounted length. "
    "Frame throughput, small over large: [x / a(x)] / [B / a(B)]; payload (L − 18): [(x − 18) / a(x)] / [(B "
    "− 18) / a(B)]. For 68 B against 1,522 B and L + 20: 0.783 and 0.583. The weight that makes the "
    "payload equal is the reciprocal of the latter.",
    sources=("Hagen 2012, section 6.1 (68 B frames lose almost 25 %, and need a weight of almost 2)",),
    scenario=_backlogged([68, FRAME], '{ drr = { accounted_length = "wire" } }', 2_000_000_000, 500_000_000),
    ends=(
        "Memory cells and internal headers of a switch can be accounted as well (`cell`, "
        "`per_frame`); they are not covered here.",
    ),
)
def billing(bench: Bench) -> Iterator[Row]:
    """Compares frame lengths of the paper's bins under both accounted lengths, then weights."""
    for counted, extra in (("wire", OVERHEAD), ("frame", 0)):
        for length in (64, 68, 128, 256, 512, 1024):
            small, large = length + extra, FRAME + extra
            frames = (large // math.gcd(small, large), small // math.gcd(small, large))  # one period
            periods = max(1, bench.choose(40, 8) * 50 // sum(frames))
            scheduler = f'{{ drr = {{ accounted_length = "{counted}" }} }}'
            got = _periods(bench, length, scheduler, frames, periods)
            name = f"{length} B against {FRAME:,} B, accounted {counted}: "
            yield exact(name + "small frames", "frames", periods * frames[0], got[0])
            yield exact(name + "large frames", "frames", periods * frames[1], got[1])
            share = (length / small) / (FRAME / large)
            measured = got[0] * length / (got[1] * FRAME)
            yield within(name + "frame throughput", "", share, [measured], 1e-9, ROUNDING)
            share = ((length - HEADER) / small) / ((FRAME - HEADER) / large)
            measured = got[0] * (length - HEADER) / (got[1] * (FRAME - HEADER))
            yield within(name + "payload throughput", "", share, [measured], 1e-9, ROUNDING)
    for length in (68, 128):
        # Quanta in the ratio of the accounted lengths per byte of payload.
        quanta = ((length + OVERHEAD) * (FRAME - HEADER), (FRAME + OVERHEAD) * (length - HEADER))
        frames = (FRAME - HEADER, length - HEADER)
        scheduler = f'{{ drr = {{ quanta = ["{quanta[0]} B", "{quanta[1]} B"] }} }}'
        got = _periods(bench, length, scheduler, frames, bench.choose(4, 1))
        measured = got[0] * (length - HEADER) / (got[1] * (FRAME - HEADER))
        weight = quanta[0] / quanta[1]
        name = f"{length} B with weight {weight:.3f}: payload throughput over that of {FRAME:,} B"
        yield within(name, "", 1.0, [measured], 1e-9, ROUNDING)


def _periods(bench: Bench, length: int, scheduler: str, frames: tuple[int, int], periods: int) -> list[int]:
    period = frames[0] * wire(length) + frames[1] * wire(FRAME)
    warmup = period * math.ceil(100_000_000 / period)
    return _delivered(
        bench.once(_backlogged([length, FRAME], scheduler, warmup + periods * period, warmup)), 2
    )


_BURST = """\
[[flows]]
name = "burst"
from = "sw"
to = "h$last"
priority = $number
frame = "$length B"
start = "$start ps"
limit = "$limit B"
source = { constant = { rate = "1600 Gb/s", random_phase = false } }

[[flows]]
name = "stream"
from = "sw"
to = "h$last"
priority = $number
frame = "$length B"
start = "$next ps"
rate_counts = "wire"
source = { constant = { rate = "$rate b/s", random_phase = false } }
"""
DELAY_SCHEDULERS = {
    "drr": "{{ drr = {{ weights = {weights} }} }}",
    "wfq": "{{ wfq = {{ weights = {weights} }} }}",
    "scfq": '{{ scfq = {{ weights = {weights}, accounted_length = "wire" }} }}',
    "wf2q_plus": '{{ wf2q_plus = {{ weights = {weights}, accounted_length = "wire" }} }}',
}
WEIGHTS = (1, 2, 3, 4)
BURST_FRAMES = 10
REACHED = 0.8
"""Share of the bound that the worst phase must reach."""


def latency_ps(scheduler: str, tagged: int, lengths: Sequence[int]) -> Fraction:
    """Latency term of a class's guaranteed service, in picoseconds.

    Parameters
    ----------
    scheduler : str
        ``"drr"`` (quanta of the weight times the longest frame), ``"wfq"``, ``"scfq"`` or ``"wf2q_plus"``.
    tagged : int
        Index of the class.
    lengths : sequence of int
        Longest frame of each class.
    """
    bits = [8 * (length + OVERHEAD) for length in lengths]
    others = [number for number in range(len(lengths)) if number != tagged]
    if scheduler == "drr":
        quanta = [max(bits) * weight for weight in WEIGHTS]
        left = [most - 8 for most in bits]  # a remaining deficit is at least one byte below the longest frame
        rounds = sum(quanta[j] for j in others) * (1 + Fraction(left[tagged], quanta[tagged]))
        late = rounds + sum(left[j] for j in others)
    else:
        late = Fraction(bits[tagged] * sum(WEIGHTS), WEIGHTS[tagged])
        late += sum(bits[j] for j in others) if scheduler == "scfq" else max(bits)
    return late * 10**12 / LINK


@case(
    "worst-delay",
    "Worst delay of a flow within its token bucket",
    compared="One class conforms to a token bucket of ten frames and its guaranteed rate; the three "
    "others are backlogged. Its burst arrives at every phase of the round. The longest latency "
    "must not exceed the bound, and must reach the stated share of it.",
    formula="A latency-rate server delays no bit of a flow with burst σ and rate ρ by more than Θ + σ / "
    "ρ. WFQ and WF2Q+: Θ = L_i / ρ_i + L / C. SCFQ: Θ = L_i / ρ_i + Σ over the others of L_j / "
    "C. DRR with quanta Q and d = L − 1 B: Θ = [Σ over the others of (Q_j·(1 + d_i / Q_i) + "
    "d_j)] / C. All lengths are in bytes on the wire.",
    sources=(
        "Stiliadis and Varma, Latency-rate servers, 1998, table I",
        "Boyer, Stea and Sofack, Deficit round robin with network calculus, 2012 (DRR)",
    ),
    scenario=_backlogged(
        [FRAME] * 4, DELAY_SCHEDULERS["wfq"].format(weights=list(WEIGHTS)), 1_000_000_000, 0
    ),
    ends=(
        "One hop only. Over several hops, latencies add up, and so do the bursts between them.",
        "Control frames precede all classes. Each one delays a class by its transmission time, "
        "which the bounds here exclude.",
    ),
)
def worst_delay(bench: Bench) -> Iterator[Row]:
    """Compares the lightest and the heaviest class, and small frames with long ones."""
    setups: tuple[tuple[int, int, int], ...] = (
        (0, FRAME, FRAME),
        (0, FRAME, 1000),
        (3, FRAME, FRAME),
        (0, 300, FRAME),
    )
    for scheduler, form in DELAY_SCHEDULERS.items():
        for tagged, length, other in setups:
            lengths = [length if number == tagged else other for number in range(4)]
            worst = _worst(bench, form.format(weights=list(WEIGHTS)), tagged, lengths)
            rate = Fraction(LINK * WEIGHTS[tagged], sum(WEIGHTS))
            burst = BURST_FRAMES * 8 * (length + OVERHEAD) * 10**12 / rate
            bound = (latency_ps(scheduler, tagged, lengths) + burst) / 1000
            part = f"{100 * WEIGHTS[tagged] // sum(WEIGHTS)} %"
            name = f"{scheduler}, {length:,} B at {part} against {other:,} B: longest latency"
            reason = (
                "the bound of DRR lets every other class have a full deficit and a full quantum at once, "
                "and the bounds of the others a whole frame of the class before the first; "
                "no traffic reaches both"
            )
            yield bounded(name, "ns", float(bound), worst, REACHED, reason)


def _worst(bench: Bench, scheduler: str, tagged: int, lengths: Sequence[int]) -> float:
    count = bench.choose(128, 16)
    frame = wire(lengths[tagged])
    rate = LINK * WEIGHTS[tagged] // sum(WEIGHTS)
    round_ps = sum(weight * wire(max(lengths)) for weight in WEIGHTS)
    variants: list[Mapping[str, object]] = []
    others = [length for number, length in enumerate(lengths) if number != tagged]
    for phase in range(count):
        start = 100_000_000 + round_ps * phase // count
        # Right after the burst, each frame arrives when its tokens are available, at the guaranteed rate.
        step = math.ceil(Fraction(frame * LINK, rate))
        variants.append(
            {
                "text": _against(lengths, scheduler, tagged)
                + fill(
                    _BURST,
                    last=len(others),
                    number=tagged,
                    length=lengths[tagged],
                    start=start,
                    limit=BURST_FRAMES * lengths[tagged],
                    next=start + step,
                    rate=rate - 1,
                )
            }
        )
    return max(found["worst"] for found in bench.each("$text", _longest, variants))


def _against(lengths: Sequence[int], scheduler: str, tagged: int) -> str:
    """Hosts with greedy sources for all classes except the one under test."""
    text = fill(_BACKLOGGED, duration=700_000_000, warmup=0, hosts=len(lengths), scheduler=scheduler)
    others = [number for number in range(len(lengths)) if number != tagged]
    for host, number in enumerate(others):
        text += fill(_SENDER, number=number, host=host, last=len(others), length=lengths[number])
    return text


def _longest(result: Result) -> dict[str, float]:
    rows = result.rows("flows")
    fibre = 10.0
    return {"worst": max(only(rows, flow=name)["latency_max_ns"] for name in ("burst", "stream")) - fibre}


_SHAPED = """\
[simulation]
duration = "$duration us"

[probes]
bin = "$bin"
pauses = false

[topology.star]
hosts = 1
rate = "10 Gb/s"
phy = "none"

[switch.scheduler.shaper]
accounted_length = "frame"
$shaper

[[flows]]
name = "shaped"
from = "sw"
to = "h0"
frame = "1000 B"
$source
"""
_PORT = '[switch.scheduler.shaper.port.token_bucket]\nrate = "{rate} Mb/s"\ndepth = "{depth} B"'
_CLASS = """\
[[switch.scheduler.shaper.classes]]
class = 0
token_bucket = {{ rate = "{rate} Mb/s", depth = "{depth} B" }}
"""
_LEAKY = '[switch.scheduler.shaper.port.leaky_bucket]\nrate = "{rate} Mb/s"'
_STEADY = 'source = {{ constant = {{ rate = "{rate} Gb/s", random_phase = false }} }}\nlimit = "{limit} B"'
_BURSTY = """\
[flows.source.on_off]
peak = "20 Gb/s"
on = { exponential = "40 us" }
off = { exponential = "300 us" }
"""
SHAPED = 1000


@case(
    "shaper",
    "Token buckets and leaky buckets",
    compared="Frames of 1,000 B arrive at even intervals at a shaper of a port or of a class: "
    "longest and summed latency. Then random bursts: over every interval of the time series (bins of "
    "200 ns, all pairs of edges), output is compared with burst + rate · time.",
    formula="The bucket starts full. A frame begins when the link is free and the bucket holds its L "
    "bytes; the level grows at the rate up to the depth b. Over any interval of length t, at "
    "most b + r·t is therefore sent. A leaky bucket sends a frame when L / r has passed since "
    "the previous one.",
    sources=("Turner, New directions in communications, 1986", "RFC 2697; IEEE 802.1Q clause 8.6.5"),
    scenario=fill(
        _SHAPED,
        duration=1000,
        bin="off",
        shaper=_PORT.format(rate=2000, depth=8000),
        source=_STEADY.format(rate=5, limit=300_000),
    ),
    ends=("Frames wait in front of a shaper; nothing is policed, dropped or marked.",),
)
def shaper(bench: Bench) -> Iterator[Row]:
    """Compares exact latencies, then the envelope."""
    count = bench.choose(300, 60)
    forms = (("port", _PORT), ("class", _CLASS), ("leaky", _LEAKY))
    for what, form in forms:
        for megabits, depth, gbps in ((2000, 8000, 5), (700, 1000, 1), (3333, 20_500, 9), (1, 3000, 2)):
            if what == "leaky" and depth == 20_500:
                continue  # the depth does not apply here
            some = count if megabits > 1 else 10
            created = [math.floor(Fraction(k * SHAPED * 8_000, gbps)) for k in range(some)]
            rate, link = megabits * 10**6, wire(SHAPED)
            if what == "leaky":
                starts = theory.leaky_starts(created, 8 * SHAPED, rate, link)
            else:
                starts = theory.shaped_starts(created, 8 * SHAPED, 8 * depth, rate, link)
            latencies = [
                begin + wire(SHAPED) + 10_000 - start for begin, start in zip(starts, created, strict=True)
            ]
            found = bench.once(
                _SHAPED,
                duration=math.ceil(starts[-1] / 1e6) + 10,
                bin="off",
                shaper=form.format(rate=megabits, depth=depth),
                source=_STEADY.format(rate=gbps, limit=some * SHAPED),
            )
            flow = only(found.rows("flows"), flow="shaped")
            bucket = "leaky bucket" if what == "leaky" else f"{what}, {depth:,} B"
            name = f"{bucket} at {megabits:,} Mb/s, {some} frames at {gbps} Gb/s: "
            yield exact(name + "longest latency", "ps", max(latencies), picoseconds(flow["latency_max_ns"]))
            summed = round(flow["latency_mean_ns"] * 1000 * flow["frames_delivered"])
            yield exact(name + "sum of latencies", "ps", sum(latencies), summed)
    for what, form in forms:
        for megabits, depth in ((2000, 40_000), (500, 15_000)):
            found = bench.once(
                _SHAPED,
                duration=bench.choose(20_000, 4_000),
                bin="200 ns",
                shaper=form.format(rate=megabits, depth=depth),
                source=_BURSTY,
            )
            # A frame is sent bit by bit, so a leaky bucket lags by the difference of the rates.
            room = SHAPED * (1 - megabits * 10**6 / LINK) if what == "leaky" else depth
            bucket = "leaky bucket" if what == "leaky" else f"{what}, {depth:,} B"
            name = f"{bucket} at {megabits:,} Mb/s, random bursts: largest excess over rate · time"
            reason = "frames are sent whole, and bin edges do not coincide with frame starts"
            yield bounded(name, "B", room, _excess(found, megabits * 10**6), 0.9, reason)


def _excess(result: Result, rate: int) -> float:
    """Largest excess of departed bytes over rate · time, over all intervals between bin edges."""
    rows = [
        (row["time_ns"], row["value"])
        for row in result.rows("series")
        if row["metric"] == "port_tx_bps" and row["entity"].startswith("sw.")
    ]
    times, values = np.array(sorted(rows)).T
    width = times[1] - times[0]
    left = np.cumsum(np.concatenate([[0.0], values * width / 8e9]))
    beyond = left - rate / 8e9 * width * np.arange(left.size)
    return float(np.max(beyond - np.minimum.accumulate(beyond)))
