"""The DSCP of frames in captures: that of the flow, behind a change the new one."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import penstock as ps
from penstock import _core
from penstock.interchange.captures import write_capture
from penstock.interchange.code_points import CodePoints
from penstock.validation.bench import flow_text

SCENARIO = """
[simulation]
duration = "30 us"
[topology.leaf_spine]
leaves = 2
spines = 1
hosts_per_leaf = 2
rate = "100 Gb/s"
length = "10 m"
phy = "none"
[switch]
queues = "per_priority"
[switch.maps]
dscp_to_tc = {{ 26 = 3, 34 = {of_34}, 48 = 6, other = 0 }}
[switches.leaf0.maps]
remap = [{{ to = ["spine0"], dscp = {{ 26 = 34 }} }}]
{flows}
[[transfers]]
name = "list"
dscp = 48
from = "h1"
to = "h3"
arrivals = "once"
sizes = "10 kB"
[[probes]]
what = "frames"
which = ["h0.0->leaf0", "h1.0->leaf0", "spine0.1->leaf1"]
"""
SLOW = 'source = { constant = { rate = "1 Gb/s" } }'
FLOWS = flow_text("marked", "h0..h1", "h2", "dscp = 26", SLOW) + flow_text(
    "plain", "h0", "h3", "priority = 6", SLOW
)


def captured(tmp_path: Path, text: str) -> tuple[dict[tuple[str, int], set[int]], list[str]]:
    result = ps.run(ps.Scenario.from_toml(text))
    ports, remarks = write_capture(result, tmp_path / "out.pcapng")
    assert ports == 3
    seen = defaultdict(set)
    for frame in map(json.loads, _core.Capture(str(tmp_path / "out.pcapng"))):
        seen[frame["port"], frame["vlan"]["priority"]].add(frame["contents"]["ipv4"]["dscp"])
    return dict(seen), remarks


def test_flows_transfers_and_changes(tmp_path: Path) -> None:
    seen, remarks = captured(tmp_path, SCENARIO.format(flows=FLOWS, of_34=4))
    assert seen == {
        ("h0.0->leaf0", 3): {26},
        ("h0.0->leaf0", 6): {0},
        ("h1.0->leaf0", 3): {26},
        ("h1.0->leaf0", 6): {48},
        ("spine0.1->leaf1", 4): {34},
        ("spine0.1->leaf1", 6): {0, 48},
    }
    assert not remarks


def test_a_change_within_a_class_is_reported(tmp_path: Path) -> None:
    seen, remarks = captured(tmp_path, SCENARIO.format(flows=FLOWS, of_34=3))
    assert seen["spine0.1->leaf1", 3] == {26}
    assert len(remarks) == 2
    assert "may have 26 or 34; the capture has 26" in remarks[0]


def test_default_classes_and_circles() -> None:
    remap = [{"to": ["*"], "dscp": {"8": 16, "16": 8}}]
    flows = [{"name": "f[a]", "dscp": 8}, {"name": "g"}]
    points = CodePoints.of({"switch": {"maps": {"remap": remap}}, "flows": flows})
    assert [points.at("f[a]", priority) for priority in (1, 2, 3)] == [[8], [16], []]
    assert points.at("g", 0) == []


TRIMMED = """
[simulation]
duration = "40 us"
[topology.star]
hosts = 5
rate = "100 Gb/s"
length = "10 m"
phy = "none"
[switch.buffer]
queue = "20 kB"
[switch.trimming]
size = "256 B"
dscp = 50
[[probes]]
what = "frames"
which = "sw.4->h4"
[[transfers]]
name = "incast"
from = "h0..h3"
to = "h4"
sizes = "50 kB"
arrivals = "once"
priority = 3
frame = "4200 B"
over = { uet = { paths = "oblivious", trimming = true } }
"""


def test_trimmed_frames_have_their_dscp_and_entropy_is_the_source_port(tmp_path: Path) -> None:
    result = ps.run(ps.Scenario.from_toml(TRIMMED))
    write_capture(result, tmp_path / "out.pcapng")
    lengths: dict[int, set[int]] = defaultdict(set)
    ports = set()
    for frame in map(json.loads, _core.Capture(str(tmp_path / "out.pcapng"))):
        header = frame["contents"].get("ipv4")
        if frame["direction"] == "out" and header:
            lengths[header["dscp"]].add(frame["bytes"])
            ports.add(header["source_port"])
    # Flows without a DSCP of their own have 0.
    assert set(lengths) == {0, 50}
    assert max(lengths[50]) <= 256 < max(lengths[0])
    # Four senders with 64 values each.
    assert len(ports) > 30
