"""Graphs of nodes and edges with attributes, such as those of networkx.

A node has an attribute `role`, `type` or `kind`: host or server, switch or router. If none has one, those
with one edge are hosts. An edge has its rate as `rate`, `bandwidth`, `capacity` or `speed`, its delay as
`delay` or `latency`, and its length as `length` or `distance`: text with a unit, or a number if the name ends
with one, such as `bandwidth_gbps`, `delay_us` or `length_m`. `LinkSpeedRaw`, of the Internet Topology Zoo, is
in b/s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import ArgumentError, InputError

from .piece import Document, Piece, Place, explicit

ROLES = ("role", "type", "kind")
HOSTS = ("host", "server")
SWITCHES = ("switch", "router")
_RATES = {"bps": "b/s", "kbps": "kb/s", "mbps": "Mb/s", "gbps": "Gb/s", "tbps": "Tb/s"}
_TIMES = {unit: unit for unit in ("ps", "ns", "us", "ms", "s")}
_LENGTHS = {unit: unit for unit in ("m", "km")}
WORDS = {
    "rate": (("rate", "bandwidth", "capacity", "speed"), "rate", _RATES, "100 Gb/s"),
    "delay": (("delay", "latency"), "time", _TIMES, "1 us"),
    "length": (("length", "distance"), "length", _LENGTHS, "10 m"),
}
"""What a link may say: attributes, their dimension, the units that their names may end with, an example."""


@dataclass(frozen=True)
class Node:
    """A node, where it stands, and its attributes."""

    place: Place
    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Edge:
    """An edge, where it stands, its ends, and its attributes."""

    place: Place
    ends: tuple[str, str]
    attributes: Mapping[str, Any]


def fabric(document: Document, nodes: Sequence[Node], edges: Sequence[Edge]) -> Piece:
    """The fabric that a graph is.

    Raises
    ------
    InputError
        If it is none; the message names the place.
    """
    names = {node.name: document.name(node.place, node.name) for node in nodes}
    for edge in edges:
        for end in edge.ends:
            if end not in names:
                raise document.error(edge.place, f"there is no node {end}")
        if edge.ends[0] == edge.ends[1]:
            raise document.error(edge.place, f"a link from {edge.ends[0]} to itself")
    hosts, remarks = _hosts(document, nodes, edges)
    if not hosts:
        raise InputError(f"{document.file}: no node is a host; expected an attribute role, host or switch")
    switches = [name for name in names if name not in hosts]
    links = [{"between": list(edge.ends), **_cable(document, edge)} for edge in edges]
    return Piece(explicit([name for name in names if name in hosts], switches, links), remarks=remarks)


def from_networkx(graph: Any, *, rate: str | None = None, length: str | None = None) -> dict[str, Any]:
    """A graph of networkx as the arguments of ``Scenario().topology.explicit``.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        Nodes and edges with the attributes that this module describes. Directed graphs are refused.
    rate, length : str, optional
        Of edges that say none. Default: such an edge is an error; the length of Penstock.

    Returns
    -------
    dict
        ``hosts``, ``switches`` and ``links``.

    Raises
    ------
    InputError
        If the graph is no fabric; the message names the node or edge.

    Examples
    --------
    >>> scenario = ps.Scenario(duration="1 ms").topology.explicit(**from_networkx(graph, rate="100 Gb/s"))
    """
    if not hasattr(graph, "is_directed") or graph.is_directed():
        raise ArgumentError("graph is no undirected graph of networkx; links have both directions")
    nodes = [Node(f"node {name}", str(name), attributes) for name, attributes in graph.nodes(data=True)]
    edges = [
        Edge(f"edge {a} to {b}", (str(a), str(b)), attributes) for a, b, attributes in graph.edges(data=True)
    ]
    found = fabric(Document("graph", "", rate, length), nodes, edges)
    return dict(found.keys["topology"]["explicit"])


def _hosts(document: Document, nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[set[str], list[str]]:
    """Which nodes are hosts, and how that is known if they do not say it."""
    roles = {node.name: (node, _role(node.attributes)) for node in nodes}
    if not any(role for _, role in roles.values()):
        degrees = Counter(end for edge in edges for end in edge.ends)
        hosts = {node.name for node in nodes if degrees[node.name] == 1}
        return hosts, [f"{document.file}: no node says its role; the {len(hosts)} with one link are hosts"]
    for node, role in roles.values():
        if role not in HOSTS + SWITCHES:
            expected = f"expected {', '.join(HOSTS + SWITCHES)}"
            said = f"the role of {node.name} is {role}" if role else f"{node.name} has no role"
            raise document.error(node.place, f"{said}; {expected}")
    return {name for name, (_, role) in roles.items() if role in HOSTS}, []


def _role(attributes: Mapping[str, Any]) -> str:
    return next((str(value).lower() for key, value in attributes.items() if key.lower() in ROLES), "")


def _cable(document: Document, edge: Edge) -> dict[str, str]:
    """Rate and delay or length of a link."""
    found = {}
    attributes = {key.lower(): value for key, value in edge.attributes.items()}
    if "linkspeedraw" in attributes:
        attributes["rate_bps"] = attributes["linkspeedraw"]
    for key, (words, dimension, units, example) in WORDS.items():
        for word in words:
            for name, unit in {
                word: "",
                **{f"{word}_{end}": f" {unit}" for end, unit in units.items()},
            }.items():
                if name in attributes:
                    text = f"{attributes[name]}{unit}"
                    found[key] = document.quantity(edge.place, name, text, dimension, example)
    if "rate" not in found:
        if document.rate is None:
            raise document.error(
                edge.place, 'the link has no rate; expected an attribute such as rate "100 Gb/s", or --rate'
            )
        found["rate"] = document.rate
    if "delay" not in found and "length" not in found and document.length is not None:
        found["length"] = document.length
    if "delay" in found and "length" in found:
        raise document.error(edge.place, "the link has a delay and a length; expected one of them")
    return found
