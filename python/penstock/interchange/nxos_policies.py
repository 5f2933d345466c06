"""Policies of type queuing and network-qos of Cisco NX-OS.

WRED without `ecn` drops all frames. With `ecn` it drops frames without ECN, but never in a no-drop class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .lossless_profile import Profile
from .nxos_classes import NamedClasses
from .piece import brief
from .sonic_port import LONGEST_MTU, PRIORITIES, Assigned, Pool, Scheduler, Wred
from .statements import Statement, Statements

DEDICATED = Pool(None, None, "pause buffers")
LONGEST = 2**31


@dataclass(frozen=True)
class Queuing:
    """Schedulers and WRED of queues."""

    schedulers: Mapping[int, Scheduler] = field(default_factory=dict)
    wred: Mapping[int, Wred] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """Lossless queues by priority, pause buffers of queues, and the largest MTU of any class."""

    pauses: Mapping[int, int] = field(default_factory=dict)
    buffers: Mapping[int, Assigned] = field(default_factory=dict)
    mtu: int | None = None


def queuing(statements: Statements, classes: NamedClasses, policy: Statement) -> Queuing:
    """Reads the queues of an output policy of type queuing."""
    schedulers: dict[int, Scheduler] = {}
    wred: dict[int, Wred] = {}
    levels: dict[int, int] = {}
    for one in policy.children:
        if not one.begins("class", "type", "queuing"):
            continue
        statements.read(one)
        queue = classes.group(one, "queuing")
        if queue in schedulers:
            raise statements.error(one, f"queue {queue} appears twice; expected each queue once")
        schedulers[queue] = Scheduler(0)  # a class without a share gets the remainder
        for line in one.children:
            if line.begins("priority"):
                level = (
                    statements.read(line)[2]
                    if line.begins("priority", "level") and len(line.words) > 2
                    else "1"
                )
                levels[queue] = statements.whole(line, "priority level", level, 1, 8)
                schedulers[queue] = Scheduler(None)
            elif line.begins("bandwidth"):
                share = statements.read(line)[-1]
                schedulers[queue] = Scheduler(statements.whole(line, "bandwidth", share, 0, 100))
            elif line.begins("random-detect") and (found := _random_detect(statements, line)) is not None:
                wred[queue] = found
    order = sorted(levels, key=lambda one: (levels[one], -one))
    if order != sorted(levels, reverse=True):
        named = ", ".join(map(str, order))
        statements.report(
            "priority level",
            f"queues {named} have strict priority in this order; here a higher queue precedes",
        )
    return Queuing(schedulers, wred)


def _random_detect(statements: Statements, line: Statement) -> Wred | None:
    """Thresholds of ``random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes ecn``."""
    limits = []
    for word in ("minimum-threshold", "maximum-threshold"):
        number = line.after(word)
        unit = None if number is None else line.after(word, number)
        if number is not None and unit in ("packets", "percent"):
            statements.drop(line, f"{unit} of a queue cannot be converted to bytes")
            return None
        if number is None:
            return None
        limits.append(statements.amount(line, word, number, unit))
    statements.read(line)
    least, most = limits
    if least > most:
        raise statements.error(line, f"minimum-threshold {least} B is above maximum-threshold {most} B")
    percent, weight = line.after("drop-probability"), line.after("weight")
    if percent is None or weight is None:
        taken = [
            text for text, own in (("drop-probability 100", percent), ("weight 0", weight)) if own is None
        ]
        statements.report(f"{line.line}", f"assumed: {' and '.join(taken)}")
    return Wred(
        least,
        most,
        100 if percent is None else statements.whole(line, "drop-probability", percent, 1, 100),
        drops=True,
        marks="ecn" in line.words,
        weight=0 if weight is None else statements.whole(line, "weight", weight, 0, 15),
    )


def network(statements: Statements, classes: NamedClasses, policy: Statement) -> Network:
    """Reads the classes of a policy of type network-qos."""
    pauses: dict[int, int] = {}
    buffers: dict[int, Assigned] = {}
    mtus: dict[int, int] = {}
    for one in policy.children:
        if not one.begins("class", "type", "network-qos"):
            continue
        queue = classes.group(one, "network-qos")
        for line in one.children:
            if line.begins("mtu") and len(line.words) == 2:
                mtus[queue] = statements.whole(line, "mtu", statements.read(line)[1], 64, LONGEST_MTU)
            elif line.begins("pause") and "receive" not in line.words:
                for priority in _pause(statements, line, queue):
                    if pauses.setdefault(priority, queue) != queue:
                        message = f"pfc-cos {priority} is already used by queue {pauses[priority]}"
                        raise statements.error(line, f"{message}; expected one queue for each")
                if "buffer-size" in line.words:
                    buffers[queue] = _pause_buffer(statements, line)
    if len({*mtus.values()}) > 1:
        statements.report(
            "network-qos", f"classes have different mtu: all get the largest, {max(mtus.values())}"
        )
    return Network(pauses, buffers, max(mtus.values(), default=None))


def _pause(statements: Statements, line: Statement, queue: int) -> list[int]:
    """Priorities that ``pause pfc-cos 3`` or ``pause no-drop`` makes lossless."""
    if line.begins("pause", "pfc-cos"):
        found = statements.numbers(line, "pfc-cos", statements.read(line)[2:3], PRIORITIES[-1])
        if len(line.words) > 3 and "buffer-size" not in line.words:
            raise statements.error(
                line, f"{brief(line.text)}: expected pause pfc-cos and numbers, such as 3,4"
            )
        return found
    if line.begins("pause", "no-drop"):
        statements.read(line)
        statements.report(f"{line.line}", f"assumed: pause no-drop without pfc-cos: PFC of priority {queue}")
        return [queue]
    return []


def pause_buffers(statements: Statements, classes: NamedClasses, policy: Statement) -> dict[int, Assigned]:
    """Reads the pause buffers of an input policy of type queuing."""
    return {
        classes.group(one, "queuing"): _pause_buffer(statements, line)
        for one in policy.children
        if one.begins("class", "type", "queuing")
        for line in one.children
        if line.begins("pause", "buffer-size")
    }


def _pause_buffer(statements: Statements, line: Statement) -> Assigned:
    """Profile of ``pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320``, in bytes.

    The headroom is the part of the buffer above the threshold.
    """
    statements.read(line)
    size, xoff, xon = (
        statements.whole(line, word, line.after(word), 0, LONGEST)
        for word in ("buffer-size", "pause-threshold", "resume-threshold")
    )
    if not xon <= xoff <= size:
        raise statements.error(
            line,
            f"buffer-size {size}, pause-threshold {xoff} and resume-threshold {xon}: expected the "
            "buffer to be the largest, and resume at most pause",
        )
    profile = Profile(0, xon, size - xoff, None, None, xoff, f"pause buffer of line {line.line}")
    return profile, DEDICATED
