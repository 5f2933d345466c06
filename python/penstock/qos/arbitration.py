"""Arbitration tables with a bounded distance between the entries of a class.

The table schedulers (``penstock explain dtable``, ``penstock explain vc_table``) cycle through a table of 32
to 1,024 entries, each of which names a class. The number of a class's entries is its share of the link; the
distance from one to the next, with wrap-around, bounds the waiting time of the class. `fill` finds a table
with both::

    from penstock.qos.arbitration import Need, fill

    table = fill(64, {7: Need(16, 4), 6: Need(16, 4), 5: Need(12, 6), 4: Need(12, 6), 3: Need(5), 0: Need(2)})

Source: Martinez 2006, section 6.3, which states only the goal; the search is ours.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from penstock.errors import InputError

SIZES = (32, 64, 128, 256, 512, 1024)
"""Valid numbers of table entries (Advanced Switching)."""

_Class = TypeVar("_Class", bound=Hashable)


@dataclass(frozen=True)
class Need:
    """Requirements of a class.

    Attributes
    ----------
    entries : int
        Number of entries, at least 1.
    distance : int, optional
        Maximum distance between consecutive entries, at least 1. Default: the length of the table.
    """

    entries: int
    distance: int | None = None


def need(size: int, share: float, distance: int | None = None) -> Need:
    """Returns the requirements for a share of the link and a distance; uses the larger number of entries.

    Parameters
    ----------
    size : int
        Entries of the table, one of `SIZES`.
    share : float
        Share of the link, above 0 and at most 1.
    distance : int, optional
        Maximum distance between consecutive entries, at least 1. Default: the length of the table.

    Raises
    ------
    InputError
        If a value is out of range.
    """
    _check_size(size)
    if not 0 < share <= 1:
        raise InputError(f"share is {share}: expected above 0 and at most 1")
    if distance is not None and distance < 1:
        raise InputError(f"distance is {distance}: expected at least 1")
    for_share = -int(-share * size // 1)
    return Need(max(for_share, -(-size // distance) if distance else 1), distance)


def fill(size: int, needs: Mapping[_Class, Need], *, steps: int = 200_000) -> tuple[_Class, ...]:
    """Returns a table in which consecutive entries of each class are at most its distance apart.

    Spare entries go to the class with the largest distance, which benefits most. The search places the entry
    with the earliest deadline first, and backtracks.

    Parameters
    ----------
    size : int
        Entries of the table, one of `SIZES`.
    needs : mapping
        Requirements of each class.
    steps : int
        Maximum number of entries that the search places. Default: 200,000.

    Returns
    -------
    tuple
        Class of each entry.

    Raises
    ------
    InputError
        If `size` is invalid, or no table was found; the message names the class and its shortfall.
    """
    _check(size, needs)
    spare = size - sum(own.entries for own in needs.values())
    classes = list(needs)
    slots = [_Slots(needs[key].entries, needs[key].distance or size) for key in classes]
    if spare:
        max(slots, key=lambda own: own.distance).entries += spare
    # Repeating a table keeps its distances.
    times = math.gcd(size, *(own.entries for own in slots))
    shorter = [_Slots(own.entries // times, min(own.distance, size // times)) for own in slots]
    order = _search(size // times, shorter, steps)
    if order is None:
        raise InputError(_lacking(size // times, classes, shorter, steps))
    return tuple(classes[at] for at in order) * times


def distances(table: tuple[_Class, ...] | list[_Class]) -> dict[_Class, int]:
    """Maximum distance between consecutive entries of each class, with wrap-around."""
    size, last, worst = len(table), dict[_Class, int](), dict[_Class, int]()
    for at in range(2 * size):
        key = table[at % size]
        if key in last:
            worst[key] = max(worst.get(key, 0), at - last[key])
        last[key] = at
    return worst


def longest_turn(distance: int, rate_bps: float, *, credits: int = 34, unit: int = 64) -> float:
    """Maximum time between two consecutive entries of a class in a deficit table, in seconds.

    Each entry between may send twice the largest frame less one credit (Martinez 2006, section 4).

    Parameters
    ----------
    distance : int
        Distance from one entry to the next.
    rate_bps : float
        Rate of the link, above 0.
    credits : int
        Credits of the largest frame. Default: 34.
    unit : int
        Bytes per credit. Default: 64.
    """
    return distance * (2 * credits - 1) * unit * 8 / rate_bps


def _check_size(size: int) -> None:
    if size not in SIZES:
        raise InputError(f"a table of {size} entries: expected {', '.join(map(str, SIZES))}")


def _check(size: int, needs: Mapping[_Class, Need]) -> None:
    """Checks that need no search."""
    _check_size(size)
    if not needs:
        raise InputError("needs is empty: expected at least one class")
    for key, own in needs.items():
        if own.entries < 1:
            raise InputError(f"{own.entries} entries of class {key!r}: expected at least 1")
        distance = size if own.distance is None else own.distance
        if distance < 1:
            raise InputError(f"class {key!r} at most {distance} apart: expected at least 1")
        if own.entries * distance < size:
            lacks = -(-size // distance) - own.entries
            raise InputError(
                f"class {key!r} has {own.entries} entries and may have at most {distance} between two: "
                f"a table of {size} needs {lacks} more of it"
            )
    wanted = sum(own.entries for own in needs.values())
    if wanted > size:
        raise InputError(f"{wanted} entries for a table of {size}: {wanted - size} too many")


@dataclass
class _Slots:
    """State of a class during the search."""

    entries: int
    distance: int
    first: int | None = None
    last: int | None = None
    left: int = 0

    def deadline(self) -> int:
        """Last slot for its next entry."""
        return self.distance - 1 if self.last is None else self.last + self.distance

    def may_be_at(self, slot: int, size: int) -> bool:
        """True if, with an entry in this slot, the remaining entries can cover the rest of the table."""
        first = slot if self.first is None else self.first
        return first + size - slot <= self.left * self.distance


def _search(size: int, classes: list[_Slots], steps: int) -> list[int] | None:
    """Depth-first search, earliest deadline first; `None` if there is no table or `steps` are exhausted."""
    for own in classes:
        own.first, own.last, own.left = None, None, own.entries
    placed: list[tuple[int, int | None, int | None]] = []
    choices = [_candidates(classes, 0, size)]
    while choices:
        slot = len(choices) - 1
        if slot == size:
            return [at for at, _, _ in placed]
        if not choices[-1] or steps == 0:
            choices.pop()
            if placed and choices:
                at, first, last = placed.pop()
                classes[at].first, classes[at].last = first, last
                classes[at].left += 1
            if steps == 0:
                return None
            continue
        steps -= 1
        at = choices[-1].pop()
        own = classes[at]
        placed.append((at, own.first, own.last))
        own.first = slot if own.first is None else own.first
        own.last = slot
        own.left -= 1
        choices.append(_candidates(classes, slot + 1, size))
    return None


def _candidates(classes: list[_Slots], slot: int, size: int) -> list[int]:
    """Classes that may be next, best last; empty if a deadline cannot be met."""
    waiting = [at for at, own in enumerate(classes) if own.left]
    due = sorted(classes[at].deadline() for at in waiting)
    if any(deadline < slot + before for before, deadline in enumerate(due)):
        return []
    fit = [at for at in waiting if classes[at].may_be_at(slot, size)]
    return sorted(fit, key=lambda at: (classes[at].deadline(), classes[at].distance), reverse=True)


def _lacking(size: int, names: list[_Class], classes: list[_Slots], steps: int) -> str:
    """Describes which distance would have to be larger, and by how much."""
    # The class with the largest distance is relaxed first.
    pairs = sorted(zip(names, classes, strict=True), key=lambda pair: -pair[1].distance)
    for more in (1, 2, 4, 8, 16):
        for name, own in pairs:
            if own.distance + more > size:
                continue
            own.distance += more
            found = _search(size, classes, steps // 20)
            own.distance -= more
            if found is not None:
                return (
                    f"no table was found in which class {name!r} is at most {own.distance} apart beside the "
                    f"others; with {more} more there is one"
                )
    return "no table was found, nor one with a distance larger by 16: the classes need more entries"
