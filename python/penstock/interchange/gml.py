"""GML as written by the Internet Topology Zoo and networkx; `graph` documents the attributes.

Source: Himsolt, "GML: a portable graph file format" (1997): keys with numbers, texts in quotes or lists in
brackets. Nodes are named by their `id`; labels become comments. Not imported: attributes of the graph, and
lists within nodes and edges, such as drawings.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from penstock.errors import InputError

from . import graph
from .piece import Document, Piece, brief

_TOKEN = re.compile(
    r"(?P<blank>\s+|\#[^\n]*)|(?P<key>[A-Za-z_]\w*)|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r'|"(?P<text>[^"]*)"|(?P<bracket>[\[\]])',
    re.ASCII,
)
_DEEPEST = 50
_HEADER_TOKENS = 100
"""Maximum number of tokens before the graph, such as its creator and version."""


class Item(NamedTuple):
    """A key with its line and its value: a text, or a list of items."""

    line: int
    key: str
    value: str | list[Item]


def recognises(document: Document) -> bool:
    """Returns true if a text begins like GML: with a graph, or with its creator and version."""
    key = ""
    try:
        for _, (_, kind, text) in zip(range(_HEADER_TOKENS), _tokens(document), strict=False):
            if kind == "key" and not key:
                key = text
            elif key == "graph":
                return text == "[" and kind == "bracket"
            elif not key or kind == "bracket" or key.lower() not in ("creator", "version", "comment"):
                return False
            else:
                key = ""
    except InputError:
        return False
    return False


def read(document: Document) -> Piece:
    """Reads the fabric of a graph.

    Raises
    ------
    InputError
        If the text is not GML, or the graph is not a fabric; the message has the line.
    """
    top = _items(document)
    graphs = [item for item in top if item.key == "graph"]
    for item in top:
        if item.key != "graph":
            document.ledger.offer((brief(item.key),))
    if len(graphs) != 1 or isinstance(graphs[0].value, str):
        line = graphs[1].line if len(graphs) > 1 else 1
        raise document.error(line, f"{len(graphs)} graphs; expected one, such as graph [ node [ id 0 ] ]")
    items = graphs[0].value
    nodes = [
        graph.Node(item.line, _one(document, item, "id"), _attributes(document, item, "id"))
        for item in items
        if item.key == "node"
    ]
    names = [node.name for node in nodes]
    if len(set(names)) < len(names):
        known: set[str] = set()
        for node in nodes:
            if node.name in known:
                raise document.error(node.place, f"the node {brief(node.name)} appears twice")
            known.add(node.name)
    edges = []
    for item in items:
        if item.key == "edge":
            ends = (_one(document, item, "source"), _one(document, item, "target"))
            edges.append(graph.Edge(item.line, ends, _attributes(document, item, "source", "target")))
    directed = next((item for item in items if item.key == "directed"), None)
    if directed is not None and directed.value not in ("0", "1"):
        raise document.error(directed.line, f"directed is {brief(directed.value)}; expected 0 or 1")
    if directed is not None and directed.value == "1":
        graph.expect_one_way(document, edges)
    piece = graph.fabric(document, nodes, edges)
    lists = {
        brief(one.key)
        for item in items
        if isinstance(item.value, list)
        for one in item.value
        if isinstance(one.value, list)
    }
    of_graph = {brief(item.key) for item in items} - {"node", "edge", "directed"}
    entries = [
        f"{document.file}: {what} that are not read: {', '.join(sorted(keys))}"
        for what, keys in (
            ("lists of nodes and edges", lists),
            ("attributes of the graph", of_graph),
        )
        if keys
    ]
    return replace(piece, remarks=[*piece.remarks, *entries])


def _one(document: Document, item: Item, key: str) -> str:
    """A value that must appear exactly once."""
    found = [one.value for one in item.value if isinstance(one, Item) and one.key == key]
    if len(found) != 1 or not isinstance(found[0], str):
        raise document.error(item.line, f"the {item.key} has {key} {len(found)} times; expected it once")
    return found[0]


def _attributes(document: Document, item: Item, *without: str) -> dict[str, str]:
    """Scalar values of a node or edge."""
    found: dict[str, str] = {}
    for one in item.value:
        if isinstance(one, Item) and isinstance(one.value, str) and one.key not in without:
            if one.key in found:
                raise document.error(one.line, f"{brief(one.key)} appears twice in one {item.key}")
            found[one.key] = one.value
    return found


def _items(document: Document) -> list[Item]:
    """All keys with their values."""
    top: list[Item] = []
    open_lists = [top]
    key: tuple[int, str] | None = None
    for line, kind, text in _tokens(document):
        if kind == "key":
            if key is not None:
                raise document.error(line, f"{brief(key[1])} has no value before {brief(text)}")
            key = (line, text)
        elif text == "]" and kind == "bracket":
            if key is not None or len(open_lists) == 1:
                raise document.error(line, "unmatched closing bracket")
            open_lists.pop()
        else:
            if key is None:
                raise document.error(line, f"the value {brief(text)} has no key")
            value: str | list[Item] = [] if kind == "bracket" else text
            open_lists[-1].append(Item(*key, value))
            if isinstance(value, list):
                open_lists.append(value)
                if len(open_lists) > _DEEPEST:
                    raise document.error(line, "nested too deeply")
            key = None
    if key is not None or len(open_lists) > 1:
        line = document.text.count("\n") + 1
        raise document.error(line, "the file ends within a list; expected ] for each [")
    return top


def _tokens(document: Document) -> Iterator[tuple[int, str, str]]:
    text, at, line = document.text, 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise document.error(
                line, f"{brief(text[at : at + 20])} is not GML; expected a key, a value or a bracket"
            )
        if found.lastgroup != "blank":
            value = found[found.lastgroup]
            yield line, found.lastgroup, html.unescape(value) if found.lastgroup == "text" else value
        line += text.count("\n", at, found.end())
        at = found.end()
