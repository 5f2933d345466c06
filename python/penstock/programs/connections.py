"""Converts htsim's connection matrices to programs: one message per connection, triggers as dependencies.

A trigger fires at the sender of a connection when the data has been sent, or at the receiver when it has
arrived. An operation of another host that waits for it is notified by a message of 0 bytes, which takes
network time; in htsim it starts immediately.

Start times are computations on a separate resource (cpu 1), so they delay nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from penstock import _core
from penstock.errors import InputError
from penstock.interchange import htsim
from penstock.interchange.piece import Document
from penstock.interchange.triggers import DONE, Connection, Trigger
from penstock.laboratory.quantity import UNITS

from .building import PS_PER_NS, Builder, Op
from .reading import Found, Options, Repairs

CLOCK = 1
"""Resource of the computations that represent waiting for a start time."""


def read(files: Sequence[tuple[str, bytes]], options: Options) -> Found:
    """One matrix."""
    if len(files) != 1:
        raise InputError(f"{files[1][0]}: a second matrix; expected one file")
    file, data = files[0]
    document = Document(file, data.decode("utf-8-sig", errors="replace"), time_unit=options.time_unit)
    matrix = htsim.parse(document)
    sized = [one for one in matrix.connections if _size(document, one)]
    total = sum(_size(document, one) for one in sized)
    contents = [
        f"{matrix.nodes:,} nodes, {len(matrix.connections):,} connections of {total:,} B, "
        f"{len(matrix.triggers)} triggers"
    ]
    if len(sized) < len(matrix.connections):
        contents.append(f"{len(matrix.connections) - len(sized):,} connections have no end (size 0)")
    notes = [] if options.time_unit else ["starts are in microseconds; --time-unit names another unit"]
    found = Found("htsim connection matrix", contents, [], notes, lambda: _core.Program([]))
    found.program = lambda: _Assembly(document, matrix, found).program()
    return found


def _size(document: Document, one: Connection) -> int:
    return document.whole(one.line, "size", one.fields.get("size", "0"))


class _Assembly:
    """Builds the program of a matrix."""

    def __init__(self, document: Document, matrix: htsim.Matrix, found: Found) -> None:
        self.document, self.matrix, self.found = document, matrix, found
        self.repairs = Repairs()
        self.builder = Builder(matrix.nodes, document.file)
        self.sends: dict[int, Op] = {}
        self.recvs: dict[int, Op] = {}
        """Operations by line of the connection."""

    def program(self) -> _core.Program:
        """Returns the program.

        Raises
        ------
        InputError
            If a connection has no end, or waits for a trigger that cannot be a dependency.
        """
        document, connections = self.document, self.matrix.connections
        for one in connections:
            if not (size := _size(document, one)):
                raise document.error(
                    one.line, "the connection has no end (size 0); a program has none such. Give it a size"
                )
            tag = self.builder.tags(1)
            self.sends[one.line] = self.builder.send(one.sender, one.receiver, size, tag)
            self.recvs[one.line] = self.builder.recv(one.receiver, one.sender, size, tag)
        self._starts()
        fired: dict[int, list[tuple[Connection, str]]] = {number: [] for number in self.matrix.triggers}
        for one in connections:
            for word in DONE:
                if word in one.fields:
                    fired[int(one.fields[word])].append((one, word))
        for one in connections:
            if "trigger" in one.fields:
                self._trigger(
                    one, self.matrix.triggers[int(one.fields["trigger"])], fired[int(one.fields["trigger"])]
                )
        self.found.repairs += self.repairs.lines()
        return self.builder.build()

    def _starts(self) -> None:
        """Delays the connections of each host by a chain of computations from one start time to the next."""
        unit = UNITS["time"][self.document.time_unit or "us"]
        by_host: dict[int, list[tuple[Fraction, Op]]] = {}
        for one in self.matrix.connections:
            if "start" in one.fields:
                start = self.document.instant(one.line, "start", one.fields["start"], unit) / PS_PER_NS
                by_host.setdefault(one.sender, []).append((start, self.sends[one.line]))
                if start.denominator != 1:
                    self.repairs.count("starts that are no whole number of ns: rounded", f"line {one.line}")
        for host, starts in by_host.items():
            now, clock = 0, None
            for start, send in sorted(starts):
                if (then := round(start)) > now:
                    clock = self.builder.calc(host, then - now, [] if clock is None else [clock], cpu=CLOCK)
                    now = then
                if clock is not None:
                    self.builder.require(send, clock)

    def _trigger(self, own: Connection, trigger: Trigger, fired: Sequence[tuple[Connection, str]]) -> None:
        """Makes a connection depend on the connections that fire its trigger."""
        number = own.fields["trigger"]
        needed = trigger.count if trigger.kind == "barrier" else 1
        if len(fired) != needed:
            raise self.document.error(
                own.line,
                f"begins when trigger {number} (line {trigger.line}) fires, after {needed} of "
                f"{len(fired)} connections "
                f"that fire it; a program waits for all of them. Expected {needed} of them, or a "
                "barrier with count "
                f"{len(fired)}",
            )
        for other, word in fired:
            local = {other.sender: self.sends, other.receiver: self.recvs}.get(own.sender)
            if local is not None:
                self.builder.require(self.sends[own.line], local[other.line])
                continue
            at = other.sender if word == "send_done_trigger" else other.receiver
            end = self.sends[other.line] if word == "send_done_trigger" else self.recvs[other.line]
            tag = self.builder.tags(1)
            self.builder.send(at, own.sender, 0, tag, [end])
            self.builder.require(self.sends[own.line], self.builder.recv(own.sender, at, 0, tag))
            self.repairs.count("triggers of another host: messages of 0 bytes", f"line {own.line}")
