"""Configuration of Juniper Junos and Junos Evolved (QFX, EX, PTX): `class-of-service` and interfaces.

Both `set` commands and blocks in braces are read. A forwarding class has a queue; it is lossless if a
congestion notification profile has PFC for its code points. Names of interfaces may be patterns, such as
``et-*`` and ``all``; the most specific one applies.

Source: Juniper, Traffic Management User Guide (QFX Series and EX4600 Switches), and Junos CLI Reference. By
default the watchdog polls every 100 ms, detects after two intervals, and recovers after 200 ms. Fill levels
of drop profiles are percentages of the queue's capacity, which depends on the chip; with `--buffer` they
are percentages of the queue's share of that memory. The dynamic threshold n is an alpha of 2^(n - 7).

A queue of a traffic control profile gets its share of the guaranteed rate of that profile.

Not read, and reported by line: dedicated buffers, `buffer-size`, shaping, rewrite rules, and shares of the
memory without `--buffer`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .junos_cos import (
    COS,
    DEFAULTS,
    ForwardingClass,
    SchedulerMap,
    classifier,
    code_point,
    forwarding_classes,
    known,
    lossless_pool,
    queuing,
)
from .junos_text import Paths, statements_of
from .piece import Document, brief
from .port_keys import FRAME_BYTES
from .sonic_port import PRIORITIES
from .statements import MOST_PORTS, Statement
from .switch_classes import classes_of
from .switch_piece import Commands, PortSet, SwitchText, lossless_wred

CNP = "congestion-notification-profile"
_PORT = re.compile(r"(?:et|xe|ge|mge)-\d+/\d+/\d+(?::\d+)?", re.ASCII)
_SPEED = re.compile(r"(\d{1,4})([mg])", re.ASCII)
_BY_TYPE = {"ge": 1_000, "xe": 10_000}
"""Mb/s of interfaces by the type in their name."""
POLL_MS, DETECTION, RECOVERY_MS = 100, 2, 200
FCS_BYTES = 4
"""Bytes of a frame that the MTU of an interface does not count."""
_MEMORY = "a share of the memory, which depends on the chip: set its size with --buffer"
COMMANDS = Commands(watchdog="set class-of-service congestion-notification-profile NAME pfc-watchdog")
MEANINGS = {
    "shared-buffer": _MEMORY,
    "drop-profiles": "fill levels are per cent of a queue's capacity: set the memory with --buffer",
    "dedicated-buffer": "reserves of ports depend on the chip",
    "rewrite-rules": "rewriting is not imported; set maps.remap",
    "forwarding-class-sets": "queues are taken from the traffic control profile of the set",
    "traffic-control-profiles": "no imported interface has it, or queues have no maximum rate",
}
_SCHEDULERS = {
    "shaping-rate": "queues have no maximum rate",
    "buffer-size": _MEMORY,
    "drop-profile-map": "fill levels are per cent of a queue's capacity: set the memory with --buffer",
    "explicit-congestion-notification": "no drop profile of the queue is imported",
}
_ELSE = "not a setting of queues, flow control or links"


def recognises(document: Document) -> bool:
    """Returns true if a line is a class-of-service statement."""
    return document.has_line("set class-of-service ", "class-of-service {", "forwarding-classes {", f"{CNP} ")


def switch(document: Document) -> SwitchText:
    """Reads the settings of the ports.

    Raises
    ------
    InputError
        If a value is invalid or a reference is undefined; the message names the line.
    """
    paths = statements_of(document)
    config = _Config(paths)
    ports = {name: config.port(name) for name in config.names}
    if len(ports) > MOST_PORTS:
        raise document.error(1, f"has {len(ports)} ports; expected at most {MOST_PORTS}")
    pool = paths.deferred(lambda: lossless_pool(paths))
    return SwitchText(paths, ports, config.hostname, config.down, COS, config.meaning, pool, COMMANDS)


@dataclass(frozen=True)
class _Flow:
    """Flow control of a port: the queue of each lossless priority, and the queues that pauses stop."""

    pauses: dict[int, int]
    stops: dict[int, int]


class _Config:
    """The parts of a configuration."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.hostname = "switch"
        for line in paths.at("system", "host-name"):
            if len(line.words) == 3:
                self.hostname = paths.document.name(line.line, paths.read(line)[2])
        self._patterns = paths.names(COS, "interfaces")
        found = [name for name in paths.names("interfaces") if _PORT.fullmatch(name)]
        found += [name for name in self._patterns if _PORT.fullmatch(name)]
        # The settings of a channelized interface are in its channels.
        split = {name.partition(":")[0] for name in found if ":" in name}
        self.names = [name for name in dict.fromkeys(found) if name not in split]
        self.down = [name for name in self.names if self._is_off(name)]
        if not self.names:
            self.names = self._patterns[:1]
            self.down = self.names
        self._classes = paths.deferred(lambda: forwarding_classes(paths))

    def _is_off(self, name: str) -> bool:
        lines = self.paths.at("interfaces", name, "disable")
        return any(self.paths.read(line) for line in lines)

    def meaning(self, one: Statement) -> str:
        """The consequence of leaving out a statement."""
        if one.words[0] != COS:
            return _ELSE
        words = (*one.words[1:4], "", "", "")
        if words[0] == "schedulers" and words[2] in _SCHEDULERS:
            return _SCHEDULERS[words[2]]
        if words[0] in ("classifiers", "scheduler-maps", "schedulers", CNP):
            return "no imported interface has it, or a scenario has no such setting"
        if words[0] == "shared-buffer" and self.paths.buffer_bytes() is not None:
            return "no imported priority or queue is in this partition"
        return MEANINGS.get(words[0], "a scenario has no such setting")

    def _of_port(self, name: str) -> list[Statement]:
        """Class-of-service statements of an interface: its own, then patterns, the most specific first."""
        fitting = [one for one in self._patterns if one == name or one == "all" or fnmatchcase(name, one)]
        fitting.sort(key=lambda one: (one != name, one == "all", -len(one)))
        return [line for one in fitting for line in self.paths.at(COS, "interfaces", one)]

    def port(self, name: str) -> PortSet:
        """The settings of a port."""
        paths, lines = self.paths, self._of_port(name)
        classes = self._classes.value
        speed = paths.deferred(lambda: self._speed(name))
        marks = paths.deferred(lambda: self._marks(lines))
        cos, dscp = marks.value
        cnp = paths.deferred(lambda: self._profile_of(lines))
        flow = paths.deferred(lambda: self._flow(cnp.value, cos, dscp))
        maps = paths.deferred(lambda: self._maps_of(lines))
        queues = paths.deferred(lambda: queuing(paths, maps.value, classes, speed.value))
        default = classes.get("best-effort", DEFAULTS["best-effort"]).queue
        numbered = classes_of(
            paths,
            default=default,
            cos={one: classes[own].queue for one, own in cos.items()},
            dscp=None if dscp is None else {one: classes[own].queue for one, own in dscp.items()},
            pauses=flow.value.pauses,
        )
        mbps = speed.value
        return PortSet(
            classes=paths.joined(numbered, self._classes, marks, cnp, flow),
            lossless=paths.joined(tuple(sorted(flow.value.pauses)), self._classes, cnp, flow),
            stops=flow.value.stops,
            schedulers={one: paths.joined(own, maps, queues) for one, own in queues.value.schedulers.items()},
            wred=lossless_wred(
                paths, queues.value.wred, paths.joined(mbps, maps, queues), {*flow.value.pauses.values()}
            ),
            speed_mbps=speed,
            mtu=paths.deferred(lambda: self._mtu(name)),
            watchdog=paths.deferred(lambda: self._watchdog(cnp.value)),
            length_m=paths.deferred(lambda: self._length(cnp.value)),
        )

    def _named(self, lines: Iterable[Statement], *words: str) -> Statement | None:
        """The first statement of an interface that contains these words in sequence."""
        return next((line for line in lines if line.after(*words) is not None), None)

    def _marks(self, lines: list[Statement]) -> tuple[dict[int, str], dict[int, str] | None]:
        """The forwarding classes of CoS values, and of code points if the port has a classifier for them."""
        found: list[dict[int, str] | None] = []
        for kind in ("ieee-802.1", "dscp"):
            line = self._named(lines, "classifiers", kind)
            name = None if line is None else line.after("classifiers", kind)
            if line is None or name is None:
                found.append(None)
                continue
            self.paths.read(line)
            if name == "default":
                found.append(dict.fromkeys((6, 7) if kind != "dscp" else (48, 56), "network-control"))
            else:
                found.append(classifier(self.paths, kind, name, self._classes.value, line))
        return found[0] or {}, found[1]

    def _profile_of(self, lines: list[Statement]) -> str:
        """The congestion notification profile of an interface."""
        line = self._named(lines, CNP)
        if line is None:
            return ""
        name = self.paths.read(line)[line.words.index(CNP) + 1]
        if not self.paths.at(COS, CNP, name):
            there = brief(", ".join(self.paths.names(COS, CNP)) or "none")
            raise self.paths.error(line, f"no {CNP} is named {brief(name)}; there are: {there}")
        return name

    def _flow(self, profile: str, cos: dict[int, str], dscp: dict[int, str] | None) -> _Flow:
        """PFC of a congestion notification profile."""
        classes = self._classes.value
        flow = _Flow({}, {})
        for line in self.paths.at(COS, CNP, profile, "input") if profile else ():
            kind = line.words[4] if len(line.words) > 4 else ""
            code = line.after("code-point")
            if (
                kind not in ("ieee-802.1", "dscp")
                or code is None
                or line.words[5:] != ("code-point", code, "pfc")
            ):
                continue
            self.paths.read(line)
            number = code_point(self.paths, line, kind, code)
            name = (cos if kind != "dscp" else dscp or {}).get(number, "best-effort")
            own = known(self.paths, line, name, classes)
            if not own.no_loss:
                self.paths.report(
                    f"{line.line}", f"forwarding class {name} has PFC without no-loss: taken as no-loss"
                )
            priority = number if kind != "dscp" else self._priority(line, name, own)
            if flow.pauses.setdefault(priority, own.queue) != own.queue:
                raise self.paths.error(line, f"two queues have PFC of priority {priority}; expected one")
        for line in self.paths.at(COS, CNP, profile, "output") if profile else ():
            code, queue = line.after("code-point"), line.after("flow-control-queue")
            if code is not None and line.words[5:] == ("code-point", code, "flow-control-queue", queue):
                self.paths.read(line)
                number = code_point(self.paths, line, "ieee-802.1", code)
                flow.stops[number] = self.paths.whole(line, "flow-control-queue", queue, 0, PRIORITIES[-1])
        return flow

    def _priority(self, line: Statement, name: str, own: ForwardingClass) -> int:
        if own.priority is None:
            message = f"assumed: forwarding class {name} without pfc-priority uses {own.queue}, as its queue"
            self.paths.report(f"{line.line}", message)
        return own.queue if own.priority is None else own.priority

    def _maps_of(self, lines: list[Statement]) -> list[SchedulerMap]:
        """The scheduler map of an interface, or those of its traffic control profiles (ETS)."""
        line = self._named(lines, "scheduler-map")
        name = None if line is None else line.after("scheduler-map")
        if line is not None and name is not None:
            self.paths.read(line)
            return [SchedulerMap(name, line)]
        found = []
        for line in lines:
            if (profile := line.after("output-traffic-control-profile")) is not None:
                self.paths.read(line)
                found += self._profile_maps(profile, line)
        return found

    def _profile_maps(self, profile: str, by: Statement) -> list[SchedulerMap]:
        """The scheduler map of a traffic control profile, with its guaranteed rate."""
        lines = self.paths.at(COS, "traffic-control-profiles", profile)
        if not lines:
            there = brief(", ".join(self.paths.names(COS, "traffic-control-profiles")) or "none")
            raise self.paths.error(
                by, f"no traffic control profile is named {brief(profile)}; there are: {there}"
            )
        percent, maps = 100, []
        for line in lines:
            if (text := line.after("guaranteed-rate", "percent")) is not None:
                self.paths.read(line)
                percent = self.paths.whole(line, "guaranteed-rate", text, 0, 100)
            elif (name := line.after("scheduler-map")) is not None:
                self.paths.read(line)
                maps.append((name, line))
        return [SchedulerMap(name, line, percent) for name, line in maps]

    def _watchdog(self, profile: str) -> tuple[int, int, str] | None:
        """Times of the watchdog of a congestion notification profile."""
        lines = self.paths.at(COS, CNP, profile, "pfc-watchdog") if profile else []
        if not lines:
            return None
        numbers = {"poll-interval": POLL_MS, "detection": DETECTION, "recovery": RECOVERY_MS}
        action = "drop"
        for line in lines:
            words = self.paths.read(line)
            for key in numbers:
                if (text := line.after(key)) is not None:
                    numbers[key] = self.paths.whole(line, key, text, 1, 100_000)
            action = line.after("pfc-watchdog-action") or line.after("watchdog-action") or action
            if action not in ("drop", "forward"):
                raise self.paths.error(line, f"{brief(words[-1])}: expected drop or forward")
        statement = " ".join(word for line in lines for word in line.words)
        if missing := [f"{key} {value}" for key, value in numbers.items() if key not in statement]:
            self.paths.report("pfc-watchdog", f"assumed: {', '.join(missing)}")
        return numbers["poll-interval"] * numbers["detection"], numbers["recovery"], action

    def _length(self, profile: str) -> str | None:
        for line in self.paths.at(COS, CNP, profile, "input") if profile else ():
            if (text := line.after("cable-length")) is not None:
                self.paths.read(line)
                return f"{self.paths.whole(line, 'cable-length', text, 1, 100_000)}m"
        return None

    def _speed(self, name: str) -> int | None:
        """Mb/s of an interface: its own setting, that of the chassis port, or the default of its type."""
        place = re.findall(r"\d+", name)
        chassis = ("chassis", "fpc", place[0], "pic", place[1]) if len(place) > 2 else ()
        lines = [*self.paths.at("interfaces", name), *self.paths.at("interfaces", name.partition(":")[0])]
        for line in (*lines, *(one for one in self.paths.at(*chassis) if one.after("port") == place[2])):
            text = line.after("speed")
            if text is None or text.startswith("auto"):
                continue
            self.paths.read(line)
            found = _SPEED.fullmatch(text)
            if found is None or not 0 < int(found[1]) * (1_000 if found[2] == "g" else 1) <= 1_600_000:
                raise self.paths.error(line, f"speed is {brief(text)}; expected a speed, such as 400g")
            return int(found[1]) * (1_000 if found[2] == "g" else 1)
        return _BY_TYPE.get(name.partition("-")[0])

    def _mtu(self, name: str) -> int | None:
        """Maximum frame size of an interface, whose MTU excludes only the FCS."""
        for line in self.paths.at("interfaces", name, "mtu"):
            if len(line.words) == 4:
                mtu = self.paths.whole(line, "mtu", self.paths.read(line)[3], 256, 9_234)
                return mtu + FCS_BYTES - FRAME_BYTES
        return None
