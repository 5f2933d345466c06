"""Topologies and flows of the HPCC fork of ns-3 and of related simulators.

A topology of the HPCC fork begins with the numbers of nodes, switches and links; one of PowerTCP with nodes,
switches, ToR switches, links and in some releases two capacities; one of SimAI with nodes, GPUs per server,
NVSwitches, other switches, links and the type of GPU. The numbers of the switches follow, and a line for each
link. Flows are one per line: sender, receiver, priority, port, bytes and start in seconds. Those of ConWeave
have no port; those of ns3-rdma have packets, start and end in place of port, bytes and start.

Source: `mix/fat.txt`, `mix/flow.txt` and `scratch/third.cc` of the HPCC fork; the readers of conweave-ns3,
of the PowerTCP examples of ns3-datacenter and of ns-3-alibabacloud; `mix/flow.txt` of ns3-rdma and its
configuration.

Not imported: UDP ports and ends of flows, which become comments, and the settings of configurations
(buffers, thresholds, congestion control).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from penstock.errors import InputError
from penstock.laboratory.quantity import Quantity

from .piece import PS_PER_S, Document, Note, Piece, Transfer, brief, explicit, trunk

_LINK = ("a node", "a node", "the rate", "the delay", "the error rate")
_FLOW = ("the sender", "the receiver", "the priority", "the port", "the size", "the start")
_WITHOUT_PORT = ("the sender", "the receiver", "the priority", "the size", "the start")
_PACKETS = ("the sender", "the receiver", "the priority", "the packets", "the start", "the end")
LARGEST_PORT = 65_535
_UNCHECKED_LINKS = 1_000
"""Maximum number of links in a first line that is accepted before the lines are counted."""
MOST_TRUNK = 100 * 10**12
POWERTCP_WORDS = (4, 6)
"""Count of numbers in the first line of a PowerTCP topology, without and with capacities."""
MOST_PACKETS = 2**48
PACKET_BYTES = 1_000
"""PACKET_PAYLOAD_SIZE of the configuration included in ns3-rdma."""


def _beginning(document: Document) -> tuple[str, str]:
    first, second = [*document.first_lines(2), "", ""][:2]
    return first, second


def _are_numbers(words: Sequence[str]) -> bool:
    """Returns true if all words are whole numbers."""
    return all(word.isascii() and word.isdigit() for word in words)


def _is_decimal(word: str) -> bool:
    return set(word) <= set("0123456789.eE+-") and word[:1] != ""


def is_topology(document: Document) -> bool:
    """Returns true if the first line consists of three numbers."""
    words = _beginning(document)[0].split()
    return len(words) == 3 and _are_numbers(words)


def is_powertcp(document: Document) -> bool:
    """Returns true if the first line has four or six numbers, and the next line lists switches."""
    first, second = (line.split() for line in _beginning(document))
    return len(first) in POWERTCP_WORDS and _are_numbers(first) and _are_numbers(second[:1]) and second != []


def is_simai(document: Document) -> bool:
    """Returns true if the first line has five numbers and a type of GPU."""
    words = _beginning(document)[0].split()
    return len(words) == 6 and _are_numbers(words[:5]) and words[5].isidentifier()


def is_flows(document: Document) -> bool:
    """Returns true if a number of flows is followed by six numbers without a packet count."""
    return _has_flows(document, 6) and not _has_packets(document)


def is_conweave(document: Document) -> bool:
    """Returns true if a number of flows is followed by five numbers."""
    return _has_flows(document, 5)


def is_packets(document: Document) -> bool:
    """Returns true if flows follow whose fifth and sixth columns are start and end."""
    return _has_flows(document, 6) and _has_packets(document)


def _has_flows(document: Document, columns: int) -> bool:
    first, second = (line.split() for line in _beginning(document))
    return (
        len(first) == 1
        and len(second) == columns
        and _are_numbers([*first, *second[: columns - 2]])
        and all(map(_is_decimal, second[columns - 2 :]))
    )


def _has_packets(document: Document) -> bool:
    """Returns true if the first flow has a packet count: its fifth number is a time before its sixth."""
    try:
        words = [float(word) for word in _beginning(document)[1].split()]
    except ValueError:
        return False
    return len(words) == 6 and (words[4] < words[5] or words[3] > LARGEST_PORT)


def read_topology(document: Document) -> Piece:
    """Reads a fabric: numbers of nodes, switches and links; the switches; each link with its two ends.

    Hosts are named h and switches s, each followed by its number.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    what = "the numbers of nodes, switches and links"
    rows, line, words = _first(document, what)
    if len(words) != 3:
        raise document.error(line, f"{len(words)} words; expected {what}")
    nodes, switches, links = (document.whole(line, "the number", word, most=10**7) for word in words)
    return _fabric(document, rows, (line, words), nodes, switches, links)


def read_powertcp(document: Document) -> Piece:
    """Reads a fabric of PowerTCP; its first line also has the number of ToR switches and perhaps two rates.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    what = "the numbers of nodes, switches, switches of hosts and links, and in some releases two capacities"
    rows, line, words = _first(document, what)
    if len(words) not in POWERTCP_WORDS:
        raise document.error(line, f"{len(words)} words; expected {what}")
    nodes, switches, tors, links = (
        document.whole(line, "the number", word, most=10**7) for word in words[:4]
    )
    if tors > switches:
        raise document.error(line, f"{tors} switches of hosts; there are {switches} switches")
    for word in words[4:]:
        document.decimal(line, "a capacity", word)
    piece = _fabric(document, rows, (line, words), nodes, switches, links)
    capacities = f" and capacities {' and '.join(words[4:])}" if words[4:] else ""
    return _with_remark(
        piece,
        f"{document.file}:{line}: not read: {tors} switches of hosts{capacities}: the links define both",
    )


def read_simai(document: Document) -> Piece:
    """Reads a fabric of SimAI. GPUs are hosts; NVSwitches, which are counted separately, are switches.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    what = "the numbers of nodes, GPUs of a server, NVSwitches, switches and links, and the type of GPU"
    rows, line, words = _first(document, what)
    if len(words) != 6:
        raise document.error(line, f"{len(words)} words; expected {what}")
    nodes, each, inner, outer, links = (
        document.whole(line, "the number", word, most=10**7) for word in words[:5]
    )
    gpus = nodes - inner - outer
    if gpus < 1 or (inner and each * inner != gpus):
        message = f"{gpus} GPUs; {inner} NVSwitches of {each} GPUs make {each * inner}"
        raise document.error(line, message)
    piece = _fabric(document, rows, (line, words), nodes, inner + outer, links)
    return _with_remark(
        piece,
        f"{document.file}:{line}: GPUs are hosts with several links, NVSwitches are switches: frames of "
        f"Ethernet pass "
        "them; the type of GPU is left out",
    )


def _with_remark(piece: Piece, remark: str) -> Piece:
    return replace(piece, remarks=[*piece.remarks, remark])


def _fabric(
    document: Document, rows: Rows, first: tuple[int, list[str]], nodes: int, of_switches: int, of_links: int
) -> Piece:
    """Switches and links, after the first line."""
    line, head = first
    parallel_of: dict[frozenset[str], int] = {}
    notes = [Note(line, f"{' '.join(head)}: {nodes} nodes, {of_switches} switches, {of_links} links")]
    if of_switches > nodes or nodes > of_links + 1:
        message = f"{nodes} nodes with {of_switches} switches and {of_links} links; expected more links"
        raise document.error(line, message)
    rows_left = len(document.text.splitlines()) - line
    if of_links > max(rows_left, _UNCHECKED_LINKS):
        raise document.error(line, f"{of_links} links; {rows_left} lines follow: the file ends early")
    switches: list[int] = []
    while len(switches) < of_switches:
        line, words = _next(rows, document, f"{of_switches - len(switches)} more numbers of switches")
        switches += [document.whole(line, "a switch", word, most=nodes - 1) for word in words]
    if len(set(switches)) != of_switches or len(switches) != of_switches:
        raise document.error(line, f"{len(set(switches))} switches in all; the first line has {of_switches}")
    own = set(switches)
    names = {number: f"{'s' if number in own else 'h'}{number}" for number in range(nodes)}
    links: list[dict[str, Any]] = []
    faults: list[dict[str, Any]] = []
    trunks = 0
    for _ in range(of_links):
        line, words = _next(rows, document, f"{of_links - len(links)} more links")
        link, loss = _link(document, line, words, names)
        ends, count = frozenset(link["between"]), link.get("count", 1)
        begin = parallel_of.get(ends, 0)
        if loss:
            faults += [
                {"link": link["between"], "index": index, "frame_loss": loss}
                for index in range(begin, begin + count)
            ]
        parallel_of[ends] = begin + count
        trunks += count > 1
        links.append(link)
        if len(links) == 1:
            notes.append(Note(line, f"first of {of_links} links"))
    hosts = {number: name for number, name in names.items() if number not in own}
    keys = explicit(list(hosts.values()), [names[number] for number in switches], links)
    if faults:
        keys["faults"] = faults
    _rest(rows, document, _LINK)
    remarks = []
    if trunks:
        remarks.append(
            f"{document.file}: {trunks} links are faster than 1.6 Tb/s: each becomes several parallel links, "
            f"and a flow uses one of them"
        )
    return Piece(keys, numbers=hosts, notes=notes, remarks=remarks)


def read_flows(document: Document) -> Piece:
    """Reads transfers: a count, then per line sender, receiver, priority, port, bytes and start in seconds.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    return _transfers(document, _FLOW)


def read_conweave(document: Document) -> Piece:
    """Reads transfers of ConWeave, which are like those of `read_flows` but without ports.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    return _transfers(document, _WITHOUT_PORT)


def read_packets(document: Document) -> Piece:
    """Reads transfers of ns3-rdma: sender, receiver, priority, packets, start and end in seconds.

    Raises
    ------
    InputError
        If the text is something else; the message has the line.
    """
    piece = _transfers(document, _PACKETS)
    entries = [
        f"{document.file}: packets are of {PACKET_BYTES} B, PACKET_PAYLOAD_SIZE of the configuration "
        f"beside it",
        f"{document.file}: ends are left out: each transfer sends all its bytes",
    ]
    return replace(piece, remarks=[*piece.remarks, *entries])


def _transfers(document: Document, columns: tuple[str, ...]) -> Piece:
    """Transfers, one per line, with these columns."""
    rows, first, words = _first(document, "the number of flows")
    if len(words) != 1:
        raise document.error(first, f"{len(words)} words; expected the number of flows")
    number = document.whole(first, "the number of flows", words[0], least=1)
    found = []
    for missing in range(number, 0, -1):
        line, words = _next(rows, document, f"{missing} more flows")
        _expect(document, line, words, columns)
        found.append(_transfer(document, line, dict(zip(columns[2:], words[2:], strict=True)), words))
    notes = [Note(first, f"{number} flows: {', '.join(column.removeprefix('the ') for column in columns)}")]
    _rest(rows, document, columns)
    return Piece(transfers=found, notes=notes)


def _transfer(document: Document, line: int, fields: dict[str, str], words: list[str]) -> Transfer:
    sender, receiver = (
        document.whole(line, what, word) for what, word in zip(_FLOW, words[:2], strict=False)
    )
    priority = document.whole(line, _FLOW[2], fields[_FLOW[2]], most=7)
    start = document.instant(line, _FLOW[5], fields[_FLOW[5]], PS_PER_S)
    note = ""
    if "the packets" in fields:
        packets = document.whole(line, "the packets", fields["the packets"], least=1, most=MOST_PACKETS)
        end = document.instant(line, "the end", fields["the end"], PS_PER_S)
        if end < start:
            raise document.error(
                line, f"the end is {fields['the end']}, before the start {fields['the start']}"
            )
        return Transfer(
            line, start, sender, receiver, packets * PACKET_BYTES, priority, f"ends at {fields['the end']} s"
        )
    if "the port" in fields:
        port = fields["the port"]
        if document.whole(line, "the port", port) > LARGEST_PORT:
            expected = (
                f"at most {LARGEST_PORT}; a file of ns3-rdma has packets there: --format ns3-rdma-flows"
            )
            raise document.error(line, f"the port is {brief(port)}; expected {expected}")
        note = f"port {port}"
    size = document.whole(line, _FLOW[4], fields[_FLOW[4]], least=1)
    return Transfer(line, start, sender, receiver, size, priority, note)


Rows = Iterator[tuple[int, list[str]]]


def _rows(document: Document) -> Rows:
    return ((number, line.split()) for number, line in document.lines())


def _first(document: Document, expected: str) -> tuple[Rows, int, list[str]]:
    """Returns all rows, and the first one separately."""
    rows = _rows(document)
    return rows, *_next(rows, document, expected)


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
    """A link in the form of a scenario, and its frame loss probability."""
    _expect(document, line, words, _LINK)
    ends = [names[document.whole(line, "a node", word, most=len(names) - 1)] for word in words[:2]]
    if ends[0] == ends[1]:
        raise document.error(line, f"a link from {words[0]} to itself; expected two different nodes")
    loss = document.decimal(line, "the error rate", words[4])
    if loss > 1:
        raise document.error(line, f"the error rate is {words[4]}; expected a number from 0 to 1")
    # ns-3's DataRate reads a number without a unit as b/s.
    text = words[2]
    if _is_decimal(text):
        text = f"{document.decimal(line, 'the rate', text)} b/s"
    rate = Quantity.read(document.quantity(line, "the rate", text, "rate", "100Gbps"))
    if rate is None or not 1 <= rate.amount <= MOST_TRUNK:
        raise document.error(
            line, f"the rate is {brief(words[2])}; expected at most {MOST_TRUNK // 10**12} Tb/s"
        )
    delay = document.quantity(line, "the delay", words[3], "time", "1000ns")
    return {"between": ends, **trunk(int(rate.amount)), "delay": delay, "phy": "none"}, float(loss)


def _rest(rows: Rows, document: Document, columns: tuple[str, ...]) -> None:
    """Rejects a row beyond the announced count; other trailing text is reported as not read."""
    after = next(rows, None)
    if after is None:
        return
    line, words = after
    if len(words) == len(columns) and words[0].isdigit():
        raise document.error(line, f"more lines than the first line announces: {brief(' '.join(words))}")
    document.put_back(line)
