"""Receivers that tolerate reordering: the cost of spraying, losses, and the rule by an independent model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import penstock as ps

CONTROLS = (
    "none",
    "dcqcn",
    "dctcp",
    "timely",
    "swift",
    "hpcc",
    "hpcc_pint",
    "powertcp",
    "theta_powertcp",
)
CHOICES = ('"spray"', '"round_robin"', '"least_queued"', '{ flowlet = { gap = "200 ns" } }')

FABRIC = """\
[simulation]
duration = "4 ms"
[topology.leaf_spine]
leaves = 2
spines = {spines}
hosts_per_leaf = 4
rate = "400 Gb/s"
uplink_rate = "{uplink}"
length = "20 m"
phy = "none"
[flow_control.pfc]
priorities = [3]
[switch]
path_choice = {choice}
{more}
"""
TRANSFER = """\
[[transfers]]
name = "t{n}"
from = "h{n}"
to = "h{to}"
sizes = "4 MB"
arrivals = "once"
priority = 3
frame = "4200 B"
over = {{ rdma = {{ control = "{control}", recovery = {recovery}{keys} }} }}
"""
RANDOM_LOSS = """
[[faults]]
link = ["leaf1", "h4"]
frame_loss = 0.01
"""


def sprayed(
    recovery: str,
    *,
    fabric: tuple[str, int, str] = ('"spray"', 4, "400 Gb/s"),
    control: str = "none",
    more: str = "",
    keys: str = "",
    transfers: int = 4,
    threads: int = 1,
) -> ps.Result:
    choice, spines, uplink = fabric
    text = FABRIC.format(spines=spines, uplink=uplink, choice=choice, more=more)
    for n in range(transfers):
        text += TRANSFER.format(n=n, to=n + 4, control=control, recovery=recovery, keys=keys)
    return ps.run(ps.Scenario.from_toml(text), threads=threads)


def last(result: ps.Result) -> float:
    return max(row["acknowledged_ns"] for row in result.rows("transfers"))


def again(result: ps.Result) -> int:
    return sum(row["packets_sent_again"] for row in result.rows("queue_pairs"))


def test_spraying_takes_the_time_of_one_path() -> None:
    """Selective repeat takes half as long again, and sends a third of all packets twice."""
    alone = sprayed('"selective"', fabric=('"hash"', 1, "1.6 Tb/s"))
    tolerant, selective = sprayed('"reordering"'), sprayed('"selective"')
    assert last(tolerant) <= 1.05 * last(alone)
    assert (again(tolerant), again(alone)) == (0, 0)
    assert last(selective) > 1.4 * last(alone)
    for row in tolerant.rows("queue_pairs"):
        assert row["packets_out_of_order"] > row["reorder_distance_max"] >= row["reorder_buffer_max"] > 0
        assert (row["packets_duplicate"], row["naks_sent"], row["timeouts"]) == (0, 0, 0)
    for row in selective.rows("queue_pairs"):
        assert row["packets_duplicate"] == row["packets_sent_again"] > 0


@pytest.mark.parametrize("control", CONTROLS)
def test_no_control_sends_anything_again_without_losses(control: str) -> None:
    for choice in CHOICES:
        result = sprayed('"reordering"', fabric=(choice, 4, "400 Gb/s"), control=control)
        for row in result.rows("queue_pairs"):
            assert (row["messages"], row["packets_sent_again"], row["packets_duplicate"]) == (1, 0, 0)
            assert row["packets_delivered"] == row["packets_sent"]


@pytest.mark.parametrize("verb", ["send", "write", "read"])
@pytest.mark.parametrize("preset", ["roce", "cx-ar", "falcon"])
def test_losses_are_repaired_while_spraying(verb: str, preset: str) -> None:
    """And whatever threads run it."""
    recovery = f'{{ reordering = {{ preset = "{preset}" }} }}'
    keys = f', verb = "{verb}", timeout = "300 us", retries = 255'
    tables = []
    for threads in (1, 2):
        result = sprayed(recovery, more=RANDOM_LOSS, keys=keys, transfers=2, threads=threads)
        tables.append({name: result.rows(name) for name in ("queue_pairs", "transfers", "ports")})
        hurt, unhurt = result.rows("queue_pairs")
        for row in (hurt, unhurt):
            assert (row["messages"], row["application_bytes"]) == (1, 4_000_000)
            assert row["packets_delivered"] == row["packets_sent"] - row["packets_sent_again"]
        assert hurt["packets_sent_again"] > 0
        assert (unhurt["packets_sent_again"], unhurt["packets_duplicate"]) == (0, 0)
        assert (hurt["naks_sent"] > 0) == (preset != "cx-ar" or verb == "read")
    assert tables[0] == tables[1]


def named(arrivals: list[tuple[int, int]], packets: int, distance: int, time: int) -> set[int]:
    """The packets that count as lost at any time: each one by itself, from the arrivals of all."""
    first: dict[int, int] = {}
    for at, packet in arrivals:
        first.setdefault(packet, at)
    lost = set()
    for packet in range(packets):
        later = [(at, other) for other, at in first.items() if other > packet]
        far = [at for at, other in later if other >= packet + distance]
        if far:
            counts = max(min(at for at, _ in later) + time, min(far))
            if counts < first.get(packet, counts + 1):
                lost.add(packet)
    return lost


@pytest.mark.parametrize(("distance", "time_us"), [(1, 0), (8, 0), (20, 0), (1, 2), (8, 2), (3, 20)])
@pytest.mark.parametrize("loss", [False, True])
def test_a_model_names_the_same_packets(distance: int, time_us: int, *, loss: bool) -> None:
    """Those that are sent again are those that the rule names, from the arrivals at the receiver."""
    recovery = f'{{ reordering = {{ distance = {distance}, time = "{time_us} us" }} }}'
    log = '\n[[probes]]\nwhat = "frames"\nwhich = ["h4.0->leaf1", "h0.0->leaf0"]\n'
    result = sprayed(recovery, more=(RANDOM_LOSS if loss else "") + log, keys=', timeout = "300 us"')
    rows = [row for row in result.rows("frames") if row["source"] == "h0" and row["kind"] == "data"]

    def numbers(event: str) -> list[tuple[int, int]]:
        return [(row["time_ps"], row["word"] & 0xFFFFFF) for row in rows if row["event"] == event]

    sent: Counter[int] = Counter(packet for _, packet in numbers("sent"))
    pair: dict[str, Any] = result.rows("queue_pairs")[0]
    assert sum(sent.values()) == pair["packets_sent"]
    expected = named(numbers("arrived"), len(sent), distance, time_us * 1_000_000)
    resent = {packet for packet, times in sent.items() if times > 1}
    arrived: Counter[int] = Counter(packet for _, packet in numbers("arrived"))
    # A packet that arrives while its NAK is under way may be acknowledged before it is sent again.
    assert resent <= expected
    overtaken = {packet for packet in expected - resent if arrived[packet] == 1}
    assert overtaken == expected - resent
    if not loss:
        assert pair["packets_duplicate"] == pair["packets_sent_again"]
    if (distance, time_us) == (3, 20) and not loss:
        assert not expected
    if (distance, time_us) == (1, 0) or loss:
        assert resent
