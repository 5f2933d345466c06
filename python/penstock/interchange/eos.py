"""Running configuration of Arista EOS: maps, queues, PFC, ECN, buffers of Trident and Tomahawk, and links.

A traffic class corresponds to a priority of a scenario, a tx-queue to its queue. Settings of an interface
take precedence over those of its profile (`service-profile`).

Source: Arista EOS User Manual, chapters "Quality of Service" and "Data Center Bridging", and the schema of
Arista AVD for the forms of commands. Without `qos map`, DSCP 0-7 and CoS 0 are traffic class 1, DSCP 8-15 and
CoS 1 are class 0, and all others have the class of their upper three bits. A port trusts DSCP if it is routed
and CoS if it is switched, unless `qos trust` is set. Queues are strict unless `no priority` is set, which
also applies to all lower queues.

Not imported, but reported by line: shapers, guaranteed bandwidth, ACL policies, multicast queues, and sizes
in cells or segments without `--cell`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import partial

from .eos_memory import QueueProfiles
from .eos_queues import queues_of
from .interface_config import InterfaceConfig
from .piece import Document, brief
from .sonic_port import CODE_POINTS, LONGEST_MTU, PRIORITIES
from .statements import Statement, Statements, indented
from .switch_classes import Classes
from .switch_piece import Commands, PortSet, SwitchText, lossless_wred

_BLOCKS = ("tx-queue", "uc-tx-queue")
BELONGS = dict.fromkeys(("random-detect", "bandwidth", "priority"), _BLOCKS)
_SIGNS = (
    "priority-flow-control on",
    "priority-flow-control priority",
    "priority-flow-control pause watchdog",
    "qos map ",
    "qos trust",
    "qos profile ",
    "tx-queue ",
    "uc-tx-queue ",
    "platform trident mmu",
)
_SPEED = re.compile(r"(\d{1,6}(?:\.\d)?)(g?)(?:full|half|-\d+)?", re.ASCII)
BY_BITS = (1, 0, 2, 3, 4, 5, 6, 7)
"""Default traffic class of each CoS, and of the upper three bits of each code point."""
WATCHDOG = ("priority-flow-control", "pause", "watchdog")
ACTIONS = {"drop": "drop", "errdisable": "drop", "no-drop": "forward", "notify-only": "alert"}
COMMANDS = Commands(
    watchdog="priority-flow-control pause watchdog default timeout 0.2",
    headroom="platform trident mmu queue profile {profile}: ingress headroom bytes {headroom}",
    marks="uc-tx-queue {queue}: random-detect ecn minimum-threshold {least} bytes maximum-threshold {most} "
    "bytes max-mark-probability 100 weight 0",
    pool="platform trident mmu headroom-pool limit bytes {headroom}",
)
MEANINGS = {
    "shape": "queues have no maximum rate",
    "mc-tx-queue": "multicast uses the unicast queues",
    "platform": "chip-specific",
    "policy-map": "a scenario classifies by CoS and DSCP only",
    "class-map": "a scenario classifies by CoS and DSCP only",
    "service-policy": "a scenario classifies by CoS and DSCP only",
    "bandwidth": "a guarantee, or the share of a strict queue, which has no effect without no priority",
    "random-detect": "a counter, or thresholds not in bytes: set the cell or segment size with --cell",
    "ingress": "a size in cells without --cell, or not a setting of lossless priorities",
    "egress": "a size in cells without --cell, or not a setting of queues",
}
_ELSE = "not a setting of queues, flow control or links"


def recognises(document: Document) -> bool:
    """Returns true if a line is an EOS QoS statement."""
    return document.has_line(*_SIGNS)


def switch(document: Document) -> SwitchText:
    """Reads the settings of the ports.

    Raises
    ------
    InputError
        If a value is invalid or a reference is undefined; the message names the line.
    """
    return _Config(indented(document, BELONGS)).text("priority-flow-control, tx-queue and qos", COMMANDS)


class _Config(InterfaceConfig):
    """The parts of a configuration."""

    def __init__(self, statements: Statements) -> None:
        super().__init__(statements)
        self._profiles: dict[str, Statement] = {}
        self._maps: list[Statement] = []
        self._pfc: list[Statement] = []
        self.memory = QueueProfiles(statements)
        for one in statements.roots:
            self._take(one)
        self._mapped = {
            kind: statements.deferred(partial(self._map, kind, sources))
            for kind, sources in (("dscp", CODE_POINTS), ("cos", PRIORITIES), ("traffic-class", PRIORITIES))
        }

    def _take(self, one: Statement) -> None:
        """Handles a top-level statement."""
        if self.took_host(one):
            return
        if one.begins("qos", "profile") and len(one.words) == 3:
            self.statements.put_once(self._profiles, one.words[2], one, "each")
        elif one.begins("qos", "map"):
            self._maps.append(one)
        elif one.begins("priority-flow-control"):
            self._pfc.append(one)
        elif one.begins("platform", "trident", "mmu"):
            self.memory.take(one)

    def meaning(self, one: Statement) -> str:
        """The consequence of leaving out a statement."""
        around: Statement | None = one
        while around is not None:
            if around.words[0] in ("mc-tx-queue", "policy-map", "class-map"):
                return MEANINGS[around.words[0]]
            if around.begins("qos", "profile") and not self.statements.has_read(around):
                return "no imported port has this profile"
            around = around.within
        if one.begins("qos", "map", "traffic-class"):
            return "rewriting is not imported; set maps.remap"
        if one.begins("priority-flow-control", "priority"):
            return "PFC is not enabled on the port"
        if one.words[:3] == WATCHDOG:
            return "a scenario has no polling interval, and no watchdog without a timeout"
        return MEANINGS.get(one.words[0], _ELSE)

    def port(self, own: list[Statement]) -> PortSet:
        """Settings of a port: its own, then those of its profile."""
        statements = self.statements
        lines = [*own, *self._profile(own)]
        trust = statements.deferred(lambda: self._trust(own, lines))
        speed = statements.deferred(lambda: self._speed(own))
        lossless = statements.deferred(lambda: self._lossless(lines))
        mbps = speed.value
        queues = queues_of(statements, lines, mbps)
        classes, stops = self._classes(*trust.value), lossless.value
        paused = {classes.queue_of[priority] for priority in stops}
        return PortSet(
            classes=statements.joined(classes, trust, *self._mapped.values()),
            lossless=statements.joined(tuple(stops), lossless),
            schedulers={
                one: statements.joined(found, queues) for one, found in queues.value.schedulers.items()
            },
            wred=lossless_wred(statements, queues.value.wred, queues, paused),
            groups=self.memory.groups(stops),
            queues=self.memory.queues(),
            speed_mbps=speed,
            mtu=statements.deferred(lambda: self._mtu(own)),
            watchdog=statements.deferred(lambda: self._watchdog(lines)),
        )

    def _profile(self, lines: Iterable[Statement]) -> list[Statement]:
        for line in lines:
            if line.begins("service-profile") and len(line.words) == 2:
                name = line.words[1]
                if name not in self._profiles:
                    known = brief(", ".join(self._profiles) or "none")
                    raise self.statements.error(
                        line, f"no qos profile is named {brief(name)}; there are: {known}"
                    )
                # The reference to a profile counts as read together with the statements of the profile.
                self.statements.read(line)
                return self._profiles[name].children
        return []

    def _trust(self, own: Iterable[Statement], lines: Iterable[Statement]) -> tuple[str, int]:
        """Trust mode of a port, "dscp", "cos" or "", and the CoS of untagged frames."""
        cos = 0
        for line in lines:
            if line.begins("qos", "cos") and len(line.words) == 3:
                cos = self.statements.whole(line, "qos cos", self.statements.read(line)[2], 0, PRIORITIES[-1])
                break
        for line in lines:
            if line.words == ("no", "qos", "trust"):
                self.statements.read(line)
                return "", cos
            if line.begins("qos", "trust") and len(line.words) == 3:
                kind = self.statements.read(line)[2]
                if kind not in ("dscp", "cos"):
                    raise self.statements.error(line, f"qos trust is {brief(kind)}; expected dscp or cos")
                return kind, cos
        for line in own:
            if line.words == ("no", "switchport"):
                self.statements.read(line)
                return "dscp", cos
        return "cos", cos

    def _classes(self, trust: str, cos: int) -> Classes:
        queue = self._mapped["traffic-class"].value
        if trust == "dscp":
            classes = self._mapped["dscp"].value
            return Classes(tuple(queue[one] for one in PRIORITIES), tuple(enumerate(classes)))
        of_cos = self._mapped["cos"].value
        classes = [of_cos[one if trust else cos] for one in PRIORITIES]
        return Classes(tuple(queue[one] for one in classes), None)

    def _map(self, kind: str, sources: range) -> list[int]:
        """The traffic class of each DSCP or CoS, or the queue of each traffic class, from a map."""
        targets = ("tx-queue", "uc-tx-queue") if kind == "traffic-class" else ("traffic-class",)
        found = (
            [*PRIORITIES]
            if kind == "traffic-class"
            else [BY_BITS[one * 8 // len(sources)] for one in sources]
        )
        for line in self._maps:
            if not line.begins("qos", "map", kind) or "to" not in line.words:
                continue
            at = line.words.index("to")
            if line.words[at + 1 : at + 2] not in [(one,) for one in targets]:
                continue
            self.statements.read(line)
            target = self.statements.whole(
                line, targets[0], line.after("to", line.words[at + 1]), 0, PRIORITIES[-1]
            )
            for number in self.statements.numbers(line, kind, line.words[3:at], sources[-1]):
                found[number] = target
        return found

    def _lossless(self, lines: Iterable[Statement]) -> list[int]:
        """Lossless priorities, if PFC is enabled."""
        everywhere = next(
            (one for one in self._pfc if one.begins("priority-flow-control", "all", "off")), None
        )
        if everywhere is not None:
            self.statements.read(everywhere)
            return []
        switch = next(
            (
                line
                for line in lines
                if line.words[:2] == ("priority-flow-control", "on")
                or line.words[:3] == ("priority-flow-control", "mode", "on")
            ),
            None,
        )
        if switch is None:
            return []
        self.statements.read(switch)
        states: dict[int, bool] = {}
        for line in lines:
            if line.begins("priority-flow-control", "priority") and len(line.words) == 4:
                words = self.statements.read(line)
                if words[3] not in ("drop", "no-drop"):
                    raise self.statements.error(line, f"{brief(line.text)}: expected drop or no-drop")
                for one in self.statements.numbers(line, "priority", words[2:3], PRIORITIES[-1]):
                    states.setdefault(one, words[3] == "no-drop")
        return sorted(one for one, is_lossless in states.items() if is_lossless)

    def _speed(self, own: Iterable[Statement]) -> int | None:
        """Mb/s of ``speed forced 100gfull``, ``speed 400g-8`` or ``speed forced 1000full``."""
        for line in own:
            if line.begins("speed") and len(line.words) > 1 and line.words[-1] != "auto":
                found = _SPEED.fullmatch(self.statements.read(line)[-1])
                mbps = Fraction(found[1]) * (1_000 if found[2] else 1) if found else Fraction(0)
                if not 1 <= mbps <= 1_600_000:
                    raise self.statements.error(
                        line, f"{brief(line.text)}: expected a speed, such as 100gfull or 400g-8"
                    )
                return round(mbps)
        return None

    def _mtu(self, own: Iterable[Statement]) -> int | None:
        for line in own:
            if line.begins("mtu") and len(line.words) == 2:
                return self.statements.whole(line, "mtu", self.statements.read(line)[1], 68, LONGEST_MTU)
        return None

    def _watchdog(self, lines: Iterable[Statement]) -> tuple[int, int, str] | None:
        """Times of the watchdog, given in seconds; those of the port take precedence over the switch's."""
        found: dict[str, int] = {}
        action = ""
        for line in (*lines, *self._pfc):
            words = line.words[3:]
            if line.words == ("no", *WATCHDOG):
                self.statements.read(line)
                return None
            if line.words == WATCHDOG:
                self.statements.read(line)
            if line.words[:3] != WATCHDOG or words[:1] not in (("default",), ("action",), ("port",)):
                continue
            pairs = words[words[:1] == ("port",) :]
            if pairs[:1] == ("action",) and len(pairs) == 2:
                action = action or self._action(line, pairs[1])
            elif pairs[:1] in (("timer",), ("default",)):
                for key, text in zip(pairs[1::2], pairs[2::2], strict=False):
                    if key in ("timeout", "recovery-time"):
                        self.statements.read(line)
                        found.setdefault(key, self._milliseconds(line, key, text))
        if "timeout" not in found:
            return None
        if not action or action == "errdisable":
            self.statements.report(
                "watchdog", "errdisable shuts the port down; here the queue drops its frames"
            )
        timeout = found["timeout"]
        if "recovery-time" not in found:
            self.statements.report(
                "watchdog", f"assumed: recovery-time is twice the timeout, {2 * timeout} ms"
            )
        return timeout, found.get("recovery-time", 2 * timeout), ACTIONS[action or "errdisable"]

    def _action(self, line: Statement, word: str) -> str:
        self.statements.read(line)
        if word not in ACTIONS:
            raise self.statements.error(line, f"action is {brief(word)}; expected {', '.join(ACTIONS)}")
        return word

    def _milliseconds(self, line: Statement, key: str, text: str) -> int:
        seconds = self.statements.document.decimal(line.line, key, text)
        if not Fraction(1, 100) <= seconds <= 60:
            raise self.statements.error(line, f"{key} is {brief(text)}; expected 0.01 to 60 s")
        return round(seconds * 1_000)
