"""``penstock counters``."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from penstock.errors import InputError
from penstock.laboratory.quantity import UNITS, Quantity
from penstock.units import plain

from . import EXIT_DONE
from .console import Table, console, print_json, say

if TYPE_CHECKING:
    from penstock.interchange.counters import Counter, Counters

SCHEMA = "penstock-counters/1"


def counters(
    result: Path,
    device: Path,
    /,
    *,
    port: str | None = None,
    before: Path | None = None,
    interval: str | None = None,
    every: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Compares the counters of a device with those of a run.

    Reads the output of `ethtool -S` for a NIC, `show pfc counters` of SONiC and `show interface
    priority-flow-control` of Cisco NX-OS. A port of a switch matches the port of the run towards the node
    with the same name, as in an imported configuration. Pause frames of the run count XOFF only; NICs may
    also count XON.

    Parameters
    ----------
    result
        Directory of a result.
    device
        File with the counters.
    port
        The port of the run, such as "h0.0->sw", or a node with one port, such as "h0".
    before
        File with earlier values of the counters; they are subtracted.
    interval
        Time over which the device counted, such as "10 s"; adds rates to the output.
    every
        Also shows counters that are 0 in both.
    json
        Prints one JSON object instead of a table.
    """
    from penstock.interchange.counters import read
    from penstock.interchange.device_counters import beside
    from penstock.interchange.files import document
    from penstock.result import Result

    loaded = Result.load(result)
    found = read(document(device))
    known = found.known if before is None else _since(found, read(document(before)), before)
    seconds = None if interval is None else _seconds(interval)
    rows, missing = beside(loaded, known, port, seconds)
    if missing:
        say(f"note: {len(missing)} ports of {device} do not exist in the run: {', '.join(missing[:4])}")
    if found.unknown:
        say(f"note: {found.unknown} counters of {device} have no counterpart in a run")
    if json:
        print_json({"schema": SCHEMA, "counters": [asdict(row) for row in rows]})
        return EXIT_DONE
    shown = [row for row in rows if every or row.device or row.run]
    rates = ("device per s", "run per s") if seconds is not None else ()
    table = Table("", "port", "counter", "device", "run", *rates, numeric=2)
    for row in shown:
        values = (row.device, row.run, row.device_per_s, row.run_per_s)[: 4 if rates else 2]
        table.add_row(row.port, row.name, *map(_shown, values))
    out = console()
    out.print(table)
    if hidden := len(rows) - len(shown):
        out.print(f"{hidden} counters are 0 in both; --every shows them")
    return EXIT_DONE


def _since(found: Counters, earlier: Counters, file: Path) -> list[Counter]:
    """Subtracts earlier values of the counters."""
    before = {(one.name, one.port): one.value for one in earlier.known}
    rows = []
    for one in found.known:
        value = one.value - before.get((one.name, one.port), 0)
        if value < 0:
            raise InputError(f"{file}: {one.name} exceeds its later value; expected earlier counters")
        rows.append(replace(one, value=value))
    return rows


def _shown(value: float | None) -> str:
    """Formats integers in full, other values with few digits."""
    if value is None:
        return "-"
    return f"{int(value):,}" if value == int(value) else plain(value)


def _seconds(text: str) -> float:
    found = Quantity.read(text)
    if found is None or found.dimension != "time" or found.amount <= 0:
        raise InputError(f'--interval is {text}; expected a time above 0, such as "10 s"')
    return float(found.amount / UNITS["time"]["s"])
