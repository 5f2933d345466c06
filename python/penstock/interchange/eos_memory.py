"""Buffers of Arista EOS on Trident and Tomahawk chips: `platform trident mmu`.

A threshold such as 1/8 is the alpha of a dynamic threshold. `ingress headroom` applies to each port and
lossless priority; `headroom-pool limit` is shared by all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from .lossless_profile import EXPONENTS, Profile
from .piece import brief
from .reading import Deferred
from .sonic_port import PRIORITIES, Assigned, Pool
from .statements import Statement, Statements

_UNITS = ("bytes", "cells")
_LARGEST = 2**50
RESUME_OFFSET = 2 * 9_216
"""Offset below the threshold at which a paused group resumes: two jumbo frames."""


@dataclass
class _Side:
    """Reserved bytes, and the exponent of the threshold, per priority group or queue."""

    reserved: dict[int | None, int] = field(default_factory=dict)
    exponent: dict[int | None, int] = field(default_factory=dict)
    headroom: int | None = None


class QueueProfiles:
    """The queue profile that is applied, and the headroom pool.

    Parameters
    ----------
    statements : Statements
        The configuration.
    """

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._profiles: dict[str, Statement] = {}
        self._applied: Statement | None = None
        self._limit: Statement | None = None
        self._made: Deferred[tuple[str, _Side, _Side, int | None]] | None = None

    def take(self, one: Statement) -> None:
        """Handles a statement ``platform trident mmu ...``."""
        words = one.words
        if words[3:5] == ("headroom-pool", "limit"):
            self._limit = one
        elif words[3:5] == ("queue", "profile") and len(words) == 7 and words[6] == "apply":
            self._applied = one
        elif words[3:5] == ("queue", "profile") and len(words) == 6:
            self._statements.put_once(self._profiles, words[5], one, "each profile")

    def groups(self, lossless: Iterable[int]) -> dict[int, Deferred[Assigned | None]]:
        """Profiles of lossless priorities; empty unless a headroom in bytes is set."""
        found = self._read()
        name, ingress, _, limit = found.value
        made: dict[int, Deferred[Assigned | None]] = {}
        for priority in lossless:
            if ingress.headroom is None:
                continue
            reserved = ingress.reserved.get(priority, ingress.reserved.get(None, 0))
            own = f"{name} group {priority}" if priority in {*ingress.reserved, *ingress.exponent} else name
            profile = Profile(
                # Without a headroom pool, the size of a profile includes the headroom.
                reserved + (0 if limit else ingress.headroom),
                0,
                ingress.headroom,
                RESUME_OFFSET,
                ingress.exponent.get(priority, ingress.exponent.get(None)),
                None,
                own,
            )
            rule = f"a paused group resumes {RESUME_OFFSET} B below its threshold"
            self._statements.report("ingress resume", f"assumed: {rule}")
            buffer = self._statements.buffer_bytes()
            shared = None if buffer is None else max(buffer - (limit or 0), 0)
            pool = Pool(shared, limit, "ingress", "ingress")
            made[priority] = self._statements.joined((profile, pool), found)
        return made

    def queues(self) -> dict[int, Deferred[Assigned | None]]:
        """The profiles of queues."""
        found = self._read()
        name, _, egress, _ = found.value
        pool = Pool(self._statements.buffer_bytes(), None, "egress", "egress")
        return {
            queue: self._statements.joined(
                (
                    Profile(
                        egress.reserved.get(queue, 0),
                        0,
                        0,
                        None,
                        egress.exponent.get(queue),
                        None,
                        f"{name} queue {queue}",
                    ),
                    pool,
                ),
                found,
            )
            for queue in sorted({*egress.reserved, *egress.exponent} - {None})  # type: ignore[type-var]
            if queue is not None
        }

    def _read(self) -> Deferred[tuple[str, _Side, _Side, int | None]]:
        if self._made is None:
            self._made = self._statements.deferred(self._profile)
        return self._made

    def _profile(self) -> tuple[str, _Side, _Side, int | None]:
        """The name of the profile, its ingress and egress settings, and the bytes of the headroom pool."""
        ingress, egress = _Side(), _Side()
        limit = None if self._limit is None else self._size(self._limit, self._limit.words[5:])
        if self._applied is None:
            return "", ingress, egress, limit
        name = self._statements.read(self._applied)[5]
        if name not in self._profiles:
            known = brief(", ".join(self._profiles) or "none")
            raise self._statements.error(
                self._applied, f"no profile is named {brief(name)}; there are: {known}"
            )
        for line in self._profiles[name].children:
            words = line.words
            if words[:1] == ("ingress",) and words[1:2] == ("priority-group",):
                self._setting(ingress, line, self._number(line, 2), words[3:])
            elif words[:1] == ("ingress",):
                self._setting(ingress, line, None, words[1:])
            elif words[:3] == ("egress", "unicast", "queue"):
                self._setting(egress, line, self._number(line, 3), words[4:])
        return name, ingress, egress, limit

    def _number(self, line: Statement, at: int) -> int:
        word = line.words[at] if len(line.words) > at else None
        return self._statements.whole(line, line.words[at - 1], word, 0, PRIORITIES[-1])

    def _setting(self, side: _Side, line: Statement, number: int | None, words: tuple[str, ...]) -> None:
        """Handles an ingress or egress setting of one priority group or queue."""
        if words[:1] == ("threshold",) and len(words) == 2:
            side.exponent[number] = self._exponent(line, words[1])
        elif words[:1] == ("reserved",) and (size := self._size(line, words[1:])) is not None:
            side.reserved[number] = size
        elif (
            words[:1] == ("headroom",)
            and number is None
            and (size := self._size(line, words[1:])) is not None
        ):
            side.headroom = size

    def _exponent(self, line: Statement, text: str) -> int:
        """Exponent of two of a threshold such as 1/8 or 2."""
        self._statements.read(line)
        alphas = {str(Fraction(2) ** one): one for one in EXPONENTS}
        if text not in alphas:
            raise self._statements.error(
                line, f"threshold is {brief(text)}; expected one of {', '.join(alphas)}"
            )
        return alphas[text]

    def _size(self, line: Statement, words: tuple[str, ...]) -> int | None:
        """A size such as ``bytes 24000``; ``None`` for cells of unknown size."""
        unit = words[0] if words and words[0] in _UNITS else "bytes"
        if words and words[0] not in _UNITS:
            self._statements.report(f"{line.line}", "assumed: a size without a unit is in bytes")
        cell = self._statements.cell_bytes()
        if unit == "cells" and cell is None:
            return None
        self._statements.read(line)
        number = self._statements.whole(line, "a size", words[-1] if words else None, 0, _LARGEST)
        return number * (cell or 1) if unit == "cells" else number
