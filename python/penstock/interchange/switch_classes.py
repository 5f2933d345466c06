"""Traffic classes of a scenario for a switch with separate maps for CoS, DSCP and PFC priorities.

In a scenario, one number is the traffic class of a frame, the priority in its tag and the priority in pauses.
A switch may map each of them to queues: CoS and DSCP at the ingress, and a pause to the queue that it stops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .port_keys import Reporter
from .sonic_port import CODE_POINTS, PRIORITIES

NAMES = {
    "default": 0,
    "be": 0,
    "ef": 46,
    "va": 44,
    **{f"cs{one}": 8 * one for one in range(8)},
    **{f"af{one}{drop}": 8 * one + 2 * drop for one in range(1, 5) for drop in range(1, 4)},
}
"""Code points by name (RFC 2474, RFC 2597, RFC 3246, RFC 5865)."""


@dataclass(frozen=True)
class Classes:
    """Traffic classes of a scenario.

    Attributes
    ----------
    queue_of : tuple of int
        The queue for each traffic class.
    class_of_dscp : tuple of (int, int), optional
        The traffic class of each code point; ``None`` if the port does not trust DSCP.
    """

    queue_of: tuple[int, ...]
    class_of_dscp: tuple[tuple[int, int], ...] | None


def classes_of(
    reporter: Reporter,
    *,
    default: int,
    cos: Mapping[int, int],
    dscp: Mapping[int, int] | None,
    pauses: Mapping[int, int],
) -> Classes:
    """Derives traffic classes from the queues of CoS, DSCP and pauses.

    Parameters
    ----------
    reporter : Reporter
        The configuration that collects the differences.
    default : int
        The queue for all other frames.
    cos : mapping
        Queues by CoS.
    dscp : mapping, optional
        Queues by code point; ``None`` if the port does not trust DSCP.
    pauses : mapping
        The queue that a pause of each priority stops.
    """
    queue_of: dict[int, int] = dict(pauses)
    for number, queue in cos.items():
        if queue_of.setdefault(number, queue) != queue:
            reporter.report(
                f"CoS {number}",
                f"waits in queue {queue}, but its pauses stop queue {queue_of[number]}: taken as the latter",
            )
    if dscp is None:
        return Classes(tuple(queue_of.get(one, default) for one in PRIORITIES), None)
    known = {queue: number for number, queue in reversed([*queue_of.items()])}
    wanted = dict.fromkeys([*(dscp.get(one, default) for one in CODE_POINTS), default])
    for queue in sorted(wanted, key=lambda one: (one in queue_of, one)):
        if queue in known:
            continue
        free = [one for one in (queue, *PRIORITIES) if one not in queue_of]
        if free:
            queue_of[free[0]], known[queue] = queue, free[0]
        else:
            known[queue] = next(iter(known.values()))
            reporter.report(
                f"queue {queue}", f"no traffic class is left, so its frames wait in queue {known[queue]}"
            )
    classes = tuple((one, known[dscp.get(one, default)]) for one in CODE_POINTS)
    return Classes(tuple(queue_of.get(one, default) for one in PRIORITIES), classes)
