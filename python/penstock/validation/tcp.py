"""TCP: throughput under random losses, and sharing of a link."""

from __future__ import annotations

import math
from collections.abc import Iterator

from penstock.result import Result

from .bench import Bench, around_a_switch, chain, fill, only, summaries
from .registry import Row, case, exact, random, within
from .theory import wire

FRAME, ACK, DATA = 1518, 64, 1460
DELAY = 5_000_000
"""One-way delay of a link, in picoseconds."""

_LOSSY = (
    summaries(warmup="$warmup")
    + chain(2, 2, rate="100 Gb/s", delay="5 us")
    + """
[[flows]]
name = "f"
from = "h0.0"
to = "h1.0"
frame = "1518 B"
source = { tcp = { headers = "58 B", recovery = "$recovery", ack_every = $every, growth = "acks", \
limited_transmit = true, min_timeout = "$timeout", initial_timeout = "$timeout" } }

[[faults]]
link = ["sw0", "sw1"]
towards = "sw1"
frame_loss = $loss
"""
)


def _round_trip_s() -> float:
    """Round trip over three links each way, without queueing."""
    return sum(3 * (wire(length, 100_000_000_000) + DELAY) for length in (FRAME, ACK)) / 1e12


def _segments(result: Result) -> dict[str, float]:
    flow = only(result.rows("flows"), flow="f")
    return {"rate": float(flow["throughput_bps"]) / 8 / FRAME}


@case(
    "tcp-window",
    "TCP with a constant window",
    compared="A TCP transfer crosses two switches at 100 Gb/s, with 5 us per link and a receive window "
    "of a given number of segments: the mean round trip, and the number of segments in 10 ms.",
    formula="The round trip is the latency of a segment and its acknowledgement on idle links; one "
    "window is sent per round trip.",
    sources=("RFC 9293, section 3.8.6",),
    scenario=fill(
        _LOSSY, duration="11 ms", warmup="1 ms", recovery="sack", every=1, timeout="1 ms", loss="0.0"
    ).replace("min_timeout", 'receive_window = "8 frames", min_timeout'),
    ends=("The window is constant: the receiver processes all data immediately.",),
)
def windows(bench: Bench) -> Iterator[Row]:
    """Compares windows below the capacity of the path."""
    for window in (1, 8, 64):
        scenario = _LOSSY.replace("min_timeout", f'receive_window = "{window} frames", min_timeout')
        faultless = scenario[: scenario.index("[[faults]]")]
        result = bench.once(
            faultless, duration="11 ms", warmup="1 ms", recovery="sack", every=1, timeout="1 ms"
        )
        trips = only(result.rows("connections"), flow="f")
        expected = round(_round_trip_s() * 1e12) / 1e3
        yield exact(f"{window} segments: shortest round trip", "ns", expected, trips["round_trip_min_ns"])
        rate = _segments(result)["rate"]
        yield within(
            f"{window} segments: rate",
            "segments/s",
            window / _round_trip_s(),
            [rate],
            window / (0.010 / _round_trip_s() * window) + 1e-9,
            "segments are counted in whole round trips",
        )


_SCHEDULED = (
    summaries("10 ms")
    + chain(2, 2, rate="100 Gb/s", delay="5 us")
    + """\
$transfers
"""
)

_ENTRY = """
[[transfers]]
name = "$segments"
from = "h0.0"
to = "h1.0"
sizes = "$bytes B"
arrivals = "once"
start = "$at us"
frame = "1518 B"
over = { tcp = { headers = "58 B", handshake = true, reconnect = true, ack_every = 1 } }
"""

_SIZES = (1, 10, 11, 30, 31, 150, 300)


def _scheduled() -> str:
    """Transfers of the given numbers of segments, each started long after the previous one completes."""
    entries = (
        fill(_ENTRY, segments=segments, bytes=segments * DATA, at=1000 * number)
        for number, segments in enumerate(_SIZES)
    )
    return fill(_SCHEDULED, transfers="".join(entries))


def _slow_start(segments: int) -> int:
    """Picoseconds from the start of a transfer to its last byte, in windows of 10, 20, 40 ... segments."""
    rate = 100_000_000_000
    there, back = (3 * (wire(length, rate) + DELAY) for length in (FRAME, ACK))
    window, before, left = 10, 2 * back, segments
    while left > window:
        left -= window
        window *= 2
        before += there + back
    return before + there + (left - 1) * wire(FRAME, rate)


@case(
    "tcp-transfers",
    "Scheduled transfers over TCP",
    compared="Transfers of a given number of segments cross two switches at 100 Gb/s, with 5 us per "
    "link, each in its own connection with a handshake. The times until the last byte is "
    "delivered and until it is acknowledged are compared, as is the ideal time in the table "
    "`transfers`.",
    formula="One round trip for the handshake, and one for each window of 10, 20, 40 ... segments that "
    "does not cover the rest. Then the remaining segments cross the idle links back to back.",
    sources=("RFC 9293, section 3.5", "RFC 5681, section 3.1", "RFC 6928, section 2"),
    scenario=_scheduled(),
    ends=(
        "Windows stay below the 247 segments that the path holds, so each window waits for the "
        "acknowledgements of the previous one.",
    ),
)
def transfers(bench: Bench) -> Iterator[Row]:
    """Compares slow start with a step-by-step computation."""
    rows = bench.once(_scheduled()).rows("transfers")
    back = 3 * (wire(ACK, 100_000_000_000) + DELAY)
    for segments, row in zip(_SIZES, rows, strict=True):
        there = _slow_start(segments)
        yield exact(f"{segments} segments: delivered", "ns", there / 1e3, row["completion_ns"])
        yield exact(f"{segments} segments: acknowledged", "ns", (there + back) / 1e3, row["acknowledged_ns"])
        yield exact(f"{segments} segments: ideal", "ns", there / 1e3, row["ideal_ns"])


@case(
    "tcp-losses",
    "TCP under random losses",
    compared="A transfer loses each segment with probability p, independently, and is not limited by "
    "bandwidth: segments delivered per second, with SACK, and with fast recovery alone.",
    formula="While losses are rare and recovered within a round trip, the window follows additive "
    "increase and multiplicative decrease. Its mean is 1.31 / √(b p), where b is the number of "
    "segments per acknowledgement. With fast recovery alone and more losses, timeouts T₀ "
    "contribute: 1 / (RTT √(2bp/3) + T₀ min(1, 3√(3bp/8)) p (1 + 32p²)).",
    sources=(
        "T. Ott, J. Kemperman and M. Mathis, The stationary behavior of ideal TCP congestion avoidance, 1996",
        "M. Mathis, J. Semke, J. Mahdavi and T. Ott, ACM CCR 27(3), 1997",
        "J. Padhye, V. Firoiu, D. Towsley and J. Kurose, SIGCOMM 1998, equation 30",
    ),
    scenario=fill(
        _LOSSY, duration="500 ms", warmup="20 ms", recovery="sack", every=1, timeout="1 ms", loss="0.001"
    ),
    ends=(
        "1.31 / √p is the limit for rare losses; in the simulator the window changes in whole "
        "segments, and it does not grow during the round trip of a recovery.",
        "Padhye's formula assumes that losses are correlated within a round trip.",
    ),
)
def losses(bench: Bench) -> Iterator[Row]:
    """Compares rare losses, where the window limits throughput, to losses where timeouts dominate."""
    trip = _round_trip_s()
    for probability, every in ((0.0005, 1), (0.001, 1), (0.003, 1), (0.001, 2)):
        rates = bench.replicate(
            _LOSSY,
            _segments,
            recovery="sack",
            every=every,
            timeout="1 ms",
            loss=f"{probability:g}",
            **bench.milliseconds(400, warmup=20),
        )["rate"]
        theory = 1.31 / math.sqrt(every * probability) / trip
        name = f"SACK, p = {probability:g}, b = {every}"
        yield within(
            name, "segments/s", theory, rates, 0.1, "the ideal window is fractional and recovers immediately"
        )
    for probability in (0.01, 0.02, 0.05):
        rates = bench.replicate(
            _LOSSY,
            _segments,
            recovery="reno",
            every=1,
            timeout="200 us",
            loss=f"{probability:g}",
            **bench.milliseconds(200, warmup=20),
        )["rate"]
        yield within(
            f"fast recovery, p = {probability:g}, T0 = 200 us",
            "segments/s",
            _padhye(probability, trip, 200e-6),
            rates,
            0.1,
            "losses within a round trip are independent here, so fewer of them cause a timeout",
        )


def _padhye(probability: float, trip: float, timeout: float) -> float:
    """Delivered segments per second, one value per replication."""
    silence = timeout * min(1, 3 * math.sqrt(3 * probability / 8)) * probability * (1 + 32 * probability**2)
    return 1 / (trip * math.sqrt(2 * probability / 3) + silence)


_SHARED = (
    summaries(warmup="$warmup")
    + """\
"""
    + around_a_switch(
        a='rate = "$rate"\ndelay = "$near"',
        b='rate = "$rate"\ndelay = "$far"',
        to='rate = "$rate"\ndelay = "5 us"',
    )
    + """
[switch.buffer]
queue = "200 frames"

[[switch.queue_managers]]
$manager

[[flows]]
name = "f"
from = ["a", "b"]
to = "to"
source = { tcp = { preset = "$preset", min_timeout = "2 ms", initial_timeout = "2 ms", max_timeout = "1 s", \
ack_every = 1, growth = "acks", send_jitter = "500 ns" } }

$faults
"""
)
_RED = 'red = { min = "10 frames", max = "60 frames", max_probability = 0.05, weight = 0.02 }'
_EQUAL = {"rate": "10 Gb/s", "near": "5 us", "far": "5 us", "faults": ""}
_STEP = 'step = { threshold = "20 frames" }'
_LOSS = '[[faults]]\nlink = ["sw", "to"]\ntowards = "to"\nframe_loss = 0.001'


def _shares(result: Result) -> dict[str, float]:
    near, far = (float(only(result.rows("flows"), flow=f"f[{name}]")["throughput_bps"]) for name in "ab")
    return {"share": near / (near + far), "ratio": near / far, "total": near + far}


@case(
    "tcp-shares",
    "TCP flows that share a link",
    compared="Two transfers to one host share a link through one switch: equal ones under RED and under "
    "DCTCP with a step, and ones with a round-trip ratio of 1 : 4 on a link that loses one "
    "segment in a thousand.",
    formula="Equal flows have equal shares on average, and the link is full. With the same losses, "
    "throughput is inversely proportional to the round trip: 1.31 / (RTT √p).",
    sources=(
        "D.-M. Chiu and R. Jain, Computer Networks and ISDN Systems 17(1), 1989",
        "M. Mathis, J. Semke, J. Mahdavi and T. Ott, ACM CCR 27(3), 1997",
        "RFC 8257",
    ),
    scenario=fill(
        _SHARED,
        duration="200 ms",
        warmup="20 ms",
        manager=_RED,
        preset="rfc",
        **_EQUAL,
    ),
    ends=(
        "Without jitter, arrival order decides which flow a step marks, repeatedly in favour of the "
        "same flow (phase effects).",
    ),
)
def shares(bench: Bench) -> Iterator[Row]:
    """Compares equal flows, then unequal ones."""
    for preset, manager, name in (("rfc", _RED, "RED"), ("datacenter", _STEP, "DCTCP")):
        found = bench.replicate(
            _SHARED,
            _shares,
            manager=manager,
            preset=preset,
            **_EQUAL,
            **bench.milliseconds(200, warmup=20),
        )
        yield random(f"{name}: share of one flow", "", 0.5, found["share"], precision=bench.precision(0.03))
        full = 10e9 * 1522 / 1542
        yield within(
            f"{name}: total of both", "b/s", full, found["total"], 0.01, "retransmissions and idle moments"
        )
    ratio = bench.replicate(
        _SHARED,
        _shares,
        rate="400 Gb/s",
        near="5 us",
        far="35 us",
        manager='step = { threshold = "200 frames" }',
        preset="rfc",
        faults=_LOSS,
        **bench.milliseconds(500, warmup=20),
    )["ratio"]
    yield within(
        "random losses: ratio of shares, round trips of 1 to 4",
        "",
        4.0,
        ratio,
        0.1,
        "overhead on the wire and jitter do not scale with the round trip",
    )


_SAWTOOTH = (
    summaries("3500 ms", warmup="500 ms")
    + """\
[switch.buffer]
queue = "$buffer frames"

[[flows]]
name = "f"
from = "a"
to = "to"
frame = "1518 B"
source = { tcp = { headers = "58 B", recovery = "newreno", ack_every = 1, growth = "acks", \
initial_threshold = "40 frames", min_timeout = "200 ms" } }

"""
    + around_a_switch(
        a='rate = "10 Gb/s"\ndelay = "100 us"',
        to='rate = "1 Gb/s"\ndelay = "500 us"',
    )
)


@case(
    "tcp-sawtooth",
    "Buffer size and utilisation with one connection",
    compared="A TCP transfer with NewReno crosses a switch from 10 to 1 Gb/s, with a round trip of 1.2 "
    "ms and a given number of frames of buffer: the utilisation of the bottleneck.",
    formula="The window grows by one segment per round trip from half of P + B to P + B, where P is the "
    "capacity of the path and B the buffer. Below P the link is partly idle: a round trip takes "
    "as long as on an idle path. From B = P on, the link is always full; without a buffer, its "
    "utilisation is three quarters.",
    sources=(
        "V. Jacobson, Congestion avoidance and control, SIGCOMM 1988",
        "G. Appenzeller, I. Keslassy and N. McKeown, Sizing router buffers, SIGCOMM 2004, section 2",
    ),
    scenario=fill(_SAWTOOTH, buffer=50),
    ends=("Segments are divisible, and recovery takes no time.",),
)
def sawtooth(bench: Bench) -> Iterator[Row]:
    """Compares buffers from one frame to one and a half times the capacity of the path."""
    fast, slow = 10_000_000_000, 1_000_000_000
    there = wire(FRAME, fast) + wire(FRAME, slow)
    back = wire(ACK, fast) + wire(ACK, slow)
    path = (there + back + 2 * 600_000_000) / wire(FRAME, slow)
    for buffer in (1, 10, 25, 50, 75, 100, 150):
        result = bench.once(_SAWTOOTH, buffer=buffer)
        used = _segments(result)["rate"] * wire(FRAME, slow) / 1e12
        yield within(
            f"buffer of {buffer} frames, path of {path:.0f}: utilization",
            "",
            _used(path, buffer),
            [used],
            0.01,
            "windows are whole segments, and recovery takes a round trip",
        )


def _used(path: float, buffer: float) -> float:
    """Utilization of a link over a cycle of additive increase and halving."""
    least = (path + buffer) / 2
    if least >= path:
        return 1.0
    idle = path - least
    full = buffer * (path + path + buffer) / 2
    return (idle * (path + least) / 2 + full) / (idle * path + full)


_DCTCP = (
    summaries(warmup="$warmup")
    + """\
[[switch.queue_managers]]
step = { threshold = "$threshold frames" }

[[flows]]
name = "f"
from = "h1..h$senders"
to = "h0"
frame = "1518 B"
source = { tcp = { preset = "datacenter", headers = "58 B", ack_every = 1, growth = "acks", \
initial_threshold = "20 frames" } }

"""
    + around_a_switch(
        h0='rate = "10 Gb/s"\ndelay = "25 us"',
        **{f"h{number}": 'rate = "40 Gb/s"\ndelay = "25 us"' for number in range(1, 11)},
    )
)


@case(
    "tcp-dctcp",
    "DCTCP with step marking",
    compared="N transfers under DCTCP share a link of 10 Gb/s, from links of 40 Gb/s, with a round trip "
    "of 100 us and a marking threshold of K frames. The share of marks, which alpha estimates, "
    "and the longest and the mean queue are compared.",
    formula="Windows grow in phase to W + 1, where W = (P + K) / N and P is the capacity of the path, "
    "and shrink by alpha / 2: alpha² (1 - alpha / 4) = (2 W + 1) / (W + 1)². The queue is at "
    "most K + N and falls by N (W + 1) alpha / 2.",
    sources=(
        "M. Alizadeh et al., Data center TCP (DCTCP), SIGCOMM 2010, section 3.3, equations 4 to 9",
        "RFC 8257, section 3.3",
    ),
    scenario=fill(_DCTCP, duration="250 ms", warmup="50 ms", threshold=40, senders=2),
    ends=(
        "The formula assumes that flows grow and shrink in phase. This holds for two flows but not "
        "for ten, which have 16 % fewer marks than the formula predicts; for ten, only the queue is "
        "compared.",
    ),
)
def dctcp(bench: Bench) -> Iterator[Row]:
    """Compares several thresholds, and several numbers of flows."""
    slow, fast = 10_000_000_000, 40_000_000_000
    trip = sum(wire(length, rate) for length in (FRAME, ACK) for rate in (slow, fast)) + 100_000_000
    path = trip / wire(FRAME, slow)
    for senders, threshold in ((1, 20), (1, 40), (1, 80), (2, 20), (2, 40), (2, 80), (10, 40)):
        keys = bench.milliseconds(400, warmup=50)
        result = bench.once(_DCTCP, senders=senders, threshold=threshold, **keys)
        queue = max(result.rows("queues"), key=lambda row: int(row["marks"]))
        window = (path + threshold) / senders
        alpha = _alpha(window)
        most, falls = threshold + senders, senders * (window + 1) * alpha / 2
        name = f"N = {senders}, K = {threshold}"
        if senders < 10:
            segments = sum(row["frames_delivered"] for row in result.rows("flows"))
            lags = "alpha lags behind the marks, and two flows are not exactly in phase"
            yield within(f"{name}: share of marks", "", alpha, [queue["marks"] / segments], 0.1, lags)
        longest, waits = queue["queue_frames_max"], queue["queue_bytes_mean"] / FRAME
        first = "the first marked frame adds one"
        yield within(f"{name}: longest queue", "frames", most, [longest], 1 / most + 1e-9, first)
        mean = most - falls / 2
        yield within(
            f"{name}: mean queue",
            "frames",
            mean,
            [waits],
            2 / mean,
            f"{first}, and windows change in whole segments",
        )


def _alpha(window: float) -> float:
    """Share of marks at which windows grow as much as they shrink."""
    least, most = 0.0, 1.0
    for _ in range(50):
        middle = (least + most) / 2
        enough = middle**2 * (1 - middle / 4) >= (2 * window + 1) / (window + 1) ** 2
        least, most = (least, middle) if enough else (middle, most)
    return most
