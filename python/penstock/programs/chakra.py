"""Chakra execution traces: one file per rank, with nodes and their dependencies.

A file is a sequence of length-prefixed messages: the metadata, then one message per node. It may be
compressed, and several files may be in an archive. The JSON form of the same graph is also supported.

Source: `schema/protobuf/et_def.proto` of MLCommons Chakra, and its feeder.
"""

from __future__ import annotations

import ast
import io
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InputError

from . import protobuf
from .protobuf import Malformed

GZIP = b"\x1f\x8b"
MOST_BYTES = 1 << 30
"""Maximum size of an uncompressed trace in bytes."""
TYPES = (
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
)
COLLECTIVES = (
    "all-reduce",
    "reduce",
    "all-gather",
    "gather",
    "scatter",
    "broadcast",
    "all-to-all",
    "reduce-scatter",
    "reduce-scatter",
    "barrier",
)
"""Collectives by `comm_type`; 8 is REDUCE_SCATTER_BLOCK."""
_USED = (
    "is_cpu_op",
    "comm_type",
    "comm_size",
    "comm_src",
    "comm_dst",
    "comm_tag",
    "pg_name",
    "involved_dim",
    "tid",
)
"""Attributes of nodes that are used. All others, such as those of profilers, are ignored."""
_LONGEST_GROUPS = 1 << 24
Value = int | float | str | bool | list[int]


@dataclass(slots=True)
class Node:
    """A node of a trace.

    Attributes
    ----------
    id : int
        Number of the node, unique in its file.
    name : str
        Name for messages.
    type : str
        One of `TYPES`.
    control, data : list of int
        Numbers of the nodes that it depends on, as in the file.
    micros : int
        Duration in microseconds; 0 if the file has none.
    attributes : dict
        Attributes that are used here.
    inputs : str
        Process groups of a node of type METADATA; empty otherwise.
    """

    id: int = 0
    name: str = ""
    type: str = "INVALID"
    control: list[int] = field(default_factory=list)
    data: list[int] = field(default_factory=list)
    micros: int = 0
    attributes: dict[str, Value] = field(default_factory=dict)
    inputs: str = ""


@dataclass
class Trace:
    """The trace of one rank.

    Attributes
    ----------
    file : str
        Name of the file, for messages.
    nodes : list of Node
        Nodes in the order of the file.
    groups : dict
        Ranks of each process group, by name. An empty list means all ranks.
    version : str
        Version of the schema; empty if the file has none.
    """

    file: str
    nodes: list[Node]
    groups: dict[str, list[int]]
    version: str = ""


def read(file: str, data: bytes) -> list[Trace]:
    """Reads the trace in a file, or the traces in an archive, in the order of their names.

    Raises
    ------
    InputError
        If it is not a trace, or is truncated; the message has the offset.
    """
    data = uncompressed(file, data)
    if data[257:262] == b"ustar":
        return [_trace(f"{file}/{name}", one) for name, one in _members(file, data)]
    return [_trace(file, data)]


def uncompressed(file: str, data: bytes) -> bytes:
    """Returns the contents of a file, decompressed if it is compressed with gzip.

    Raises
    ------
    InputError
        If the file is damaged, or larger than `MOST_BYTES`.
    """
    if not data.startswith(GZIP):
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        found = stream.decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        raise InputError(f"{file}: is damaged: {error}") from error
    if len(found) > MOST_BYTES:
        raise InputError(f"{file}: is larger than {MOST_BYTES >> 20} MiB uncompressed")
    if not stream.eof:
        raise InputError(f"{file}: the compressed data ends too early: the file is truncated")
    return found


def _members(file: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = [one for one in archive.getmembers() if one.isfile() and one.name.endswith(".et")]
            for one in sorted(members, key=lambda one: one.name):
                if content := archive.extractfile(one):
                    yield one.name, uncompressed(f"{file}/{one.name}", content.read())
    except tarfile.TarError as error:
        raise InputError(f"{file}: is not an archive: {error}") from error
    if not members:
        raise InputError(f"{file}: the archive has no file .et")


def _trace(file: str, data: bytes) -> Trace:
    if data.lstrip()[:1] == b"{":
        return _of_json(file, data)
    trace = Trace(file, [], {})
    try:
        for number, (offset, message) in enumerate(protobuf.records(memoryview(data))):
            if number == 0:
                trace.version = _version(message, offset)
            else:
                trace.nodes.append(_node(message, offset))
    except Malformed as error:
        raise InputError(f"{file}: {error}; expected a trace of Chakra") from error
    return _checked(trace)


def _checked(trace: Trace) -> Trace:
    """Checks that the numbers of a trace are unique, and sets its process groups."""
    seen: set[int] = set()
    for node in trace.nodes:
        if node.id in seen:
            raise InputError(f"{trace.file}: two nodes have id {node.id}; expected unique ids")
        seen.add(node.id)
        if node.type == "METADATA" and node.inputs:
            trace.groups |= _groups(trace.file, node)
    return trace


def _version(message: memoryview, base: int) -> str:
    """Schema version from the metadata. Other attributes may be very long and are not kept."""
    version = ""
    for number, value, offset in protobuf.fields(message, base):
        if number == 1:
            version = protobuf.text(value, offset, "the version")
        elif number == 2:
            name, found = _attribute(value, offset)
            if name == "schema" and not version:
                version = str(found)
    return version[:40]


def _node(message: memoryview, base: int) -> Node:
    node = Node()
    for number, value, offset in protobuf.fields(message, base):
        if number in (1, 3, 7):
            if not isinstance(value, int):
                raise Malformed(offset, f"field {number} of a node is not a number")
            if number == 3 and value >= len(TYPES):
                raise Malformed(offset, f"node type {value}; expected 0 to {len(TYPES) - 1}")
            if number == 1:
                node.id = value
            elif number == 3:
                node.type = TYPES[value]
            else:
                node.micros = value
        elif number == 2:
            node.name = protobuf.text(value, offset, "the name of a node")
        elif number == 4:
            node.control += protobuf.integers(value, offset)
        elif number == 5:
            node.data += protobuf.integers(value, offset)
        elif number == 8 and not isinstance(value, int):
            values = [one for own, one, _ in protobuf.fields(value, offset) if own == 1]
            node.inputs = protobuf.text(values[-1], offset, "inputs") if values else ""
        elif number == 10:
            name, found = _attribute(value, offset)
            if name in _USED:
                node.attributes[name] = found
    if node.type != "METADATA":
        node.inputs = ""
    return node


_FIXED = {3: "d", 5: "f", 19: "I", 21: "Q", 23: "i", 25: "q"}


def _attribute(value: int | memoryview, base: int) -> tuple[str, Value]:
    """Name and value of an attribute of any integer type; an empty list for a list of other values."""
    if isinstance(value, int):
        raise Malformed(base, "an attribute is a number; expected a message")
    name = ""
    result: Value = 0
    for number, one, offset in protobuf.fields(value, base):
        if number == 1:
            name = protobuf.text(one, offset, "the name of an attribute")
        elif number in _FIXED:
            result = protobuf.fixed(one, _FIXED[number], offset)
        elif number in (7, 9, 11, 13, 15, 17, 27) and isinstance(one, int):
            result = protobuf.zigzag(one) if number in (15, 17) else one
            result = protobuf.signed(one) if number in (7, 9) else bool(one) if number == 27 else result
        elif number in (29, 31) and not isinstance(one, int):
            result = bytes(one).decode(errors="replace")
        elif number % 2 == 0 and 4 <= number <= 32 and not isinstance(one, int):
            lists = [more for own, more, _ in protobuf.fields(one, offset) if own == 1]
            wanted = number in (8, 10, 12, 14, 16, 18, 28)
            result = [each for more in lists for each in protobuf.integers(more, offset)] if wanted else []
        elif number != 2:
            raise Malformed(offset, f"field {number} of an attribute")
    return name, result


def _groups(file: str, node: Node) -> dict[str, list[int]]:
    """Parses the process groups in a node: a Python literal list within one JSON text."""
    place = f"{file}: node {node.id}: process groups"
    if len(node.inputs) > _LONGEST_GROUPS:
        raise InputError(f"{place} of {len(node.inputs):,} characters; at most {_LONGEST_GROUPS:,} are read")
    try:
        literal = ast.literal_eval(node.inputs)
        texts = literal if isinstance(literal, list) else [literal]
        groups = [
            one for text in texts if isinstance(text, str) and "pg_name" in text for one in json.loads(text)
        ]
        return {str(one["pg_name"]): [int(rank) for rank in one["ranks"]] for one in groups}
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError) as error:
        expected = '["[{\\"pg_name\\": \\"0\\", \\"ranks\\": [0, 1]}]"]'
        raise InputError(f"{place} cannot be read ({type(error).__name__}); expected {expected}") from error


def communicator_groups(file: str, data: bytes) -> dict[str, list[int]]:
    """Reads process groups from a file of ASTRA-sim: an object of lists, as in ``{"0": [0, 1, 2, 3]}``.

    Raises
    ------
    InputError
        If the text is not such an object.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f'{file}: is not an object; expected groups, as in {{"0": [0, 1]}}')
    for name, ranks in found.items():
        if not isinstance(ranks, list) or not all(type(one) is int and one >= 0 for one in ranks):
            raise InputError(f"{file}: group {name[:40]} is not a list of ranks")
    return found


_JSON_KEYS = {
    "id": "id",
    "name": "name",
    "nodetype": "type",
    "type": "type",
    "ctrldeps": "control",
    "datadeps": "data",
    "runtime": "micros",
    "durationmicros": "micros",
}


def _of_json(file: str, data: bytes) -> Trace:
    """Parses the JSON form: a list `workload_graph` or `nodes` of objects, with varying spellings of keys."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON: {error}") from error
    listed = document.get("workload_graph", document.get("nodes"))
    if not isinstance(listed, list):
        raise InputError(f'{file}: has no list "workload_graph"; expected a trace of Chakra as JSON')
    nodes = [_json_node(f"{file}: node {place}", one) for place, one in enumerate(listed)]
    return _checked(Trace(file, nodes, {}, str(document.get("schema", ""))))


def _json_node(place: str, table: Any) -> Node:
    if not isinstance(table, Mapping):
        raise InputError(f"{place} is {type(table).__name__}; expected an object")
    node = Node()
    for key, value in table.items():
        own = _JSON_KEYS.get(key.lower().replace("_", ""))
        if own in ("control", "data"):
            if not isinstance(value, list) or not all(isinstance(one, int) and one >= 0 for one in value):
                raise InputError(f"{place}: {key} is not a list of ids")
            setattr(node, own, value)
        elif own == "name":
            node.name = str(value)
        elif own == "type" and isinstance(value, str) and value.removesuffix("_NODE") in TYPES:
            node.type = value.removesuffix("_NODE")
        elif own is not None:
            most = len(TYPES) - 1 if own == "type" else 2**64 - 1
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise InputError(
                    f"{place}: {key} is {str(value)[:40]}; expected a whole number from 0 to {most}"
                )
            setattr(node, own, TYPES[value] if own == "type" else value)
        elif key in _USED and isinstance(value, int | float | str | bool):
            node.attributes[key] = value
    return node
