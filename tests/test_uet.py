"""Ultra Ethernet Transport: matrices of uet-htsim beside its outputs, and captures of its headers."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import penstock as ps
from penstock import _core
from penstock.interchange.captures import write_capture

if TYPE_CHECKING:
    from pathlib import Path

FABRIC = """\
[simulation]
duration = "{duration}"
[topology.fat_tree]
k = {k}
rate = "100 Gb/s"
delay = "1 us"
overhead = "0 B"
[switch]
path_choice = "spray"
[switch.trimming]
preset = "htsim"
threshold = "178450 B"
dscp = 48
[[switch.queue_managers]]
classes = [0]
[switch.queue_managers.red]
weight = 1
min = "37350 B"
max = "145250 B"
max_probability = 1.0
gentle = false
action = "mark_only"
spacing = "geometric"
at = "dequeue"
"""
"""Hops of 1 us, queues of a bandwidth-delay product, trimming, marks from 0.2 to 0.8 of it (uet-htsim)."""
TRANSFER = """\
[[transfers]]
name = "t{n}"
from = "h{source}"
to = "h{to}"
sizes = "{size} B"
arrivals = "once"
frame = "4150 B"
[transfers.over.uet]
preset = "htsim"
payload = "4086 B"
base_rtt = "14022720 ps"
trimming = true
ack_priority = 6
control = {control}
"""
NSCC = '"nscc"'
RCCC = '"rccc"'
BOTH = "{ rccc = { nscc = {} } }"


class Run(NamedTuple):
    """What a matrix came to."""

    tail_us: float
    fastest_us: float
    acks: int
    retransmitted: int
    grants: int


def matrix(pairs: list[tuple[int, int]], control: str = NSCC, size: int = 2_000_000, k: int = 4) -> Run:
    text = FABRIC.format(k=k, duration="4 ms")
    for n, (source, to) in enumerate(pairs):
        text += TRANSFER.format(n=n, source=source, to=to, size=size, control=control)
    result = ps.run(ps.Scenario.from_toml(text))
    ends = [row["acknowledged_ns"] / 1e3 for row in result.rows("transfers")]
    rows = result.rows("delivery_contexts")

    def total(column: str) -> int:
        return sum(row[column] for row in rows)

    assert total("messages") == len(pairs)
    counts = [total(name) for name in ("acks_sent", "packets_retransmitted", "grants_sent")]
    return Run(max(ends), min(ends), *counts)


def test_one_flow_is_that_of_htsim() -> None:
    """176.20 us and 124 acknowledgements; both ways 176.80 us and 248."""
    one = matrix([(0, 13)])
    assert one.tail_us == pytest.approx(176.20, abs=0.01)
    assert (one.acks, one.retransmitted) == (124, 0)
    both = matrix([(0, 13), (13, 0)])
    assert both.tail_us == pytest.approx(176.80, abs=0.01)
    assert (both.acks, both.retransmitted) == (248, 0)


@pytest.mark.parametrize(("packets", "tail_us", "acks"), [(10, 17.0107, 4), (100, 46.8907, 26)])
def test_short_messages_are_those_of_htsim(packets: int, tail_us: float, acks: int) -> None:
    short = matrix([(0, 13)], size=packets * 4086)
    assert short.tail_us == pytest.approx(tail_us, abs=0.001)
    assert short.acks == acks


def test_credits_of_one_flow() -> None:
    """177.37 us with credits, alone or beside NSCC; bands of 2 %."""
    for control in (RCCC, BOTH):
        one = matrix([(0, 13)], control)
        assert one.tail_us == pytest.approx(177.37, rel=0.02)
        assert one.retransmitted == 0
        # The first credit is used, the rest granted 16 KiB at a time.
        assert one.grants >= (490 * 4150 - 262926) // 16384


@pytest.mark.parametrize(
    ("control", "tail_us", "fastest", "retransmitted"),
    [
        (NSCC, 2478.5, (0.4, 0.9), (400, 1600)),
        (RCCC, 2464.4, (0.9, 1.0), (300, 1600)),
        (BOTH, 2462.9, (0.9, 1.0), (300, 1600)),
    ],
)
def test_incast_ends_as_with_htsim(
    control: str, tail_us: float, fastest: tuple[float, float], retransmitted: tuple[int, int]
) -> None:
    """15 senders to one: the tail within 3 %; credits are fair, windows are not (0.51 there)."""
    incast = matrix([(n, 1) for n in range(16) if n != 1], control)
    floor = 15 * 490 * 4150 * 8 / 100e9 * 1e6
    assert incast.tail_us >= floor
    assert incast.tail_us == pytest.approx(tail_us, rel=0.03)
    least, most = fastest
    assert least <= incast.fastest_us / incast.tail_us <= most
    least, most = retransmitted
    assert least <= incast.retransmitted <= most


def test_permutation_of_sixteen() -> None:
    """194.0 us; the mean of four permutations within 5 %, without a retransmission."""
    tails = []
    for seed in range(4):
        hosts = list(range(16))
        order = random.Random(seed)
        while any(place == host for place, host in enumerate(hosts)):
            order.shuffle(hosts)
        run = matrix(list(enumerate(hosts)))
        assert run.retransmitted == 0
        tails.append(run.tail_us)
    assert sum(tails) / len(tails) == pytest.approx(194.0, rel=0.05)


CAPTURED = """\
[simulation]
duration = "1 ms"
[topology.star]
hosts = 3
rate = "100 Gb/s"
length = "10 m"
[[transfers]]
name = "t"
from = ["h0", "h1"]
to = "h2"
sizes = "20 kB"
arrivals = "once"
frame = "1522 B"
over = { uet = { control = "none" } }
[[probes]]
what = "frames"
which = ["sw.2->h2", "h2.0->sw"]
"""


def test_a_capture_has_headers_of_the_packet_delivery_sublayer(tmp_path: Path) -> None:
    result = ps.run(ps.Scenario.from_toml(CAPTURED))
    out = tmp_path / "uet.pcapng"
    write_capture(result, out)
    frames = [json.loads(text) for text in _core.Capture(str(out))]
    assert not [frame for frame in frames if "error" in frame]
    packets = [frame["contents"]["ipv4"] for frame in frames]
    assert {packet["destination_port"] for packet in packets} == {4793}
    headers: list[dict[str, Any]] = [packet["uet"]["header"] for packet in packets]
    requests = [header["request"]["psn"] for header in headers if "request" in header]
    assert sorted(requests) == sorted([*range(1, 21)] * 2)
    acks = [header["ack"]["cumulative"] for header in headers if "ack" in header]
    assert acks.count(20) == 2
    assert any(frame["what"].startswith("UET RUD request to context") for frame in frames)
    # Payload of 1024 B, SES 44, PDS 12, UDP 8, IPv4 20, Ethernet 14; a capture has no FCS.
    assert max(frame["bytes"] for frame in frames) == 1122
