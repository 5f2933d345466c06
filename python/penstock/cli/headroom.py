"""``penstock headroom``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from json import loads
from typing import Annotated, Any

from cyclopts import Parameter

from penstock import _core
from penstock.errors import InputError

from . import EXIT_DONE
from .console import Table, console, print_json


@Parameter(name="*")
@dataclass(frozen=True)
class Link:
    """A link and the stations at its ends.

    Parameters
    ----------
    rate
        Rate of the link, such as "10 Gb/s".
    length
        Length of the fibre, such as "300 m". Default: "2 m".
    delay
        One-way delay of the cable, such as "1 us", instead of its length.
    mtu
        Longest frame, DA to FCS. Default: "1522 B".
    phy
        PHY of both stations, such as "25GBASE-R RS-FEC"; sets interface delay and response time. "slowest":
        the PHY of this rate with the largest delay; "none": no delay. Default: the usual PHY of the rate, as
        for links of a scenario (`penstock explain phy`).
    interface_delay
        Delay of MAC and PHY of one station, instead of the PHY's value.
    response_time
        Time from the end of a pause frame to its effect at the paused station. Default: the limit of IEEE
        802.3 for the rate.
    latency
        Time from the arrival of a frame to its entry into the counted queue. Default: "0 s".
    overhead
        Bytes around each frame on the wire. Default: "20 B".
    cell
        Cell size of the switch's memory, such as "144 B". Adds the memory needed if all frames have 64 B.
        Default: none; 256 B for the comparison with SONiC.
    """

    rate: str
    length: str | None = None
    delay: str | None = None
    mtu: str | None = None
    phy: str | None = None
    interface_delay: str | None = None
    response_time: str | None = None
    latency: str | None = None
    overhead: str | None = None
    cell: str | None = None


def headroom(*, link: Link, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Computes the headroom of a lossless queue: bytes that arrive after XOFF (IEEE 802.1Qbb Annex O).

    Parameters
    ----------
    link
        The link and its stations.
    json
        Prints one JSON object instead of a table.
    """
    try:
        answer: dict[str, Any] = loads(_core.headroom(asdict(link)))
    except ValueError as error:
        raise InputError(str(error)) from error
    if json:
        print_json(answer)
        return EXIT_DONE
    out = console()
    for title, name in (
        (f"One interface, {answer['phy']}", "sublayers"),
        ("Bytes that arrive after XOFF", "terms"),
    ):
        rows = answer.get(name, [])
        if rows:
            shown = Table(title, *rows[0], numeric=1)
            for row in rows:
                shown.add_row(*(_cell(value) for value in row.values()))
            out.print(shown)
    totals = Table("", "", "", numeric=1, heads=False)
    for name, value in answer.items():
        if not isinstance(value, list | dict) and name != "schema":
            totals.add_row(name, _cell(value))
    out.print(totals)
    out.print("The key `headroom` is headroom_bytes. For the other values: penstock explain NAME")
    return EXIT_DONE


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
