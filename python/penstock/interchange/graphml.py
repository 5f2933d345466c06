"""GraphML, as written by networkx, yEd and the Internet Topology Zoo; `graph` documents the attributes.

Source: the GraphML specification (nodes, edges, keys with their defaults). Not imported: nested graphs,
hyperedges and ports, which are errors, and drawings of editors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import graph
from .piece import Document, Piece, brief
from .reading import Path
from .xml_text import parse, root_of

_WITHOUT_TEXT = ("graphml", "key", "graph", "node", "edge")
"""Elements that contain only elements: text within them is an error."""


def recognises(document: Document) -> bool:
    """Returns true if a text begins as GraphML."""
    return root_of(document) == "graphml"


def read(document: Document) -> Piece:
    """Reads the fabric of a graph.

    Raises
    ------
    InputError
        If the text is not GraphML, or the graph is not a fabric; the message has the line.
    """
    reader = _Reader(document)
    parse(document, reader.begin, reader.end, reader.characters)
    nodes = [
        graph.Node(line, name, {**reader.defaults["node"], **attributes})
        for name, (line, attributes) in reader.nodes.items()
    ]
    edges = [
        graph.Edge(line, ends, {**reader.defaults["edge"], **attributes})
        for line, ends, attributes in reader.edges
    ]
    if reader.direction == "directed":
        graph.expect_one_way(document, edges)
    return graph.fabric(document, nodes, edges)


def meaning(_: Path) -> str:
    """The consequence of leaving out an attribute or a text."""
    return "not a rate, delay or length of a link, nor a role of a node"


class _Reader:
    """State of the parser."""

    def __init__(self, document: Document) -> None:
        self.nodes: dict[str, tuple[int, dict[str, Any]]] = {}
        self.edges: list[tuple[int, tuple[str, str], dict[str, Any]]] = []
        self.defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self.direction = ""
        self._document = document
        self._open: list[str] = []
        """Open elements, the outermost first."""
        self._names: dict[str, str] = {}
        self._graphs = 0
        self._of: dict[str, Any] | None = None
        """Attributes of the current node or edge."""
        self._key = ("", "")
        """Kind of element, and name, of the current attribute."""
        self._text: list[str] | None = None

    def begin(self, tag: str, attributes: Mapping[str, str], line: int) -> None:
        """Handles the start of an element."""
        self._open.append(tag)
        if tag == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise self._document.error(line, "a second graph; expected one, without graphs in it")
            self.direction = attributes.get("edgedefault", "")
            if self.direction not in ("directed", "undirected"):
                message = f"edgedefault is {brief(self.direction) or 'missing'}; expected undirected"
                raise self._document.error(line, message)
        elif tag in ("hyperedge", "port"):
            raise self._document.error(line, f"a {tag}; expected nodes, and edges between two of them")
        elif tag == "key":
            name = attributes.get("attr.name", attributes.get("id", ""))
            attributes.get("attr.type")  # values are read as text, whatever their type is
            if attributes.get("id", "") in self._names:
                raise self._document.error(line, f"the key {brief(attributes.get('id', ''))} appears twice")
            self._names[attributes.get("id", "")] = name
            self._key = (attributes.get("for", "all"), name)
        elif tag == "node":
            self._node(self._required(attributes, "id", line), line)
        elif tag == "edge":
            ends = (self._required(attributes, "source", line), self._required(attributes, "target", line))
            self._of = {}
            self.edges.append((line, ends, self._of))
        elif tag == "data":
            key = self._required(attributes, "key", line)
            self._key = ("", self._names.get(key, key))
            if self._of is not None and self._key[1] in self._of:
                raise self._document.error(line, f"{brief(self._key[1])} appears twice")
            self._text = []
        elif tag == "default":
            self._text = []

    def end(self, tag: str) -> None:
        """Handles the end of an element."""
        self._open.pop()
        if tag in ("node", "edge"):
            self._of = None
        elif tag in ("data", "default") and self._text is not None:
            value, self._text = "".join(self._text).strip(), None
            kind, name = self._key
            if tag == "data" and self._of is not None:
                self._of[name] = value
            elif tag == "data":
                self._document.ledger.offer((self._open[-1] if self._open else "graphml", name))
            elif tag == "default":
                for one in ("node", "edge") if kind == "all" else (kind,):
                    self.defaults.setdefault(one, {})[name] = value

    def characters(self, text: str, line: int) -> bool:
        """Handles text of an element; returns false for descriptions and drawings, which have no effect."""
        if self._text is not None:
            self._text.append(text)
            return True
        if text.strip() and self._open[-1] in _WITHOUT_TEXT:
            message = f"{brief(text.strip())} in a {self._open[-1]}; expected text in data only"
            raise self._document.error(line, message)
        return False

    def _node(self, name: str, line: int) -> None:
        if name in self.nodes:
            raise self._document.error(line, f"the node {name} appears twice")
        self._of = {}
        self.nodes[name] = (line, self._of)

    def _required(self, attributes: Mapping[str, str], name: str, line: int) -> str:
        if name not in attributes:
            raise self._document.error(line, f'an element without its attribute "{name}"')
        return attributes[name]
