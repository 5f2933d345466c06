"""Ports of NVUE as hosts around one switch, by their names and speeds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .piece import Document, LinkClass, brief, explicit

_PORT = re.compile(r"swp\d+(?:s\d+)?", re.ASCII)
_SPEED = re.compile(r"(\d{1,4})([GM])", re.ASCII)


class Statement(NamedTuple):
    """A value with its line."""

    value: str
    line: int


def links_of(
    document: Document, ports: Collection[str], speeds: Mapping[str, Statement], length: str | None, name: str
) -> tuple[list[LinkClass], dict[str, Any]]:
    """Returns the classes of links by speed, largest class first, and the keys of a star of the ports.

    Parameters
    ----------
    document : Document
        The document; its `rate` and `length` apply to ports without a speed or cable.
    ports : collection of str
        Ports that have settings.
    speeds : mapping
        Speeds by port, such as "100G".
    length : str, optional
        Length of the cables, such as "40 m".
    name : str
        Name of the switch.

    Raises
    ------
    InputError
        If a speed is invalid.
    """
    length = length or document.length
    rates: dict[str | None, list[str]] = {}
    for port in sorted(ports, key=lambda one: (len(one), one)):
        if _PORT.fullmatch(port):
            rates.setdefault(_rate(document, speeds.get(port)), []).append(port)
    classes = [LinkClass(rate, length, tuple(own)) for rate, own in rates.items() if rate or length]
    classes.sort(key=lambda one: -len(one.ports))
    links: list[dict[str, Any]] = []
    for rate, own in rates.items():
        if rate is None:
            continue
        rest = {"rate": rate, **({"length": length} if length else {})}
        links += ({"between": [port, name], **rest} for port in own)
    if not classes and length:
        classes = [LinkClass(None, length)]
    alone = explicit([link["between"][0] for link in links], [name], links) if links else {}
    return classes, alone


def _rate(document: Document, speed: Statement | None) -> str | None:
    """The rate of a port: its own, or that of the command line."""
    if speed is None or speed.value == "auto":
        return document.rate
    found = _SPEED.fullmatch(speed.value)
    if found is None or int(found[1]) == 0:
        raise document.error(speed.line, f"speed is {brief(speed.value)}; expected a speed, such as 100G")
    return f"{int(found[1])} {'Gb/s' if found[2] == 'G' else 'Mb/s'}"
