"""The output of `show lldp table` of SONiC, even if a terminal has wrapped its lines.

The line of dashes below the head defines the columns, since a cell may be empty or contain spaces. If it
continues on the next line, its length is the width at which all long lines were wrapped.

Source: `lldpshow` of sonic-utilities; lldpmgrd of sonic-buildimage, which sends the alias of a port as its
port ID and the name of the port as its description.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .piece import Document, brief

HEAD = re.compile(r"^\s*LocalPort\s{2,}RemoteDevice\b", re.MULTILINE)
_COLUMNS = ("LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr")
_LAST_DASHES = re.compile(r"-{30,}")
"""The line after the last row; a table row never looks like it."""


class Row(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    line : int
        Line of the document in which the row begins.
    local_port, device, port_id, capability, description : str
        Its cells; empty if the device did not send the value.
    """

    line: int
    local_port: str
    device: str
    port_id: str
    capability: str
    description: str


def rows(document: Document) -> list[Row]:
    """The rows of the table, in order.

    Raises
    ------
    InputError
        If the document has no such table, or a row has less than three columns.
    """
    lines = [line.expandtabs() for line in document.every_line()]
    head = next((number for number, line in enumerate(lines) if HEAD.match(line)), None)
    if head is None:
        raise document.error(1, f"has no table with the columns {', '.join(_COLUMNS[:3])}")
    begin = next((n for n in range(head + 1, len(lines)) if _is_ruler(lines[n])), None)
    if begin is None:
        raise document.error(head + 1, "has no line of dashes below the head; expected the whole table")
    end = begin + 1
    while end < len(lines) and _is_ruler(lines[end]):
        end += 1
    ruler = _unwrapped(lines[begin:end], len(lines[begin]))
    spans = [found.span() for found in re.finditer(r"-+", ruler)]
    width = len(lines[begin]) if end - begin > 1 else None
    return [_row(document, number, text, spans) for number, text in _logical(lines, end, width)]


def _is_ruler(line: str) -> bool:
    return "-" in line and set(line) <= {"-", " "}


def _unwrapped(pieces: Sequence[str], width: int) -> str:
    """Joins the pieces of a wrapped line; copying may have removed spaces at their ends."""
    return "".join([piece.ljust(width) for piece in pieces[:-1]] + [*pieces[-1:]])


def _logical(lines: Sequence[str], begin: int, width: int | None) -> list[tuple[int, str]]:
    """Rows with their first lines; continued lines are appended to the row.

    A row begins with a local port and another column. Without wrapping, a line whose first column is blank
    continues the cells of the row above.
    """
    found: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines[begin:], begin + 1):
        if line.startswith("Total") or _LAST_DASHES.fullmatch(line.strip()):
            break
        if not line.strip():
            continue
        is_first = re.match(r"\S+(?: {2,}\S| *$)", line) is not None
        if found and width is not None and len(found[-1][1][-1]) <= width and not _begins_row(line):
            found[-1][1].append(line)
        elif is_first or not found or line[:1] != " ":
            found.append((number, [line]))
        # Otherwise this is a further line of a cell, such as a long description; names are in the first line.
    return [(number, _unwrapped(pieces, width or 0)) for number, pieces in found]


def _begins_row(line: str) -> bool:
    """Returns true if the line begins with a port of a switch and has a second column."""
    return re.match(r"(?:Eth|eth|PortChannel|Management|mgmt)[\w/.-]* {2,}\S", line) is not None


def _row(document: Document, number: int, text: str, spans: Sequence[tuple[int, int]]) -> Row:
    gaps = zip([0, *(end for _, end in spans)], [begin for begin, _ in spans], strict=False)
    if len(spans) >= 3 and all(not text[begin:end].strip() for begin, end in gaps):
        ends = [begin for begin, _ in spans[1:]] + [None]
        cells = [text[begin:end].strip() for (begin, _), end in zip(spans, ends, strict=True)]
    else:
        # The table was typed by hand, or its columns were edited.
        cells = re.split(r"\s{2,}", text.strip())
    if len(cells) < 3 or not cells[0]:
        raise document.error(number, f"is {brief(text)}; expected {', '.join(_COLUMNS[:3])}")
    cells += [""] * (len(_COLUMNS) - len(cells))
    return Row(number, *cells[: len(_COLUMNS)])
