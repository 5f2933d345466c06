"""Topologies and flows of the HPCC fork of ns-3, which many simulators of RDMA took over.

Source: `mix/fat.txt`, `mix/flow.txt` and `scratch/third.cc` of the fork. Not taken over: ports of UDP, and
what its configuration sets (buffers, thresholds, congestion control).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from penstock.errors import InputError

from .piece import PS_PER_S, Document, Piece, Transfer, explicit

_LINK = ("a node", "a node", "the rate", "the delay", "the error rate")
_FLOW = ("the sender", "the receiver", "the priority", "the port", "the size", "the start")


def is_topology(document: Document) -> bool:
    """Whether a text begins as a topology does: with three numbers."""
    first = next((line for _, line in document.lines()), "")
    return re.fullmatch(r"\d+\s+\d+\s+\d+", first) is not None


def is_flows(document: Document) -> bool:
    """Whether a text begins as flows do: with their number, and then six numbers."""
    lines = (line for _, line in document.lines())
    first, second = next(lines, ""), next(lines, "")
    return first.isdigit() and re.fullmatch(r"(\d+\s+){5}[\d.eE+-]+", second) is not None


def read_topology(document: Document) -> Piece:
    """A fabric: numbers of nodes, switches and links; the switches; each link with its two ends.

    Hosts are called h and their number, switches s and theirs.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    rows = _rows(document)
    line, words = _next(rows, document, "the numbers of nodes, switches and links")
    if len(words) != 3:
        raise document.error(line, f"{len(words)} words; expected the numbers of nodes, switches and links")
    nodes, of_switches, of_links = (document.whole(line, "the number", word, most=10**7) for word in words)
    switches: list[int] = []
    while len(switches) < of_switches:
        line, words = _next(rows, document, f"{of_switches - len(switches)} more numbers of switches")
        switches += [document.whole(line, "a switch", word, most=nodes - 1) for word in words]
    if len(set(switches)) != of_switches:
        raise document.error(line, f"{len(set(switches))} switches in all; the first line has {of_switches}")
    own = set(switches)
    names = {number: f"{'s' if number in own else 'h'}{number}" for number in range(nodes)}
    links: list[dict[str, Any]] = []
    faults = []
    for _ in range(of_links):
        line, words = _next(rows, document, f"{of_links - len(links)} more links")
        link, loss = _link(document, line, words, names)
        if loss:
            index = sum(set(one["between"]) == set(link["between"]) for one in links)
            faults.append({"link": link["between"], "index": index, "frame_loss": loss})
        links.append(link)
    hosts = {number: name for number, name in names.items() if number not in own}
    keys = explicit(list(hosts.values()), [names[number] for number in switches], links)
    if faults:
        keys["faults"] = faults
    return Piece(keys, numbers=hosts, remarks=_rest(rows, document))


def read_flows(document: Document) -> Piece:
    """Transfers: their number, and a line each: sender, receiver, priority, port, bytes and start in seconds.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    rows = _rows(document)
    line, words = _next(rows, document, "the number of flows")
    if len(words) != 1:
        raise document.error(line, f"{len(words)} words; expected the number of flows")
    found = []
    for missing in range(document.whole(line, "the number of flows", words[0], least=1), 0, -1):
        line, words = _next(rows, document, f"{missing} more flows")
        _expect(document, line, words, _FLOW)
        sender, receiver = (
            document.whole(line, what, word) for what, word in zip(_FLOW, words[:2], strict=False)
        )
        priority = document.whole(line, _FLOW[2], words[2], most=7)
        size = document.whole(line, _FLOW[4], words[4], least=1)
        start = document.decimal(line, _FLOW[5], words[5]) * PS_PER_S
        found.append(Transfer(line, start, sender, receiver, size, priority))
    return Piece(transfers=found)


Rows = Iterator[tuple[int, list[str]]]


def _rows(document: Document) -> Rows:
    return ((number, line.split()) for number, line in document.lines())


def _next(rows: Rows, document: Document, expected: str) -> tuple[int, list[str]]:
    row = next(rows, None)
    if row is None:
        raise InputError(f"{document.file}: ends early; expected {expected}")
    return row


def _expect(document: Document, line: int, words: list[str], columns: tuple[str, ...]) -> None:
    if len(words) != len(columns):
        raise document.error(line, f"{len(words)} words; expected {len(columns)}: {', '.join(columns)}")


def _link(
    document: Document, line: int, words: list[str], names: dict[int, str]
) -> tuple[dict[str, Any], float]:
    """A link as a scenario has it, and the share of its frames that is lost."""
    _expect(document, line, words, _LINK)
    ends = [names[document.whole(line, "a node", word, most=len(names) - 1)] for word in words[:2]]
    if ends[0] == ends[1]:
        raise document.error(line, f"a link from {words[0]} to itself; expected two different nodes")
    loss = document.decimal(line, "the error rate", words[4])
    if loss > 1:
        raise document.error(line, f"the error rate is {words[4]}; expected a number from 0 to 1")
    link = {
        "between": ends,
        "rate": document.quantity(line, "the rate", words[2], "rate", "100Gbps"),
        "delay": document.quantity(line, "the delay", words[3], "time", "1000ns"),
    }
    return link, float(loss)


def _rest(rows: Rows, document: Document) -> list[str]:
    after = next(rows, None)
    return [] if after is None else [f"{document.file}:{after[0]}: what follows the last link is not read"]
