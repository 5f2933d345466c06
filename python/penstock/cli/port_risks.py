"""``penstock check SWITCH``: switch ports at risk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from penstock.errors import InputError
from penstock.interchange.code_points import ranges
from penstock.units import duration

from . import EXIT_DONE, EXIT_FAILED
from .console import Mark, Table, console, print_json, say

if TYPE_CHECKING:
    from penstock.interchange.piece import Document
    from penstock.interchange.port_risks import PriorityRow


@Parameter(name="*")
@dataclass(frozen=True)
class Links:
    """Values that the configuration of a switch does not specify.

    Parameters
    ----------
    rate
        Rate of ports without a speed, such as "100 Gb/s".
    length
        Length of cables without a length, such as "30 m". Default: Penstock's default.
    cell
        Cell size of the memory, such as "208 B", if the configuration counts cells.
    buffer
        Size of the shared memory, such as "64 MiB", if the configuration contains fractions of it.
    """

    rate: str | None = None
    length: str | None = None
    cell: str | None = None
    buffer: str | None = None


NO_LINKS = Links()


def configuration(name: str, links: Links) -> Document | None:
    """Reads a switch configuration from a file; ``None`` if the file is not one.

    Raises
    ------
    InputError
        If the file has another importable format.
    """
    path = Path(name)
    if path.suffix == ".toml" or not path.is_file():
        return None
    from penstock.interchange.files import document
    from penstock.interchange.port_risks import recognises

    found = document(path, **vars(links))
    if recognises(found):
        return found
    from penstock.interchange.formats import FORMATS
    from penstock.interchange.strangers import of_text

    head = found.head()
    other = None if of_text(found) else next((one for one in FORMATS if one.recognises(head)), None)
    if other is not None:
        expected = f"a scenario, which penstock import {name} writes"
        raise InputError(f"{name}: has the format {other.name} ({other.about}); expected {expected}")
    return None


def show_risks(config: Document, *, as_json: bool) -> int:
    """Prints the switch ports at risk, and returns the exit code."""
    from penstock.interchange.port_risks import risks

    found = risks(config)
    code = EXIT_FAILED if found.is_red else EXIT_DONE
    if as_json:
        print_json(found.to_dict())
        return code
    for remark in found.remarks:
        if "assumed" in remark:
            say(f"note: {remark}")
    out = console()
    for one in found.classes:
        title = f"{names(one.ports)}: {one.link}"
        shown = Table(
            title, "priority", "queue", "headroom", "needed", "XOFF", "XON", "Kmin - Kmax", numeric=2
        )
        for row in one.rows:
            shown.add_row(*_cells(row))
        out.print(shown)
        for profile, rows in groupby(one.rows, key=lambda row: (row.profile, row.watchdog, tuple(row.dscp))):
            out.print(_about(*profile, [row.priority for row in rows]))
        out.print("")
    reds = [one for one in found.findings if one.severity == "red"]
    out.print(
        f"{len(reds)} at risk, {len(found.findings) - len(reds)} to consider" if found.findings else "ok"
    )
    for finding in found.findings:
        where = f"{names(finding.ports)} " if finding.ports else ""
        label = "at risk " if finding.severity == "red" else "consider"
        out.print(f"{label} {where}{finding.what}: {finding.text}", style=f"bold {finding.severity}")
        if finding.repair:
            out.print(f"  {finding.repair}")
    return code


def _cells(row: PriorityRow) -> Sequence[str | Mark]:
    given, needed = row.headroom_bytes, row.needed_bytes
    short = given is not None and needed is not None and given < needed
    headroom = _size(given)
    return [
        str(row.priority),
        str(row.queue),
        Mark(headroom, "red") if short else headroom,
        _size(row.needed_bytes),
        _level(row.xoff_bytes, row.xoff_ns),
        _level(row.xon_bytes, row.xon_ns),
        " - ".join(dict.fromkeys(map(_size, (row.marks_from_bytes, row.marks_all_from_bytes)))).strip(" -"),
    ]


def _size(number: int | None) -> str:
    return "" if number is None else f"{number} B"


def _level(number: int | None, time_ns: float | None) -> str:
    return "" if number is None else f"{number} B" + ("" if time_ns is None else f", {duration(time_ns)}")


def _about(profile: str, watchdog: str, dscp: Sequence[int], priorities: Sequence[int]) -> str:
    of = ", ".join(map(str, priorities))
    points = f"DSCP {ranges(dscp)}" if dscp else "no DSCP"
    return f"priority {of}: {profile or 'computed'}; {points}; {watchdog or 'no watchdog'}"


def names(ports: Sequence[str]) -> str:
    """Joins the names of ports; consecutive numbers become a range."""
    parts = [re.fullmatch(r"(.*?)(\d+)", one) for one in ports]
    if len(ports) < 4 or not all(parts) or len({part[1] for part in parts if part}) > 1:
        few = len(ports) < 5
        return ", ".join(ports) if few else f"{ports[0]}, {ports[1]}, ... {ports[-1]} ({len(ports)} ports)"
    return f"{ports[0]} to {ports[-1]} ({len(ports)} ports)"
