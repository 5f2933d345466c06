"""Graphs as JSON, written by networkx (`node_link_data`); `graph` documents the attributes.

Source: the documentation of networkx: an object with `nodes`, each with its `id`, and `edges` or `links`,
each with `source` and `target`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import graph
from .json_text import Part, whole
from .piece import Document, Piece, brief
from .reading import Path


def recognises(document: Document) -> bool:
    """Returns true if a text is JSON with nodes, and edges or links that have sources."""
    start = document.text.lstrip()[:1]
    return start == "{" and all(f'"{key}"' in document.text for key in ("nodes", "source", "target"))


def read(document: Document) -> Piece:
    """Reads the fabric of a graph.

    Raises
    ------
    InputError
        If the text is something else, the graph is directed, or it is not a fabric; the message has the line
        or node.
    """
    part = whole(document, "an object with nodes and edges")
    part.table.get("multigraph")  # parallel links are allowed in either case
    if part.table.get("directed"):
        raise document.error(
            part.line_of("directed"),
            "the graph is directed; expected an undirected graph, since links have both directions",
        )
    key = "links" if "links" in part.table else "edges"
    nodes = [
        graph.Node(f"node {brief(entry.get('id'))}", _text(part, "nodes", entry, "id"), _rest(entry, "id"))
        for entry in _list(part, "nodes")
    ]
    names = [node.name for node in nodes]
    if len(set(names)) < len(names):
        raise document.error("nodes", "a node appears twice")
    edges = [
        graph.Edge(
            f"edge {brief(entry.get('source'))} to {brief(entry.get('target'))}",
            (_text(part, key, entry, "source"), _text(part, key, entry, "target")),
            _rest(entry, "source", "target", "key"),
        )
        for entry in _list(part, key)
    ]
    return graph.fabric(document, nodes, edges)


def meaning(path: Path) -> str:
    """The consequence of leaving out a key."""
    if path[-1] == "key":
        return "parallel edges need no keys"
    return "a fabric has no attributes" if len(path) < 3 else "not a key of a graph"


def _list(part: Part, key: str) -> list[Mapping[str, Any]]:
    found = part.table.get(key)
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise part.document.error(part.line_of(key), f"{key} is {brief(found)}; expected a list of objects")
    return found


def _text(part: Part, key: str, entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise part.document.error(part.line_of(key), f"{name} is {brief(value)}; expected a name or a number")
    return str(value)


def _rest(entry: Mapping[str, Any], *without: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in without}
