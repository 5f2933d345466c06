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
phy = "none"
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
ack_priority = 6
control = {control}
"""
NSCC = '"nscc"'
EQDS = '"eqds"'
RCCC = '"rccc"'
BOTH = "{ rccc = { nscc = {} } }"


class Run(NamedTuple):
    """Result of a matrix."""

    tail_us: float
    fastest_us: float
    acks: int
    retransmitted: int
    grants: int


def matrix(pairs: list[tuple[int, int]], control: str = NSCC, size: int = 2_000_000, k: int = 4) -> Run:
    text = FABRIC.format(k=k, duration="4 ms")
    if control in (RCCC, BOTH):
        # Credits rule the last link: a mark there says nothing of the fabric.
        text = text.replace("classes = [0]", 'classes = [0]\nports = "switches"')
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


def test_trimming_follows_from_the_switches() -> None:
    """What the key says is what the switches do; another value is a warning, and another trajectory."""
    text = FABRIC.format(k=4, duration="1 ms") + TRANSFER.format(
        n=0, source=0, to=13, size=500_000, control=NSCC
    )
    output = {value: text + f"trimming = {value}\n" for value in ("true", "false")}
    runs = {name: ps.run(ps.Scenario.from_toml(one)) for name, one in {"": text, **output}.items()}
    assert runs[""].fingerprint == runs["true"].fingerprint
    assert not [line for line in _core.warnings(output["true"], "t.toml") if "trimming" in line]
    assert any(
        "trimming = false, and all switches trim" in line
        for line in _core.warnings(output["false"], "t.toml")
    )
    start, end = text.index("[switch.trimming]"), text.index("[[switch.queue")
    drops = text[:start] + text[end:]
    assert any(
        "trimming = true, and no switch trims" in line
        for line in _core.warnings(drops + "trimming = true\n", "t.toml")
    )


@pytest.mark.parametrize(("packets", "tail_us", "acks"), [(10, 17.0107, 4), (100, 46.8907, 26)])
def test_short_messages_are_those_of_htsim(packets: int, tail_us: float, acks: int) -> None:
    short = matrix([(0, 13)], size=packets * 4086)
    assert short.tail_us == pytest.approx(tail_us, abs=0.001)
    assert short.acks == acks


def test_credits_of_one_flow() -> None:
    """177.37 us with credits, alone or beside NSCC; short messages as with a window."""
    for control in (RCCC, BOTH):
        one = matrix([(0, 13)], control)
        assert one.tail_us == pytest.approx(177.37, rel=0.003)
        assert one.retransmitted == 0
        # The first credit is used, the rest granted 16 KiB at a time.
        assert one.grants >= (490 * 4150 - 262926) // 16384
        assert matrix([(0, 13)], control, size=100 * 4086).tail_us == pytest.approx(46.8907, abs=0.001)


@pytest.mark.parametrize(
    ("control", "tail_us", "fastest", "retransmitted"),
    [
        (NSCC, 2478.5, (0.46, 0.57), 811),
        (RCCC, 2464.4, (0.93, 1.0), 762),
        (BOTH, 2462.9, (0.93, 1.0), 758),
    ],
)
def test_incast_ends_as_with_htsim(
    control: str, tail_us: float, fastest: tuple[float, float], retransmitted: int
) -> None:
    """15 to one: tail within 3 %, retransmissions 15 %; credits are fair, windows are not (0.51 there)."""
    incast = matrix([(n, 1) for n in range(16) if n != 1], control)
    floor = 15 * 490 * 4150 * 8 / 100e9 * 1e6
    assert incast.tail_us >= floor
    assert incast.tail_us == pytest.approx(tail_us, rel=0.03)
    least, most = fastest
    assert least <= incast.fastest_us / incast.tail_us <= most
    assert incast.retransmitted == pytest.approx(retransmitted, rel=0.15)
    acks = {NSCC: 7131, RCCC: 2586, BOTH: 2576}
    assert incast.acks == pytest.approx(acks[control], rel=0.05)


@pytest.mark.parametrize(
    ("control", "tail_us", "fastest_us"),
    [(NSCC, 1638.1, 208.0), (RCCC, 1637.8, 235.1), (BOTH, 1634.1, 200.1)],
)
def test_outcasts_beside_an_incast(control: str, tail_us: float, fastest_us: float) -> None:
    """Three to one, two of them busy with nine others each, which ask for a tenth each; 2629 ACKs."""
    pairs = [(1, 0), (2, 0), (3, 0), *((2, 4 + n) for n in range(9)), *((3, 13 + n) for n in range(9))]
    run = matrix(pairs, control, k=8)
    assert run.tail_us == pytest.approx(tail_us, rel=0.001)
    assert run.fastest_us == pytest.approx(fastest_us, rel=0.015)
    assert run.acks == pytest.approx(2629, rel=0.01)
    assert run.retransmitted == 0


@pytest.mark.parametrize("control", [RCCC, BOTH, EQDS])
def test_a_large_incast_takes_as_long_as_its_grants(control: str) -> None:
    """127 to one, each with less than its first credit: all leave at once, and most packets are trimmed.

    The receiver grants 0.99 of its link from then on. Headers of trimmed packets and requests for credit take
    their time on the link beside.
    """
    text = FABRIC.format(k=8, duration="4 ms").replace("classes = [0]", 'classes = [0]\nports = "switches"')
    for n, source in enumerate(host for host in range(128) if host != 1):
        text += TRANSFER.format(n=n, source=source, to=1, size=100_000, control=control)
    result = ps.run(ps.Scenario.from_toml(text))
    rows = result.rows("delivery_contexts")
    trimmed, again, requests, timeouts = (
        sum(row[name] or 0 for row in rows)
        for name in ("packets_trimmed", "packets_retransmitted", "credit_requests", "timeouts")
    )
    # Three full queues and their headers delay a few NACKs beyond the timeout of 99 us.
    assert again == trimmed
    assert timeouts <= 5
    assert requests <= 127, "one each, as turns come later than a timeout"
    byte_us, packets = 8 / 100e3, -(-100_000 // 4086)
    floor = 127 * (100_000 + packets * 64) * byte_us
    tail = max(row["acknowledged_ns"] / 1e3 for row in result.rows("transfers"))
    assert floor <= tail <= floor / 0.99 + (trimmed + requests) * 64 * byte_us + 5 * 14.02272


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


FLOOR_US = 4150 * 8 / 100e9 * 1e6
"""Time of a full packet at 100 Gb/s."""


def test_eqds_grants_packet_by_packet() -> None:
    """One flow at the rate of its pulls; an incast within 2 % of the rate of its link, and fair."""
    one = matrix([(0, 13)], EQDS)
    assert one.tail_us == pytest.approx(490 * FLOOR_US + 14.02, rel=0.01)
    assert one.retransmitted == 0
    # Packets beyond the first credit have grants of a packet of 4 KiB, or less.
    assert one.grants >= (490 * 4150 - 262926) // 4096
    incast = matrix([(n, 1) for n in range(16) if n != 1], EQDS)
    floor = 15 * 490 * FLOOR_US
    assert floor <= incast.tail_us <= 1.02 * floor
    assert incast.fastest_us >= 0.93 * incast.tail_us


def test_eqds_grants_one_message_after_the_other() -> None:
    """First in, first out: the k-th message of an incast ends after k times its packets at the link rate.

    The first credit of all is spent at once: part of the later messages arrives before the first ends.
    """
    text = FABRIC.format(k=4, duration="4 ms")
    control = '{ eqds = { pull_order = "fifo" } }'
    for n, source in enumerate(host for host in range(16) if host != 1):
        text += TRANSFER.format(n=n, source=source, to=1, size=2_000_000, control=control)
    ends = sorted(
        row["acknowledged_ns"] / 1e3 for row in ps.run(ps.Scenario.from_toml(text)).rows("transfers")
    )
    message = 490 * FLOOR_US / 0.99
    for place, end in enumerate(ends, 1):
        assert place * message <= end <= (place + 0.4) * message


@pytest.mark.parametrize("window", [8, 30, 100])
def test_ndp_sends_a_window_and_then_a_packet_for_each_that_arrives(window: int) -> None:
    """A window below a bandwidth-delay product gives a window for each round trip, one above it the link."""
    control = f"{{ ndp = {{ window = {window} }} }}"
    one = matrix([(0, 13)], control)
    round_trip = 14.02272
    expected = round_trip + 490 * max(round_trip / window, FLOOR_US)
    assert one.tail_us == pytest.approx(expected, rel=0.015)
    assert (one.acks, one.retransmitted) == (490, 0)
    # The last packets find nothing left to pull, and are not asked for more.
    assert 490 - window <= one.grants <= 490


def test_ndp_pulls_an_incast_at_the_rate_of_the_link() -> None:
    """15 to one: first windows are trimmed, and each header pulls its packet again."""
    incast = matrix([(n, 1) for n in range(16) if n != 1], '"ndp"')
    floor = 15 * 490 * FLOOR_US
    assert floor <= incast.tail_us <= 1.01 * floor
    assert incast.fastest_us >= 0.93 * incast.tail_us
    # 15 windows of 30 packets, of which the queue holds 43 and the link takes some.
    assert 300 <= incast.retransmitted <= 15 * 30
    assert incast.acks == 15 * 490


OVER_PLANES = """\
[simulation]
duration = "4 ms"
[topology.rails]
segments = 2
servers_per_segment = 4
rails = 1
spines = 4
planes = {planes}
rate = "100 Gb/s"
length = "10 m"
phy = "none"
[[transfers]]
name = "t"
from = {source}
to = {to}
sizes = "2 MB"
arrivals = "once"
frame = "4300 B"
over = {{ uet = {{ paths = "{paths}", control = "{control}" }} }}
"""


@pytest.mark.parametrize("paths", ["reps", "mixed", "bitmap", "oblivious", "random_spray"])
@pytest.mark.parametrize("control", ["nscc", "rccc"])
@pytest.mark.parametrize("planes", [2, 3, 4])
def test_reordering_between_planes_is_no_loss(planes: int, control: str, paths: str) -> None:
    """Four to one, and a shift of all: queues of planes differ by more than windows, and nothing is lost.

    Within a plane, a packet over another spine may still overtake some that NSCC then takes for lost.
    """
    incast = ('["h4.0", "h5.0", "h6.0", "h7.0"]', '"h0.0"')
    most_over_spines = 0.003 if control == "nscc" else 0
    for source, to, most in (*incast, 0), ('"all"', "{ permutation = { shift = 4 } }", most_over_spines):
        text = OVER_PLANES.format(planes=planes, source=source, to=to, paths=paths, control=control)
        result = ps.run(ps.Scenario.from_toml(text))
        rows = result.rows("delivery_contexts")
        assert not result.rows("drops")
        assert all(row["messages_delivered"] == 1 for row in rows)
        assert max(row["reorder_distance_max"] for row in rows) > 1
        again = sum(row["packets_retransmitted"] for row in rows)
        assert again <= most * sum(row["packets_sent"] for row in rows)


@pytest.mark.parametrize("control", ["rccc", "eqds"])
def test_grants_take_the_time_of_all_planes(control: str) -> None:
    """Four to one over planes of 100 Gb/s: packets of 4,202 B and 20 B around them, at 0.99 of all links."""
    incast = ('["h4.0", "h5.0", "h6.0", "h7.0"]', '"h0.0"')
    for planes in (1, 2, 4):
        text = OVER_PLANES.format(
            planes=planes, source=incast[0], to=incast[1], paths="oblivious", control=control
        )
        result = ps.run(ps.Scenario.from_toml(text))
        floor = 4 * 2_000_000 / 4096 * (4202 + 20) * 8 / 100 / planes
        last = max(row["completion_ns"] for row in result.rows("transfers"))
        assert floor <= last <= 1.05 * floor, (planes, last / floor)


CAPTURED = """\
[simulation]
duration = "1 ms"
[topology.star]
hosts = 3
rate = "100 Gb/s"
length = "10 m"
phy = "none"
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
    # Each frame is logged at either end of its link.
    frames = [frame for frame in frames if frame["direction"] == "out"]
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
