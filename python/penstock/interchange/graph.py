"""Graphs of nodes and edges with attributes, such as those of networkx.

A node may have an attribute `role`, `type` or `kind`: host or server, switch or router. If no node has one,
nodes with one edge are hosts. An edge has a rate (`rate`, `bandwidth`, `capacity` or `speed`), a
delay (`delay` or `latency`), and a length (`length` or `distance`): text with a unit, or a number if
the name ends with a unit, such as `bandwidth_gbps`, `delay_us` or `length_m`. `LinkSpeedRaw`, of the Internet
Topology Zoo, is in b/s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import ArgumentError, InputError

from .piece import Document, Note, Piece, Place, brief, explicit

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
"""Attributes of a link, with their dimension, the units that may end their names, and an example."""


@dataclass(frozen=True)
class Node:
    """A node, its place in the document, and its attributes."""

    place: Place
    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Edge:
    """An edge, its place in the document, its ends, and its attributes."""

    place: Place
    ends: tuple[str, str]
    attributes: Mapping[str, Any]


def fabric(document: Document, nodes: Sequence[Node], edges: Sequence[Edge]) -> Piece:
    """Converts a graph to a fabric.

    Raises
    ------
    InputError
        If the graph is not a fabric; the message names the place.
    """
    names = {node.name: document.name(node.place, node.name) for node in nodes}
    for edge in edges:
        for end in edge.ends:
            if end not in names:
                raise document.error(edge.place, f"there is no node {end}")
        if edge.ends[0] == edge.ends[1]:
            raise document.error(edge.place, f"a link from {edge.ends[0]} to itself")
    hosts, remarks = _hosts(document, nodes, edges)
    linked = {end for edge in edges for end in edge.ends}
    for node in nodes:
        if node.name not in linked:
            raise document.error(
                node.place, f"the node {brief(node.name)} has no edge; expected a connected graph"
            )
    if not hosts:
        raise InputError(f"{document.file}: no node is a host; expected an attribute role, host or switch")
    switches = [name for name in names if name not in hosts]
    links = [{"between": list(edge.ends), **_cable(document, edge)} for edge in edges]
    notes = [Note(node.place, _about(node)) for node in nodes]
    keys = explicit([name for name in names if name in hosts], switches, links)
    remarks += _given(document, edges)
    return Piece(keys, remarks=[*remarks, *_left_out(document, edges)], notes=notes)


def _given(document: Document, edges: Sequence[Edge]) -> list[str]:
    """Remarks on links whose rate or length comes from the command line."""
    without = {key: sum(not _statements(edge, key) for edge in edges) for key in WORDS}
    entries = (
        [f"{without['rate']} links have no rate: {document.rate}, from --rate"] if without["rate"] else []
    )
    if document.length is not None and without["length"]:
        entries.append(f"links without delay or length are {document.length} long, from --length")
    return [f"{document.file}: {line}" for line in entries]


def _statements(edge: Edge, key: str) -> list[tuple[str, str, Any]]:
    """The attributes of a link for one of `WORDS`, each with the unit in its name, and its value."""
    attributes = {name.lower(): value for name, value in edge.attributes.items()}
    found = [(name, unit, attributes[name]) for name, unit in _names(key) if attributes.get(name, "") != ""]
    if key == "rate" and not found and attributes.get("linkspeedraw", "") != "":
        return [("linkspeedraw", " b/s", attributes["linkspeedraw"])]
    return found


def _about(node: Node) -> str:
    """Description of a node, for a comment."""
    attributes = ", ".join(f"{key} {brief(value)}" for key, value in node.attributes.items())
    return f"node {node.name}" + (f": {attributes}" if attributes else "")


def _left_out(document: Document, edges: Sequence[Edge]) -> list[str]:
    """Remarks on attributes of edges other than rate, delay and length."""
    known = {"linkspeedraw", *(name for key in WORDS for name, _ in _names(key))}
    others = sorted({key for edge in edges for key in edge.attributes if key.lower() not in known})
    return (
        [f"{document.file}: attributes of edges not read: {', '.join(map(brief, others))}"] if others else []
    )


def _names(key: str) -> list[tuple[str, str]]:
    """Accepted attribute names for one of `WORDS`, each with the unit in the name."""
    words, _, units, _ = WORDS[key]
    return [(word, "") for word in words] + [
        (f"{word}_{end}", f" {unit}") for word in words for end, unit in units.items()
    ]


def expect_one_way(document: Document, edges: Sequence[Edge]) -> None:
    """Rejects a directed graph that represents each link by an edge in each direction.

    Raises
    ------
    InputError
        If there are edges in both directions between two nodes.
    """
    pairs = {edge.ends for edge in edges}
    for edge in edges:
        if edge.ends[::-1] in pairs and edge.ends[0] != edge.ends[1]:
            message = (
                f"the graph is directed, and has an edge each way between {edge.ends[0]} and {edge.ends[1]}"
            )
            raise document.error(
                edge.place, f"{message}; expected an undirected graph: a link has both directions"
            )


def from_networkx(graph: Any, *, rate: str | None = None, length: str | None = None) -> dict[str, Any]:
    """Converts a graph of networkx to the arguments of ``Scenario().topology.explicit``.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        Nodes and edges with the attributes that this module describes. Directed graphs are rejected.
    rate, length : str, optional
        Rate and length of edges without one. By default, an edge without a rate is an error, and the length
        is Penstock's default.

    Returns
    -------
    dict
        ``hosts``, ``switches`` and ``links``.

    Raises
    ------
    InputError
        If the graph is not a fabric; the message names the node or edge.

    Examples
    --------
    >>> scenario = ps.Scenario(duration="1 ms").topology.explicit(**from_networkx(graph, rate="100 Gb/s"))
    """
    if not hasattr(graph, "is_directed") or graph.is_directed():
        raise ArgumentError("graph is not an undirected graph of networkx; links have both directions")
    nodes = [Node(f"node {name}", str(name), attributes) for name, attributes in graph.nodes(data=True)]
    edges = [
        Edge(f"edge {a} to {b}", (str(a), str(b)), attributes) for a, b, attributes in graph.edges(data=True)
    ]
    found = fabric(Document("graph", "", rate, length), nodes, edges)
    return dict(found.keys["topology"]["explicit"])


def _hosts(document: Document, nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[set[str], list[str]]:
    """The nodes that are hosts, with a remark if they were recognized without a role."""
    words = [key for key in ROLES if _are_roles(nodes, key)]
    roles = {node.name: (node, _role(node.attributes, words)) for node in nodes}
    if not any(role for _, role in roles.values()):
        degrees = Counter(end for edge in edges for end in edge.ends)
        hosts = {node.name for node in nodes if degrees[node.name] == 1}
        return hosts, [f"{document.file}: no node has a role; the {len(hosts)} nodes with one link are hosts"]
    for node, role in roles.values():
        if role not in HOSTS + SWITCHES:
            expected = f"expected {', '.join(HOSTS + SWITCHES)}"
            statements = f"the role of {node.name} is {role}" if role else f"{node.name} has no role"
            raise document.error(node.place, f"{statements}; {expected}")
    return {name for name, (_, role) in roles.items() if role in HOSTS}, []


def _are_roles(nodes: Sequence[Node], key: str) -> bool:
    """Returns true if an attribute holds roles; types and kinds often have other meanings, such as "Core"."""
    statements = {
        str(value).lower() for node in nodes for name, value in node.attributes.items() if name.lower() == key
    }
    return bool(statements) and (key == ROLES[0] or bool(statements & {*HOSTS, *SWITCHES}))


def _role(attributes: Mapping[str, Any], words: Sequence[str]) -> str:
    return next((str(value).lower() for key, value in attributes.items() if key.lower() in words), "")


def _cable(document: Document, edge: Edge) -> dict[str, str]:
    """Rate and delay or length of a link; the delay includes the whole link, so it has no PHY."""
    found = {}
    for key, (_, dimension, _, example) in WORDS.items():
        statements = _statements(edge, key)
        if len(statements) > 1:
            twice = " and ".join(name for name, _, _ in statements)
            raise document.error(edge.place, f"{twice} both give the {key} of the link; expected one of them")
        for name, unit, value in statements:
            found[key] = document.quantity(edge.place, name, f"{value}{unit}", dimension, example)
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
    if "delay" in found:
        found["phy"] = "none"
    return found
