"""Settings of a port from `dcb` and `mlnx_qos` commands, and from the output of `mlnx_qos -i PORT`.

They are converted to the object that `dcb -j` would print for the port (`dcb_json`).

Source: the manual pages dcb-ets(8), dcb-pfc(8) and dcb-app(8); the options and the output of `mlnx_qos`.

Not imported, but reported: rate limits, buffers, options for the cable and for DSCP, and the owner of
DCBX.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from . import dcb_json
from .json_text import MadePart, Part
from .mlnx_output import output
from .piece import Document, Note, Piece, brief, link_classes

EIGHT = 8
LISTS = {"prio-tc", "tc-tsa", "tc-bw", "reco-prio-tc", "reco-tc-tsa", "reco-tc-bw", "prio-pfc"}
PAIRS = {"ethtype-prio", "stream-port-prio", "dgram-port-prio", "port-prio", "dscp-prio"}
OPTIONS = {
    "-f": "prio_pfc",
    "--pfc": "prio_pfc",
    "-p": "prio_tc",
    "--prio_tc": "prio_tc",
    "-s": "tc_tsa",
    "--tsa": "tc_tsa",
    "-t": "tc_bw",
    "--tcbw": "tc_bw",
}
_IGNORED_OPTIONS = {
    "-i",
    "--interface",
    "-d",
    "--dcbx",
    "--trust",
    "--dscp2prio",
    "-r",
    "--ratelimit",
    "--cable_len",
}
_IGNORED_OPTIONS |= {"--prio2buffer", "--buffer_size", "-c", "--channels"}
_HEADS = ("DCBX mode:", "Priority trust state:", "PFC configuration:", "tc:")
_PROGRAMS = ("dcb", "mlnx_qos")
_LONGEST_COMMAND = 10_000


def recognises(document: Document) -> bool:
    """Returns true if a text begins with a command, or like the output of `mlnx_qos`."""
    first = (document.first_lines(1) or [""])[0]
    return _program(first.split()) in _PROGRAMS or first.startswith(_HEADS)


def _program(words: Sequence[str]) -> str:
    """Name of the program in a command, without path, prompt and sudo."""
    own = _without_sudo(words)
    return own[0].rpartition("/")[2] if own else ""


def _without_sudo(words: Sequence[str]) -> list[str]:
    """Words of a command, without prompt, sudo and its options."""
    rest = [*words]
    if rest and (rest[0] in ("$", "#") or rest[0].endswith(("$", "#", ">"))):
        rest = rest[1:]
    if rest[:1] and rest[0].rpartition("/")[2] == "sudo":
        rest = rest[1:]
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in ("-u", "-g") else rest[1:]
    return rest


def read(document: Document) -> Piece:
    """Reads the settings of a port; they apply to all switches of the scenario.

    Raises
    ------
    InputError
        If the text is something else, or a scenario cannot express a setting; the message names the line.
    """
    keys: dict[str, Any] = {}
    remarks: list[str] = []
    notes: list[Note] = []
    seen: dict[str, int] = {}
    links: dict[str, str] = {}
    found = _commands(document, remarks) if _has_commands(document) else output(document, remarks, links)
    for part in found:
        for key in part.table:
            if key in seen:
                raise document.error(part.line, f"{key} is already set in line {seen[key]}")
            seen[key] = part.line
        dcb_json.settings(part, keys, remarks)
        notes += dcb_json.notes_of(part)
        if "dscp_to_tc" in part.table:
            maps = {str(code): one for code, one in part.table["dscp_to_tc"].items()}
            keys.setdefault("switch", {})["maps"] = {"dscp_to_tc": maps}
    if not keys:
        left_out = f"; {remarks[0].rpartition(': ')[0]} is left out" if remarks else ""
        raise document.error(1, f"no command sets priorities, classes or PFC{left_out}")
    return Piece(keys=keys, remarks=remarks, notes=notes, links=link_classes(links))


def _has_commands(document: Document) -> bool:
    return any(_program(line.split()) in _PROGRAMS for _, line in document.lines())


def _commands(document: Document, remarks: list[str]) -> Iterator[Part]:
    """Yields an object for each command."""
    starts = [0]
    for line in document.text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    ports: dict[str, int] = {}
    for number, line in document.lines():
        if len(line) > _LONGEST_COMMAND:
            raise document.error(number, f"{len(line)} characters; expected at most {_LONGEST_COMMAND}")
        try:
            words = _without_sudo(shlex.split(line))
        except ValueError as error:
            raise document.error(number, f"not a command: {error}") from None
        if _program(words) == "dcb":
            table = _dcb(document, number, words, remarks)
        elif _program(words) == "mlnx_qos":
            table = _mlnx_qos(document, number, words, remarks)
        else:
            name = brief(words[0]) if words else "this"
            raise document.error(number, f"{name} is not a command; expected dcb or mlnx_qos")
        port = next((after for word, after in pairwise(words) if word in ("dev", "-i", "--interface")), "")
        if len(ports | {port: number}) > 1:
            first, line_of_first = next(iter(ports.items()))
            message = (
                f"for {brief(port) or 'no port'}; line {line_of_first} is for {brief(first)}: "
                f"expected one port"
            )
            raise document.error(number, message)
        ports.setdefault(port, number)
        yield MadePart.of(document, table, starts[number - 1])


def _dcb(document: Document, line: int, words: list[str], remarks: list[str]) -> dict[str, Any]:
    """Settings of ``dcb ets set dev eth0 prio-tc 0:0 1:1``; a list begins at a word without a colon."""
    what = words[1] if len(words) > 1 else ""
    if what == "dcbx":
        remarks.append(f"{document.file}:{line}: the owner of DCBX is left out")
        return {}
    verbs = ("add", "replace") if what == "app" else ("set",)
    if (
        what not in ("ets", "pfc", "app")
        or words[2:3] not in [[verb] for verb in verbs]
        or words[3:4] != ["dev"]
    ):
        raise document.error(line, "expected dcb ets, dcb pfc or dcb app, with set or add, dev and a port")
    rest = words[5:]
    table: dict[str, Any] = {}
    at = 0
    while at < len(rest):
        name, at = rest[at], at + 1
        values = []
        while at < len(rest) and ":" in rest[at]:
            values.append(rest[at])
            at += 1
        key = name.replace("-", "_")
        if key in table:
            raise document.error(line, f"{name} appears twice")
        if name in LISTS:
            table[key] = _all_eight(document, line, name, values)
        elif name in PAIRS:
            table[key] = [_number_pair(document, line, name, value) for value in values]
        elif not values and at < len(rest) and name in ("willing", "default-prio"):
            word, at = rest[at], at + 1
            table[key] = word == "on" if name == "willing" else [word]
            if name == "willing" and word not in ("on", "off"):
                raise document.error(line, f"willing is {brief(word)}; expected on or off")
        else:
            remarks.append(f"{document.file}:{line}: not read: {brief(name)}")
            at += not values
    return table


def _all_eight(document: Document, line: int, name: str, values: list[str]) -> list[Any]:
    """Pairs of a number, or all, and a value; missing numbers are 0, off or strict."""
    found: list[Any] = ["off" if name == "prio-pfc" else "strict" if name.endswith("tsa") else 0] * EIGHT
    seen: set[str] = set()
    for value in values:
        number, _, word = value.partition(":")
        if number in seen:
            raise document.error(line, f"{name} has {brief(number)} twice")
        seen.add(number)
        if name == "prio-pfc" and word not in ("on", "off"):
            raise document.error(line, f"{name} is {brief(value)}; expected on or off, such as 3:on")
        places = range(EIGHT) if number == "all" else [document.whole(line, name, number, 0, EIGHT - 1)]
        for place in places:
            found[place] = (
                word if name == "prio-pfc" or name.endswith("tsa") else _whole(document, line, name, word)
            )
    return found


def _whole(document: Document, line: int, name: str, word: str) -> int:
    return document.whole(line, name, word, 0, 100)


def _number_pair(document: Document, line: int, name: str, value: str) -> list[int]:
    protocol, _, priority = value.partition(":")
    if protocol.startswith("0x"):
        try:
            protocol = str(int(protocol, 16))
        except ValueError:
            raise document.error(
                line, f"{name} is {brief(value)}; expected a number and a priority"
            ) from None
    return [
        document.whole(line, name, protocol, 0, 0xFFFF),
        document.whole(line, name, priority, 0, EIGHT - 1),
    ]


def _mlnx_qos(document: Document, line: int, words: list[str], remarks: list[str]) -> dict[str, Any]:
    """Settings of ``mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0 --tsa ets,...``."""
    table: dict[str, Any] = {}
    rest = [part for word in words[1:] for part in (word.split("=", 1) if word.startswith("--") else [word])]
    for name, value in zip(rest[::2], rest[1::2], strict=False):
        if name in OPTIONS:
            if OPTIONS[name] in table:
                raise document.error(line, f"{name} appears twice")
            table[OPTIONS[name]] = _comma_list(document, line, OPTIONS[name], value)
        elif name in _IGNORED_OPTIONS:
            if name not in ("-i", "--interface"):
                remarks.append(f"{document.file}:{line}: not read: {name} {brief(value)}")
        else:
            expected = "--pfc, --prio_tc, --tsa and --tcbw, each with its value"
            raise document.error(line, f"unknown option {brief(name)}; expected {expected}")
    if len(rest) % 2:
        raise document.error(line, f"{brief(rest[-1])} has no value")
    return table


def _comma_list(document: Document, line: int, key: str, value: str) -> list[Any]:
    words = value.split(",")
    if key == "tc_tsa":
        return words + ["strict"] * (EIGHT - len(words))
    numbers = [document.whole(line, key, word, 0, 100) for word in words]
    if key == "prio_pfc":
        if any(number > 1 for number in numbers):
            raise document.error(line, f"pfc is {brief(value)}; expected eight digits 0 or 1")
        return ["on" if number else "off" for number in numbers]
    return numbers + [0] * (EIGHT - len(numbers)) if key == "tc_bw" else numbers
