"""Triggers of htsim: connections that begin when others end, where their host can observe the event.

A trigger fires when a connection that refers to it is acknowledged (`send_done_trigger`) or has arrived
(`recv_done_trigger`); a barrier fires after a given number of them. In htsim, the waiting connections begin
at the same instant, at any host. Here, hosts affect each other only by frames, so a host observes only the
acknowledgement of its own data and the arrival of data sent to it. If the host of a waiting connection is the
receiver, an acknowledgement is therefore replaced by the arrival. If it is the sender, an arrival is replaced
by the acknowledgement. Both are reported. A dependency on a connection between other hosts is an error.

Source: `sim/trigger.cpp` and `sim/datacenter/connection_matrix.cpp` of csg-htsim and uet-htsim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from .piece import Document

DONE = {"send_done_trigger": "is acknowledged", "recv_done_trigger": "has arrived"}


@dataclass(frozen=True)
class Trigger:
    """A trigger: its line, its kind, and the number of connections that a barrier waits for."""

    line: int
    kind: str
    count: int


@dataclass(frozen=True)
class Connection:
    """A connection between two nodes, as its line describes it."""

    line: int
    sender: int
    receiver: int
    fields: Mapping[str, str]


def after(
    document: Document, connections: Sequence[Connection], triggers: Mapping[int, Trigger]
) -> tuple[dict[int, tuple[int, ...]], list[str]]:
    """For each waiting connection, by line, the lines of the connections that it depends on; and remarks.

    Raises
    ------
    InputError
        If one waits for an event that its host cannot observe, or that never occurs.
    """
    fired: dict[int, list[tuple[Connection, str]]] = {number: [] for number in triggers}
    for one in connections:
        for word in DONE:
            if word in one.fields:
                fired[int(one.fields[word])].append((one, word))
    waits: dict[int, tuple[int, ...]] = {}
    assumed: dict[str, list[str]] = {"arrives": [], "is acknowledged": []}
    for own in connections:
        if "trigger" not in own.fields:
            continue
        number = int(own.fields["trigger"])
        trigger = triggers[number]
        begins = f"begins when trigger {number} (line {trigger.line}) fires"
        if not fired[number]:
            raise document.error(own.line, f"{begins}, but no connection fires it")
        _check_count(document, own, begins, trigger, len(fired[number]))
        for one, word in fired[number]:
            if reason := _unobserved(own, one):
                who = f"line {one.line} ({one.sender}->{one.receiver})"
                raise document.error(
                    own.line, f"{begins}, by {who} when its last byte {DONE[word]}: {reason}"
                )
            acknowledged = one.sender == own.sender
            if acknowledged != (word == "send_done_trigger"):
                what = "is acknowledged" if acknowledged else "arrives"
                assumed[what].append(f"{own.line} (for line {one.line})")
        waits[own.line] = tuple(one.line for one, _ in fired[number])
    check_circles(document, waits)
    remarks = []
    for what, lines in assumed.items():
        if lines:
            more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
            remarks.append(
                f"{document.file}: connections that wait for events that their host does not observe begin "
                f"when the last byte {what}: lines {', '.join(lines[:3])}{more}"
            )
    return waits, remarks


def check_circles(document: Document, waits: Mapping[int, Sequence[int]]) -> None:
    """Rejects connections that wait for themselves, directly or indirectly.

    Raises
    ------
    InputError
        If there is a cycle; the message lists its lines.
    """
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as circle:
        lines = " -> ".join(str(line) for line in circle.args[1])
        raise document.error(min(circle.args[1]), f"waits for itself indirectly: lines {lines}") from None


def _check_count(document: Document, own: Connection, begins: str, trigger: Trigger, fires: int) -> None:
    is_barrier = trigger.kind == "barrier"
    if fires == (trigger.count if is_barrier else 1):
        return
    when = f"after {trigger.count} of {fires} connections" if is_barrier else f"at the first of {fires}"
    never = ", which is never" if is_barrier and trigger.count > fires else ""
    raise document.error(own.line, f"{begins}, {when}{never}: expected a barrier with count {fires}")


def _unobserved(own: Connection, other: Connection) -> str:
    """Reason why a connection cannot wait for another one; empty if it can."""
    if own.sender not in (other.sender, other.receiver):
        return (
            f"node {own.sender} does not observe it; expected connections from or to that node, "
            "or a program of ranks: penstock trace convert"
        )
    if int(other.fields.get("size", "0")) == 0:
        return "it has no end"
    return ""
