"""Fabrics of InfraGraph: devices, instances of them, and edges between their components, as YAML or JSON.

A device that contains a `nic`, `npu`, `xpu`, `gpu` or another device is a server; any other device is a
switch. A server with one edge is a host. In a server with several edges, each component with an edge becomes
a host, such as host0-nic1, because a scenario describes the fabric and not the inside of servers.

Indices are slices as in Python: `nic[0:2]`, `host[1]`; without a slice, all components are meant. `many2many`
links all pairs of endpoints; `one2one` links the i-th endpoints of two lists, up to the end of the shorter.

Source: the models and examples of Keysight/infragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .json_text import nodes
from .piece import Document, Note, Piece, brief, explicit, trunk
from .reading import Path
from .yaml_blocks import Node

MOST_INSTANCES = 65_536
MOST_LINKS = 10**6
_SERVER_PARTS = ("nic", "npu", "xpu", "gpu", "device")
_BITS = {
    "gigabits_per_second": 10**9,
    "g_bits_per_second": 10**9,
    "gigabytes_per_second": 8 * 10**9,
    "g_bytes_per_second": 8 * 10**9,
}
_MOST_RATE = 1_600 * 10**12
_ENDPOINT = re.compile(r"([\w.-]{1,100})(?:\[(-?\d{1,6})?(:)?(-?\d{1,6})?\])?")
_SIGNS = ("instances", "edges", "devices")


def recognises(document: Document) -> bool:
    """Returns true if a text has instances of devices and edges between them."""
    if document.text.lstrip().startswith("{"):
        return all(f'"{sign}"' in document.text for sign in _SIGNS) and '"ep1"' in document.text
    keys = {line.split(":")[0] for line in document.text.splitlines() if line[:1].isalpha()}
    return {"devices", "instances"} <= keys


@dataclass(frozen=True)
class _Device:
    """Components of a device, with their counts."""

    components: dict[str, int]
    is_server: bool


@dataclass(frozen=True)
class _End:
    """An endpoint of an edge."""

    instance: str
    number: int
    component: str
    place: int


@dataclass
class _Fabric:
    """Contents of a document."""

    document: Document
    devices: dict[str, _Device] = field(default_factory=dict)
    instances: dict[str, tuple[str, int]] = field(default_factory=dict)
    rates: dict[str, int | None] = field(default_factory=dict)
    edges: list[tuple[int, _End, _End, str]] = field(default_factory=list)
    shortened: int = 0
    """Edges with `one2one` whose lists of endpoints differ in length."""
    notes: list[Note] = field(default_factory=list)

    def note(self, line: int, text: str) -> None:
        """Records a line that was read."""
        self.notes.append(Note(line, brief(text)))


def read(document: Document) -> Piece:
    """Reads a fabric from the servers and switches.

    Raises
    ------
    InputError
        If the text is something else, has undefined references, or has links without a rate; the message has
        the line.
    """
    root = nodes(document).placed()
    document.ledger.fields({key: one.plain() for key, one in _table(document, root).items()})
    fabric = _Fabric(document)
    if "name" in _table(document, root):
        fabric.note(root.line, f"infrastructure {_text(document, root, 'name')}")
    for one in _items(document, root, "devices"):
        _device(fabric, one)
    for one in _items(document, root, "instances"):
        _instance(fabric, one)
    for one in _items(document, root, "links"):
        name = _text(document, one, "name")
        if name in fabric.rates:
            raise document.error(one.line, f"link {brief(name)} appears twice")
        fabric.rates[name] = _rate(fabric, one, name)
    for one in _items(document, root, "edges"):
        _edge(fabric, one)
    if not fabric.edges:
        raise document.error(root.line, "has no edges between instances: there is no link")
    return _piece(fabric)


def _items(document: Document, node: Node, key: str) -> list[Node]:
    """The objects of a list; empty if there is no such key."""
    table = _table(document, node)
    if key not in table:
        return []
    found = table[key].value
    if not isinstance(found, list):
        raise document.error(table[key].line, f"{key} is not a list")
    return found


def _table(document: Document, node: Node) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise document.error(node.line, "expected an object with keys")
    return node.value


def _text(document: Document, node: Node, key: str, default: str | None = None) -> str:
    table = _table(document, node)
    found = table[key].value if key in table else default
    if not isinstance(found, str) or not found:
        raise document.error(node.line, f"{key} is missing; expected a text")
    if key in table:
        document.ledger.record((*node.path, key))
    return found


def _device(fabric: _Fabric, node: Node) -> None:
    document, name = fabric.document, _text(fabric.document, node, "name")
    if name in fabric.devices:
        raise document.error(node.line, f"device {brief(name)} appears twice")
    components: dict[str, int] = {}
    choices = []
    for one in _items(document, node, "components"):
        number, own = _text(document, one, "count", "one"), _text(document, one, "name")
        if own in components:
            raise document.error(one.line, f"component {brief(own)} appears twice")
        count = 1 if number == "one" else document.whole(one.line, "count", number, most=MOST_INSTANCES)
        components[own] = count
        choices.append(_text(document, one, "choice", "custom"))
        fabric.note(one.line, f"{name}: {number} {own}, {choices[-1]}")
    if not components:
        fabric.note(node.line, f"device {name}")
    fabric.devices[name] = _Device(components, any(choice in _SERVER_PARTS for choice in choices))


def _instance(fabric: _Fabric, node: Node) -> None:
    document, name = fabric.document, _text(fabric.document, node, "name")
    device = _text(document, node, "device")
    number = _text(document, node, "count", "one")
    count = 1 if number == "one" else document.whole(node.line, "count", number, least=1, most=MOST_INSTANCES)
    fabric.note(node.line, f"{name}: {number} {device}")
    if device not in fabric.devices:
        known = ", ".join(list(fabric.devices)[:10])
        raise document.error(node.line, f"no device {brief(device)}; the file has {known}")
    if name in fabric.instances:
        raise document.error(node.line, f"instance {brief(name)} appears twice")
    fabric.instances[name] = (device, count)


def _rate(fabric: _Fabric, node: Node, name: str) -> int | None:
    """Rate of a link in b/s; `None` if it has none."""
    document, table = fabric.document, _table(fabric.document, node)
    if "physical" not in table or "bandwidth" not in (physical := _table(document, table["physical"])):
        fabric.note(node.line, f"link {name}")
        return None
    bandwidth = physical["bandwidth"]
    keys = [key for key in _table(document, bandwidth) if key in _BITS]
    choice = _text(document, bandwidth, "choice", keys[0] if keys else "missing")
    if choice not in keys:
        raise document.error(
            bandwidth.line, f"no rate (choice {brief(choice)}); expected one of {', '.join(_BITS)}"
        )
    number = _text(document, bandwidth, choice)
    value = document.decimal(bandwidth.line, choice, number) * _BITS[choice]
    if not 1_000 <= value <= _MOST_RATE:
        raise document.error(bandwidth.line, f"{choice} is {brief(number)}; expected at most 1600 Tb/s")
    given = "choice, " if "choice" in _table(document, bandwidth) else ""
    fabric.note(node.line, f"link {name}: {given}{number} {choice}")
    return int(value)


def _edge(fabric: _Fabric, node: Node) -> None:
    document, table = fabric.document, _table(fabric.document, node)
    if missing := [key for key in ("ep1", "ep2", "link") if key not in table]:
        raise document.error(node.line, f"the edge has no {missing[0]}")
    one, other = (list(_ends(fabric, table[key])) for key in ("ep1", "ep2"))
    link = _text(document, node, "link")
    if link not in fabric.rates:
        known = ", ".join(list(fabric.rates)[:10]) or "none"
        raise document.error(node.line, f"no link {brief(link)}; the file has {known}")
    if "many2many" in table and "scheme" not in table:
        is_full = _text(document, node, "many2many").lower() == "true"
        scheme = "many2many" if is_full else "one2one"
    else:
        scheme = _text(document, node, "scheme", "missing")
    texts = [_text(document, table[end], key) for end in ("ep1", "ep2") for key in ("instance", "component")]
    fabric.note(node.line, f"{'.'.join(texts[:2])} to {'.'.join(texts[2:])}, {scheme}, {link}")
    if scheme == "many2many":
        if len(one) * len(other) > MOST_LINKS:
            raise document.error(
                node.line, f"{len(one) * len(other):,} links; at most {MOST_LINKS:,} are accepted"
            )
        pairs = [(left, right) for left in one for right in other if left != right]
    elif scheme == "one2one":
        fabric.shortened += len(one) != len(other)
        pairs = list(zip(one, other, strict=False))
    else:
        raise document.error(node.line, f"scheme is {brief(scheme)}; expected one2one or many2many")
    fabric.edges += [(node.line, *pair, link) for pair in pairs]
    if len(fabric.edges) > MOST_LINKS:
        raise document.error(node.line, f"more than {MOST_LINKS:,} links")


def _ends(fabric: _Fabric, node: Node) -> Iterator[_End]:
    """All components of all instances that match an endpoint."""
    document = fabric.document
    instance, numbers = _slice(
        document, node, "instance", {name: c for name, (_, c) in fabric.instances.items()}
    )
    device = fabric.devices[fabric.instances[instance][0]]
    component, places = _slice(document, node, "component", device.components)
    for number in numbers:
        for place in places:
            yield _End(instance, number, component, place)


def _slice(document: Document, node: Node, key: str, counts: dict[str, int]) -> tuple[str, range]:
    """Name and indices of an endpoint."""
    text = _text(document, node, key)
    match = _ENDPOINT.fullmatch(text)
    if match is None:
        raise document.error(
            node.line, f"{key} is {brief(text)}; expected a name with a slice, such as nic[0:2]"
        )
    name, first, colon, last = match.groups()
    if name not in counts:
        known = ", ".join(list(counts)[:10]) or "none"
        raise document.error(node.line, f"{key} {brief(name)} does not exist; expected {known}")
    every = range(counts[name])
    if "[" not in text or (colon and first is None and last is None):
        return name, every
    if not colon:
        if first is None or not -len(every) <= int(first) < len(every):
            raise document.error(node.line, f"{key} is {brief(text)}; there are only {len(every)}")
        return name, every[int(first) : int(first) + 1 or None]
    return name, every[int(first) if first else None : int(last) if last else None]


def _piece(fabric: _Fabric) -> Piece:
    document = fabric.document
    used: dict[tuple[str, int], dict[tuple[str, int], None]] = {}
    for _, *ends, _ in fabric.edges:
        for end in ends:
            used.setdefault((end.instance, end.number), {})[end.component, end.place] = None

    def is_server(end: _End) -> bool:
        return fabric.devices[fabric.instances[end.instance][0]].is_server

    def name(line: int, end: _End) -> str:
        own = f"{end.instance}{end.number}"
        if is_server(end) and len(used[end.instance, end.number]) > 1:
            own += f"-{end.component}{end.place}"
        return document.name(line, own)

    hosts: dict[str, None] = {}
    switches: dict[str, None] = {}
    links = []
    for line, one, other, link in fabric.edges:
        names = [name(line, one), name(line, other)]
        for end, own in zip((one, other), names, strict=True):
            (hosts if is_server(end) else switches)[own] = None
        rate = fabric.rates[link]
        if rate is None and document.rate is None:
            raise document.error(line, f"link {link} has no bandwidth; give it with --rate")
        cable: dict[str, Any] = {"rate": document.rate} if rate is None else trunk(rate)
        if document.length is not None:
            cable["length"] = document.length
        links.append({"between": names, **cable})
    remarks = []
    if fabric.shortened:
        remarks.append(
            f"{document.file}: {fabric.shortened} edges with one2one have lists of different lengths: linked "
            "up to the length of the shorter list"
        )
    numbers = dict(enumerate(hosts))
    return Piece(explicit([*hosts], [*switches], links), numbers=numbers, notes=fabric.notes, remarks=remarks)


def meaning(path: Path) -> str:
    """The consequence of leaving out a field."""
    is_inside = path[:1] == ("devices",) and len(path) > 2
    return "a scenario does not describe the inside of servers" if is_inside else "not part of a scenario"
