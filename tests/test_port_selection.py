"""Queue managers and buffer profiles by role, name, rate and length of ports, in fabrics with tiers."""

from __future__ import annotations

import json
from typing import Any

import pytest

import penstock as ps
from penstock import _core

LEAF_SPINE = """
[simulation]
duration = "200 us"

[topology.leaf_spine]
leaves = 4
spines = 2
hosts_per_leaf = 16
rate = "100 Gb/s"
length = "3 m"
phy = "slowest"
uplink_rate = "400 Gb/s"
uplink_length = "40 m"
"""

FAT_TREE = """
[simulation]
duration = "200 us"

[topology.fat_tree]
k = 4
rate = "100 Gb/s"
phy = "none"
uplink_length = "20 m"
core_length = "300 m"
"""

POOLS = """
[flow_control.pfc]
priorities = [3]
accounting = "ingress"

[switch.buffer.memory]
pools.in = { side = "ingress", size = "16 MB", mode = "static" }
"""


def thresholds(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_core.thresholds(text, "ports.toml"))["rows"]
    return rows


def flows(sender: str, receiver: str, *, over: str = "") -> str:
    """Greedy flows of priority 3."""
    lines = f'[[flows]]\nname = "f"\nfrom = "{sender}"\nto = "{receiver}"\npriority = 3\nsource = "greedy"\n'
    return lines + over


def kinds(rows: list[dict[str, Any]]) -> dict[tuple[str, str], set[tuple[Any, ...]]]:
    """Profile, XOFF and XON of ports, by the first letters of the switch and of its neighbour."""
    found: dict[tuple[str, str], set[tuple[Any, ...]]] = {}
    for row in rows:
        for port in row["ports"]:
            switch, peer = port.split("->")
            of = (row["profile"], row["xoff"]["bytes"], row["xon"]["bytes"])
            found.setdefault((switch[0], peer[0]), set()).add(of)
    return found


def test_xoff_and_headroom_by_role_of_64_hosts() -> None:
    profiles = """
profiles.host = { pool = "in", threshold = "50 kB", headroom = "120 kB", xon = "40 kB" }
profiles.up = { pool = "in", threshold = "200 kB", headroom = "600 kB", xon = "150 kB" }
attach = [{ profile = "host", groups = [3] }, { profile = "up", groups = [3], ports = "switches" }]
"""
    text = LEAF_SPINE + POOLS + profiles + flows("h1..h63", "h0")
    found = kinds(thresholds(text))
    up = {("up", 200_000, 150_000)}
    assert found == {("l", "h"): {("host", 50_000, 40_000)}, ("l", "s"): up, ("s", "l"): up}
    # The same by rate: names, order and words make no difference.
    by_rate = profiles.replace('ports = "switches"', 'rate = "400 Gb/s"')
    assert kinds(thresholds(LEAF_SPINE + POOLS + by_rate + flows("h1..h63", "h0"))) == found
    run = ps.run(ps.Scenario.from_toml(text))
    assert not run.verdict.failed
    # Each pause is sent when its counter reaches XOFF of the port's profile, within a frame.
    levels = {"host": 50_000, "up": 200_000}
    profile_of = {row["port"]: row["profile"] for row in run.rows("profiles")}
    pauses = [row for row in run.rows("pauses") if row["sent_by"][0] in "ls"]
    seen = {profile_of[row["sent_by"]] for row in pauses}
    assert seen == set(levels) and set(profile_of.values()) == seen
    for row in pauses:
        assert 0 <= row["occupancy"] - levels[profile_of[row["sent_by"]]] < 1_600, row


def test_each_tier_of_a_fat_tree_has_its_profile() -> None:
    profiles = """
profiles.host = { pool = "in", threshold = "30 kB", headroom = "40 kB", xon = "20 kB" }
profiles.pod = { pool = "in", threshold = "60 kB", headroom = "60 kB", xon = "50 kB" }
profiles.core = { pool = "in", threshold = "90 kB", headroom = "150 kB", xon = "80 kB" }
attach = [
    { profile = "host", groups = [3], length = "2 m" },
    { profile = "pod", groups = [3], length = "20 m" },
    { profile = "core", groups = [3], length = "300 m" },
    { profile = "host", groups = [3], length = "300 m", ports = ["core3"] },
]
"""
    text = FAT_TREE + POOLS + profiles.replace('"150 kB"', '"200 kB"') + flows("h1..h15", "h0")
    rows = thresholds(text.replace('headroom = "40 kB"', 'headroom = "200 kB"'))
    found = kinds(rows)
    assert found["e", "h"] == {("host", 30_000, 20_000)}
    assert found["e", "a"] == found["a", "e"] == {("pod", 60_000, 50_000)}
    assert found["a", "c"] == {("core", 90_000, 80_000)}
    assert found["c", "a"] == {("core", 90_000, 80_000), ("host", 30_000, 20_000)}
    named = {port for row in rows if row["profile"] == "host" for port in row["ports"] if port[0] == "c"}
    assert named == {f"core3.{n}->agg{n}.1" for n in range(4)}


@pytest.mark.parametrize(
    "select",
    [
        'ports = "up"',
        'ports = ["*->spine*"]',
        'ports = "up"\nrate = "400 Gb/s"\nlength = "40 m"',
    ],
)
def test_marks_at_the_ports_that_are_selected(select: str) -> None:
    """Step marking by role or name marks there alone; at the last link, the queue grows without marks."""
    manager = f'[[switch.queue_managers]]\n{select}\nstep = {{ threshold = "5 kB" }}\n'
    rdma = 'over = { rdma = { control = "dcqcn" } }\n'
    # Sixteen hosts of a leaf share two uplinks, which have half their rate; fifteen share the link of one.
    over = "".join(
        f'[[transfers]]\nname = "t{n}"\nfrom = "h{n}"\nto = "h{n + 16}"\nsizes = "400 kB"\n'
        'arrivals = "once"\n'
        f"priority = 3\n{rdma}"
        for n in range(16)
    )
    over += (
        '[[transfers]]\nname = "last"\nfrom = "h33..h47"\nto = "h32"\nsizes = "50 kB"\narrivals = "once"\n'
        f"priority = 3\n{rdma}"
    )
    run = ps.run(ps.Scenario.from_toml(LEAF_SPINE.replace("200 us", "2 ms") + manager + over))
    marked = {row["port"][0] + row["port"].split("->")[1][0] for row in run.rows("queues") if row["marks"]}
    assert marked == {"ls"}
    longest = {row["port"]: row["queue_bytes_max"] for row in run.rows("queues")}
    assert longest["leaf2.0->h32"] > 100_000
    managed = {row["port"] for row in run.rows("profiles") if row["manager"] == "step"}
    assert managed == {f"leaf{n}.{16 + m}->spine{m}" for n in range(4) for m in range(2)}


def test_entries_that_claim_one_port_name_each_other() -> None:
    entry = "[[switch.queue_managers]]\n{}\nred = {{}}\n"
    two = entry.format('ports = "up"') + entry.format('rate = "400 Gb/s"')
    text = LEAF_SPINE + two + flows("h1", "h17")
    with pytest.raises(ps.ScenarioError, match=r'red and red of entry 1 both claim port "leaf0\.16->spine0"'):
        ps.Scenario.from_toml(text).check()
