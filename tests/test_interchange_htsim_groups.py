"""Dragonflies and Slim Flies of htsim, as files of its forks have them."""

from __future__ import annotations

import tomllib
from typing import Any

import networkx as nx
import pytest

from penstock.errors import InputError
from test_interchange_fabrics import built, joined, piece

DRAGONFLY = """# Dragonfly
p 2
a 4
h 2

Switch_latency_ns 500

# Default - link speed
Link_speed_global_Gbps 400
Link_speed_local_Gbps 200
Link_speed_host_Gbps 100

# Default - link latency
Link_latency_global_ns 500
Link_latency_local_ns 25
Link_latency_host_ns 12
"""
SLIM_FLY = """# Slim Fly
p 4
q 5

Switch_latency_ns 500"""


def graph_of(topology: dict[str, Any]) -> nx.Graph:
    graph = nx.Graph()
    for link in topology["links"]:
        graph.add_edge(link["a"], link["b"], rate=link["rate_bps"])
    return graph


def test_a_dragonfly_has_the_links_of_its_file() -> None:
    document = piece(DRAGONFLY, "htsim-groups")
    assert document.keys["topology"] == {
        "dragonfly": {
            "hosts_per_switch": 2,
            "switches_per_group": 4,
            "global_links": 2,
            "rate": "100 Gb/s",
            "phy": "none",
            "length": "2.4 m",
            "local_rate": "200 Gb/s",
            "local_length": "5 m",
            "global_rate": "400 Gb/s",
            "global_length": "100 m",
        }
    }
    assert document.keys["switch"] == {"latency": "500 ns"}
    assert document.numbers == {number: f"h{number}" for number in range(72)}
    graph = graph_of(built(DRAGONFLY))
    rates = [rate for _, _, rate in graph.edges.data("rate")]
    assert [rates.count(rate * 10**9) for rate in (100, 200, 400)] == [72, 9 * 6, 36]
    # Global link t of group g leads to group g + t + 1.
    assert set(graph["sw0.0"]) == {"h0", "h1", "sw0.1", "sw0.2", "sw0.3", "sw1.3", "sw2.3"}


def test_a_slim_fly_has_the_graph_of_its_field() -> None:
    document = piece(SLIM_FLY, "htsim-groups")
    assert document.keys["topology"]["slim_fly"]["q"] == 5
    # What the file does not say is what the program has.
    assert document.keys["topology"]["slim_fly"]["rate"] == "200 Gb/s"
    graph = graph_of(built(SLIM_FLY))
    switches = graph.subgraph(node for node in graph if node.startswith("sw"))
    assert nx.diameter(switches) == 2
    assert {degree for _, degree in switches.degree} == {7}


def test_traffic_goes_by_the_numbers_of_hosts() -> None:
    made = joined(DRAGONFLY, "Nodes 72\nConnections 1\n0->71 start 0 size 2000000\n")
    assert made.transfers.splitlines()[-1].split(",")[1:3] == ["h0", "h71"]
    assert tomllib.loads(made.text)["topology"]["dragonfly"]["hosts_per_switch"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p 2\na 4\nh 2\nq 5\n", "a is a key of a dragonfly, but q is a key of a Slim Fly"),
        ("p 2\na 4\nh 2\np 3\n", "file:4: p appears twice"),
        ("p 0\na 4\nh 2\n", "file:1: p is 0; expected a whole number from 1"),
        ("p 2\na 4\nh 2\nLink_speed_hots_Gbps 4\n", "file:4: Link_speed_hots_Gbps is not a known key"),
        ("p 9999\na 999\nh 999\n", "hosts; expected at most 1000000"),
        ("p 2\na 4\nh 2\nLink_speed_host_Gbps 0\n", "file:4: Link_speed_host_Gbps is 0"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        piece(text, "htsim-groups")


@pytest.mark.parametrize(
    ("text", "lines", "delays"),
    [
        # Within group 0, and from switch 0 of group 0 to switch 3 of group 1; the last line of a link counts.
        (
            DRAGONFLY,
            "Link_latency_ns 0 1 700\nlink_latency_ns 7 0 900\nLink_latency_ns 1 0 650\n",
            {("sw0.0", "sw0.1"): 650, ("sw0.0", "sw1.3"): 900},
        ),
        # Switches 0 and 1 of the first subgraph of the Slim Fly over GF(5) are neighbours.
        (SLIM_FLY + "\n", "Link_latency_ns 0 1 700\n", {("sw0.0", "sw0.1"): 700}),
    ],
)
def test_single_links_have_their_latency(text: str, lines: str, delays: dict[tuple[str, str], int]) -> None:
    usual = {(link["a"], link["b"]): link["delay_ns"] for link in built(text)["links"]}
    found = {(link["a"], link["b"]): link["delay_ns"] for link in built(text + lines)["links"]}
    changed = {frozenset(ends): delay for ends, delay in found.items() if delay != usual[ends]}
    assert changed == {frozenset(ends): delay for ends, delay in delays.items()}


def test_a_latency_of_a_link_that_is_not_there_is_refused() -> None:
    output = r"file:17: there is no link between switches 0 \(sw0.0\) and 9 \(sw2.1\)"
    with pytest.raises(InputError, match=output):
        piece(DRAGONFLY + "Link_latency_ns 0 9 700\n", "htsim-groups")
    with pytest.raises(InputError, match="a switch is x"):
        piece(DRAGONFLY + "Link_latency_ns x 9 700\n", "htsim-groups")
