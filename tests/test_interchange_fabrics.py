"""Fabrics and flows of simulators: those of htsim, SimAI, PowerTCP, ConWeave, ns3-rdma and ASTRA-sim, and
servers of NCCL."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from conftest import Command
from penstock import running
from penstock.errors import InputError
from penstock.interchange.formats import format_of
from penstock.interchange.join import Joined, join
from penstock.interchange.piece import Document, Piece
from penstock.library import Source


def piece(text: str, form: str | None = None, **message: str) -> Piece:
    document = Document("file", text, **message)
    found = format_of(document)
    assert form is None or found.name == form
    return found.read(document)


def joined(*texts: str, like: str | None = None, **message: str) -> Joined:
    documents = [Document(f"file{number}", text, **message) for number, text in enumerate(texts)]
    read = [(one, format_of(one).read(one)) for one in documents]
    return join(read, Path("out.toml"), like=None if like is None else Source(like, "like.toml"))


def built(text: str, **message: str) -> dict[str, Any]:
    """The fabric as the engine builds it."""
    return running.run_source(Source(joined(text, **message).text, "out.toml")).topology


def degrees(topology: dict[str, Any]) -> Counter[str]:
    return Counter(end for link in topology["links"] for end in (link["a"], link["b"]))


TWO_TIERS = """# a comment
Nodes 8
Tiers 2
podsize 8

Tier 0
Oversubscribed 2
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 300

Tier 1
Downlink_speed_Gbps 400
Radix_Down 2
Downlink_Latency_ns 500
Switch_Latency_ns 300"""
THREE_TIERS = """Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Queue_Up 100000
Queue_Down 200000
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Bundle 1
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
Bundle 2
"""


def test_two_tiers_of_htsim() -> None:
    found = piece(TWO_TIERS, "htsim-topology")
    assert found.keys["switch"] == {"latency": "300 ns"}
    topology = built(TWO_TIERS)
    links = Counter(
        (link["a"][:3], link["b"][:3], link["rate_bps"], link["delay_ns"]) for link in topology["links"]
    )
    assert links == {("h0", "tor", 10**11, 1000.0): 1} | {
        (f"h{one}", "tor", 10**11, 1000.0): 1 for one in range(1, 8)
    } | {("tor", "spi", 4 * 10**11, 500.0): 4}


def test_three_tiers_of_htsim_with_bundles() -> None:
    """Aggregation j of a pod has links with the j-th group of cores, two in parallel with each of two."""
    found = piece(THREE_TIERS, "htsim-topology")
    assert [remark.partition(": ")[0] for remark in found.remarks] == ["file:8", "file:9"]
    topology = built(THREE_TIERS)
    pairs = Counter((link["a"], link["b"]) for link in topology["links"])
    for pod, (first, second) in enumerate((("agg0", "agg1"), ("agg2", "agg3"))):
        for core in range(4):
            assert pairs[(first, f"core{core}")] == (2 if core < 2 else 0), pod
            assert pairs[(second, f"core{core}")] == (2 if core >= 2 else 0), pod
    assert {degrees(topology)[f"core{core}"] for core in range(4)} == {4}
    assert {link["rate_bps"] for link in topology["links"] if link["b"].startswith("core")} == {10**11}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("Tiers 2", "Tiers 4"), "file:3: Tiers is 4; expected 2 or 3"),
        (
            ("Radix_Down 4", "Radix_Down 3"),
            "file:9: hosts of a pod by Radix_Down of tier 0: 8 cannot be divided by 3",
        ),
        (("Radix_Down 2", "Radix_Down 3"), "file:16: Radix_Down of tier 1 is 3; the tier below has 2 links"),
        (("Radix_Up 2", ""), "tier 0 has no Radix_up"),
        (("Tier 1", "Tier 0"), "file:14: Tier 0 appears twice"),
        (("Radix_Up 2", "Radix_Sideways 2"), "file:10: Radix_Sideways is not a known key"),
        (("Radix_Up 2", "Radix_Up two"), "file:10: Radix_Up is two; expected a whole number"),
        (("Radix_Up 2", "Radix_Up 2\nRadix_Up 2"), "file:11: Radix_Up appears twice"),
        (("Downlink_speed_Gbps 400", "Downlink_speed_Gbps 0"), "file:15: the rate is 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tiers_that_do_not_fit(change: tuple[str, str], expected: str) -> None:
    with pytest.raises(InputError) as reported:
        piece(TWO_TIERS.replace(*change))
    assert expected in str(reported.value)


MATRIX = """Nodes 8
Connections 3
Triggers 0
1->0 id 7 msg start 3 size 1000
1->0 id 7 msg start 5 size 2000
2->0 start 3.000000 size 0
"""


def test_messages_of_one_connection_and_one_without_an_end() -> None:
    found = joined(MATRIX, TWO_TIERS, time_unit="us")
    assert found.transfers.splitlines() == [
        "time_ps,from,to,bytes",
        "# file0:4: id 7, msg",
        "0,h1,h0,1000",
        "# file0:5: id 7, msg",
        "2000000,h1,h0,2000",
    ]
    keys = tomllib.loads(found.text)
    assert keys["flows"] == [{"name": "file0-6", "from": "h2", "to": "h0", "source": "greedy"}]
    for output in (
        "# file0:1: Nodes 8",
        "# file1:9: tier 0: radix_down 4",
        "# Note: 1 transfers have no end",
    ):
        assert output in found.text
    alone = joined("Nodes 8\n2->0 start 3 size 0\n", TWO_TIERS)
    assert "transfers" not in tomllib.loads(alone.text)
    assert not alone.transfers


SIMAI = """7 2 2 1 8 H100
4 5 6
0 4 2880Gbps 0.000025ms 0
1 4 2880Gbps 0.000025ms 0
2 5 2880Gbps 0.000025ms 0
3 5 2880Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 6 400Gbps 0.0005ms 0
2 6 400Gbps 0.0005ms 0
3 6 400Gbps 0.0005ms 0.001
"""


def test_a_fabric_of_simai() -> None:
    """NVSwitches are switches beside those that are counted; a link above 1.6 Tb/s is two."""
    found = piece(SIMAI, "simai-topology")
    assert found.keys["topology"]["explicit"]["switches"] == ["s4", "s5", "s6"]
    assert found.keys["faults"] == [{"link": ["h3", "s6"], "index": 0, "frame_loss": 0.001}]
    topology = built(SIMAI)
    rates = Counter(link["rate_bps"] for link in topology["links"])
    assert rates == {1_440 * 10**9: 8, 400 * 10**9: 4}
    assert any("faster than 1.6 Tb/s" in remark for remark in found.remarks)


def test_a_fabric_of_powertcp() -> None:
    text = (
        "6 2 1 5 25 100\n4 5\n0 4 25Gbps 1us 0\n1 4 25Gbps 1us 0\n2 4 25Gbps 1us 0\n3 4 25Gbps 1us "
        "0\n4 5 100Gbps 1us 0\n"
    )
    found = piece(text, "powertcp-topology")
    assert found.keys["topology"]["explicit"]["hosts"] == ["h0", "h1", "h2", "h3"]
    assert "file:1: not read: 1 switches of hosts and capacities 25 and 100" in found.remarks[-1]


def test_flows_of_relatives_are_not_taken_for_each_other() -> None:
    conweave = piece("1\n0 1 3 200000 2.5\n", "conweave-flows").transfers[0]
    assert (conweave.bytes, conweave.priority, conweave.note) == (200_000, 3, "")
    hpcc = piece("1\n0 1 3 100 200000 2.5\n", "ns3-flows").transfers[0]
    assert (hpcc.bytes, hpcc.start_ps, hpcc.note) == (200_000, 25 * 10**11, "port 100")
    # 10,000,000 packets from 2 s on until 9.5 s: never 2 bytes at 9.5 s, however few the packets are.
    for packets in (10_000_000, 100):
        rdma = piece(f"1\n2 1 3 {packets} 2 9.5\n", "ns3-rdma-flows").transfers[0]
        assert (rdma.bytes, rdma.start_ps, rdma.note) == (packets * 1_000, 2 * 10**12, "ends at 9.5 s")
    document = Document("file", "2\n0 1 3 100 200000 2\n0 1 3 10000000 2 9.5\n")
    with pytest.raises(
        InputError, match=r"file:3: the port is 10000000; expected at most 65535; a file of ns3-rdma"
    ):
        format_of(document).read(document)


RING = (
    "# a comment\ntopology: [ Ring, Switch ]  # Ring, Switch\nnpus_count: [ 4, 2 ]\nbandwidth: [50.0, "
    "400]  # GB/s\nlatency: [ 500.0, 936.25 ]\n"
)


def test_a_network_of_astra_sim() -> None:
    """50 GB/s are 2^30 B/s each; the ring is of each four, the switches of each two across."""
    topology = built(RING)
    pairs = Counter(frozenset((link["a"], link["b"])) for link in topology["links"])
    for first in (0, 4):
        for place in range(4):
            assert pairs[frozenset((f"router{first + place}", f"router{first + (place + 1) % 4}"))] == 1
    for place in range(4):
        assert pairs[frozenset((f"router{place}", f"switch1.{place}"))] == 3
        assert pairs[frozenset((f"router{place + 4}", f"switch1.{place}"))] == 3
    (ring,) = {
        link["rate_bps"] for link in topology["links"] if link["a"] == "router0" and link["b"] == "router1"
    }
    assert ring == 50 * 2**30 * 8
    alone = built(
        RING.replace("Ring, Switch", "Switch")
        .replace("4, 2", "8")
        .replace(", 400", "")
        .replace(", 936.25", "")
    )
    assert {node["name"] for node in alone["nodes"]} == {
        "switch0.0",
        *(f"npu{number}" for number in range(8)),
    }
    pair = built("topology: [FullyConnected]\nnpus_count: [3]\nbandwidth: [1]\nlatency: [1]")
    assert len(pair["links"]) == 6  # three between routers, three to NPUs


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ("Ring, Switch ]", "Ring, Mesh ]"),
            "file:2: topology is Mesh; expected Ring, Switch, FullyConnected",
        ),
        (("50.0", "tbd"), "file:4: bandwidth is tbd; expected a number"),
        (("4, 2", "4"), "file:3: npus_count has 1 values, topology 2"),
        (("latency: [ 500.0, 936.25 ]", ""), "has no latency"),
        (("latency", "delay"), "file:5: delay: [ 500.0, 936.25 ]: expected topology"),
        (("4, 2", "1, 1"), "no dimension has two NPUs"),
        (("4, 2", "60000, 60000"), "file:3: 3600000000 NPUs; at most 65536"),
        (("936.25", "0.0001"), "file:5: latency is 0.0001 ns; expected whole picoseconds"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_networks_that_are_none(change: tuple[str, str], expected: str) -> None:
    with pytest.raises(InputError) as reported:
        piece(RING.replace(*change))
    assert expected in str(reported.value)


SERVER = """<!-- two GPUs and a NIC behind a bridge -->
<system version="1">
  <cpu numaid="0" arch="x86_64">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="8">
        <gpu dev="0" sm="90"><nvlink target="0001:01:00.0" count="6" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0001:01:00.0" class="0x030200" link_speed="16 GT/s">
        <gpu dev="1" sm="90"><nvlink target="0001:00:00.0" count="6" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0101:00:00.0" class='0x020700' link_speed="5 GT/s" link_width="4"><nic><net name="mlx5_0"
      speed="200000"/></nic></pci>
    </pci>
  </cpu>
  <cpu numaid="1"/>
  <unknown><pci busid="0"/></unknown>
</system>
"""


def test_the_inside_of_a_server() -> None:
    """PCI of 16 GT/s carries 12 Gb/s a lane; six NVLinks of 20.6 GB/s each are one link of six."""
    found = piece(SERVER, "nccl-topology")
    links = {tuple(link["between"]): link for link in found.keys["topology"]["explicit"]["links"]}
    rates = {ends: link["rate"] for ends, link in links.items()}
    assert rates == {
        ("pci0", "cpu0"): "384 Gb/s",
        ("gpu0", "pci0"): "96 Gb/s",
        ("gpu1", "pci0"): "192 Gb/s",
        ("nic0", "pci0"): "12 Gb/s",
        ("gpu0", "gpu1"): "164800 Mb/s",
    }
    assert links[("gpu0", "gpu1")]["count"] == 6
    assert any("cpu1 has no devices: left out" in remark for remark in found.remarks)
    assert degrees(built(SERVER))["gpu0"] == 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<graphs version="1"><graph id="0"/></graphs>', "file:1: a file of graphs (NCCL_GRAPH_FILE)"),
        ("<system><cpu>", "file:1: not valid XML"),
        ("<system><cpu/></system>", "has 0 GPUs and NICs"),
        (SERVER.replace('01:00.0" class', '00:00.0" class'), "file:8: busid 0001:00:00.0 appears twice"),
        (SERVER.replace('target="0001:01:00.0"', 'target="9"'), "file:6: target 9: no device has this busid"),
        (SERVER.replace('link_width="8"', 'link_width="wide"'), "file:5: link_width is wide"),
        (
            SERVER.replace('<cpu numaid="1"/>', '<cpu numaid="1"><pci busid="7" class="0x03"/></cpu>'),
            "--rate",
        ),
    ],
)
def test_servers_that_are_none(text: str, expected: str) -> None:
    with pytest.raises(InputError) as reported:
        piece(text)
    assert expected in str(reported.value)


GML = """# a comment
Creator "Topology Zoo Toolset"
Version "1.0"
graph [
  directed 0
  label "Net &#38; more"
  node [
    id 0
    label "Las Vegas"
    type "Core"
    graphics [ x 1.5 y -2 ]
  ]
  node [ id 1 Internal 1 ]
  node [ id 2 ]
  edge [ source 0 target 1 LinkSpeedRaw 10000000000.0 LinkLabel "10G" ]
  edge [ source 1 target 2 LinkSpeedRaw 45000000.0 ]
]
"""


def test_a_graph_of_the_topology_zoo() -> None:
    """A type that is no role counts for nothing; those with one link are hosts."""
    found = piece(GML, "gml")
    assert found.keys["topology"]["explicit"] == {
        "hosts": ["0", "2"],
        "switches": ["1"],
        "links": [
            {"between": ["0", "1"], "rate": "10 Gb/s"},
            {"between": ["1", "2"], "rate": "45 Mb/s"},
        ],
    }
    assert found.notes[0] == (7, "node 0: label Las Vegas, type Core")
    assert any("attributes of edges not read: LinkLabel" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("target 2 ", "target 1 "), "file:16: a link from 1 to itself"),
        (("id 2", "id 1"), "file:14: the node 1 appears twice"),
        (("id 2", ""), "file:14: the node has id 0 times"),
        (("edge [ source 1 target 2 LinkSpeedRaw 45000000.0 ]", ""), "file:14: the node 2 has no edge"),
        ((" LinkSpeedRaw 45000000.0", ""), "file:16: the link has no rate"),
        (
            ("LinkSpeedRaw 4500", "bandwidth_gbps 1 rate_mbps 4500"),
            "file:16: rate_mbps and bandwidth_gbps both give",
        ),
        (("directed 0", "directed"), "file:6: directed has no value before label"),
        (("directed 0", "directed 0 ]"), "file:17: unmatched closing bracket"),
        (("x 1.5", "x 1.5 §"), "is not GML"),
        (("source 1 target 2", "source 1 target 9"), "file:16: there is no node 9"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_graphs_that_are_none(change: tuple[str, str], expected: str) -> None:
    document = Document("file", GML.replace(*change))
    with pytest.raises(InputError) as reported:
        format_of(document, "gml").read(document)
    assert expected in str(reported.value)


@pytest.mark.parametrize(
    "write", [nx.generate_gml, nx.generate_graphml, nx.node_link_data], ids=["gml", "graphml", "json"]
)
def test_networkx_writes_what_is_read(write: Any) -> None:
    graph = nx.star_graph(4)
    nx.set_node_attributes(graph, {node: "host" if node else "switch" for node in graph}, "role")
    nx.set_edge_attributes(graph, 25, "bandwidth_gbps")
    made = write(graph)
    text = json.dumps(made, indent=1) if isinstance(made, dict) else "\n".join(made)
    found = piece(text).keys["topology"]["explicit"]
    assert found["switches"] == ["0"]
    assert sorted(found["hosts"]) == ["1", "2", "3", "4"]
    assert {link["rate"] for link in found["links"]} == {"25 Gb/s"}


SIZES = "0 0\n10000 15\n20000 20.5\n30000000 100\n"
DRAWN = """[simulation]
duration = "1 ms"
[topology.star]
hosts = 3
rate = "100 Gb/s"
phy = "none"
[[transfers]]
name = "t"
from = "h1..h2"
to = "h0"
arrivals = { poisson = { load = 0.1 } }
sizes = "1 MB"
"""


def test_a_distribution_of_sizes(penstock: Command, tmp_path: Path) -> None:
    for text in (SIZES, "1 0.25\n5e3 1\n"):
        (tmp_path / "cdf.txt").write_text(text, "utf-8")
        (tmp_path / "like.toml").write_text(DRAWN, "utf-8")
        done = penstock("import", "cdf.txt", "--like", "like.toml", "--out", "x.toml")
        assert done.returncode == 0, done.stderr
        assert tomllib.loads((tmp_path / "x.toml").read_text("utf-8"))["transfers"][0]["sizes"] == {
            "points": "x.sizes.csv"
        }
        assert penstock("check", "x.toml").returncode == 0
        for path in ("x.toml", "x.sizes.csv"):
            (tmp_path / path).unlink()
    without = penstock("import", "cdf.txt", "--like", "first-light", "--out", "x.toml")
    assert without.returncode == 2
    assert "no transfers use one; name a scenario with [[transfers]]" in without.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SIZES.replace("20000", "5000"), "file:3: size or share is less than in the line above"),
        (SIZES.replace("20.5", "5"), "file:3: size or share is less"),
        (SIZES.replace("100\n", "99\n"), "file:4: the last share is neither 100 (per cent) nor 1"),
        (SIZES.replace("10000 15", "10000.5 15"), "file:2: the size is 10000.5; expected whole bytes"),
        (SIZES.replace("10000 15", "10000 1 15"), "file:2: 3 words; expected a size in bytes"),
    ],
)
def test_distributions_that_are_none(text: str, expected: str) -> None:
    document = Document("file", text)
    with pytest.raises(InputError) as reported:
        format_of(document, "sizes").read(document)
    assert expected in str(reported.value)
