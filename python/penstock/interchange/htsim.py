"""Connection matrices of htsim: the number of nodes, and one line per connection.

Source: `sim/datacenter/connection_matrix.cpp` of csg-htsim and uet-htsim and the matrices beside it. The
unit of starts depends on the program: microseconds for main_uec and main_swift, picoseconds for main_ndp,
main_roce, main_hpcc and main_eqds. A connection without a size, or of size 0, never ends. Lines that share
an identifier are messages of one connection (`msg`).

Connections that begin when others end (triggers) become transfers that wait for others; see `triggers`.

Not imported: identifiers, and `prio`, which orders the pulls of a receiver and is not an Ethernet
priority; both become comments. Failures are errors.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InputError
from penstock.laboratory.quantity import UNITS

from .piece import Document, Note, Piece, Transfer, brief
from .triggers import DONE, Connection, Trigger, after

_COUNTS = ("Nodes", "Connections", "Triggers", "Failures")
_WORDS = ("start", "trigger", "size", "id", "msg", "prio", "send_done_trigger", "recv_done_trigger")
_KINDS = ("oneshot", "multishot", "barrier")
_LATE = 10**6
"""Start times from this value on are probably in picoseconds."""


def recognises(document: Document) -> bool:
    """Returns true if a text begins with a number of nodes and is not a description of tiers."""
    first = [line.split() for line in document.first_lines(4)]
    return (
        first[:1] != []
        and first[0][0] == "Nodes"
        and len(first[0]) > 1
        and first[0][1][:1].isdigit()
        and all(words[0].lower() != "tiers" for words in first)
    )


def read(document: Document) -> Piece:
    """Reads transfers between hosts that are numbered from 0.

    Raises
    ------
    InputError
        If the text is not a matrix, its header does not match the number of lines, a connection waits for
        an event that its host cannot observe, or there are failures; the message has the line.
    """
    matrix = _Matrix(document)
    for line, text in document.lines():
        matrix.take(line, text.split())
    return matrix.piece()


@dataclass(frozen=True)
class Matrix:
    """A matrix as written in its file.

    Attributes
    ----------
    nodes : int
        Number of hosts.
    connections : list of Connection
        Connections in the order of the file.
    triggers : dict
        Triggers by number.
    """

    nodes: int
    connections: list[Connection]
    triggers: dict[int, Trigger]


def parse(document: Document) -> Matrix:
    """Parses a matrix without converting it to transfers.

    Raises
    ------
    InputError
        If the text is not a matrix, its header does not match the number of lines, or it refers to a
        missing trigger; the message has the line.
    """
    matrix = _Matrix(document)
    for line, text in document.lines():
        matrix.take(line, text.split())
    return matrix.parsed()


@dataclass
class _Matrix:
    """State of the parser of a matrix."""

    document: Document
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Counts in the header, with their lines."""
    connections: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    triggers: dict[int, Trigger] = field(default_factory=dict)

    def take(self, line: int, words: Sequence[str]) -> None:
        """Handles a line."""
        is_header = not self.connections and not self.triggers
        if words[0] in _COUNTS and len(words) == 2 and is_header:
            if words[0] in self.counts:
                raise self.document.error(line, f"{words[0]} appears twice")
            self.counts[words[0]] = (self.document.whole(line, words[0], words[1], most=10**9), line)
        elif "->" in words[0]:
            self._connection(line, words)
        elif words[0] == "trigger":
            self._trigger(line, words)
        elif words[0] == "failure":
            message = "a failure; its link depends on the program: expected [[faults]] in the scenario"
            raise self.document.error(line, message)
        else:
            expected = "a connection, such as 0->1, a trigger, nor a count of either"
            raise self.document.error(line, f'"{brief(words[0])}" is neither {expected}')

    def _connection(self, line: int, words: Sequence[str]) -> None:
        """Handles a line such as ``0->15 id 1 start 0 size 2000000``; ``msg`` may lack a number."""
        fields = {"": words[0]}
        at = 1
        while at < len(words):
            word, at = words[at], at + 1
            if word not in _WORDS:
                expected = ", ".join(_WORDS)
                raise self.document.error(line, f'unknown word "{brief(word)}"; expected {expected}')
            if word in fields:
                raise self.document.error(line, f"{word} appears twice")
            if word == "msg" and (at == len(words) or not words[at].isdigit()):
                fields[word] = ""
                continue
            if at == len(words):
                raise self.document.error(line, f"{word} has no value")
            fields[word], at = words[at], at + 1
        if ("start" in fields) == ("trigger" in fields):
            how = "a start and a trigger" if "start" in fields else "neither start nor trigger"
            raise self.document.error(line, f"the connection has {how}; expected one of them")
        for word in set(fields) - {"", "start", "size"} - ({"msg"} if fields.get("msg") == "" else set()):
            self.document.whole(line, word, fields[word], least=0 if word == "prio" else 1)
        self.connections.append((line, fields))

    def _trigger(self, line: int, words: Sequence[str]) -> None:
        """Handles a line such as ``trigger id 1 oneshot`` or ``trigger id 2 barrier count 4``."""
        if len(words) < 4 or words[1] != "id" or words[3] not in _KINDS:
            raise self.document.error(line, f"expected a trigger, such as trigger id 1 {' or '.join(_KINDS)}")
        number = self.document.whole(line, "the trigger", words[2], least=1)
        if number in self.triggers:
            raise self.document.error(line, f"trigger {number} appears twice")
        rest = words[4:]
        if (words[3] == "barrier") != (len(rest) == 2 and rest[0] == "count"):
            raise self.document.error(line, "expected a count for a barrier, and for it alone")
        if rest:
            self.document.whole(line, "the count", rest[1], least=1)
        self.triggers[number] = Trigger(line, words[3], int(rest[1]) if rest else 1)

    def parsed(self) -> Matrix:
        """The matrix, checked against its header.

        Raises
        ------
        InputError
            If a count in the header is wrong.
        """
        self._check_counts()
        found = [self._connection_of(line, fields) for line, fields in self.connections]
        if not found:
            raise InputError(f"{self.document.file}: has no connections")
        self._check_identifiers()
        for one in found:
            for word in ("trigger", *DONE):
                if word in one.fields and int(one.fields[word]) not in self.triggers:
                    raise self.document.error(
                        one.line, f"{word} {one.fields[word]}: the file has no such trigger"
                    )
        return Matrix(self.counts.get("Nodes", (0, 0))[0], found, self.triggers)

    def piece(self) -> Piece:
        """The connections as a piece of a scenario.

        Raises
        ------
        InputError
            If a count in the header is wrong.
        """
        found = self.parsed().connections
        waits, remarks = after(self.document, found, self.triggers)
        used = {one.fields["trigger"] for one in found if "trigger" in one.fields}
        transfers = [self._transfer(one, waits.get(one.line, ()), used) for one in found]
        timed = [one for one in found if "start" in one.fields]
        latest = max(
            ((self.document.decimal(one.line, "start", one.fields["start"]), one.line) for one in timed),
            default=(0, 0),
        )
        if self.document.time_unit is None:
            remarks.append(
                f"{self.document.file}: starts are in microseconds; --time-unit names another unit"
            )
            if latest[0] >= _LATE:
                remarks.append(
                    f"{self.document.file}:{latest[1]}: a start of {latest[0]}: probably in picoseconds, as "
                    f"main_ndp, "
                    "main_roce, main_hpcc and main_eqds use: --time-unit ps"
                )
        notes = [Note(line, f"{name} {count}") for name, (count, line) in self.counts.items()]
        return Piece(transfers=transfers, remarks=remarks, notes=notes)

    def _check_counts(self) -> None:
        found = {"Connections": len(self.connections), "Triggers": len(self.triggers), "Failures": 0}
        for name, number in found.items():
            if name in self.counts and self.counts[name][0] != number:
                fields, line = self.counts[name]
                raise self.document.error(line, f"the header has {fields} {name.lower()}, the file {number}")

    def _check_identifiers(self) -> None:
        seen: dict[str, tuple[int, Mapping[str, str]]] = {}
        for line, fields in self.connections:
            if (number := fields.get("id")) is None:
                continue
            first, other = seen.setdefault(number, (line, fields))
            if first != line and not ("msg" in fields and "msg" in other and fields[""] == other[""]):
                raise self.document.error(
                    line, f"id {number} is already used in line {first}; expected another, or msg"
                )

    def _connection_of(self, line: int, fields: Mapping[str, str]) -> Connection:
        document = self.document
        ends = fields[""].split("->")
        if len(ends) != 2:
            raise document.error(
                line, f"the connection is {brief(fields[''])}; expected two numbers, such as 0->1"
            )
        most = max(self.counts.get("Nodes", (0, 0))[0] - 1, 0)
        sender, receiver = (document.whole(line, "a node", end, most=most) for end in ends)
        return Connection(line, sender, receiver, fields)

    def _transfer(self, one: Connection, waits: Sequence[int], used: Container[str]) -> Transfer:
        document, line, fields = self.document, one.line, one.fields
        start = document.instant(
            line, "start", fields.get("start", "0"), UNITS["time"][document.time_unit or "us"]
        )
        size = document.whole(line, "size", fields.get("size", "0")) or None
        if waits and size is None:
            raise document.error(line, "waits for a trigger and has no end; expected a size")
        words = [
            word for word in _WORDS[3:] if word in fields and not (word in DONE and fields[word] in used)
        ]
        note: dict[str, Any] = {word: fields[word] for word in words}
        text = ", ".join(f"{word} {value}".strip() for word, value in note.items())
        return Transfer(line, start, one.sender, one.receiver, size, note=text, after=tuple(waits))
