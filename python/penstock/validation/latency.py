"""Latency without randomness: single frames and bursts over links of all rates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from penstock.result import Result

from . import theory
from .bench import Bench, Reader, chain, fill, flow_text, only, picoseconds, summaries
from .registry import Row, case, exact, extremes, random

LATENCY_NS = 300


def _links(rates: Sequence[float], metres: int) -> str:
    nodes = ["source", *(f"sw{i}" for i in range(len(rates) - 1)), "sink"]
    blocks = [
        f'[[topology.explicit.links]]\nbetween = ["{a}", "{b}"]\n'
        f'rate = "{rate:g} Gb/s"\nlength = "{metres} m"\nphy = "none"\n'
        for a, b, rate in zip(nodes[:-1], nodes[1:], rates, strict=True)
    ]
    switches = ", ".join(f'"{name}"' for name in nodes[1:-1])
    head = f'[topology.explicit]\nhosts = ["source", "sink"]\nswitches = [{switches}]\n'
    return "\n".join([head, *blocks])


_PATH = (
    summaries()
    + """\
$topology
[switch]
forwarding = "$forwarding"
latency = "300 ns"
"""
    + flow_text(
        "probe",
        "source",
        "sink",
        'frame = "$length B"',
        'source = { constant = { rate = "$rate", random_phase = false } }',
        'limit = "$limit B"',
    )
)


def _hops(rates: Sequence[float], metres: int) -> list[theory.Hop]:
    switches = len(rates) - 1
    return [
        theory.Hop(
            round(rate * theory.GBPS), metres * 5_000 + (LATENCY_NS * 1_000 if place < switches else 0)
        )
        for place, rate in enumerate(rates)
    ]


def _flow(bench: Bench, **keys: object) -> dict[str, Any]:
    return only(bench.once(_PATH, **keys).rows("flows"), flow="probe")


@case(
    "latency",
    "Store-and-forward and cut-through latency",
    compared="One frame crosses an idle path: a host, one to four switches of 300 ns, and links of 1 to "
    "400 Gb/s with fibre of 5 ns/m, including paths with unequal rates. Values are equal to the "
    "picosecond.",
    formula="Store-and-forward: Σ over links of ((L + 20)·8/C + delay), plus the latency of each "
    "switch. Cut-through: a switch forwards once it has received the preamble and 64 B, so L is "
    "min(L, 64) in all terms but the last. If its egress link is faster than its ingress link, "
    "it waits for the whole frame. Each term is rounded down to a picosecond.",
    sources=("Plain arithmetic; RFC 1242 for the terms",),
    scenario=fill(
        _PATH,
        duration="100 us",
        topology=_links((10, 40, 10), 20),
        forwarding="cut_through",
        length=1522,
        rate="1 Gb/s",
        limit=1522,
    ),
    ends=(
        "No MAC and PHY delay unless a link has an interface_delay; no cells, no clock tolerance.",
        "A cut-through switch decides after 64 B, regardless of the headers it reads.",
        "If a byte time is not a whole number of picoseconds and a cut-through switch waits for the "
        "whole frame, the first 64 B and the rest are rounded down separately, so the frame may be "
        "forwarded one picosecond early.",
    ),
)
def latency(bench: Bench) -> Iterator[Row]:
    """Single frames."""
    paths: tuple[tuple[tuple[float, ...], int, int], ...] = (
        ((10, 10), 64, 2),
        ((10, 10), 1522, 300),
        ((10, 10, 10, 10, 10), 9216, 20),
        ((100, 100, 100), 1522, 5),
        ((400, 400, 400), 1518, 100),
        ((25, 25), 65, 20),
        ((1, 10, 40, 100), 1000, 20),
        ((100, 25, 10, 1), 1000, 20),
        ((10, 40, 10), 1522, 20),
        ((1.1875, 3.3333, 7), 777, 20),
    )
    for rates, length, metres in paths:
        for forwarding in ("store_and_forward", "cut_through"):
            flow = _flow(
                bench,
                duration="300 us",
                topology=_links(rates, metres),
                forwarding=forwarding,
                length=length,
                rate="1 Gb/s",
                limit=length,
            )
            expected = theory.path_latency(
                length, 20, _hops(rates, metres), cut_through=forwarding == "cut_through"
            )
            path = "-".join(f"{rate:g}" for rate in rates)
            name = f"{forwarding.replace('_', '-')}, {path} Gb/s, {metres} m, {length} B"
            yield exact(name, "ps", expected, picoseconds(flow["latency_max_ns"]))


_CODED = (
    summaries()
    + chain(2, 1, rate="$rate", line_code="$code", length="20 m")
    + flow_text(
        "probe",
        "h0.0",
        "h1.0",
        'frame = "$length B"',
        'source = { constant = { rate = "$offered b/s", random_phase = false } }',
        'limit = "$limit B"',
    )
)
_CODES = {"8b/10b": Fraction(8, 10), "64b/66b": Fraction(64, 66), "128b/130b": Fraction(128, 130)}


@case(
    "line-codes",
    "Links whose rate is given on the wire",
    compared="Frames arrive faster than three links with a line code can carry them, at the rates of PCI "
    "Express, InfiniBand and Advanced Switching, at odd rates and at 1 Mb/s. The shortest, "
    "longest and summed latency and the utilisation of the first link are compared.",
    formula="A byte takes 8·130/128 bit times on the wire with 128b/130b (8·66/64 with 64b/66b, 8·10/8 "
    "with 8b/10b). The rest is as for Ethernet: Lindley's recursion link by link, end(k) = "
    "max(end(k−1), arrival(k)) + (L + 20)·8/C.",
    sources=(
        "Widmer and Franaszek, A DC-balanced, partitioned-block, 8B/10B transmission code, 1983",
        "IEEE 802.3 clause 49.2.4 (64B/66B); PCI Express 3.0 (128b/130b)",
    ),
    scenario=fill(
        _CODED,
        duration="100 us",
        rate="8 Gb/s",
        code="128b/130b",
        length=1000,
        offered=16_000_000_000,
        limit=20_000,
    ),
    ends=(
        "Control symbols, ordered sets and clock compensation are not modelled. The overhead of 20 "
        "B is that of Ethernet; set the key `overhead` for PCI Express or InfiniBand.",
    ),
)
def line_codes(bench: Bench) -> Iterator[Row]:
    """Compares twenty frames sent back to back."""
    count = 20
    for bps, code in (
        (2_500_000_000, "8b/10b"),
        (1_062_500_000, "8b/10b"),
        (1_000_000, "8b/10b"),
        (14_062_500_000, "64b/66b"),
        (103_125_000_000, "64b/66b"),
        (3_333_333_333, "64b/66b"),
        (8_000_000_000, "128b/130b"),
        (512_000_000_000, "128b/130b"),
        (1_000_000, "128b/130b"),
    ):
        length, data = 1000, bps * _CODES[code]
        whole = math.ceil((count + 3) * theory.wire_time(length + 20, data) / 10**6) + 1
        result = bench.once(
            _CODED,
            duration=f"{whole} us",
            rate=f"{bps} b/s",
            code=code,
            length=length,
            offered=2 * bps,
            limit=length * count,
        )
        created = [math.floor(k * theory.wire_time(length, 2 * bps)) for k in range(count)]
        expected = theory.tandem_latencies(created, length, 20, [theory.Hop(data, 100_000)] * 3)
        flow = only(result.rows("flows"), flow="probe")
        name = f"{code}, {bps / 1e9:g} Gb/s on the wire: "
        yield from extremes(name, expected, flow, "latency")
        summed = round(flow["latency_mean_ns"] * 1_000 * flow["frames_delivered"])
        yield exact(name + "sum", "ps", sum(expected), summed)
        port = only(result.rows("ports"), node="h0.0")
        bits = round(port["utilisation"] * port["rate_bps"] * whole / 1e6)
        yield exact(name + "bits sent, from utilisation and rate", "bit", count * (length + 20) * 8, bits)


_TANDEM = (
    summaries(warmup="$warmup")
    + """\
$topology"""
    + flow_text(
        "poisson",
        "sw0",
        "sink",
        'frame = "980 B"',
        'rate_counts = "wire"',
        'source = { poisson = { rate = "6 Gb/s" } }',
    )
)


@case(
    "tandem",
    "Store-and-forward links of unequal rate in a row",
    compared="Bursts of equal frames cross three links of different rates: shortest, longest and summed "
    "latency. Then Poisson arrivals of constant length cross two or three links. Their total "
    "wait is that of the slowest link alone, in any order of links, and no frame waits behind "
    "the slowest link.",
    formula="Bursts: Lindley's recursion link by link, end(k) = max(end(k−1), arrival(k)) + (L + "
    "20)·8/C. Poisson: the sum of the waits at all links equals the wait of M/D/1 at the "
    "slowest (Friedman), mean ρ·S / (2·(1 − ρ)).",
    sources=(
        "Lindley, The theory of queues with a single server, 1952",
        "Friedman, Reduction methods for tandem queuing systems, 1965",
    ),
    scenario=fill(
        _PATH,
        duration="100 us",
        topology=_links((10, 25, 4), 20),
        forwarding="store_and_forward",
        length=1000,
        rate="20 Gb/s",
        limit=20_000,
    ),
    ends=(
        "Friedman's reduction requires frames of one length; frames of mixed lengths do wait behind "
        "the slowest link.",
    ),
)
def tandem(bench: Bench) -> Iterator[Row]:
    """Compares bursts, then Poisson arrivals."""
    count = 20
    bursts: tuple[tuple[tuple[float, ...], int], ...] = (
        ((10, 25, 4), 20),
        ((4, 10, 2.5), 3),
        ((40, 10, 25), 12),
        ((7, 3.3333, 1.1875), 9),
    )
    for rates, offered in bursts:
        length = 1000
        flow = _flow(
            bench,
            duration="1 ms",
            topology=_links(rates, 20),
            forwarding="store_and_forward",
            length=length,
            rate=f"{offered} Gb/s",
            limit=length * count,
        )
        created = [int(Fraction(k * length * 8 * 1_000, offered)) for k in range(count)]
        expected = theory.tandem_latencies(created, length, 20, _hops(rates, 20))
        name = f"{count} frames at {offered} Gb/s, links {'-'.join(f'{rate:g}' for rate in rates)} Gb/s: "
        yield from extremes(name, expected, flow, "latency")
        summed = round(flow["latency_mean_ns"] * 1_000 * flow["frames_delivered"])
        yield exact(name + "sum", "ps", sum(expected), summed)
    chains: tuple[tuple[float, ...], ...] = ((40, 10), (10, 40), (25, 10, 40))
    for rates in chains:
        waits = bench.replicate(
            _TANDEM,
            _latency_and_last_wait(f"sw{len(rates) - 1}."),
            topology=_links((10, *rates), 2).replace("source", "unused"),
            **bench.milliseconds(200, warmup=1),
        )
        slowest = 1000 * 8 / min(rates)
        unloaded = sum(1000 * 8 / rate + 10 for rate in rates)
        path = "-".join(f"{rate:g}" for rate in rates)
        added = [value - unloaded for value in waits["latency"]]
        mean_wait = 0.6 * slowest / (2 * (1 - 0.6))
        name = f"Poisson, links {path} Gb/s: "
        yield random(name + "sum of mean waits", "ns", mean_wait, added, precision=bench.precision(0.015))
        if rates[-1] != min(rates):
            yield exact(name + "longest wait at the last link", "ps", 0, max(waits["last"]))


def _latency_and_last_wait(switch: str) -> Reader:
    def read(result: Result) -> dict[str, float]:
        at_last = (row["wait_max_ns"] for row in result.rows("queues") if row["port"].startswith(switch))
        return {
            "latency": only(result.rows("flows"), flow="poisson")["latency_mean_ns"],
            "last": max(at_last, default=0.0),
        }

    return read
