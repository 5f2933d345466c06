"""Finds ports of a switch whose configuration can lose frames of lossless priorities.

Thresholds and headroom are computed for the switch alone, with a host at each port, the configured cables,
the slowest PHY of each rate, and frames of the MTU.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from penstock import _core
from penstock.errors import InputError
from penstock.laboratory.quantity import Quantity
from penstock.library import toml
from penstock.running import engine_errors

from . import eos, junos, nxos, sonic_config
from .code_points import ranges
from .join import join
from .piece import Document, LinkClass, Piece
from .port_repairs import Repairs, SonicRepairs, TextRepairs
from .sonic_links import Chosen
from .sonic_port import CODE_POINTS, View
from .switch_piece import described
from .toml import scenario

TEXTS = (eos, junos, nxos)
"""Readers of running configurations, in detection order."""
Severity = Literal["red", "yellow"]


@dataclass(frozen=True)
class Finding:
    """A setting that does not achieve its purpose.

    Attributes
    ----------
    severity : {"red", "yellow"}
        Red: lossless frames can be lost, or a setting has no effect. Yellow: it depends on the traffic.
    ports : sequence of str
        The affected ports; empty for all.
    what : str
        The setting, such as "priority 3".
    text : str
        Description of the problem.
    repair : str
        Shell command on the switch that repairs it; empty if there is none.
    """

    severity: Severity
    ports: Sequence[str]
    what: str
    text: str
    repair: str = ""


@dataclass(frozen=True)
class PriorityRow:
    """A lossless priority at a class of equal ports, with sizes in bytes and times in ns.

    Attributes
    ----------
    priority, queue, group : int
        The priority, the queue that its pauses stop, and the group that sends them.
    profile, pool : str
        Profile and pool of the group; empty if it has none.
    headroom_bytes, needed_bytes : int or None
        Headroom of the group, and bytes that arrive on its link after XOFF.
    xoff_bytes, xoff_all_busy_bytes, xon_bytes : int or None
        Levels at which the group sends XOFF while it is alone and while all others are busy, and level at
        which it sends XON.
    xoff_ns, xon_ns : float or None
        Transmission times of these levels on the link.
    marks_from_bytes, marks_all_from_bytes : int or None
        Kmin and Kmax of the queue; ``None`` if it does not mark.
    dscp : list of int
        Code points with this priority.
    watchdog : str
        Action and detection time; empty without one.
    """

    priority: int
    queue: int
    group: int
    profile: str
    pool: str
    headroom_bytes: int | None
    needed_bytes: int | None
    xoff_bytes: int | None
    xoff_all_busy_bytes: int | None
    xon_bytes: int | None
    xoff_ns: float | None
    xon_ns: float | None
    marks_from_bytes: int | None
    marks_all_from_bytes: int | None
    dscp: list[int]
    watchdog: str


@dataclass(frozen=True)
class ClassRows:
    """A class of ports with the same rate and cable, and their lossless priorities."""

    ports: Sequence[str]
    link: str
    rows: Sequence[PriorityRow]


@dataclass(frozen=True)
class Risks:
    """The ports of a switch, and the problems found.

    Attributes
    ----------
    classes : list of ClassRows
        Classes of equal ports.
    findings : list of Finding
        Problems, red ones first.
    remarks : list of str
        Remarks on what was left out or assumed.
    """

    classes: list[ClassRows]
    findings: list[Finding]
    remarks: list[str] = field(default_factory=list)

    @property
    def is_red(self) -> bool:
        """True if a finding is red."""
        return any(one.severity == "red" for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The risks as plain values for JSON."""
        return {"schema": "penstock-port-risks/1", **asdict(self)}


@dataclass(frozen=True)
class Ports:
    """A switch: its piece of a scenario, its ports, their representatives, and its repair commands."""

    piece: Piece
    views: Mapping[str, View]
    chosen: Chosen
    repairs: Repairs


def recognises(document: Document) -> bool:
    """Returns true if a text is a switch configuration whose ports can be listed."""
    return sonic_config.recognises(document) or any(one.recognises(document) for one in TEXTS)


def _ports(document: Document) -> Ports:
    """Returns the switch that a document describes."""
    known = next((one for one in TEXTS if one.recognises(document)), None)
    if known is None or sonic_config.recognises(document):
        switch = sonic_config.ports_of([document.fresh()])
        piece = sonic_config.read(document.fresh())
        return Ports(piece, switch.views, switch.chosen, SonicRepairs(switch))
    text = known.switch(document.fresh())
    found = described(text)
    memory = found.piece.keys["switch"].get("buffer", {}).get("memory", {})
    repairs = TextRepairs(text.commands, memory.get("pools", {}))
    return Ports(found.piece, found.views, found.chosen, repairs)


def risks(document: Document) -> Risks:
    """Finds the risks at a switch's ports in its CONFIG_DB or running configuration.

    Raises
    ------
    InputError
        If the text is neither, or its ports have no speed.
    ScenarioError
        If a switch with these settings cannot be simulated, and no finding explains why.
    """
    switch = _ports(document)
    piece, own = switch.piece, switch.views[switch.chosen.port]
    found = [*_maps(switch, own)]
    if not own.lossless.value and piece.keys.get("flow_control", "off") == "off":
        nothing = Finding("yellow", (), "PFC", "no port has a lossless priority, so no pauses are sent")
        return Risks([], [*found, nothing], list(piece.remarks))
    if not piece.alone:
        raise InputError(f'{document.file}: no port has a speed; expected one, or --rate, such as "100 Gb/s"')
    joined = join([(document, piece)], Path("switch.toml"))
    text = _with_traffic(joined.text, own, piece.alone)
    try:
        with engine_errors():
            note = json.loads(_core.thresholds(text, document.file))
    except ValueError:
        if any(one.severity == "red" for one in found):
            return Risks([], found, joined.remarks)
        raise
    thresholds, keys = _Thresholds(note["rows"]), piece.keys
    classes = [
        ClassRows(
            one.names, str(one.link), [*thresholds.rows(one.link, one.port, switch.views[one.port], own)]
        )
        for one in switch.chosen.classes
    ]
    # Penstock computes the minimum lossless headroom; if the switch has more, its marks come earlier.
    is_computed = (
        "memory" not in keys["switch"].get("buffer", {}) and "xoff" not in keys["flow_control"]["pfc"]
    )
    if is_computed:
        note = "the switch computes XOFF, XON and headroom; the values shown are computed from the links"
        joined.remarks.append(f"{document.file}: assumed: {note}")
    for one in classes:
        for row in one.rows:
            verdict = "" if is_computed else thresholds.verdict(one.ports[0], row.queue)
            found += _of_row(switch, one.ports, row, verdict)
    found += _pools(switch, classes)
    return Risks(classes, sorted(found, key=lambda one: one.severity), joined.remarks)


def _with_traffic(text: str, own: View, alone: Mapping[str, Any]) -> str:
    """The scenario with a flow of MTU-sized frames, since the frame size determines the bytes in flight."""
    keys = toml(text, "switch.toml")
    names = alone["topology"]["explicit"]["hosts"]
    lossless = keys["flow_control"]["pfc"]["priorities"]
    frame = {"frame": keys["switch"]["mtu"]} if own.mtu.value is not None else {}
    first = {"name": "mtu", "from": names[0], "priority": lossless[0], "source": "greedy", **frame}
    if len(names) > 1:
        keys["flows"] = [{**first, "to": names[1]}]
    return scenario(keys)


class _Thresholds:
    """Thresholds of the switch by port and by queue or group."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = {(name.rpartition("->")[2], row["what"]): row for row in rows for name in row["ports"]}

    def verdict(self, port: str, queue: int) -> str:
        """Assessment of the marking threshold of a queue."""
        return str(self._rows.get((port, f"queue {queue}"), {}).get("verdict", ""))

    def rows(self, link: LinkClass, port: str, view: View, own: View) -> Iterator[PriorityRow]:
        """The lossless priorities of a port."""
        rate = Quantity.read(link.rate) if link.rate else None
        watchdog = view.watchdog.value
        for priority in own.lossless.value or ():
            queue, group = view.stops.value[priority], view.pause_group.value[priority]
            row = self._rows.get((port, f"group {group}")) or self._rows.get(
                (port, f"priority {priority}"), {}
            )
            marks = self._rows.get((port, f"queue {queue}"), {})
            xoff, xon = _bytes(row.get("xoff")), _bytes(row.get("xon"))

            def takes(size: int | None) -> float | None:
                return None if size is None or rate is None else size * 8e9 / float(rate.amount)

            yield PriorityRow(
                priority,
                queue,
                group,
                row.get("profile", ""),
                row.get("pool", ""),
                _bytes(row.get("headroom")),
                row.get("in_flight_bytes"),
                xoff,
                _bytes(row.get("xoff_all_busy")),
                xon,
                takes(xoff),
                takes(xon),
                _bytes(marks.get("marks_from")),
                _bytes(marks.get("marks_all_from")),
                [dscp for dscp, of in own.class_of_dscp.value or () if of == priority],
                f"{watchdog[2]} after {watchdog[0]} ms" if watchdog else "",
            )


def _bytes(amount: Mapping[str, int] | None) -> int | None:
    return None if amount is None else amount.get("bytes")


def _of_row(switch: Ports, ports: Sequence[str], row: PriorityRow, marks: str) -> Iterator[Finding]:
    what = f"priority {row.priority}"
    given, needed = row.headroom_bytes, row.needed_bytes
    if given is not None and needed is not None and given < needed:
        text = f"headroom of {given} B is {needed - given} B short of the {needed} B in flight after XOFF"
        yield Finding("red", ports, what, text, switch.repairs.larger(row.profile, given, needed - given))
    elif not row.profile and row.xoff_bytes is None:
        yield Finding("red", ports, what, "no profile, so its senders are never paused")
    if row.marks_from_bytes is None:
        yield Finding("yellow", ports, f"queue {row.queue}", "no ECN marking: only pauses slow senders down")
    elif marks and not marks.startswith("marks before"):
        level = row.xoff_bytes or 0
        repair = switch.repairs.marks(ports[0], row.queue, level) if level else ""
        severity: Severity = "red" if "never" in marks else "yellow"
        yield Finding(severity, ports, f"queue {row.queue}", marks, repair)
    if not row.watchdog:
        repair = switch.repairs.watchdog(ports, len({*switch.views} - {*ports}))
        yield Finding("yellow", ports, what, "no PFC watchdog: a pause storm is never ended", repair)


def _pools(switch: Ports, classes: Sequence[ClassRows]) -> Iterator[Finding]:
    """Checks shared headroom against the bytes in flight on the links of the groups."""
    pools: dict[str, list[tuple[int, int, int]]] = {}
    for one in classes:
        for row in one.rows:
            if row.pool and row.needed_bytes is not None:
                pools.setdefault(row.pool, []).append(
                    (len(one.ports), row.headroom_bytes or 0, row.needed_bytes)
                )
    for name, groups in pools.items():
        shared = switch.repairs.shared_headroom(name)
        if not shared:
            continue
        committed = sum(count * given for count, given, _ in groups)
        needed = sum(count * flight for count, _, flight in groups)
        most = max(flight for _, _, flight in groups)
        if shared >= needed:
            continue
        text = (
            f"shares {shared} B of headroom, over-subscribed {committed / shared:.1f} times: enough for "
            f"{shared // most} groups that pause at once, of {sum(count for count, _, _ in groups)}"
        )
        repair = switch.repairs.pool(name, needed)
        yield Finding("red" if shared < most else "yellow", (), f"pool {name}", text, repair)


def _maps(switch: Ports, own: View) -> Iterator[Finding]:
    """Finds code points whose priority group is lossless but whose queue is not, or vice versa."""
    lossless = own.lossless.value or ()
    groups = {own.pause_group.value[priority]: priority for priority in lossless}
    queues = {own.stops.value[priority]: priority for priority in lossless}
    maps = dict(own.class_of_dscp.value or ())
    of_class: dict[int, list[int]] = {}
    for dscp in CODE_POINTS if own.class_of_dscp.value is not None else ():
        of_class.setdefault(maps.get(dscp, 0), []).append(dscp)
    for number in of_class or range(8):
        group, queue = own.group_of.value[number], own.queue_of.value[number]
        if (group in groups) == (queue in queues):
            continue
        points = ranges(of_class.get(number, ()))
        what = f"DSCP {points}" if points else f"priority {number}"
        if group in groups:
            text = f"fills lossless group {group}, but waits in queue {queue}, which no pause stops"
            right = switch.repairs.mapped(
                "tc_to_queue_map", "TC_TO_QUEUE_MAP", number, own.stops.value[groups[group]]
            )
        else:
            text = f"waits in lossless queue {queue}, but fills group {group}, which sends no pauses"
            target = own.pause_group.value[queues[queue]]
            right = switch.repairs.mapped("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", number, target)
        yield Finding("red", (), what, text, right)
    for priority in lossless if own.class_of_dscp.value is not None else ():
        if priority not in of_class:
            yield Finding("yellow", (), f"priority {priority}", "is lossless, but no DSCP is mapped to it")
