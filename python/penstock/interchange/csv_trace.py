"""Tables of transfers as CSV with a header; columns are separated by commas, semicolons or tabs.

The columns are the start of a transfer, its sender, its receiver, its size in bytes and, optionally, its
priority; each has several accepted names. A transfer that waits for others has no start. Instead, its column
`after` lists their values in the column `id`. The name of the start column ends with its unit, such as
`start_us`. Hosts are names of the fabric; if all are numbers, they are indexes of its hosts, from 0.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.errors import InputError
from penstock.laboratory.quantity import UNITS

from .piece import Document, Note, Piece, Transfer, brief
from .triggers import check_circles

_LONGEST_HEADER = 10_000
_TIMES = ("time", "start", "start_time", "timestamp", "arrival")
COLUMNS = {
    "from": ("from", "src", "source", "sender"),
    "to": ("to", "dst", "dest", "destination", "receiver"),
    "bytes": ("bytes", "size", "size_bytes", "flow_size", "length"),
    "priority": ("priority", "prio", "pg"),
    "id": ("id",),
    "after": ("after",),
}
_OPTIONAL = ("priority", "id", "after")
STARTS = {f"{word}_{unit}": factor for word in _TIMES for unit, factor in UNITS["time"].items()}
"""Accepted names of the start column, with the length of their unit in picoseconds."""


def recognises(document: Document) -> bool:
    """Returns true if the first line names senders and receivers."""
    _, header = _header(document)
    return all(any(word in header for word in COLUMNS[key]) for key in ("from", "to"))


def read(document: Document) -> Piece:
    """Reads transfers, in any order.

    Raises
    ------
    InputError
        If a column is missing or appears twice, or a value is wrong; the message has the line.
    """
    columns = _Columns.of(document)
    read = []
    named: dict[str, int] = {}
    for line, row in _rows(document, columns.delimiter):
        if line <= columns.line or not "".join(row).strip() or row[0].startswith("#"):
            continue
        if len(row) != columns.count:
            raise document.error(line, f"{len(row)} values; expected {columns.count}, as in the header")
        values = [value.strip() for value in row]
        one = columns.transfer(document, line, values)
        read.append((one, columns.value(values, "after").split()))
        if name := columns.value(values, "id"):
            if name in named:
                raise document.error(line, f"the id {brief(name)} is already used in line {named[name]}")
            named[name] = line
    if not read:
        raise InputError(f"{document.file}: has no transfers below its header")
    found = []
    for one, names in read:
        if unknown := [name for name in names if name not in named]:
            raise document.error(one.line, f"after {brief(unknown[0])}: no transfer has that id")
        found.append(one._replace(after=tuple(named[name] for name in names)))
    check_circles(document, {one.line: one.after for one in found})
    if all(str(host).isdecimal() for one in found for host in (one.sender, one.receiver)):
        found = [one._replace(sender=int(one.sender), receiver=int(one.receiver)) for one in found]
    left_out = f"{document.file}: columns not read: {', '.join(columns.others)}"
    notes = [Note(columns.line, f"{len(found)} transfers: {', '.join(columns.at)}")]
    return Piece(transfers=found, remarks=[left_out] if columns.others else [], notes=notes)


def _rows(document: Document, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows with the lines in which they end; cells are limited in length by Python's reader."""
    rows = csv.reader(document.every_line(), delimiter=delimiter)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise document.error(rows.line_num, f"not a table of values: {error}") from None
        if row is None:
            return
        yield rows.line_num, row


def _header(document: Document) -> tuple[int, list[str]]:
    """The line of the header, and its column names."""
    line, text = next(document.lines(), (1, ""))
    if len(text) > _LONGEST_HEADER:
        return line, []
    names = next(csv.reader([text], delimiter=_delimiter(text)), [])
    return line, [name.strip().lower() for name in names]


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)


@dataclass(frozen=True)
class _Columns:
    """Positions of the columns."""

    line: int
    delimiter: str
    count: int
    at: Mapping[str, int]
    start: str
    others: list[str]

    @classmethod
    def of(cls, document: Document) -> _Columns:
        line, header = _header(document)
        wanted = {"start": tuple(STARTS), **COLUMNS}
        at: dict[str, int] = {}
        for key, names in wanted.items():
            found = [index for index, name in enumerate(header) if name in names]
            if len(found) > 1:
                twice = " and ".join(header[index] for index in found)
                raise document.error(line, f"{twice} have the same meaning; expected one of them")
            if found:
                at[key] = found[0]
            elif key == "start" and (bare := [name for name in header if name in _TIMES]):
                raise document.error(
                    line, f'the column "{bare[0]}" has no unit; call it {bare[0]}_us, or _s, _ms, _ns, _ps'
                )
            elif key not in _OPTIONAL:
                expected = "start_us, start_ns, ..." if key == "start" else ", ".join(names)
                raise document.error(line, f"no column for {key}; expected one of {expected}")
        text = next(text for number, text in document.lines() if number == line)
        others = [name for index, name in enumerate(header) if index not in at.values()]
        return cls(line, _delimiter(text), len(header), at, header[at["start"]], others)

    def value(self, row: list[str], key: str) -> str:
        """The cell of a column; empty if there is none."""
        return row[self.at[key]] if key in self.at else ""

    def transfer(self, document: Document, line: int, row: list[str]) -> Transfer:
        """The transfer in a line."""
        text, after = row[self.at["start"]], self.value(row, "after")
        if text and after:
            raise document.error(
                line, f"{self.start} is {brief(text)} together with after; expected one of them"
            )
        start = document.instant(line, self.start, text or "0" if after else text, STARTS[self.start])
        size = document.whole(line, "bytes", row[self.at["bytes"]], least=1)
        priority = None
        if "priority" in self.at:
            priority = document.whole(line, "priority", row[self.at["priority"]], most=7)
        return Transfer(line, start, row[self.at["from"]], row[self.at["to"]], size, priority)
