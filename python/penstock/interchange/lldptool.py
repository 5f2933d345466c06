"""DCBX TLVs from `lldptool -t -i PORT` (with `-n`, of its neighbor) and `niccli qos --ets --show`.

They are converted to the object that `dcb -j` would print for the port (`dcb_json`): ETS, its recommendation,
PFC and applications of IEEE 802.1Qaz, and priority groups, PFC and applications of CEE.

Source: open-lldp, `lldp_8021qaz_clif.c` and `lldp_8023_clif.c`; IEEE Std 802.1Q-2018, annex D.

Not imported, but reported by line: all other TLVs, counts of traffic classes, and bypass of MACsec.
"""

from __future__ import annotations

import re
from typing import Any

from . import dcb_json
from .json_text import MadePart
from .piece import Document, Piece, brief
from .statements import Statement, Statements, indented

EIGHT = 8
TLVS = {
    "IEEE 8021QAZ ETS Configuration TLV": "",
    "IEEE 8021QAZ ETS Recommendation TLV": "reco_",
    "IEEE 8021QAZ PFC TLV": "pfc",
    "IEEE 8021QAZ APP TLV": "app",
    "CEE DCBX TLV": "cee",
}
SELECTORS = {1: "ethtype_prio", 2: "stream_port_prio", 3: "dgram_port_prio", 4: "port_prio", 5: "dscp_prio"}
STRICT_GROUP = 15
_PROTOCOL = re.compile(r"(?:.*Port|Ethertype|DSCP|UDP or DCCP): (0x[0-9a-fA-F]{1,4}|\d{1,5})", re.ASCII)
_CEE_APP = re.compile(
    r"(Ethertype|TCP/UDP Port): (0x[0-9a-fA-F]{1,4}), Priority Map: (0x[0-9a-fA-F]{1,2})", re.ASCII
)
_ALGORITHMS = {"cbshaper": "cbs"}


def recognises(document: Document) -> bool:
    """Returns true if a line is the heading of a DCBX TLV."""
    return document.has_line(*TLVS)


def read(document: Document) -> Piece:
    """Reads the settings of a port; they apply to all switches of the scenario.

    Raises
    ------
    InputError
        If a TLV appears twice, or a scenario cannot express it; the message names the line.
    """
    statements = indented(document, {})
    table: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for one in statements.roots:
        kind = TLVS.get(one.text.rstrip(":"))
        if kind is None:
            continue
        if kind in seen:
            message = f"{one.text} is already in line {seen[kind]}; expected the TLVs of one end of a link"
            raise document.error(one.line, message)
        seen[kind] = one.line
        statements.read(one)
        if kind == "cee":
            _cee(statements, one, table)
        elif kind == "app":
            _applications(statements, one, table)
        elif kind == "pfc":
            _pfc(statements, one, table)
        else:
            _ets(statements, one, table, kind)
    if not table:
        raise document.error(1, f"has none of {', '.join(TLVS)} with settings")
    keys: dict[str, Any] = {}
    remarks: list[str] = []
    first = min(seen.values())
    dcb_json.settings(MadePart.of(document, table, _offset(document, first)), keys, remarks)
    meaning = "not a setting of queues or flow control"
    return Piece(
        keys=keys, remarks=[*remarks, *statements.remarks(lambda _: meaning)], notes=statements.notes()
    )


def _offset(document: Document, line: int) -> int:
    """The offset of the beginning of a line."""
    return sum(len(text) + 1 for text in document.every_line()[: line - 1])


def _value(one: Statement) -> tuple[str, list[str]]:
    """The name before the first colon, and the words after it."""
    name, _, rest = one.text.partition(":")
    return name, rest.split()


def _pairs(statements: Statements, one: Statement, words: list[str]) -> dict[int, str]:
    """Numbers with the text after each colon, such as ``0:ets 1:strict``."""
    found: dict[int, str] = {}
    for word in words:
        number, colon, value = word.partition(":")
        if not colon:
            raise statements.error(one, f"{brief(word)}: expected a number and a value, such as 0:1")
        place = statements.whole(one, one.words[0].rstrip(":"), number, 0, EIGHT - 1)
        if place in found:
            raise statements.error(one, f"{place} appears twice; expected each number once")
        found[place] = value
    return found


def _ets(statements: Statements, tlv: Statement, table: dict[str, Any], prefix: str) -> None:
    for one in tlv.children:
        name, words = _value(one)
        if name == "Willing" and not prefix:
            statements.read(one)
            table["willing"] = _yes(statements, one, words)
        elif name == "PRIO_MAP":
            statements.read(one)
            pairs = _pairs(statements, one, words)
            table[f"{prefix}prio_tc"] = [
                statements.whole(one, "PRIO_MAP", pairs.get(place, "0"), 0, EIGHT - 1)
                for place in range(EIGHT)
            ]
        elif name == "TC Bandwidth":
            statements.read(one)
            shares = [statements.whole(one, "TC Bandwidth", word.removesuffix("%"), 0, 100) for word in words]
            if len(shares) > EIGHT:
                raise statements.error(one, f"{len(shares)} shares; expected at most {EIGHT}")
            table[f"{prefix}tc_bw"] = shares + [0] * (EIGHT - len(shares))
        elif name == "TSA_MAP":
            statements.read(one)
            pairs = _pairs(statements, one, words)
            named = [pairs.get(place, "strict") for place in range(EIGHT)]
            table[f"{prefix}tc_tsa"] = [_ALGORITHMS.get(word, word) for word in named]


def _yes(statements: Statements, one: Statement, words: list[str]) -> bool:
    if words not in (["yes"], ["no"]):
        raise statements.error(one, f"{brief(one.text)}: expected yes or no")
    return words == ["yes"]


def _pfc(statements: Statements, tlv: Statement, table: dict[str, Any]) -> None:
    for one in tlv.children:
        name, words = _value(one)
        if name in ("PFC enabled", "PFC enabled priorities"):
            statements.read(one)
            named = (
                []
                if words == ["none"]
                else statements.numbers(one, name, [word.removesuffix(",") for word in words], EIGHT - 1)
            )
            table["prio_pfc"] = ["on" if place in named else "off" for place in range(EIGHT)]


def _applications(statements: Statements, tlv: Statement, table: dict[str, Any]) -> None:
    """Entries such as ``App#0:`` with priority, selector and protocol."""
    for entry in tlv.children:
        fields = {}
        for one in entry.children:
            name, words = _value(one)
            fields["protocol" if name not in ("Priority", "Sel") else name] = (one, words)
        if not {"Priority", "Sel", "protocol"} <= fields.keys():
            continue
        statements.read(entry)
        priority, selector = (
            statements.whole(fields[name][0], name, "".join(fields[name][1]), 0, EIGHT - 1)
            for name in ("Priority", "Sel")
        )
        one = fields["protocol"][0]
        found = _PROTOCOL.fullmatch(one.text)
        if selector not in SELECTORS or found is None:
            raise statements.error(
                one, f"{brief(one.text)} of selector {selector}: expected a protocol, selector 1 to 5"
            )
        for name in fields:
            statements.read(fields[name][0])
        table.setdefault(SELECTORS[selector], []).append([int(found[1], 0), priority])


def _cee(statements: Statements, tlv: Statement, table: dict[str, Any]) -> None:
    """Priority groups, PFC and applications of CEE, which preceded IEEE 802.1Qaz."""
    for part in tlv.children:
        if part.text == "Priority Groups TLV:":
            _groups(statements, part, table)
        elif part.text == "Priority Flow Control TLV:":
            _pfc(statements, part, table)
        elif part.text == "Application TLV:":
            for one in part.children:
                if (found := _CEE_APP.fullmatch(one.text)) is None:
                    continue
                statements.read(one)
                key = "ethtype_prio" if found[1] == "Ethertype" else "port_prio"
                marks = int(found[3], 16)
                numbers = [place for place in range(EIGHT) if marks >> place & 1]
                table.setdefault(key, []).extend([int(found[2], 16), place] for place in numbers)


def _groups(statements: Statements, part: Statement, table: dict[str, Any]) -> None:
    """Priority groups as traffic classes: group 15 is strict, all others share the link."""
    groups: dict[int, list[int]] = {}
    shares: dict[int, int] = {}
    for one in part.children:
        name, words = _value(one)
        if name == "PGID Priorities":
            statements.read(one)
            for word in words:
                number, _, members = word.partition(":")
                group = statements.whole(one, "PGID", number, 0, STRICT_GROUP)
                groups[group] = statements.numbers(one, "priority", [members.strip("[]")], EIGHT - 1)
        elif name == "PGID Percentages":
            statements.read(one)
            for place, value in _pairs(statements, one, words).items():
                shares[place] = statements.whole(one, "PGID Percentages", value.removesuffix("%"), 0, 100)
    if not groups:
        return
    free = next((one for one in reversed(range(EIGHT)) if one not in groups), EIGHT - 1)
    class_of = {
        place: free if group == STRICT_GROUP else group for group, own in groups.items() for place in own
    }
    if len(class_of) < EIGHT:
        missing = ", ".join(str(place) for place in range(EIGHT) if place not in class_of)
        raise statements.error(part, f"priorities {missing} are in no group; expected all eight")
    ets = [one for one in groups if one != STRICT_GROUP]
    table["prio_tc"] = [class_of[place] for place in range(EIGHT)]
    table["tc_tsa"] = ["ets" if place in ets else "strict" for place in range(EIGHT)]
    table["tc_bw"] = [shares.get(place, 0) if place in ets else 0 for place in range(EIGHT)]
