"""Headroom of a switch model from SONiC's `pg_profile_lookup.ini`: one row per speed and cable length.

Columns: speed in Mb/s, cable such as 40m, size, xon, xoff, threshold, and, on some chips, xon_offset, in
octets. XOFF is the headroom above the threshold. A threshold from -8 to 7 is an exponent of two, the factor
applied to the free memory. Any other value is a threshold in octets.

Not imported: rows for links other than the one given by `--rate` and `--length`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.laboratory.quantity import Quantity

from .lossless_profile import EXPONENTS, Profile
from .piece import Document, Note, Piece, SharedMemory, brief

COLUMNS = ("speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset")
LEAST_COLUMNS = 6
_CABLE = re.compile(r"\d{1,7}m", re.ASCII)


@dataclass(frozen=True)
class Row:
    """A row, in Mb/s, meters and octets, with its line."""

    line: int
    speed: int
    cable: int
    size: int
    xon: int
    xoff: int
    threshold: int
    xon_offset: int | None

    @property
    def profile(self) -> Profile:
        """Returns the profile of a group with the values of this row."""
        exponent = self.threshold if self.threshold in EXPONENTS else None
        static = self.threshold if exponent is None else None
        return Profile(self.size, self.xon, self.xoff, self.xon_offset, exponent, static)


def recognises(document: Document) -> bool:
    """Returns true if the first line with content starts with a speed, a cable and a size."""
    words = (document.first_lines(1) or [""])[0].split()
    return (
        len(words) >= len(COLUMNS[:3])
        and words[0].removeprefix("-").isdecimal()
        and words[1][-1:] == "m"
        and words[1][:-1].isdecimal()
        and words[2].removeprefix("-").isdecimal()
    )


def read(document: Document) -> Piece:
    """Reads the thresholds for the link given on the command line.

    Raises
    ------
    InputError
        If a row is invalid, or no row matches the link; the message names the line.
    """
    rows = rows_of(document)
    row = _chosen(document, rows)
    remarks = [f"the row of {row.speed} Mb/s and {row.cable} m, line {row.line}"]
    notes = [Note(row.line, " ".join(f"{name} {getattr(row, name)}" for name in COLUMNS))]
    pfc: dict[str, Any] = {"accounting": "ingress"}
    profile = row.profile
    if profile.exponent is None:
        watermarks, reported = profile.watermarks()
        keys: dict[str, Any] = {"flow_control": {"pfc": pfc | watermarks}}
        memory = None
    else:
        threshold, reported = profile.dynamic()
        keys = {"switch": {"buffer": {"dynamic_threshold": threshold}}, "flow_control": {"pfc": pfc}}
        memory = SharedMemory(headroom_bytes=row.xoff)
        reported.append(f"xoff is {row.xoff}: all groups of a switch share the total headroom")
    remarks += [f"{document.file}:{row.line}: {one}" for one in reported]
    remarks += other_rows(document, rows, row)
    return Piece(keys=keys, remarks=remarks, memory=memory, notes=notes)


def rows_of(document: Document) -> list[Row]:
    """Reads all rows.

    Raises
    ------
    InputError
        If a row is invalid, or there are none; the message names the line.
    """
    rows = [_row(document, line, words.split()) for line, words in document.lines()]
    if not rows:
        columns = " ".join(COLUMNS[:LEAST_COLUMNS])
        raise document.error(1, f"no rows, only comments; expected {columns}")
    return rows


def other_rows(document: Document, rows: Sequence[Row], row: Row) -> list[str]:
    """Remark on the rows that are not used."""
    lines = ", ".join(str(one.line) for one in rows if one is not row)
    return [f"{document.file}: not read: rows of other links, lines {brief(lines)}"] if lines else []


def row_for(rows: Sequence[Row], speed: int, metres: int) -> Row | None:
    """The row of a link: its speed in Mb/s, and the shortest cable that is at least as long."""
    fitting = [row for row in rows if row.speed == speed and row.cable >= metres]
    return min(fitting, key=lambda row: row.cable, default=None)


def _row(document: Document, line: int, cells: list[str]) -> Row:
    if not LEAST_COLUMNS <= len(cells) <= len(COLUMNS):
        columns = " ".join(COLUMNS[:LEAST_COLUMNS])
        raise document.error(line, f"{len(cells)} columns; expected {columns}, and optionally xon_offset")
    named = dict(zip(COLUMNS, cells, strict=False))
    if _CABLE.fullmatch(named["cable"]) is None:
        raise document.error(line, f"cable is {named['cable']}; expected metres, such as 40m")
    named["cable"] = named["cable"].removesuffix("m")
    exponent = named["threshold"].removeprefix("-")
    document.whole(line, "threshold", exponent, 0, 8 if exponent != named["threshold"] else 2**40)
    numbers = {
        name: document.whole(line, name, text, least=1 if name == "speed" else 0)
        for name, text in named.items()
        if name != "threshold"
    }
    offset = numbers.pop("xon_offset", None)
    return Row(line=line, threshold=int(named["threshold"]), xon_offset=offset, **numbers)


def _chosen(document: Document, rows: list[Row]) -> Row:
    """The row of the document's link: its speed, and the shortest cable that is at least as long."""
    known = ", ".join(dict.fromkeys(f"{row.speed} Mb/s with {row.cable} m" for row in rows))
    if document.rate is None or document.length is None:
        if len(rows) == 1:
            return rows[0]
        raise document.error(rows[0].line, f"{len(rows)} rows; select one with --rate and --length: {known}")
    speed = _amount(document, "--rate", document.rate, "rate", "100 Gb/s") // 10**6
    metres = -(-_amount(document, "--length", document.length, "length", "40 m") // 1_000)
    fitting = [row for row in rows if row.speed == speed and row.cable >= metres]
    if not fitting:
        wanted = f"{document.rate} and {document.length}"
        raise document.error(rows[-1].line, f"no row matches {wanted}; there are {known}")
    shortest = min(row.cable for row in fitting)
    first, *others = (row for row in fitting if row.cable == shortest)
    if others and others[0].profile != first.profile:
        line = others[0].line
        raise document.error(
            line, f"the row for {speed} Mb/s and {shortest} m differs from line {first.line}"
        )
    return first


def _amount(document: Document, what: str, text: str, dimension: str, example: str) -> int:
    quantity = Quantity.read(document.quantity(what, what, text, dimension, example))
    return 0 if quantity is None else int(quantity.amount)
