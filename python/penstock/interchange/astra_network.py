"""Networks of ASTRA-sim 2 (analytical backend): kind, size, bandwidth and latency of each dimension.

Source: the inputs of astra-sim and its analytical backend. Its "GB/s" are 2^30 B/s. NPUs are numbered with
dimension 0 fastest. A Ring links neighbors in both directions. A Switch links each NPU to one switch, with
two links between any pair. FullyConnected links each pair.

Not imported: the analytical backend's links, which model neither congestion nor frames nor switches.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from penstock.errors import InputError

from .piece import Document, Note, Piece, brief, explicit, plainest, trunk

KEYS = ("topology", "npus_count", "bandwidth", "latency")
KINDS = ("Ring", "Switch", "FullyConnected")
MOST_NPUS = 65_536
MOST_LINKS = 10**6
GIB_BITS = 8 * 2**30
MOST_RATE = 100 * 10**12


def recognises(document: Document) -> bool:
    """Returns true if a line contains the numbers of NPUs."""
    return any(
        line.startswith("npus_count") and line.removeprefix("npus_count").lstrip()[:1] == ":"
        for _, line in document.lines()
    )


def read(document: Document) -> Piece:
    """A fabric of hosts npu0, ... and, for dimensions of kind Switch, switches.

    Raises
    ------
    InputError
        If the text is not such a network, or its lists differ in length; the message has the line.
    """
    fields, lines = _read(document)
    kinds, counts = (
        fields["topology"],
        [_count(document, lines["npus_count"], one) for one in fields["npus_count"]],
    )
    for kind in kinds:
        if kind not in KINDS:
            raise document.error(lines["topology"], f"topology is {brief(kind)}; expected {', '.join(KINDS)}")
    rates = [_rate(document, lines["bandwidth"], one) for one in fields["bandwidth"]]
    delays = [_delay(document, lines["latency"], one) for one in fields["latency"]]
    total = 1
    for count in counts:
        total *= count
    if total > MOST_NPUS:
        raise document.error(lines["npus_count"], f"{total} NPUs; at most {MOST_NPUS} are accepted")
    amount = sum(_links_of(kind, count) * (total // count) for kind, count in zip(kinds, counts, strict=True))
    if amount + total > MOST_LINKS:
        raise document.error(lines["npus_count"], f"{amount} links between NPUs; at most {MOST_LINKS} in all")
    # NPUs forward traffic of other NPUs, and hosts do not: each NPU gets its own router, unless all are
    # attached to one switch.
    routed = len([count for count in counts if count > 1]) > 1 or not set(kinds) <= {"Switch"}
    node = "router" if routed else "npu"
    switches = [f"router{number}" for number in range(total)] if routed else []
    links: list[dict[str, Any]] = []
    for dimension, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        cable = {**trunk(rates[dimension]), "delay": delays[dimension], "phy": "none"}
        for place, group in enumerate(_groups(counts, dimension)):
            links += _linked(kind, [f"{node}{one}" for one in group], f"switch{dimension}.{place}", cable)
        if kind == "Switch" and count > 1:
            switches += [f"switch{dimension}.{place}" for place in range(total // count)]
    if not links:
        raise document.error(lines["npus_count"], "no dimension has two NPUs: there is no link")
    inner = sum(rate for rate, count in zip(rates, counts, strict=True) if count > 1)
    if routed:
        cable = {**trunk(inner), "delay": "0 ps", "phy": "none"}
        links += [{"between": [f"npu{number}", f"router{number}"], **cable} for number in range(total)]
    hosts = [f"npu{number}" for number in range(total)]
    notes = [Note(lines[key], f"{key} {', '.join(fields[key])}") for key in KEYS]
    shown = ", ".join(f"{rate} b/s" for rate in dict.fromkeys(rates))
    remarks = [
        f"{document.file}:{lines['bandwidth']}: bandwidths are in 2^30 B/s, as ASTRA-sim counts GB/s: {shown}"
    ]
    if routed:
        remarks.append(
            f"{document.file}:{lines['topology']}: NPUs forward traffic of other NPUs, so each has a router, "
            f"linked to it at "
            f"the total rate of its dimensions, {inner} b/s"
        )
    if any("count" in link for link in links):
        remarks.append(
            f"{document.file}: a link above 1.6 Tb/s becomes several parallel links; a flow uses one"
        )
    return Piece(
        explicit(hosts, switches, links), numbers=dict(enumerate(hosts)), notes=notes, remarks=remarks
    )


def _read(document: Document) -> tuple[dict[str, list[str]], dict[str, int]]:
    fields: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for line, text in document.lines():
        key, colon, rest = text.partition("#")[0].partition(":")
        key, rest = key.strip(), rest.strip()
        if not colon or key not in KEYS or rest[:1] != "[" or rest[-1:] != "]" or len(rest) < 2:
            raise document.error(
                line, f"{brief(text)}: expected {', '.join(KEYS)}, each as in topology: [ Ring ]"
            )
        if key in fields:
            raise document.error(line, f"{key} appears twice")
        fields[key] = [word.strip() for word in rest[1:-1].split(",")]
        lines[key] = line
    for key in KEYS:
        if key not in fields:
            raise InputError(f"{document.file}: has no {key}")
        if len(fields[key]) != len(fields["topology"]):
            message = (
                f"{key} has {len(fields[key])} values, topology {len(fields['topology'])}; expected one "
                f"a dimension"
            )
            raise document.error(lines[key], message)
    return fields, lines


def _links_of(kind: str, count: int) -> int:
    """Number of links in one group of `count` NPUs."""
    if count < 2:
        return 0
    return {"Switch": count, "Ring": 1 if count == 2 else count}.get(kind, count * (count - 1) // 2)


def _count(document: Document, line: int, text: str) -> int:
    return document.whole(line, "npus_count", text, least=1, most=MOST_NPUS)


def _rate(document: Document, line: int, text: str) -> int:
    """Returns a rate in b/s."""
    bits = document.decimal(line, "bandwidth", text) * GIB_BITS
    if not 10**6 <= bits <= MOST_RATE:
        raise document.error(line, f"bandwidth is {brief(text)}, in 2^30 B/s; expected 1 Mb/s to 100 Tb/s")
    return round(bits)


def _delay(document: Document, line: int, text: str) -> str:
    ps = document.decimal(line, "latency", text) * 1_000
    if ps.denominator != 1 or ps > 10**15:
        raise document.error(line, f"latency is {brief(text)} ns; expected whole picoseconds, at most 1000 s")
    return plainest(ps, "time")


def _groups(counts: list[int], dimension: int) -> list[list[int]]:
    """Groups of NPUs that a dimension connects: NPUs that differ only in this dimension, in its order."""
    strides = [1]
    for count in counts:
        strides.append(strides[-1] * count)
    others = [range(1) if place == dimension else range(count) for place, count in enumerate(counts)]
    firsts = sorted(
        sum(digit * stride for digit, stride in zip(digits, strides, strict=False))
        for digits in product(*others)
    )
    return [[first + digit * strides[dimension] for digit in range(counts[dimension])] for first in firsts]


def _linked(kind: str, group: list[str], switch: str, cable: dict[str, str]) -> list[dict[str, Any]]:
    """The links of one group."""
    if len(group) < 2:
        return []
    if kind == "Switch":
        pairs = [(one, switch) for one in group]
    elif kind == "Ring":
        ends = list(zip(group, group[1:] + group[:1], strict=True))
        pairs = ends[:1] if len(group) == 2 else ends
    else:
        pairs = [(a, b) for place, a in enumerate(group) for b in group[place + 1 :]]
    return [{"between": [a, b], **cable} for a, b in pairs]
