"""Warnings of ``penstock check`` about DCQCN loops, compared with sums over the links of a path, and runs."""

from __future__ import annotations

import re

import pytest

import penstock as ps
from penstock import _core
from penstock.validation.rdma import MARKED

MTU, HEADERS, CNP, ON_WIRE = 934, 66, 82, 20
PACKET = MTU + HEADERS

KEYS = (
    """\
[simulation]
duration = "10 ms"
"""
    + MARKED.replace("0.01", "{most}")
    + """\
at = "{at}"
"""
)
FLOWS = """
[[flows]]
name = "{source}"
from = "{source}"
to = "{to}"
priority = 3
source = {{ rdma = {{ control = "dcqcn", mtu = "934 B"{own} }} }}
"""
SAYS = re.compile(
    r'(\d+) queue pairs of DCQCN at "(.*)" are stable with a loop delay of at most ([\d.]+) (us|ns)'
    r", and it is ([\d.]+) (us|ns)"
)


def flow(source: str, to: str, own: str = "") -> str:
    return FLOWS.format(source=source, to=to, own=own)


def flows_apart(source: str, to: str, own: str = "") -> str:
    """Of four hosts, each to one of its own."""
    (a, first), (b, second) = (source[0], int(source[1])), (to[0], int(to[1]))
    return "".join(flow(f"{a}{first + n}", f"{b}{second + n}", own) for n in range(4))


def message(topology: str, *flows: str, most: float = 0.01, at: str = "dequeue") -> list[str]:
    return _core.warnings(topology + KEYS.format(most=most, at=at) + "".join(flows), "loop.toml")


def loop(warnings: list[str]) -> tuple[int, str, float, float]:
    """How many, where, the longest delay of their loop and their own, in microseconds."""
    [found] = [found for found in map(SAYS.search, warnings) if found]
    many, port, *times = found.groups()
    longest, own = (
        float(time) / (1e3 if unit == "ns" else 1.0)
        for time, unit in zip(times[::2], times[1::2], strict=True)
    )
    return int(many), port, longest, own


def there_and_back(links: list[tuple[float, float]], switch_us: float = 0.0) -> float:
    """Of a path that is given by delays in us and rates in Gb/s: a packet there and a CNP back."""
    bits = (PACKET + CNP + 2 * ON_WIRE) * 8
    of_links = sum(2 * delay + bits / (rate * 1e3) for delay, rate in links)
    return of_links + 2 * switch_us * (len(links) - 1)


def test_two_levels() -> None:
    leaf_spine = """\
[topology.leaf_spine]
leaves = 2
spines = 1
hosts_per_leaf = 4
rate = "40 Gb/s"
uplink_rate = "20 Gb/s"
delay = "{} us"
phy = "none"
"""
    many, port, longest, own = loop(message(leaf_spine.format(12), flow("h0..h3", "h4")))
    # The slow link from the leaf on, not the one to the host.
    assert (many, port) == (4, "leaf0.4->spine0")
    assert own == pytest.approx(there_and_back([(12, 40), (12, 20), (12, 20), (12, 40)]), abs=0.06)
    # From there on all is well.
    short = int(longest / own * 12)
    assert not message(leaf_spine.format(short - 1), flow("h0..h3", "h4"))
    # Those who share it need not have the same end.
    apart = flows_apart("h0", "h4")
    assert loop(message(leaf_spine.format(12), apart)) == (4, "leaf0.4->spine0", longest, own)


def test_three_levels() -> None:
    """A core has 1 us of its own, an edge and an aggregation too."""
    tree = '[topology.fat_tree]\nk = 4\nrate = "40 Gb/s"\ndelay = "9 us"\nphy = "none"\n'
    tree += '[switch]\nlatency = "1 us"\n'
    away = message(tree, flow("h4..h7", "h0"))
    many, port, _, own = loop(away)
    assert (many, port.split(".")[0], port.split("->")[1]) == (4, "edge0", "h0")
    assert own == pytest.approx(there_and_back([(9, 40)] * 6, switch_us=1), abs=0.06)
    # Neighbours have a shorter way, and a crowd goes by the mean: one of two links, four of six.
    _, _, _, mixed = loop(message(tree, flow("h4..h7", "h0"), flow("h1", "h0")))
    far, near = (there_and_back([(9, 40)] * links, switch_us=1) for links in (6, 2))
    assert mixed == pytest.approx((4 * far + near) / 5, abs=0.06)
    # As they come in, packets wait for the queue at rest first, whose mean they are marked for.
    assert loop(message(tree, flow("h4..h7", "h0"), at="enqueue"))[3] > own + 1


def test_a_long_cable_in_the_middle() -> None:
    """Links of hosts are short, and no host hears of more than one sender."""
    dumbbell = """\
[topology.dumbbell]
left = 4
right = 4
rate = "40 Gb/s"
delay = "100 ns"
phy = "none"
bottleneck_delay = "{} us"
"""
    apart = flows_apart("l0", "r0")
    many, port, longest, own = loop(message(dumbbell.format(50), apart))
    assert (many, port.split(".")[0], port.split("->")[1]) == (4, "left", "right")
    assert own == pytest.approx(there_and_back([(0.1, 40), (50, 40), (0.1, 40)]), abs=0.06)
    assert not message(dumbbell.format(int(longest / 2) - 2), apart)
    # A round trip that is only said to be short is as long as it is.
    output = flows_apart("l0", "r0", ', window = "bdp", base_rtt = "1 us"')
    assert loop(message(dumbbell.format(50), output))[3] == own


def test_who_is_held_back_elsewhere_leaves_the_others_more() -> None:
    """Max-min shares: two of four come over a link of 16 Gb/s and leave the others 24 Gb/s."""
    links = """\
[topology.explicit]
hosts = ["a0..a1", "b0..b1", "to"]
switches = ["far", "near"]
links = [
  {{ between = ["a0..a1", "far"], rate = "40 Gb/s", delay = "1 us", phy = "none" }},
  {{ between = ["far", "near"], rate = "16 Gb/s", delay = "1 us", phy = "none" }},
  {{ between = ["b0..b1", "near"], rate = "40 Gb/s", delay = "60 us", phy = "none" }},
  {{ between = ["near", "to"], rate = "{} Gb/s", delay = "1 us", phy = "none" }},
]
"""
    many, port, longest, own = loop(message(links.format(40), flow("a0..a1", "to"), flow("b0..b1", "to")))
    assert (many, port.split("->")[1]) == (2, "to")
    assert own == pytest.approx(there_and_back([(60, 40), (1, 40)]), abs=0.06)
    alone = [loop(message(links.format(rate), flow("b0..b1", "to"))) for rate in (24, 40)]
    assert alone[0][:3] == (2, port, longest)
    assert alone[1][2] != longest


def test_a_gap_that_a_nic_shares_is_longer_for_each() -> None:
    """The share of marks at rest is that of queue pairs with four times the gap."""
    star = '[topology.star]\nhosts = 5\nrate = "40 Gb/s"\ndelay = "1 us"\nphy = "none"\n'
    share = re.compile(r"are in equilibrium at ([\d.]+) %")

    def rests(own: str) -> str:
        found = share.search("\n".join(message(star, flow("h1..h4", "h0", own), most=0.0001)))
        assert found
        return found[1]

    shared = rests(', cnp_gap = "50 us", cnp_scope = "port"')
    assert shared == rests(', cnp_gap = "200 us"')
    assert float(shared) > float(rests(', cnp_gap = "50 us"'))


def test_transfers_that_begin_together_make_a_crowd() -> None:
    star = '[topology.star]\nhosts = 5\nrate = "40 Gb/s"\ndelay = "25 us"\nphy = "none"\n'
    transfers = """
[[transfers]]
name = "t"
from = "h1..h4"
to = "h0"
priority = 3
sizes = "4 MB"
frame = "1000 B"
arrivals = "once"
over = { rdma = { control = "dcqcn", mtu = "934 B" } }
"""
    many, _, _, own = loop(message(star, transfers))
    assert many == 4
    # 40 Gb/s in a round trip of 100.6 us are 503 kB.
    assert loop(message(star, transfers.replace("4 MB", "504 kB")))[0] == 4
    assert not message(star, transfers.replace("4 MB", "502 kB"))
    assert own == pytest.approx(there_and_back([(25, 40)] * 2), abs=0.06)


def test_rates_swing_where_it_is_reported() -> None:
    """Height of the queue above its mean, in a run on either side of the limit."""
    spread = {}
    for delay in (1, 60):
        star = f'[topology.star]\nhosts = 5\nrate = "40 Gb/s"\ndelay = "{delay} us"\nphy = "none"\n'
        text = star + KEYS.format(most=0.01, at="dequeue").replace('"10 ms"', '"60 ms"\nwarmup = "30 ms"')
        text += flow("h1..h4", "h0")
        assert any(SAYS.search(line) for line in _core.warnings(text, "loop.toml")) == (delay == 60)
        rows = ps.run(ps.Scenario.from_toml(text)).rows("queues")
        longest = max(rows, key=lambda row: row["queue_bytes_mean"])
        spread[delay] = longest["queue_bytes_max"] - longest["queue_bytes_mean"]
    assert spread[60] > 2 * spread[1]
