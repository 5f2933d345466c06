"""Running configuration of Cisco NX-OS (Nexus 9000 and 3000): classification, queues, PFC, ECN and links.

A qos-group is a queue. Policies of type qos map CoS and DSCP to qos-groups, policies of type network-qos make
queues lossless (`pause pfc-cos`), and policies of type queuing set scheduling and marking. A policy applies
if a `service-policy` of the interface or of `system qos` refers to it.

Source: Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide, Release 10.5(x): classification,
queuing and scheduling, network QoS, priority flow control. By default the watchdog has an interval of 100 ms,
a shutdown multiplier of 1 and an auto-restore multiplier of 10.

Not imported, but reported by line: limits of queues (`queue-limit`), whose dynamic form depends on the chip,
shapers, rewriting, access lists, `hardware qos`, and asymmetric PFC (`receive`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from .interface_config import InterfaceConfig
from .nxos_classes import Marks, NamedClasses, classification
from .nxos_policies import Network, Queuing, network, pause_buffers, queuing
from .piece import Document, brief
from .reading import Deferred
from .sonic_port import LONGEST_MTU, Assigned
from .statements import Statement, Statements, indented
from .switch_classes import Classes, classes_of
from .switch_piece import Commands, PortSet, SwitchText, lossless_wred

T = TypeVar("T")
BELONGS = {"class": ("policy-map",), "match": ("class-map",)}
_SIGNS = (
    "class-map type queuing",
    "class-map type network-qos",
    "policy-map type queuing",
    "policy-map type network-qos",
    "system qos",
    "priority-flow-control mode",
)
INTERVAL_MS, SHUTDOWN, RESTORE = 100, 1, 10
SYSTEM = "default-"
"""Prefix of the names of predefined policies."""
_ELSE = "not a setting of queues, flow control or links"
COMMANDS = Commands(
    watchdog="priority-flow-control watch-dog-interval on",
    marks="class type queuing c-out-8q-q{queue}: random-detect minimum-threshold {least} bytes "
    "maximum-threshold {most} bytes drop-probability 100 weight 0 ecn",
)
MEANINGS = {
    "queue-limit": "limits of queues depend on the chip; set [switch.buffer]",
    "shape": "queues have no maximum rate",
    "match": "a scenario classifies by CoS, DSCP and qos-group only",
    "set": "rewriting is not imported; set maps.remap",
    "random-detect": "its thresholds are not in bytes",
    "congestion-control": "dropping is a setting of the queue",
    "pause": "PFC of a scenario works in both directions, with thresholds per priority",
    "hardware": "chip-specific",
}
"""Consequence of leaving out a statement, by its first word."""


def recognises(document: Document) -> bool:
    """Returns true if a line is an NX-OS MQC statement."""
    return document.has_line(*_SIGNS)


def switch(document: Document) -> SwitchText:
    """Reads the settings of the ports.

    Raises
    ------
    InputError
        If a value is invalid or a reference is undefined; the message names the line.
    """
    return _Config(indented(document, BELONGS)).text("class-map and policy-map", COMMANDS)


@dataclass
class _Read:
    """Policies that have been read, by line."""

    marks: dict[int, Deferred[Marks]] = field(default_factory=dict)
    queues: dict[int, Deferred[Queuing]] = field(default_factory=dict)
    networks: dict[int, Deferred[Network]] = field(default_factory=dict)
    buffers: dict[int, Deferred[dict[int, Assigned]]] = field(default_factory=dict)

    def lines(self) -> set[int]:
        """Lines of all policies that have been read."""
        return {*self.marks, *self.queues, *self.networks, *self.buffers}


class _Config(InterfaceConfig):
    """The parts of a configuration; each is read once."""

    def __init__(self, statements: Statements) -> None:
        super().__init__(statements)
        self.classes = NamedClasses(statements)
        self._policies: dict[tuple[str, str], Statement] = {}
        self._system: list[Statement] = []
        self._pfc: list[Statement] = []
        self._read = _Read()
        for one in statements.roots:
            self._take(one)
        every = (line for lines in self.interfaces.values() for line in lines)
        self._is_chosen = any(line.begins("priority-flow-control", "mode", "on") for line in every)

    def _take(self, one: Statement) -> None:
        """Handles a top-level statement."""
        if self.took_host(one):
            return
        if one.begins("policy-map", "type") and len(one.words) > 3:
            key = (one.words[2], one.words[-1])
            self.statements.put_once(self._policies, key, one, "each policy")
        elif one.begins("class-map", "type"):
            self.classes.take(one)
        elif one.begins("system", "qos"):
            self._system += one.children
        elif one.begins("priority-flow-control"):
            self._pfc.append(one)

    def meaning(self, one: Statement) -> str:
        """The consequence of leaving out a statement."""
        outer = one.outermost
        if outer.begins("policy-map") and outer.line not in self._read.lines():
            return "no imported service-policy refers to it"
        if outer.begins("class-map") and not any(self._was_read(line) for line in outer.children):
            return "no imported policy refers to it, or it matches neither CoS, DSCP nor a qos-group"
        return MEANINGS.get(one.words[0], _ELSE)

    def _was_read(self, one: Statement) -> bool:
        return self.statements.has_read(one)

    def port(self, lines: list[Statement]) -> PortSet:
        """The settings of a port."""
        statements = self.statements
        marks = self._by_policy(lines, "qos", "input", self._read.marks, Marks({}, {}), self._marks)
        queues = self._by_policy(lines, "queuing", "output", self._read.queues, Queuing(), self._queuing)
        net = self._by_policy((), "network-qos", None, self._read.networks, Network(), self._network)
        buffers: Deferred[dict[int, Assigned]] = self._by_policy(
            lines, "queuing", "input", self._read.buffers, {}, self._buffers
        )
        mode = statements.deferred(lambda: self._mode(lines))
        pauses = dict(net.value.pauses) if mode.value else {}
        marked = marks.value
        classes: Classes = classes_of(
            statements,
            default=marked.default,
            cos=marked.cos,
            dscp=marked.dscp or None,
            pauses=pauses,
        )
        of_groups = {**net.value.buffers, **buffers.value}
        groups: dict[int, Deferred[Assigned | None]] = {
            priority: statements.joined(of_groups[group], net, buffers)
            for priority, group in pauses.items()
            if group in of_groups
        }
        mtu = statements.deferred(lambda: self._number(lines, "mtu", LONGEST_MTU))
        return PortSet(
            classes=statements.joined(classes, marks, net, mode),
            lossless=statements.joined(tuple(sorted(pauses)), net, mode),
            schedulers={one: statements.joined(own, queues) for one, own in queues.value.schedulers.items()},
            wred=lossless_wred(statements, queues.value.wred, queues, {*pauses.values()}),
            groups=groups,
            speed_mbps=statements.deferred(lambda: self._number(lines, "speed", 1_600_000)),
            mtu=mtu if mtu.value is not None else statements.joined(net.value.mtu, net),
            watchdog=statements.deferred(lambda: self._watchdog(lines)),
        )

    def _marks(self, policy: Statement) -> Marks:
        return classification(self.statements, self.classes, policy)

    def _queuing(self, policy: Statement) -> Queuing:
        return queuing(self.statements, self.classes, policy)

    def _network(self, policy: Statement) -> Network:
        return network(self.statements, self.classes, policy)

    def _buffers(self, policy: Statement) -> dict[int, Assigned]:
        return pause_buffers(self.statements, self.classes, policy)

    def _by_policy(
        self,
        lines: Iterable[Statement],
        kind: str,
        way: str | None,
        known: dict[int, Deferred[T]],
        without: T,
        made: Callable[[Statement], T],
    ) -> Deferred[T]:
        """Reads the policy of this type and direction for the interface, or else for the system."""
        named = self.statements.deferred(lambda: self._applied([*lines, *self._system], kind, way))
        policy = named.value
        if policy is None:
            return self.statements.joined(without)
        if policy.line not in known:
            known[policy.line] = self.statements.deferred(lambda: made(policy))
        return self.statements.joined(known[policy.line].value, named, known[policy.line])

    def _applied(self, lines: Iterable[Statement], kind: str, way: str | None) -> Statement | None:
        wanted = ("service-policy", "type", kind) + ((way,) if way else ())
        for line in lines:
            if line.begins(*wanted) and len(line.words) > len(wanted):
                name = self.statements.read(line)[len(wanted)]
                if name.startswith(SYSTEM) and (kind, name) not in self._policies:
                    self.statements.report(
                        f"{line.line}", f"assumed: {brief(name)} has the predefined settings"
                    )
                    return None
                if (kind, name) not in self._policies:
                    known = ", ".join(one for of, one in self._policies if of == kind) or "none"
                    message = (
                        f"no policy-map of type {kind} is named {brief(name)}; there are: {brief(known)}"
                    )
                    raise self.statements.error(line, message)
                return self._policies[kind, name]
        return None

    def _mode(self, lines: Iterable[Statement]) -> bool:
        """Returns true if PFC is enabled: its mode is on, or is auto and no port has mode on."""
        for line in lines:
            if line.begins("priority-flow-control", "mode") and len(line.words) > 2:
                mode = self.statements.read(line)[2]
                if mode not in ("on", "off", "auto"):
                    raise self.statements.error(line, f"mode is {brief(mode)}; expected on, off or auto")
                if mode != "auto":
                    return mode == "on"
        if not self._is_chosen:
            message = "assumed: mode auto, with DCBX agreement on the priorities with pause pfc-cos"
            self.statements.report("priority-flow-control", message)
        return not self._is_chosen

    def _number(self, lines: Iterable[Statement], word: str, most: int) -> int | None:
        for line in lines:
            if line.begins(word) and len(line.words) == 2 and line.words[1] != "auto":
                return self.statements.whole(line, word, self.statements.read(line)[1], 64, most)
        return None

    def _watchdog(self, lines: Iterable[Statement]) -> tuple[int, int, str] | None:
        """Times of the watchdog; the interface's setting takes precedence over the global one."""
        word = "watch-dog-interval"
        switches = [one for one in (*lines, *self._pfc) if one.begins("priority-flow-control", word)]
        if not switches:
            return None
        value = self.statements.read(switches[0])[-1]
        if value not in ("on", "off"):
            raise self.statements.error(switches[0], f"{word} is {brief(value)}; expected on or off")
        if value == "off":
            return None
        interval = self._watchdog_number(INTERVAL_MS, 100, 1_000, "watch-dog", "interval")
        shutdown = self._watchdog_number(SHUTDOWN, 1, 10, "watch-dog", "shutdown-multiplier")
        restore = self._watchdog_number(RESTORE, 0, 100, "auto-restore", "multiplier")
        if restore == 0:
            self.statements.report(
                "priority-flow-control", "queues are never restored: taken as 1,000 intervals"
            )
        return interval * shutdown, interval * (restore or 1_000), "drop"

    def _watchdog_number(self, default: int, least: int, most: int, *words: str) -> int:
        for one in self._pfc:
            if one.begins("priority-flow-control", *words) and len(one.words) == 4:
                return self.statements.whole(one, words[-1], self.statements.read(one)[3], least, most)
        self.statements.report("priority-flow-control", f"assumed: {' '.join(words)} is {default}")
        return default
