"""What `dcb -j` of iproute2 prints for a port of Linux: an object each for ets, pfc and app.

Source: iproute2, `dcb/dcb_ets.c`, `dcb_pfc.c`, `dcb_app.c`; tests run the program itself.

Not taken over: buffers, the delay of PFC, and `pg_bw`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .piece import Document, Piece

EIGHT = 8
KNOWN = ("tc_tsa", "prio_tc", "prio_pfc", "ethtype_prio", "stream_port_prio", "dgram_port_prio", "dscp_prio")
ALGORITHMS = {"strict": "strict", "ets": "ets", "cbs": "credit_based_shaper", "vendor": "vendor"}
SELECTORS = {
    "ethtype_prio": "ether_type",
    "stream_port_prio": "stream_port",
    "dgram_port_prio": "datagram_port",
    "port_prio": "port",
    "dscp_prio": "dscp",
}
LARGEST = 0xFFFF
Table = Mapping[str, Any]


def recognises(document: Document) -> bool:
    """Whether a text is JSON that has a list of `dcb`."""
    return document.text.lstrip().startswith("{") and any(f'"{name}"' in document.text for name in KNOWN)


def read(document: Document) -> Piece:
    """The settings as those of all switches of a scenario.

    Raises
    ------
    InputError
        If it is no JSON, or says what a scenario cannot; the message names the line.
    """
    keys: dict[str, Any] = {}
    remarks: list[str] = []
    for part in _objects(document):
        if "tc_tsa" in part.table or "prio_tc" in part.table:
            _ets(part, keys, remarks)
        if "prio_pfc" in part.table:
            _pfc(part, keys)
        _applications(part, keys)
        if "buffer_size" in part.table:
            remarks.append(f"{document.file}:{part.line}: buffers of a port are left out")
    if not keys:
        raise document.error(1, f"has none of {', '.join(KNOWN)}")
    return Piece(keys=keys, remarks=remarks)


@dataclass(frozen=True)
class _Part:
    """One object of the document, with the lines that it takes."""

    document: Document
    table: Table
    first: int
    last: int

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.place(self.first)

    def place(self, offset: int) -> int:
        """The line of an offset."""
        return self.document.text.count("\n", 0, offset) + 1

    def line_of(self, key: str) -> int:
        """The line of a key."""
        found = self.document.text.find(f'"{key}"', self.first, self.last)
        return self.place(max(found, self.first))

    def eight(self, key: str, most: int) -> list[int]:
        """Eight whole numbers."""
        value = self.table.get(key)
        if not isinstance(value, list) or len(value) != EIGHT:
            raise self.document.error(self.line_of(key), f"{key} is {value}; expected eight numbers")
        return [self.document.whole(self.line_of(key), key, str(one), 0, most) for one in value]


def _objects(document: Document) -> Iterator[_Part]:
    """The objects of a document, one after the other."""
    decoder, text, at = json.JSONDecoder(), document.text, 0
    while (at := at + len(text[at:]) - len(text[at:].lstrip())) < len(text):
        try:
            table, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise document.error(error.lineno, f"this is no JSON: {error.msg}") from None
        except RecursionError:
            raise document.error(1, "this is nested too deeply") from None
        if not isinstance(table, dict):
            line = text.count("\n", 0, at) + 1
            raise document.error(line, "expected an object, as `dcb -j` prints it")
        yield _Part(document, table, at, end)
        at = end


def _table(part: _Part, prefix: str) -> dict[str, Any]:
    """Priorities, shares and algorithms of traffic classes, as DCBX has them."""
    names = part.table.get(f"{prefix}tc_tsa")
    line = part.line_of(f"{prefix}tc_tsa")
    if not isinstance(names, list) or len(names) != EIGHT or not all(name in ALGORITHMS for name in names):
        expected = ", ".join(ALGORITHMS)
        raise part.document.error(line, f"{prefix}tc_tsa is {names}; expected eight of {expected}")
    classes, percent = part.eight(f"{prefix}prio_tc", 7), part.eight(f"{prefix}tc_bw", 100)
    shares = [share for share, name in zip(percent, names, strict=True) if name == "ets"]
    if shares and sum(shares) != 100:
        line = part.line_of(f"{prefix}tc_bw")
        raise part.document.error(line, f"the shares of ets classes sum to {sum(shares)}; expected 100")
    percent = [share if name == "ets" else 0 for share, name in zip(percent, names, strict=True)]
    return {"classes": classes, "percent": percent, "algorithms": [ALGORITHMS[name] for name in names]}


def _ets(part: _Part, keys: dict[str, Any], remarks: list[str]) -> None:
    table = _table(part, "")
    switch = keys.setdefault("switch", {})
    switch |= {"queues": "per_priority", "scheduler": _scheduler(part, table)}
    willing = part.table.get("willing") is True
    if not willing and not any(part.table.get("reco_tc_bw", ())):
        return
    ets: dict[str, Any] = {"willing": willing}
    if any(part.table.get("reco_tc_bw", ())):
        ets["recommended"] = _table(part, "reco_")
    switch.setdefault("dcbx", {})["ets"] = ets
    remarks.append("what is recommended or willing is exchanged by DCBX: [switch.dcbx]")


def _scheduler(part: _Part, table: Table) -> dict[str, Any] | str:
    """The scheduler of ports with a queue for each priority."""
    if table["classes"] == list(range(EIGHT)) and set(table["algorithms"]) == {"strict"}:
        return "strict_priority"
    classes: list[dict[str, Any]] = []
    for number in range(EIGHT):
        queues = [priority for priority, one in enumerate(table["classes"]) if one == number]
        algorithm, share = table["algorithms"][number], table["percent"][number]
        if not queues:
            if share:
                line = part.line_of("tc_bw")
                raise part.document.error(line, f"traffic class {number} has {share} % and no priority")
            continue
        if algorithm not in ("strict", "ets"):
            line = part.line_of("tc_tsa")
            expected = "a scenario needs more than its name; expected strict or ets"
            raise part.document.error(line, f"traffic class {number} is {algorithm}, of which {expected}")
        how: dict[str, Any] = {"percent": share} if algorithm == "ets" else {"strict": True}
        classes.append({"queues": queues, **how})
    return {"ets": {"classes": classes}}


def _pfc(part: _Part, keys: dict[str, Any]) -> None:
    value = part.table["prio_pfc"]
    on = [one in (True, "on") for one in value] if isinstance(value, list) else []
    if len(on) != EIGHT:
        line = part.line_of("prio_pfc")
        raise part.document.error(line, f"prio_pfc is {value}; expected eight times true or false")
    priorities = [priority for priority, is_on in enumerate(on) if is_on]
    if priorities:
        keys["flow_control"] = {"pfc": {"priorities": priorities}}
    else:
        keys["flow_control"] = "off"


def _applications(part: _Part, keys: dict[str, Any]) -> None:
    found: list[dict[str, Any]] = []
    for key, selector in SELECTORS.items():
        for pair in part.table.get(key, ()):
            line = part.line_of(key)
            if not isinstance(pair, list) or len(pair) != 2:
                raise part.document.error(line, f"{key} has {pair}; expected a protocol and its priority")
            protocol = part.document.whole(line, key, str(pair[0]), 0, LARGEST)
            priority = part.document.whole(line, key, str(pair[1]), 0, EIGHT - 1)
            found.append({"selector": selector, "protocol": protocol, "priority": priority})
    for priority in part.table.get("default_prio", ()):
        line = part.line_of("default_prio")
        whole = part.document.whole(line, "default_prio", str(priority), 0, EIGHT - 1)
        found.append({"selector": "ether_type", "protocol": 0, "priority": whole})
    if found:
        keys.setdefault("switch", {}).setdefault("dcbx", {})["applications"] = found
