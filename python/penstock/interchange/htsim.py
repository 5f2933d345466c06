"""Connection matrices of htsim: the number of nodes, and a line for each connection.

Source: `sim/datacenter/connection_matrix.cpp` and the matrices beside it; its loader takes starts as
picoseconds. Not taken over: identifiers of flows, and `prio`, which orders the pulls of a receiver and is no
priority of Ethernet. Connections that begin when another ends (triggers) and failures are errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.errors import InputError

from .piece import Document, Piece, Transfer

_COUNTS = ("Nodes", "Connections", "Triggers", "Failures")
_IGNORED = ("id", "prio")
_WITH_TRIGGERS = ("trigger", "send_done_trigger", "recv_done_trigger", "addon")


def recognises(document: Document) -> bool:
    """Whether a text begins with a number of nodes."""
    return re.match(r"Nodes\s+\d", next((line for _, line in document.lines()), "")) is not None


def read(document: Document) -> Piece:
    """Transfers between hosts that are numbered from 0.

    Raises
    ------
    InputError
        If the text is something else, or has triggers or failures; the message has the line.
    """
    counts: dict[str, int] = {}
    found: list[Transfer] = []
    for line, text in document.lines():
        words = text.split()
        if words[0] in _COUNTS and len(words) == 2 and not found:
            counts[words[0]] = document.whole(line, words[0], words[1], most=10**9)
        elif "->" in words[0]:
            found.append(_connection(document, line, words, counts.get("Nodes", 0)))
        elif words[0] in ("trigger", "failure"):
            raise document.error(line, f"a {words[0]}; only connections that have a start can be imported")
        else:
            raise document.error(
                line, f'"{words[0]}" is neither a connection, such as 0->1, nor a number of them'
            )
    if len(found) != counts.get("Connections", len(found)):
        raise InputError(f"{document.file}: has {len(found)} connections, and says {counts['Connections']}")
    if not found:
        raise InputError(f"{document.file}: has no connections")
    return Piece(transfers=found)


def _connection(document: Document, line: int, words: Sequence[str], nodes: int) -> Transfer:
    """A line such as ``0->15 id 1 start 0 size 2000000``."""
    ends = words[0].split("->")
    if len(ends) != 2:
        raise document.error(line, f"the connection is {words[0]}; expected two numbers, such as 0->1")
    sender, receiver = (document.whole(line, "a node", end, most=max(nodes - 1, 0)) for end in ends)
    said = dict(zip(words[1::2], words[2::2], strict=False))
    for word in words[1::2]:
        if word in _WITH_TRIGGERS:
            raise document.error(line, f"{word}; only connections that have a start can be imported")
        if word not in ("start", "size", *_IGNORED):
            raise document.error(line, f'unknown word "{word}"; expected start, size, id or prio')
    for word in ("start", "size"):
        if word not in said:
            raise document.error(line, f"the connection has no {word}")
    size = document.whole(line, "size", said["size"], least=1)
    return Transfer(line, document.decimal(line, "start", said["start"]), sender, receiver, size)
