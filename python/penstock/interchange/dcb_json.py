"""Output of `dcb -j` of iproute2 for a Linux port: one object each for ets, pfc and app.

Source: iproute2, `dcb/dcb_ets.c`, `dcb_pfc.c`, `dcb_app.c`; tests run the program itself.

Not imported, but reported: buffers, the delay of PFC, `pg_bw`, counters and capabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .json_text import Part, parts
from .piece import Document, Note, Piece, brief
from .reading import Path

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
READ = {
    *(f"{prefix}{key}" for prefix in ("", "reco_") for key in ("tc_tsa", "prio_tc", "tc_bw")),
    *SELECTORS,
    "willing",
    "prio_pfc",
    "default_prio",
}
IGNORED = {
    "buffer_size": "buffers of a port are left out",
    "prio_buffer": "buffers of a port are left out",
    "total_size": "buffers of a port are left out",
    "pg_bw": "bandwidth groups of CEE are left out",
    "delay": "headroom is computed from the length of the link",
    "tc_maxrate": "a class has no maximum rate",
    "dscp_pcp": "switches do not rewrite priorities",
    "pcp_prio": "the priority of a frame is that of its tag",
}
"""Consequence of leaving out a key. All other keys are counters or capabilities."""


def recognises(document: Document) -> bool:
    """Returns true if a text is JSON that contains an output of `dcb`."""
    return document.text.lstrip().startswith("{") and any(f'"{name}"' in document.text for name in KNOWN)


def read(document: Document) -> Piece:
    """Reads the settings of a port; they apply to all switches of the scenario.

    Raises
    ------
    InputError
        If the text is not JSON, a setting appears twice, or a scenario cannot express it; the message names
        the line.
    """
    keys: dict[str, Any] = {}
    remarks: list[str] = []
    notes: list[Note] = []
    seen: dict[str, int] = {}
    for part in parts(document, "an object, as `dcb -j` prints it"):
        for key in part.table:
            if key in seen and key in READ:
                raise document.error(part.line_of(key), f"{key} is already set in line {seen[key]}")
            seen[key] = part.line_of(key)
        settings(part, keys, remarks)
        notes += notes_of(part)
    if not keys:
        raise document.error(1, f"has none of {', '.join(KNOWN)}")
    return Piece(keys=keys, remarks=remarks, notes=notes)


def settings(part: Part, keys: dict[str, Any], remarks: list[str]) -> None:
    """Adds the settings of an object to the keys of a scenario.

    Raises
    ------
    InputError
        If a scenario cannot express one.
    """
    if any(
        f"{prefix}{key}" in part.table for prefix in ("", "reco_") for key in ("tc_tsa", "prio_tc", "tc_bw")
    ):
        _ets(part, keys, remarks)
    if "prio_pfc" in part.table:
        _pfc(part, keys)
    _applications(part, keys)


def notes_of(part: Part) -> list[Note]:
    """The keys that were read, with their values."""
    return [
        Note(part.line_of(key), f"{key} {brief(part.table[key])}")
        for key in part.table
        if part.table.was_read(key)
    ]


def meaning(path: Path) -> str:
    """The consequence of leaving out a key."""
    return IGNORED.get(path[-1], "a scenario has no such setting")


def _eight(part: Part, key: str, most: int) -> list[int]:
    """Eight whole numbers."""
    value = part.table.get(key)
    if not isinstance(value, list) or len(value) != EIGHT:
        raise part.document.error(part.line_of(key), f"{key} is {brief(value)}; expected eight numbers")
    return [_whole(part, key, one, most) for one in value]


def _whole(part: Part, key: str, value: object, most: int) -> int:
    return part.document.whole(part.line_of(key), key, str(value), 0, most)


def _list(part: Part, key: str) -> list[Any]:
    """The value of a key that is a list; empty if the key is missing."""
    value = part.table.get(key, [])
    if not isinstance(value, list):
        raise part.document.error(part.line_of(key), f"{key} is {brief(value)}; expected a list")
    return value


def _table(part: Part, prefix: str, remarks: list[str]) -> dict[str, Any]:
    """Priorities, shares and algorithms of traffic classes, in DCBX terms."""
    names = _list(part, f"{prefix}tc_tsa") if f"{prefix}tc_tsa" in part.table else ["vendor"] * EIGHT
    line = part.line_of(f"{prefix}tc_tsa")
    if len(names) != EIGHT or not all(isinstance(name, str) and name in ALGORITHMS for name in names):
        expected = ", ".join(ALGORITHMS)
        raise part.document.error(line, f"{prefix}tc_tsa is {brief(names)}; expected eight of {expected}")
    classes = _eight(part, f"{prefix}prio_tc", 7) if f"{prefix}prio_tc" in part.table else [*range(EIGHT)]
    percent = _eight(part, f"{prefix}tc_bw", 100) if f"{prefix}tc_bw" in part.table else [0] * EIGHT
    shares = [share for share, name in zip(percent, names, strict=True) if name == "ets"]
    line = part.line_of(f"{prefix}tc_bw")
    if shares and sum(shares) != 100:
        raise part.document.error(line, f"the shares of ets classes sum to {sum(shares)}; expected 100")
    if left := [number for number in range(EIGHT) if percent[number] and names[number] != "ets"]:
        named = ", ".join(map(str, left))
        remarks.append(
            f"{part.document.file}:{line}: not read: {prefix}tc_bw of classes {named}, which are not ets"
        )
    percent = [share if name == "ets" else 0 for share, name in zip(percent, names, strict=True)]
    return {"classes": classes, "percent": percent, "algorithms": [ALGORITHMS[name] for name in names]}


def _ets(part: Part, keys: dict[str, Any], remarks: list[str]) -> None:
    table = _table(part, "", remarks)
    switch = keys.setdefault("switch", {})
    used = {table["algorithms"][number] for number in table["classes"]}
    if used == {"vendor"}:
        # By default, the NIC decides how classes share the link.
        switch["queues"] = "per_priority" if table["classes"] == [*range(EIGHT)] else table["classes"]
        remarks.append(
            f"{part.document.file}:{part.line_of('tc_tsa')}: assumed: no class is strict or ets: the "
            "scheduler of --like, or strict priority"
        )
    else:
        switch |= {"queues": "per_priority", "scheduler": _scheduler(part, table)}
    willing = part.table.get("willing", False)
    if not isinstance(willing, bool):
        line = part.line_of("willing")
        raise part.document.error(line, f"willing is {brief(willing)}; expected true or false")
    recommends = any(_list(part, "reco_tc_bw"))
    if not willing and not recommends:
        if recommended := [key for key in part.table if key.startswith("reco_")]:
            line = part.line_of(recommended[0])
            remarks.append(f"{part.document.file}:{line}: a recommendation without shares is left out")
        return
    ets: dict[str, Any] = {"willing": willing}
    if recommends:
        ets["recommended"] = _table(part, "reco_", remarks)
    switch.setdefault("dcbx", {})["ets"] = ets
    remarks.append("recommendations and the willing bit are part of DCBX: set [switch.dcbx]")


def _scheduler(part: Part, table: Table) -> dict[str, Any] | str:
    """Scheduler of ports with one queue per priority."""
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
            expected = "a scenario needs more settings; expected strict or ets"
            raise part.document.error(line, f"traffic class {number} is {algorithm}, for which {expected}")
        how: dict[str, Any] = {"percent": share} if algorithm == "ets" else {"strict": True}
        classes.append({"queues": queues, **how})
    return {"ets": {"classes": classes}}


def _pfc(part: Part, keys: dict[str, Any]) -> None:
    value = part.table["prio_pfc"]
    line = part.line_of("prio_pfc")
    words = value if isinstance(value, list) else []
    if len(words) != EIGHT or not all(one is True or one is False or one in ("on", "off") for one in words):
        raise part.document.error(line, f"prio_pfc is {brief(value)}; expected eight times true or false")
    priorities = [priority for priority, is_on in enumerate(words) if is_on in (True, "on")]
    keys["flow_control"] = {"pfc": {"priorities": priorities}} if priorities else "off"


def _applications(part: Part, keys: dict[str, Any]) -> None:
    found: list[dict[str, Any]] = []
    for key, selector in SELECTORS.items():
        for pair in _list(part, key):
            if not isinstance(pair, list) or len(pair) != 2:
                line = part.line_of(key)
                raise part.document.error(
                    line, f"{key} has {brief(pair)}; expected a protocol and its priority"
                )
            protocol, priority = (
                _whole(part, key, one, most) for one, most in zip(pair, (LARGEST, EIGHT - 1), strict=True)
            )
            found.append({"selector": selector, "protocol": protocol, "priority": priority})
    found += [
        {"selector": "ether_type", "protocol": 0, "priority": _whole(part, "default_prio", one, EIGHT - 1)}
        for one in _list(part, "default_prio")
    ]
    if found:
        keys.setdefault("switch", {}).setdefault("dcbx", {})["applications"] = found
