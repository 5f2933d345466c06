"""Headroom of a switch model, as SONiC's `pg_profile_lookup.ini` has it: a row for each speed and cable.

Columns: speed in Mb/s, cable such as 40m, size, xon, xoff, threshold, and where a chip has it xon_offset, in
octets. XOFF is the room above the threshold. A threshold from -8 to 7 is an exponent of two: what a queue may
hold of the memory that is free. Any other is a threshold in octets.

Not taken over: rows of other links than that of `--rate` and `--length`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from penstock.laboratory.quantity import Quantity

from .piece import Document, Piece, size

COLUMNS = ("speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset")
LEAST_COLUMNS = 6
EXPONENTS = range(-8, 8)
_CABLE = re.compile(r"\d{1,7}m", re.ASCII)
_WIDE = re.compile(r"\s*-?\d+\s+\d+m\s+-?\d+", re.ASCII)


@dataclass(frozen=True)
class Row:
    """A row, in Mb/s, metres and octets; `line` is where it stands."""

    line: int
    speed: int
    cable: int
    size: int
    xon: int
    xoff: int
    threshold: int
    xon_offset: int


def recognises(document: Document) -> bool:
    """Whether the first line that says something begins with a speed, a cable and a size."""
    first = next(document.lines(), None)
    return first is not None and _WIDE.match(first[1]) is not None


def read(document: Document) -> Piece:
    """The thresholds of the link that the document was read for.

    Raises
    ------
    InputError
        If a row is none, or no row is that of the link; the message names the line.
    """
    rows = [_row(document, line, words.split()) for line, words in document.lines()]
    row = _chosen(document, rows)
    remarks = [f"the row of {row.speed} Mb/s and {row.cable} m, line {row.line}"]
    pfc: dict[str, Any] = {"accounting": "ingress"}
    if row.threshold not in EXPONENTS:
        pfc |= {"xoff": size(row.threshold), "xon": size(row.xon), "headroom": size(row.xoff)}
        return Piece(keys={"flow_control": {"pfc": pfc}}, remarks=remarks)
    # Of NVIDIA the size has the headroom in it, of Broadcom it is what belongs to a queue.
    minimum = row.size - row.xoff if row.size == row.xon + row.xoff else row.size
    threshold = {
        "alpha": 2.0**row.threshold,
        "minimum": size(minimum),
        "resume_offset": size(row.xon_offset),
    }
    keys = {"switch": {"buffer": {"dynamic_threshold": threshold}}, "flow_control": {"pfc": pfc}}
    return Piece(keys=keys, remarks=remarks, headroom_bytes=row.xoff)


def _row(document: Document, line: int, cells: list[str]) -> Row:
    if not LEAST_COLUMNS <= len(cells) <= len(COLUMNS):
        columns = " ".join(COLUMNS[:LEAST_COLUMNS])
        raise document.error(line, f"{len(cells)} columns; expected {columns}, and perhaps xon_offset")
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
    return Row(line=line, threshold=int(named["threshold"]), **{"xon_offset": 0, **numbers})


def _chosen(document: Document, rows: list[Row]) -> Row:
    """The row of the link: its speed, and the shortest cable that is as long."""
    known = ", ".join(dict.fromkeys(f"{row.speed} Mb/s with {row.cable} m" for row in rows))
    if document.rate is None or document.length is None:
        if len(rows) == 1:
            return rows[0]
        raise document.error(rows[0].line, f"{len(rows)} rows; name one by --rate and --length: {known}")
    speed = _amount(document, "--rate", document.rate, "rate", "100 Gb/s") // 10**6
    metres = -(-_amount(document, "--length", document.length, "length", "40 m") // 1_000)
    fitting = [row for row in rows if row.speed == speed and row.cable >= metres]
    if not fitting:
        wanted = f"{document.rate} and {document.length}"
        raise document.error(rows[-1].line, f"no row up to here is for {wanted}; there are {known}")
    return min(fitting, key=lambda row: row.cable)


def _amount(document: Document, what: str, text: str, dimension: str, example: str) -> int:
    quantity = Quantity.read(document.quantity(what, what, text, dimension, example))
    return 0 if quantity is None else int(quantity.amount)
