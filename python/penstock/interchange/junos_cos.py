"""Class of service of Junos: forwarding classes, classifiers, schedulers, drop profiles and shared buffers.

The default forwarding classes are best-effort (queue 0), fcoe (3), no-loss (4) and network-control (7).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from .junos_text import Paths
from .piece import brief
from .sonic_port import PRIORITIES, Pool, Scheduler, Wred
from .statements import Statement
from .switch_classes import NAMES

COS = "class-of-service"
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)", re.ASCII)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
ALPHA_EXPONENTS = range(-7, 4)
"""Exponents of two for the dynamic thresholds 0 to 10."""
DEFAULT_THRESHOLD = 7
CODE_NAMES = {**NAMES, "nc1": 48, "nc2": 56}
LINKS_OF_CODE = {"be": 0, "be1": 1, "ef": 2, "ef1": 3, "af11": 4, "af12": 5, "nc1": 6, "nc2": 7}
"""CoS aliases by IEEE 802.1 code point."""


@dataclass(frozen=True)
class ForwardingClass:
    """A forwarding class: its queue, a flag if it is lossless, and the priority of its pauses."""

    queue: int
    no_loss: bool = False
    priority: int | None = None


DEFAULTS = {
    "best-effort": ForwardingClass(0),
    "fcoe": ForwardingClass(3, no_loss=True, priority=3),
    "no-loss": ForwardingClass(4, no_loss=True, priority=4),
    "network-control": ForwardingClass(7),
}


def forwarding_classes(paths: Paths) -> dict[str, ForwardingClass]:
    """Forwarding classes by name, including the defaults whose queue and name are not redefined."""
    found: dict[str, ForwardingClass] = {}
    for name in paths.names(COS, "forwarding-classes", "class"):
        queue, no_loss, priority = None, False, None
        for line in paths.at(COS, "forwarding-classes", "class", name):
            paths.read(line)
            if line.after("queue-num") is not None:
                queue = paths.whole(line, "queue-num", line.after("queue-num"), 0, 11)
            no_loss = no_loss or "no-loss" in line.words[4:]
            if line.after("pfc-priority") is not None:
                priority = paths.whole(line, "pfc-priority", line.after("pfc-priority"), 0, PRIORITIES[-1])
        if queue is not None and queue in PRIORITIES:
            found[name] = ForwardingClass(queue, no_loss, priority)
        elif queue is not None:
            paths.report(f"forwarding class {name}", f"queue {queue} is a multicast queue: left out")
    for line in paths.at(COS, "forwarding-classes", "queue"):
        if len(line.words) >= 5:
            words = paths.read(line)
            number = paths.whole(line, "queue", words[3], 0, PRIORITIES[-1])
            found[words[4]] = ForwardingClass(number, "no-loss" in words)
    taken = {one.queue for one in found.values()}
    kept = {name: one for name, one in DEFAULTS.items() if name not in found and one.queue not in taken}
    return {**found, **kept}


def classifier(
    paths: Paths, kind: str, name: str, classes: Mapping[str, ForwardingClass], by: Statement
) -> dict[int, str]:
    """The forwarding class of each code point of a DSCP or IEEE 802.1 classifier.

    Raises
    ------
    InputError
        If there is no such classifier, or it has an undefined reference.
    """
    lines = paths.at(COS, "classifiers", kind, name)
    if not lines:
        there = brief(", ".join(paths.names(COS, "classifiers", kind)) or "none")
        raise paths.error(by, f"no classifier of {kind} is named {brief(name)}; there are: {there}")
    found: dict[int, str] = {}
    for line in lines:
        words = line.words
        if words[4:5] == ("import",):
            paths.read(line)
            continue
        if words[4:5] != ("forwarding-class",) or "code-points" not in words or len(words) < 6:
            continue
        paths.read(line)
        known(paths, line, words[5], classes)
        level = line.after("loss-priority")
        if level not in (None, "low"):
            paths.report(f"{line.line}", f"frames of loss-priority {brief(str(level))} are treated as low")
        for word in words[words.index("code-points") + 1 :]:
            found[code_point(paths, line, kind, word)] = words[5]
    return found


def code_point(paths: Paths, line: Statement, kind: str, word: str) -> int:
    """A DSCP code point such as ``011010`` or ``af31``, or an IEEE 802.1 code point such as ``011``."""
    digits, names = (6, CODE_NAMES) if kind == "dscp" else (3, LINKS_OF_CODE)
    if word in names:
        return names[word]
    if len(word) != digits or not set(word) <= {"0", "1"}:
        expected = f"{digits} binary digits, such as {'011010' if kind == 'dscp' else '011'}"
        raise paths.error(line, f"code point {brief(word)}: expected {expected}")
    return int(word, 2)


def known(
    paths: Paths, line: Statement, name: str, classes: Mapping[str, ForwardingClass]
) -> ForwardingClass:
    """Returns the forwarding class with a name.

    Raises
    ------
    InputError
        If there is no such class.
    """
    if name not in classes:
        there = brief(", ".join(classes))
        raise paths.error(line, f"no forwarding class is named {brief(name)}; there are: {there}")
    return classes[name]


@dataclass(frozen=True)
class Queuing:
    """Schedulers and WRED of queues."""

    schedulers: Mapping[int, Scheduler]
    wred: Mapping[int, Wred]


@dataclass(frozen=True)
class SchedulerMap:
    """A scheduler map of an interface, the statement that refers to it, and the percentage for its queues."""

    name: str
    by: Statement
    percent: int = 100


def queuing(
    paths: Paths, maps: Collection[SchedulerMap], classes: Mapping[str, ForwardingClass], mbps: int | None
) -> Queuing:
    """The queues of the scheduler maps of an interface."""
    schedulers: dict[int, Scheduler] = {}
    wred: dict[int, Wred] = {}
    for one in maps:
        found = _queues_of(paths, one, classes, mbps)
        if len(maps) > 1 or one.percent != 100:
            found = Queuing(_within(found.schedulers, one.percent), found.wred)
        schedulers |= found.schedulers
        wred |= found.wred
    if schedulers:
        # A queue without a scheduler gets the remainder.
        schedulers = dict.fromkeys(PRIORITIES, Scheduler(0)) | schedulers
    return Queuing(schedulers, wred)


def _within(schedulers: Mapping[int, Scheduler], percent: int) -> dict[int, Scheduler]:
    """Shares of queues within their part of the link."""
    weights = {queue: one.weight for queue, one in schedulers.items() if one.weight is not None}
    total = sum(weights.values())
    shares = {
        queue: percent * weight // total if total else percent // len(weights)
        for queue, weight in weights.items()
    }
    return {queue: Scheduler(shares.get(queue)) for queue in schedulers}


def _queues_of(
    paths: Paths, one: SchedulerMap, classes: Mapping[str, ForwardingClass], mbps: int | None
) -> Queuing:
    """The queues of a scheduler map."""
    schedulers: dict[int, Scheduler] = {}
    wred: dict[int, Wred] = {}
    rest: list[int] = []
    lines = paths.at(COS, "scheduler-maps", one.name)
    if not lines:
        there = brief(", ".join(paths.names(COS, "scheduler-maps")) or "none")
        raise paths.error(one.by, f"no scheduler map is named {brief(one.name)}; there are: {there}")
    for line in lines:
        words = line.words
        if words[3:4] != ("forwarding-class",) or words[5:6] != ("scheduler",) or len(words) != 7:
            continue
        paths.read(line)
        own = known(paths, line, words[4], classes)
        settings = paths.at(COS, "schedulers", words[6])
        if not settings:
            there = brief(", ".join(paths.names(COS, "schedulers")) or "none")
            raise paths.error(line, f"no scheduler is named {brief(words[6])}; there are: {there}")
        found = _scheduler(paths, settings, mbps)
        schedulers[own.queue] = found or Scheduler(0)
        rest += [own.queue] if found is None else []
        if (marks := _wred(paths, settings, own)) is not None:
            wred[own.queue] = marks
    if rest:
        left = max(100 - sum(one.weight or 0 for one in schedulers.values()), len(rest))
        schedulers |= dict.fromkeys(rest, Scheduler(left // len(rest)))
    return Queuing(schedulers, wred)


def _scheduler(paths: Paths, lines: list[Statement], mbps: int | None) -> Scheduler | None:
    """Scheduling of a queue: strict or with a share; ``None`` for the remainder."""
    share: int | str = 0
    is_strict = False
    for line in lines:
        words = line.words[3:]
        if words[:1] == ("priority",) and len(words) == 2:
            paths.read(line)
            is_strict = words[1] in ("strict-high", "high")
            if words[1] == "high":
                paths.report(f"{line.line}", "priority high is taken as strict-high")
        elif words[:2] == ("transmit-rate", "percent") and len(words) > 2:
            paths.read(line)
            share = paths.whole(line, "transmit-rate percent", words[2], 0, 100)
        elif words[:2] == ("transmit-rate", "remainder"):
            paths.read(line)
            share = "remainder"
        elif words[:1] == ("transmit-rate",) and len(words) > 1:
            share = _share(paths, line, words[1], mbps)
    if is_strict:
        return Scheduler(None)
    return None if isinstance(share, str) else Scheduler(share)


def _share(paths: Paths, line: Statement, text: str, mbps: int | None) -> int:
    """Percentage of the link for a rate such as ``10g``."""
    found = _RATE.fullmatch(text)
    if found is None:
        raise paths.error(line, f"transmit-rate is {brief(text)}; expected a rate, such as 10g, or percent")
    if mbps is None:
        paths.drop(line, "a share of a link whose rate is unknown; set it with --rate")
        return 0
    paths.read(line)
    return max(round(Fraction(found[1]) * _UNITS[found[2]] * 100 / (mbps * 10**6)), 1)


def _wred(paths: Paths, lines: list[Statement], own: ForwardingClass) -> Wred | None:
    """Drop profile of a queue; its fill levels are percentages of the queue's capacity."""
    maps = [line for line in lines if line.begins(COS, "schedulers", line.words[2], "drop-profile-map")]
    ecn = next((line for line in lines if line.words[3:4] == ("explicit-congestion-notification",)), None)
    if not maps:
        return None
    depth = _depth(paths, lines, own)
    chosen = next((one for one in maps if one.after("loss-priority") in ("low", "any")), maps[0])
    name = chosen.after("drop-profile")
    levels = _profile(paths, chosen, name or "", read=depth is not None)
    if depth is None:
        return None
    paths.read(chosen)
    if ecn is not None:
        paths.read(ecn)
    (least, _), (most, percent) = levels[0], levels[-1]
    if len(levels) > 2:
        paths.report(f"drop profile {name}", f"{len(levels)} levels: only the first and the last take effect")
    return Wred(depth * least // 100, depth * most // 100, percent, drops=True, marks=ecn is not None)


def _profile(paths: Paths, by: Statement, name: str, *, read: bool) -> list[tuple[int, int]]:
    """Pairs of fill level and drop probability, in percent."""
    lines = paths.at(COS, "drop-profiles", name)
    if not lines:
        there = brief(", ".join(paths.names(COS, "drop-profiles")) or "none")
        raise paths.error(by, f"no drop profile is named {brief(name)}; there are: {there}")
    levels: list[int] = []
    chances: list[int] = []
    for line in lines:
        words = [word for word in line.words[3:] if word != "interpolate"]
        if read:
            paths.read(line)
        own = levels
        for word in words:
            if word in ("fill-level", "drop-probability"):
                own = levels if word == "fill-level" else chances
            else:
                own.append(paths.whole(line, "a level or probability", word, 0, 100))
    if not levels or len(levels) != len(chances) or levels != sorted(levels):
        given = f"{len(levels)} fill levels and {len(chances)} probabilities"
        raise paths.error(lines[0], f"drop profile {brief(name)} has {given}; expected increasing pairs")
    return [*zip(levels, chances, strict=True)]


def _depth(paths: Paths, lines: list[Statement], own: ForwardingClass) -> int | None:
    """Bytes that a single busy queue can hold: alpha / (1 + alpha) of its memory partition."""
    kind = "lossless" if own.no_loss else "lossy"
    memory = paths.buffer_bytes()
    if memory is None:
        return None
    percent = partition(paths, "egress", kind)
    exponent = ALPHA_EXPONENTS[DEFAULT_THRESHOLD]
    for line in lines:
        if line.words[3:4] == ("buffer-dynamic-threshold",):
            paths.read(line)
            exponent = ALPHA_EXPONENTS[
                paths.whole(line, "threshold", line.words[-1], 0, len(ALPHA_EXPONENTS) - 1)
            ]
    alpha = Fraction(2) ** exponent
    depth = int(memory * Fraction(percent, 100) * alpha / (1 + alpha))
    paths.report(
        f"queue {own.queue}",
        f"assumed: fill levels are relative to {depth} B, the capacity of a single busy queue: "
        f"alpha {alpha}, {percent} % of --buffer",
    )
    return depth


def partition(paths: Paths, side: str, kind: str) -> int:
    """Percentage of the memory in a partition of ``shared-buffer``; 100 without one."""
    for line in paths.at(COS, "shared-buffer", side, "buffer-partition", kind):
        if line.words[5:6] == ("percent",):
            return paths.whole(line, "percent", paths.read(line)[-1], 0, 100)
    return 0 if kind == "lossless-headroom" else 100


def lossless_pool(paths: Paths) -> tuple[Pool, int] | None:
    """The pool of lossless priorities and the exponent of its threshold; ``None`` without `--buffer`."""
    memory = paths.buffer_bytes()
    if memory is None or not paths.at(COS, "shared-buffer", "ingress"):
        return None
    size, room = (
        memory * partition(paths, "ingress", kind) // 100 for kind in ("lossless", "lossless-headroom")
    )
    threshold = DEFAULT_THRESHOLD
    for line in paths.at(COS, "shared-buffer", "ingress", "buffer-partition", "lossless"):
        if line.words[5:6] == ("dynamic-threshold",):
            threshold = paths.whole(line, "threshold", paths.read(line)[-1], 0, len(ALPHA_EXPONENTS) - 1)
    return Pool(size, room, "lossless", "ingress"), ALPHA_EXPONENTS[threshold]
