"""RDMA: cost of loss recovery, and equilibria of rate and window control."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from statistics import fmean

from penstock.analysis.statistics import jain
from penstock.result import Result

from .bench import Bench, fill, flow_text, star, summaries
from .registry import Row, case, within

HEADERS, OVERHEAD, ACK, INT = 66, 20, 70, 42
"""Bytes of packet overhead, of preamble and gap, of an acknowledgement, and of telemetry."""


def wire(length: int, rate: float) -> float:
    """Transmission time of a frame in seconds."""
    return (length + OVERHEAD) * 8 / rate


def round_trip(packet: int, ack: int, rate: float, delay: float) -> float:
    """Round trip in seconds of a packet and its acknowledgement through one idle switch."""
    return 2 * wire(packet, rate) + 2 * wire(ack, rate) + 4 * delay


# Recovery

_LOSSY = (
    summaries(pauses=True)
    + star(2, rate="10 Gb/s", delay="5 us")
    + flow_text("f", "h0", "h1", 'source = { rdma = { control = "none", recovery = "$recovery", $more } }')
    + """
[[faults]]
link = ["h0", "sw"]
towards = "sw"
frame_loss = $loss
"""
)
_GO_BACK_N = 'nak_gap = "23 us", timeout = "1 ms"'
_SELECTIVE = 'timeout = "320 us", low_timeout = "100 us", window = "500 kB"'


def go_back_n(loss: float) -> float:
    """Goodput share of go-back-N, where each loss wastes all packets sent until its NAK arrives."""
    packet = 1024 + HEADERS
    wasted = math.ceil(round_trip(packet, ACK, 10e9, 5e-6) / wire(packet, 10e9) + 1)
    return (1 - loss) / (1 - loss + loss * wasted)


def _useful(result: Result) -> dict[str, float]:
    [pair] = result.rows("queue_pairs")
    return {"useful": pair["packets_delivered"] / pair["packets_sent"]}


@case(
    "rdma-losses",
    "RDMA loss recovery: retransmitted packets",
    compared="A queue pair without congestion control sends at 10 Gb/s through one switch, with 5 us per "
    "link, and loses each packet with probability p. The share of sent packets that are "
    "delivered in order is compared.",
    formula="Go-back-N retransmits everything sent until the NAK arrived: W packets, those of a round "
    "trip and the lost one. The useful share is (1 - p) / (1 - p + p W). Selective repeat "
    "retransmits only missing packets: 1 - p.",
    sources=(
        "D. Bertsekas and R. Gallager, Data Networks, 2nd ed., section 2.4.2",
        "R. Mittal et al., Revisiting network support for RDMA, SIGCOMM 2018, section 3",
    ),
    scenario=fill(_LOSSY, duration="40 ms", recovery="go_back_n", more=_GO_BACK_N, loss=0.01),
    ends=("The formula excludes lost NAKs and the loss of the last packet before a timeout.",),
)
def losses(bench: Bench) -> Iterator[Row]:
    """Both recoveries."""
    for loss in (0.002, 0.01, 0.03):
        for recovery, more, theory, tolerance, why in (
            (
                "go_back_n",
                _GO_BACK_N,
                go_back_n(loss),
                0.03,
                "a retransmission that is lost triggers no NAK within the gap",
            ),
            ("selective", _SELECTIVE, 1 - loss, 0.005, "packets in flight at the end count as sent"),
        ):
            keys = {"recovery": recovery, "more": more, "loss": loss}
            duration = f"{bench.choose(60, 40)} ms"
            found = bench.replicate(_LOSSY, _useful, duration=duration, **keys)["useful"]
            yield within(f"{recovery}, p = {loss:g}: useful share", "", theory, found, tolerance, why)


# DCQCN

MARKED = """
[flow_control.pfc]
priorities = [3]
accounting = "ingress"
xoff = "1 MB"
xon = "900 kB"

[[switch.queue_managers]]
classes = [3]

[switch.queue_managers.red]
weight = 1
min = "5 kB"
max = "200 kB"
max_probability = 0.01
gentle = false
action = "mark_only"
"""
"""A lossless priority whose queues mark by RED; further RED keys may follow."""

DCQCN = (
    summaries(warmup="40 ms", pauses=True)
    + star("$hosts", rate="40 Gb/s", delay="500 ns")
    + MARKED
    + """\
spacing = "geometric"
at = "dequeue"
"""
    + flow_text(
        "f",
        "h1..h$senders",
        "h0",
        "priority = 3",
        'source = { rdma = { control = "dcqcn", mtu = "1000 B" } }',
    )
)


@dataclass
class _Reaction:
    """A sender under DCQCN (figure 7 of the paper)."""

    rate: float
    target: float
    alpha: float = 1.0
    steps: int = 0
    blocks: int = 0
    sent: float = 0.0
    step_at: float = math.inf
    fade_at: float = math.inf
    notified: float = -1.0

    def cut(self, now: float) -> None:
        """Handles a CNP."""
        self.target, self.rate = self.rate, self.rate * (1 - self.alpha / 2)
        self.alpha = self.alpha * 255 / 256 + 1 / 256
        self.steps, self.blocks, self.sent = 0, 0, 0.0
        self.notified, self.step_at, self.fade_at = now, now + 55e-6, now + 55e-6

    def grow(self, now: float, bits: float) -> None:
        """Advances the timers and the byte counter."""
        self.sent += bits
        if now >= self.fade_at:
            self.alpha, self.fade_at = self.alpha * 255 / 256, self.fade_at + 55e-6
        if now >= self.step_at:
            self.steps, self.step_at = self.steps + 1, self.step_at + 55e-6
            self._increase()
        if self.sent >= 80e6:
            self.blocks, self.sent = self.blocks + 1, self.sent - 80e6
            self._increase()

    def _increase(self) -> None:
        if max(self.steps, self.blocks) >= 5:
            more = 200e6 if min(self.steps, self.blocks) > 5 else 40e6
            self.target = min(self.target + more, 40e9)
        self.rate = (self.rate + self.target) / 2


def queue_with_chance(senders: int, seed: int, milliseconds: int = 100) -> float:
    """Mean queue of DCQCN in bytes after 40 ms, with random marks in steps of 2 us."""
    step, packet, chance = 2e-6, (1000 + HEADERS) * 8, Random(seed)  # noqa: S311
    line = 40e9 * (1000 + HEADERS) / (1000 + HEADERS + OVERHEAD)
    sources = [_Reaction(line, line) for _ in range(senders)]
    queue, queues = 0.0, []
    for number in range(round(milliseconds * 1e-3 / step)):
        now, offered = number * step, sum(source.rate for source in sources)
        marks = 1.0 if queue >= 200e3 else max(queue - 5e3, 0) / 195e3 * 0.01
        served = min(line, offered + queue * 8 / step)
        for source in sources:
            left = served * source.rate / offered * step / packet
            # At most one CNP per 50 us, regardless of the number of marks.
            if now >= source.notified + 50e-6 and chance.random() < 1 - (1 - marks) ** left:
                source.cut(now)
            else:
                source.grow(now, source.rate * step)
        queue = max(queue + (sum(source.rate for source in sources) - line) * step / 8, 0.0)
        if now >= 40e-3:
            queues.append(queue)
    return fmean(queues)


def _marks(result: Result) -> dict[str, float]:
    rates = [float(row["throughput_bps"]) for row in result.rows("flows")]
    return {
        "queue": max(row["queue_bytes_mean"] for row in result.rows("queues")),
        "rate": math.fsum(rates),
        "jain": jain(rates),
    }


@case(
    "dcqcn",
    "DCQCN at its fixed point",
    compared="Greedy senders at 40 Gb/s under DCQCN with the parameters of its paper, whose queue marks "
    "up to 1 % of packets between 5 and 200 kB. The mean queue is compared with a short Python "
    "model; the total rate and Jain's index are compared with a full link and equal shares.",
    formula="In equilibrium, the increases by timer and byte counter balance the cuts by CNPs. The "
    "model advances in steps of 2 us, in which packets of a sender are marked at random. With "
    "two to ten senders its queue is a sixth to a third longer than that of the deterministic "
    "fluid model. All senders have the same rate, and the link is full.",
    sources=(
        "Y. Zhu et al., Congestion control for large-scale RDMA deployments, SIGCOMM 2015, sections 3 and 5",
        "Y. Zhu et al., ECN or delay, CoNEXT 2016, section 3",
    ),
    scenario=fill(DCQCN, duration="100 ms", hosts=3, senders=2),
    ends=("The model has no packet size, so its queue can be shorter than one packet.",),
)
def dcqcn(bench: Bench) -> Iterator[Row]:
    """Compares two to ten senders."""
    for senders in (2, 4, 10):
        runs, length = bench.choose(8, 3), bench.choose(200, 100)
        found = bench.repeat(runs, DCQCN, _marks, hosts=senders + 1, senders=senders, duration=f"{length} ms")
        model = fmean(queue_with_chance(senders, seed, length) for seed in range(runs))
        name = f"{senders} senders: "
        why = "the model has no packets, and a CNP arrives immediately"
        yield within(name + "mean queue", "B", model, found["queue"], 0.1, why)
        full = 40e9 * (1000 + HEADERS) / (1000 + HEADERS + OVERHEAD)
        yield within(name + "rate", "b/s", full, found["rate"], 0.01, "the queue is occasionally empty")
        yield within(name + "Jain's index", "", 1.0, found["jain"], 0.02, "rates oscillate about their share")


# Telemetry

_TELEMETRY = (
    summaries("6 ms", warmup="3 ms", pauses=True)
    + star("$hosts", rate="100 Gb/s", delay="2500 ns")
    + flow_text(
        "f",
        "h1..h$senders",
        "h0",
        'frame = "1200 B"',
        'source = { rdma = { mtu = "1000 B", control = { $control } } }',
    )
)
LINK = 100e9
FRAME = 1000 + HEADERS + INT
ON_WIRE = FRAME + OVERHEAD
TRIP = round_trip(FRAME, ACK + INT, LINK, 2.5e-6)
"""Round trip of the scenario with telemetry in seconds."""


def under_way(senders: int, eta: float, mbps: float) -> float:
    """Bytes in flight of senders with window W eta / U + increase, in bandwidth-delay products.

    Iterates round trip by round trip.
    """
    most = LINK * TRIP / 8
    # The increase is in bytes of frames.
    increase = mbps * 1e6 * TRIP / 8 * ON_WIRE / FRAME
    window = most
    for _ in range(3000):
        window = min(window * eta / (senders * window / most) + increase, most)
    return senders * window / most


def at_rest(result: Result) -> dict[str, float]:
    """Utilization of the receiver's link plus its mean queue, in bandwidth-delay products."""
    bits = math.fsum(row["throughput_bps"] for row in result.rows("flows"))
    queue = max(row["queue_bytes_mean"] for row in result.rows("queues"))
    return {"used": bits / LINK * ON_WIRE / FRAME, "waits": queue * ON_WIRE / FRAME * 8 / (LINK * TRIP)}


@case(
    "rdma-telemetry",
    "HPCC and PowerTCP at equilibrium",
    compared="Greedy senders at 100 Gb/s through one switch, with 2.5 us per link and telemetry. The "
    "utilisation of the receiver's link plus the queue before it, in bandwidth-delay products, "
    "is compared.",
    formula="In each round trip, a window becomes W η / U + W_AI, limited to the capacity of the path, "
    "with the equilibrium U = η + N W_AI / BDP. Without telemetry, round trips are compared "
    "with 1.05 times the base round trip, without η: 1.05 + N β / B.",
    sources=(
        "Y. Li et al., HPCC, SIGCOMM 2019, section 3",
        "V. Addanki, O. Michel and S. Schmid, PowerTCP, NSDI 2022, section 3",
    ),
    scenario=fill(_TELEMETRY, hosts=9, senders=8, control='hpcc = { ai_rate = "600 Mb/s" }'),
    ends=(
        "The theory updates all windows together once per round trip; in the simulator each "
        "acknowledgement updates one.",
        "Without telemetry, the equilibrium of sixteen senders is 4.7 % higher, because windows are "
        "divided by round trips that differ from packet to packet.",
    ),
)
def telemetry(bench: Bench) -> Iterator[Row]:
    """Compares increases that leave the link idle with increases that maintain a queue."""
    cases = [
        ("hpcc", senders, mbps)
        for senders, mbps in (
            (2, 20),
            (2, 5000),
            (4, 5000),
            (8, 20),
            (8, 600),
            (8, 2000),
            (32, 20),
            (32, 200),
        )
    ]
    cases += [("powertcp", senders, 600) for senders in (2, 4, 16)]
    cases += [("theta_powertcp", senders, 600) for senders in (2, 4, 8)]
    for control, senders, mbps in cases:
        own = f'ai_rate = "{mbps} Mb/s"' if control == "hpcc" else ""
        found = at_rest(
            bench.once(_TELEMETRY, hosts=senders + 1, senders=senders, control=f"{control} = {{ {own} }}")
        )
        # Without telemetry, no window is limited to the capacity of the path.
        by_trips = 1.05 + senders * mbps * 1e6 / LINK
        inside = by_trips if control == "theta_powertcp" else under_way(senders, 0.95, mbps)
        yield within(
            f"{control}, {senders} senders, {mbps} Mb/s: in flight",
            "BDP",
            inside,
            [found["used"] + found["waits"]],
            0.015,
            "packets queue before the link is full",
        )


# Round trips

_TRIPS = (
    summaries("$duration ms", warmup="$warmup ms", pauses=True)
    + star("$hosts", rate="$rate Gb/s", delay="$delay ns")
    + flow_text(
        "f", "h1..h$senders", "h0", 'source = { rdma = { mtu = "1000 B", $window, control = { $control } } }'
    )
)
_TIMELY = {"rate": 10, "delay": 10, "window": 'window = "100 kB"', "control": "timely = { patched = true }"}
"""Shortens the start with windows: ten of 100 kB far exceed the bytes in flight at equilibrium."""
_SWIFT = {"rate": 100, "delay": 1000, "window": 'recovery = "go_back_n"', "control": "swift = {}"}


def patched_timely(senders: int) -> float:
    """Equilibrium round trip of patched TIMELY at 10 Gb/s, in seconds; a gradient of 0 has weight 1/2."""
    return 50e-6 * (1 + senders * 10e6 / (0.008 * 10e9))


def swift(senders: int) -> tuple[float, float]:
    """Swift's target delay in seconds behind a link of 100 Gb/s, and its window in packets.

    The target is 20 us, plus 3.05 us for the switch, plus flow scaling for windows below 100 packets (100 us
    for a window of 0.1).
    """
    low, high = 1 / math.sqrt(0.1), 1 / math.sqrt(100)
    packet = wire(1000 + HEADERS, LINK)
    least, most = 0.1, 1000.0
    for _ in range(100):
        window = (least + most) / 2
        target = 23.05e-6 + 100e-6 * max((1 / math.sqrt(window) - high) / (low - high), 0)
        least, most = (window, most) if senders * window * packet < target else (least, window)
    return target, window


def _trip(result: Result, rate: float, delay: float) -> dict[str, float]:
    """Mean round trip in the queue and on idle links, and fairness of the senders."""
    frame = 1000 + HEADERS
    queue = max(row["queue_bytes_mean"] for row in result.rows("queues"))
    rates = [float(row["throughput_bps"]) for row in result.rows("flows")]
    waits = queue * (frame + OVERHEAD) / frame * 8 / rate
    return {
        "trip": waits + round_trip(frame, ACK, rate, delay),
        "jain": jain(rates),
        "used": math.fsum(rates) * (frame + OVERHEAD) / frame / rate,
    }


@case(
    "rdma-delay",
    "Patched TIMELY and Swift at equilibrium",
    compared="Greedy senders through one switch. The mean round trip, whose excess over the idle path is "
    "the wait in the receiver's queue, and the fairness of the shares are compared. Patched "
    "TIMELY runs at 10 Gb/s, Swift at 100 Gb/s.",
    formula="Patched TIMELY is in equilibrium where its gradient is 0: r = T_low (1 + N δ / (β C)), in "
    "bytes of the link 78 kB for two senders and 141 kB for ten. Swift is in equilibrium at its "
    "target delay. For N windows of w packets that fill this round trip, it is base + h + a/√w "
    "+ b.",
    sources=(
        "Y. Zhu et al., ECN or delay, CoNEXT 2016, section 4",
        "G. Kumar et al., Swift, SIGCOMM 2020, section 3",
    ),
    scenario=fill(_TRIPS, duration=100, warmup=50, hosts=3, senders=2, **_TIMELY),
    ends=(
        "Swift's windows oscillate about the target by one packet, which is a larger part of a "
        "window of three packets than of one of a hundred.",
    ),
)
def delay(bench: Bench) -> Iterator[Row]:
    """Compares few and many senders."""
    for senders in (2, 10):
        keys = {"hosts": senders + 1, "senders": senders, "duration": bench.choose(200, 100), "warmup": 50}
        found = _trip(bench.once(_TRIPS, **keys, **_TIMELY), 10e9, 10e-9)
        name, bytes_per_s = f"patched TIMELY, {senders} senders: ", 10e9 / 8
        rests, why = patched_timely(senders) * bytes_per_s, "one packet per round trip is sampled"
        yield within(name + "in flight", "B", rests, [found["trip"] * bytes_per_s], 0.02, why)
        yield within(
            name + "Jain's index", "", 1.0, [found["jain"]], 0.01, "rates oscillate about their share"
        )
    for senders in (2, 8, 32, 128):
        keys = {"hosts": senders + 1, "senders": senders, "duration": bench.choose(8, 4), "warmup": 2}
        found = _trip(bench.once(_TRIPS, **keys, **_SWIFT), LINK, 1e-6)
        target, window = swift(senders)
        yield within(
            f"Swift, {senders} senders: round trip",
            "us",
            target * 1e6,
            [found["trip"] * 1e6],
            0.5 / window + 0.005,
            "a window grows by one packet per round trip, on average by half of one",
        )
