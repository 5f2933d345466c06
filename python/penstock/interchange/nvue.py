"""Settings of a switch as NVUE commands (Cumulus Linux), as in the output of `nv config show -o commands`.

A switch priority of NVUE is a traffic class here, and its traffic class is a queue here. Profiles are read
from one port (`--interface`), or if they are the only ones in use, or named default-global.

Source: NVIDIA's NVUE reference, set commands of QoS, and the defaults on the page on RoCE: `qos roce` assigns
priorities 3 and 6 to queues of their own and all others to queue 0. Queue 6 is strict, queues 0 and 3 share
the rest equally, and lossless mode enables PFC for priority 3. The marking threshold of queue 3, "1501500
bytes" there and 150 and 1500 in the Onyx manual, is read as 150,000 and 1,500,000 B; these values also
replace missing ones of a marking profile, with a remark.

Not imported, but reported: pools, port buffers, shapers, rewriting, link pauses, the watchdog, PCP maps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .nvue_pools import TrafficPools
from .nvue_ports import Statement, links_of
from .nvue_ranges import count, listed, members
from .piece import Document, Note, Piece, brief
from .shares import percentages

EIGHT = 8
CODE_POINTS = 64
GLOBAL = "default-global"
MOST_PORTS, MOST_NAMED = 1_024, 1_000_000
"""Maximum number of ports in one command, and in all commands together."""
ROCE = "of qos roce"
"""Name of the profile with the RoCE defaults."""
KINDS = ("mapping", "pfc", "congestion-control", "egress-scheduler", "egress-queue-mapping")
LEFT_OUT = {
    "traffic-pool": "pools are shares of the memory, which depends on the chip: set its size with --buffer",
    "advance-buffer-config": "sizes of pools depend on the chip; set [switch.buffer]",
    "egress-shaper": "queues have no maximum rate",
    "remark": "rewriting is not imported; set maps.remap",
    "link-pause": "link pauses are set in [flow_control.pause]",
    "pfc-watchdog": "the PFC watchdog is set with the key `watchdog` of switches",
}
"""Parts of `qos` that are not read, with the consequence."""
_YES, _NO = ("enable", "on", "enabled"), ("disable", "off", "disabled")
_SET = "nv set "
FRAME_BYTES = 22
"""Bytes of a frame that the MTU excludes: addresses, VLAN tag, type and FCS."""
LONGEST_MTU = 9_216
_SPELLINGS = {"min-threshold-bytes": "min-threshold", "max-threshold-bytes": "max-threshold"}
"""Names of keys in releases before Cumulus Linux 5.3."""


Entries = dict[tuple[str, str, str], Statement]
"""Values of a profile by the preceding words: ("dscp", "26", "switch-priority"), ("trust", "", "")."""
_ASSUMED = {
    "ecn": "enable",
    "min-threshold": "150000 B",
    "max-threshold": "1500000 B",
    "probability": "100 %",
}
"""Default values of a profile."""
NO_NAME = Statement("switch", 0)
"""Name of a switch whose configuration has none."""
PLAIN = ("trust", "port-default-sp")
"""Keys of mappings whose value is not preceded by a number."""


def recognises(document: Document) -> bool:
    """Returns true if a text begins with an NVUE command."""
    words = (document.first_lines(1) or [""])[0].split()
    if words and words[0].endswith(("$", "#")):
        words = words[1:]
    return words[:1] == ["nv"] and words[1:2] in (["set"], ["unset"], ["config"])


def read(document: Document) -> Piece:
    """Reads the settings of a switch; they apply to all switches of the scenario.

    Raises
    ------
    InputError
        If the text is not NVUE, ports differ, or a scenario cannot express a setting; the message names the
        line.
    """
    commands = Commands(document)
    for line, text in document.lines():
        commands.take(line, text)
    return commands.piece()


@dataclass
class Commands:
    """The settings that have been read."""

    document: Document
    profiles: dict[str, dict[str, Entries]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    chosen: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    """Ports that use a profile, with their line, by kind and name of the profile."""
    roce: dict[str, Statement] = field(default_factory=dict)
    unread: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    """Settings left out, by consequence, with the first line."""
    notes: list[Note] = field(default_factory=list)
    ports: set[str] = field(default_factory=set)
    """All ports that appear in commands."""
    mtus: dict[str, Statement] = field(default_factory=dict)
    """MTUs by port."""
    speeds: dict[str, Statement] = field(default_factory=dict)
    hostname: Statement = NO_NAME
    reported: list[str] = field(default_factory=list)
    pools: TrafficPools = field(default_factory=TrafficPools)
    named: int = 0
    """Number of ports in all commands together."""

    def take(self, line: int, text: str) -> None:
        """Handles a command."""
        if " nv " in text and text.partition(" nv ")[0].endswith(("$", "#", "sudo")):
            text = f"nv {text.partition(' nv ')[2]}"  # removes a prompt
        if not text.startswith(_SET):
            if not text.startswith("nv "):
                raise self.document.error(line, f"{brief(text)} is not an NVUE command; expected nv set ...")
            return self.leave(line, " ".join(text.split()[:2]), "no setting")
        words = text.split()[2:]
        if not words:
            raise self.document.error(
                line, "nv set without a setting; expected, for example, nv set qos roce"
            )
        return self.setting(line, words)

    def setting(self, line: int, words: Sequence[str]) -> None:
        """Handles the words of a setting, such as ``qos roce mode lossless``."""
        if words[0] == "interface":
            self._bound(line, "".join(words[1:2]))
            self.ports.update(members("".join(words[1:2])))
        if words[0] == "interface" and len(words) > 3 and words[2] == "qos":
            self._port(line, words[1], words[3:])
        elif words[0] == "interface" and words[2:4] == ["link", "mtu"] and len(words) == 5:
            for port in members(words[1]):
                if self.document.interface in (None, port):
                    self.mtus[port] = Statement(words[4], line)
            self.notes.append(Note(line, brief(f"interface {words[1]} link mtu {words[4]}")))
        elif words[0] == "interface" and words[2:4] == ["link", "speed"] and len(words) == 5:
            for port in members(words[1]):
                self.speeds[port] = Statement(words[4], line)
            self.notes.append(Note(line, brief(f"interface {words[1]} link speed {words[4]}")))
        elif words[:2] == ["system", "hostname"] and len(words) == 3:
            self.hostname = Statement(self.document.name(line, words[2]), line)
        elif words[0] == "qos" and len(words) > 1:
            self._qos(line, words[1:])
        else:
            what = " ".join([words[0], *words[2:3]] if words[0] == "interface" else words[:1])
            self.leave(line, what, "not a setting of queues")

    def _bound(self, line: int, ports: str) -> None:
        """Rejects ranges of more ports than a switch has, before they are expanded."""
        named = count(ports)
        self.named += named
        if named > MOST_PORTS or self.named > MOST_NAMED:
            raise self.document.error(
                line, f"{brief(ports)} are {named} ports; expected at most {MOST_PORTS}"
            )

    def leave(self, line: int, what: str, meaning: str) -> None:
        """Reports a setting as not read, with the consequence."""
        _, known = self.unread.setdefault(meaning, (line, []))
        if what not in known:
            known.append(what)

    def _port(self, line: int, ports: str, words: Sequence[str]) -> None:
        kind = words[0]
        if kind not in KINDS or len(words) != 3 or words[1] != "profile":
            return self.leave(
                line, f"interface qos {kind}", LEFT_OUT.get(kind, "a scenario has no such setting")
            )
        for port in members(ports):
            if self.document.interface not in (None, port):
                continue
            named = self.chosen.setdefault(kind, {})
            if known := next((own[port] for own in named.values() if port in own), None):
                raise self.document.error(line, f"{brief(port)} already has a {kind} profile in line {known}")
            named.setdefault(words[2], {})[port] = line
        self.notes.append(Note(line, brief(f"interface {ports} qos {' '.join(words)}")))
        return None

    def _qos(self, line: int, words: Sequence[str]) -> None:
        kind, rest = words[0], words[1:]
        if kind == "roce":
            keys = rest or ["enable", "on"]
            if len(keys) != 2 or keys[0] not in ("enable", "state", "mode", "cable-length"):
                expected = "enable, state, mode or cable-length with a value"
                raise self.document.error(line, f"qos roce {brief(' '.join(rest))}: expected {expected}")
            self._once(
                self.roce, keys[0].replace("state", "enable") if rest else "", Statement(keys[1], line)
            )
            self.notes.append(Note(line, brief(f"qos roce {' '.join(rest)}".strip())))
        elif kind == "traffic-pool" and self.document.buffer is not None:
            self.pools.take(line, rest)
            self.notes.append(Note(line, brief(f"qos {' '.join(words)}")))
        elif kind not in KINDS:
            self.leave(line, f"qos {kind}", LEFT_OUT.get(kind, "a scenario has no such setting"))
        elif rest:
            self._profile(line, kind, rest)

    def _profile(self, line: int, kind: str, words: Sequence[str]) -> None:
        own = self.profiles[kind].setdefault(words[0], {})
        rest = words[1:]
        if not rest:
            return
        is_plain = kind == "pfc" or (kind == "mapping" and rest[0] in PLAIN)
        if len(rest) != (2 if is_plain else 4):
            message = f"qos {kind} {brief(' '.join(words))}: expected a key with its value"
            raise self.document.error(line, message)
        if is_plain and rest[0] != "switch-priority":
            entries = [(rest[0], "", "")]
        else:
            entries = [(rest[0], one, "".join(rest[2:3])) for one in listed(rest[1])]
        for entry in entries:
            self._once(own, entry, Statement(rest[-1], line))
        self.notes.append(Note(line, brief(f"qos {kind} {' '.join(words)}")))

    def _once(self, entries: dict[Any, Statement], key: object, statement: Statement) -> None:
        """Stores a value that may appear only once in a configuration."""
        if key in entries:
            message = f"is already set in line {entries[key].line}; expected each key once"
            raise self.document.error(statement.line, message)
        entries[key] = statement

    def _of(self, kind: str) -> Entries:
        """Entries of this kind in the profile of the port."""
        named = self.chosen.get(kind, {})
        if len(named) > 1:
            (one, first), (other, second) = list(named.items())[:2]
            (port, _), (other_port, line) = next(iter(first.items())), next(iter(second.items()))
            raise self.document.error(
                line,
                f"{brief(other_port)} has the {kind} profile {brief(other)}, {brief(port)} has {brief(one)}: "
                "expected equal ports, or --interface to select the port to read",
            )
        for name, ports in named.items():
            if name not in self.profiles[kind]:
                line = next(iter(ports.values()))
                raise self.document.error(line, f"no command defines the {kind} profile {brief(name)}")
        for name in self.profiles[kind]:
            if name not in named and name != GLOBAL:
                line = next((statement.line for statement in self.profiles[kind][name].values()), 1)
                self.leave(line, f"{kind} {brief(name)}", "no imported port has this profile")
        return self.profiles[kind].get(next(iter(named), GLOBAL), {})

    def _is_on(self, statement: Statement, what: str) -> bool:
        if statement.value not in _YES + _NO:
            raise self.document.error(
                statement.line, f"{what} is {brief(statement.value)}; expected enable or disable"
            )
        return statement.value in _YES

    def _whole(self, statement: Statement, what: str, least: int, most: int) -> int:
        return self.document.whole(statement.line, what, statement.value, least, most)

    def _number(self, statement: Statement, what: str, text: str, most: int = EIGHT - 1) -> int:
        return self.document.whole(statement.line, what, text, 0, most)

    def _mode(self) -> str | None:
        """Mode of RoCE; ``None`` if it is off."""
        if not self.roce or (
            "enable" in self.roce and not self._is_on(self.roce["enable"], "qos roce enable")
        ):
            return None
        mode = self.roce.get("mode", Statement("lossless", 1))
        if mode.value not in ("lossless", "lossy"):
            expected = "lossless or lossy"
            raise self.document.error(mode.line, f"qos roce mode is {brief(mode.value)}; expected {expected}")
        return mode.value

    def piece(self) -> Piece:
        """All settings.

        Raises
        ------
        InputError
            If there are none, or they contradict each other.
        """
        wanted = self.document.interface
        if wanted is not None and self.ports and wanted not in self.ports:
            named = brief(", ".join(sorted(self.ports)))
            raise self.document.error(
                1, f"no command names the port {brief(wanted)}; expected one of {named}"
            )
        mode = self._mode()
        switch: dict[str, Any] = {"queues": self._queues(mode)}
        if maps := self._maps():
            switch["maps"] = {"dscp_to_tc": maps}
        if scheduler := self._scheduler(mode, switch["queues"]):
            switch["scheduler"] = scheduler
        if managers := self._managers(mode):
            switch["queue_managers"] = managers
        if (mtu := self._mtu()) is not None:
            switch["mtu"] = f"{mtu + FRAME_BYTES} B"
        keys, links = self._pfc(mode)
        if not self.notes:
            raise self.document.error(1, f"no command sets qos {', '.join(KINDS)} or roce")
        assumed = self.pools.fit(self.document, keys, switch, self.reported)
        file = self.document.file
        remarks = [
            f"{file}:{line}: not read: {brief(', '.join(what))}: {meaning}"
            for meaning, (line, what) in self.unread.items()
        ]
        remarks += [f"{file}:{line}" for line in self.reported]
        if mode:
            line = next(iter(self.roce.values())).line
            remarks.append(
                f"{file}:{line}: qos roce: the defaults that NVIDIA documents; releases differ, "
                "nv show qos roce prints those of a switch"
            )
        found = {"switch": switch, **keys}
        if self.hostname.line:
            self.notes.append(Note(self.hostname.line, f"system hostname {self.hostname.value}"))
        length = links.get("length")
        classes, alone = links_of(self.document, self.ports, self.speeds, length, self.hostname.value)
        return Piece(found, remarks=remarks, notes=self.notes, links=classes, alone=alone, assumed=assumed)

    def _mtu(self) -> int | None:
        """The most common MTU of the ports."""
        if not self.mtus:
            return None
        values = {
            port: self._whole(statement, "mtu", 68, LONGEST_MTU) for port, statement in self.mtus.items()
        }
        chosen, _ = Counter(values.values()).most_common(1)[0]
        if others := [port for port, one in values.items() if one != chosen]:
            line = self.mtus[others[0]].line
            named = brief(", ".join(f"{port} {values[port]}" for port in others))
            self.reported.append(
                f"{line}: not read: mtu of {named}: all ports get the most common one, {chosen}"
            )
        return chosen

    def _queues(self, mode: str | None) -> list[int] | str:
        queues = (
            [3 if one == 3 else 6 if one == 6 else 0 for one in range(EIGHT)] if mode else [*range(EIGHT)]
        )
        for (key, number, _), statement in self._of("egress-queue-mapping").items():
            self._expect(key, "switch-priority", statement)
            queues[self._number(statement, key, number)] = self._whole(
                statement, "traffic-class", 0, EIGHT - 1
            )
        return "per_priority" if queues == [*range(EIGHT)] else queues

    def _expect(self, key: str, known: str, statement: Statement) -> None:
        if key != known:
            raise self.document.error(statement.line, f"unknown key {brief(key)}; expected {known}")

    def _maps(self) -> dict[str, int]:
        """Traffic classes of code points: all of them, unless they equal those of RFC 2474."""
        classes = [code // EIGHT for code in range(CODE_POINTS)]
        trust = Statement("l3", 1)
        for (key, number, _), statement in self._of("mapping").items():
            if key == "dscp":
                classes[self._number(statement, key, number, CODE_POINTS - 1)] = self._whole(
                    statement, "switch-priority", 0, 7
                )
            elif key == "trust":
                trust = statement
            else:
                self.leave(statement.line, f"mapping {key}", "a frame without DSCP has its priority as class")
        if trust.value not in ("l2", "l3", "both", "port"):
            raise self.document.error(
                trust.line, f"trust is {brief(trust.value)}; expected l2, l3, both or port"
            )
        if trust.value == "port":
            raise self.document.error(
                trust.line, "trust is port: a scenario has no class per port; expected l2, l3 or both"
            )
        if trust.value == "l2":
            self.leave(trust.line, "mapping trust l2", "a frame with a DSCP is classified by its DSCP")
        if classes == [code // EIGHT for code in range(CODE_POINTS)]:
            return {}
        return {str(code): one for code, one in enumerate(classes)}

    def _scheduler(self, mode: str | None, queues: list[int] | str) -> dict[str, Any] | None:
        shares: dict[int, int | None] = {0: 50, 3: 50, 6: None} if mode else {}
        found: dict[int, dict[str, Statement]] = {}
        for (key, number, setting), statement in self._of("egress-scheduler").items():
            self._expect(key, "traffic-class", statement)
            found.setdefault(self._number(statement, key, number), {})[setting] = statement
        for queue, own in found.items():
            for key, statement in own.items():
                self._expect(key, key if key in ("mode", "bw-percent") else "mode or bw-percent", statement)
            kind, percent = own.get("mode", Statement("dwrr", 1)), own.get("bw-percent", Statement("0", 1))
            if kind.value not in ("dwrr", "strict"):
                raise self.document.error(kind.line, f"mode is {brief(kind.value)}; expected dwrr or strict")
            share = self._whole(percent, "bw-percent", 0, 100)
            shares[queue] = share if kind.value == "dwrr" and share else None
        if not shares:
            self.leave(1, "qos egress-scheduler", "none is set: the scheduler of --like, or strict priority")
            return None
        used = {*range(EIGHT)} if isinstance(queues, str) else set(queues)
        weights = {one: shares.get(one) for one in sorted(used)}
        if without := [str(queue) for queue in sorted(used - set(shares))]:
            what = f"qos egress-scheduler of queues {', '.join(without)}: not set"
            self.leave(1, what, "a queue without a share is strict")
        total = sum(weight or 0 for weight in weights.values())
        if total > 100:
            line = max(statement.line for own in found.values() for statement in own.values())
            raise self.document.error(line, f"the shares of queues sum to {total}; expected at most 100")
        if 0 < total < 100:
            self.leave(1, f"qos egress-scheduler: shares sum to {total}", "weights, as per cent of their sum")
        classes: list[dict[str, Any]] = []
        ets = {one: weight for one, weight in weights.items() if weight is not None}
        percents = percentages(ets) if total else {}
        # Queues below the last used one must also be in a class.
        for one in range(max(used) + 1):
            how: dict[str, Any] = {"percent": percents[one]} if one in percents else {"strict": True}
            classes.append({"queues": [one], **how})
        return {"ets": {"classes": classes}} if percents else None

    def _managers(self, mode: str | None) -> list[dict[str, Any]]:
        roce = {
            "min-threshold": Statement("150000", 1),
            "max-threshold": Statement("1500000", 1),
            "probability": Statement("100", 1),
        }
        queues: dict[int, dict[str, Statement]] = {3: roce} if mode else {}
        for (key, number, setting), statement in self._of("congestion-control").items():
            self._expect(key, "traffic-class", statement)
            setting = _SPELLINGS.get(setting, setting)
            known = ("ecn", "red", "min-threshold", "max-threshold", "probability")
            self._expect(setting, setting if setting in known else ", ".join(known), statement)
            own = queues.setdefault(self._number(statement, key, number), {})
            own[setting] = statement
        alike: dict[tuple[Any, ...], list[int]] = {}
        for queue, own in sorted(queues.items()):
            marks = "ecn" not in own or self._is_on(own["ecn"], "ecn")
            drops = "red" in own and self._is_on(own["red"], "red")
            line = max(statement.line for statement in own.values())
            if not marks and not drops:
                if left := [key for key in roce if key in own]:
                    what = f"congestion-control of queue {queue}: {', '.join(left)}"
                    self.leave(line, what, "the queue neither marks nor drops early")
                continue
            if own is not roce and (missing := [key for key in ("ecn", *roce) if key not in own]):
                taken = ", ".join(f"{key} {_ASSUMED[key]}" for key in missing)
                self.reported.append(f"{line}: assumed: congestion-control of queue {queue}: {taken}")
            least, most = (
                self._whole(own.get(key, Statement(default, 1)), key, 1, 2**40)
                for key, default in (("min-threshold", "150000"), ("max-threshold", "1500000"))
            )
            if least >= most:
                line = max(statement.line for statement in own.values())
                raise self.document.error(
                    line, f"queue {queue}: min-threshold {least} is not below max-threshold {most}"
                )
            percent = self._whole(own.get("probability", Statement("100", 1)), "probability", 1, 100)
            if marks or drops:
                action = ("mark" if drops else "mark_only") if marks else "drop"
                alike.setdefault((least, most, percent, action), []).append(queue)
        return [
            {
                "classes": numbers,
                "red": {
                    "weight": 1.0,
                    "min": f"{least} B",
                    "max": f"{most} B",
                    "max_probability": percent / 100,
                    "action": action,
                    "gentle": False,
                    "spacing": "geometric",
                    **({"mark_above_max": True} if action == "mark" else {}),
                },
            }
            for (least, most, percent, action), numbers in alike.items()
        ]

    def _pfc(self, mode: str | None) -> tuple[dict[str, Any], dict[str, str]]:
        """Flow control, and the cable length."""
        priorities = {3} if mode == "lossless" else set()
        pfc: dict[str, Any] = {}
        length = self.roce.get("cable-length") if mode == "lossless" else None
        for (key, number, _), statement in self._of("pfc").items():
            if key == "switch-priority":
                priorities.add(self._number(statement, key, number))
            elif key == "cable-length":
                length = statement
            elif key in ("xoff-threshold", "xon-threshold"):
                pfc[key[: key.index("-")]] = f"{self._whole(statement, key, 1, 2**40)} B"
            elif key in ("tx", "rx"):
                if not self._is_on(statement, key) and key == "rx":
                    note = f"assumed: rx is {statement.value}: switches of a scenario obey received pauses"
                    self.reported.append(f"{statement.line}: {note}")
                elif not self._is_on(statement, key):
                    raise self.document.error(
                        statement.line,
                        f"{key} is {statement.value}: PFC of a scenario has both directions; expected enable",
                    )
            else:
                self.leave(statement.line, f"pfc {key}", "headroom is computed from the link")
        links = {} if length is None else {"length": f"{self._whole(length, 'cable-length', 1, 100_000)} m"}
        if not priorities:
            return {"flow_control": "off"}, links
        return {"flow_control": {"pfc": {"priorities": sorted(priorities), **pfc}}}, links
