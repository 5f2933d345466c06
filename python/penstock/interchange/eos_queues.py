"""Transmit queues of Arista EOS: shares, and random detection.

A queue is strict unless `no priority` is set; then all lower queues are served round robin as well.
Round-robin queues without `bandwidth percent` share the remainder. `random-detect ecn` marks only;
`random-detect drop` drops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .piece import brief
from .reading import Deferred
from .sonic_port import PRIORITIES, Scheduler, Wred
from .statements import Statement, Statements

BLOCKS = ("tx-queue", "uc-tx-queue")
_TIMES_PS = {"microseconds": 10**6, "milliseconds": 10**9}


@dataclass(frozen=True)
class Queues:
    """Schedulers and WRED of the queues of a port."""

    schedulers: Mapping[int, Scheduler] = field(default_factory=dict)
    wred: Mapping[int, Wred] = field(default_factory=dict)


@dataclass
class _Queue:
    """Settings of a queue; the first statement for each setting applies."""

    is_strict: bool | None = None
    share: Statement | None = None
    ecn: Wred | None = None
    drop: Wred | None = None


def queues_of(statements: Statements, lines: Iterable[Statement], mbps: int | None) -> Deferred[Queues]:
    """The queues of a port; its own statements take precedence over those of its profile.

    Parameters
    ----------
    statements : Statements
        The configuration.
    lines : iterable of Statement
        Statements of the interface, and of its profile.
    mbps : int, optional
        Rate of the port, to convert times to bytes.
    """
    return statements.deferred(lambda: _read(statements, lines, mbps))


def _read(statements: Statements, lines: Iterable[Statement], mbps: int | None) -> Queues:
    found: dict[int, _Queue] = {}
    for block in lines:
        if block.words[0] not in BLOCKS:
            continue
        if len(block.words) != 2:
            raise statements.error(block, f"{brief(block.text)}: expected the number of a queue")
        number = statements.whole(block, block.words[0], block.words[1], 0, PRIORITIES[-1])
        statements.read(block)
        for line in block.children:
            _take(statements, found.setdefault(number, _Queue()), line, mbps)
    wred = {
        number: both
        for number, one in found.items()
        if (both := _both(statements, number, one.ecn, one.drop)) is not None
    }
    return Queues(_schedulers(statements, found), wred)


def _take(statements: Statements, queue: _Queue, line: Statement, mbps: int | None) -> None:
    """Handles a statement of a queue."""
    words = line.words
    if words in (("no", "priority"), ("priority", "strict")):
        statements.read(line)
        if queue.is_strict is None:
            queue.is_strict = "strict" in words
    elif words[:2] == ("bandwidth", "percent") and queue.share is None:
        queue.share = line
    elif words[:2] == ("random-detect", "ecn") and queue.ecn is None:
        queue.ecn = _wred(statements, line, mbps)
    elif words[:2] == ("random-detect", "drop") and queue.drop is None and "drop-precedence" not in words:
        found = _wred(statements, line, mbps)
        queue.drop = None if found is None else replace(found, drops=True, marks=False)


def _wred(statements: Statements, line: Statement, mbps: int | None) -> Wred | None:
    """Thresholds of ``random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes``."""
    limits = []
    for word in ("minimum-threshold", "maximum-threshold"):
        number = line.after(word)
        unit = None if number is None else line.after(word, number)
        if number is None:
            return None
        if unit in _TIMES_PS:
            if mbps is None:
                return None
            time_ps = statements.document.decimal(line.line, word, number) * _TIMES_PS[unit]
            limits.append(round(time_ps * mbps / 8 / 10**6))
        elif unit in ("segments", "cells"):
            cell = statements.cell_bytes()
            if cell is None:
                return None
            limits.append(statements.whole(line, word, number, 0, 2**40) * cell)
        else:
            limits.append(statements.amount(line, word, number, unit))
    statements.read(line)
    least, most = limits
    if least > most:
        raise statements.error(line, f"minimum-threshold {least} B is above maximum-threshold {most} B")
    what = "max-mark-probability" if "ecn" in line.words else "drop-probability"
    percent, weight = line.after(what), line.after("weight")
    taken = [text for text, own in ((f"{what} 100", percent), ("weight 0", weight)) if own is None]
    if taken:
        statements.report(f"{line.line}", f"assumed: {' and '.join(taken)}")
    return Wred(
        least,
        most,
        100 if percent is None else statements.whole(line, what, percent, 1, 100),
        drops=False,
        marks=True,
        weight=0 if weight is None else statements.whole(line, "weight", weight, 0, 15),
    )


def _both(statements: Statements, number: int, ecn: Wred | None, drop: Wred | None) -> Wred | None:
    """Combines ECN marking and drops of a queue, since a scenario has one curve for both."""
    if ecn is None or drop is None:
        return ecn or drop
    if (ecn.least, ecn.most, ecn.percent) != (drop.least, drop.most, drop.percent):
        statements.report(
            f"queue {number}", "ECN and drops have different thresholds: the ECN thresholds apply to both"
        )
    return replace(ecn, drops=True)


def _schedulers(statements: Statements, found: Mapping[int, _Queue]) -> dict[int, Scheduler]:
    """Schedulers of all queues: strict, or round robin with their shares."""
    turns = [number for number, one in found.items() if one.is_strict is False]
    if not turns:
        return {number: Scheduler(None) for number in PRIORITIES}
    shares: dict[int, int | None] = {}
    for number in range(max(turns) + 1):
        one = found.get(number, _Queue())
        if one.is_strict:
            statements.report(f"queue {number}", f"is served round robin, because queue {max(turns)} is")
        shares[number] = None
        if one.share is not None:
            percent = statements.read(one.share)[-1]
            shares[number] = statements.whole(one.share, "bandwidth percent", percent, 1, 100)
    given = [share for share in shares.values() if share is not None]
    if sum(given) > 100:
        statements.report("bandwidth percent", f"shares sum to {sum(given)}: taken as weights")
    rest = [number for number, share in shares.items() if share is None]
    each = max((100 - sum(given)) // len(rest), 1) if rest else 0
    if rest:
        named = ", ".join(map(str, rest))
        statements.report("bandwidth percent", f"assumed: queues {named} without a share get {each} % each")
    return {
        number: Scheduler((shares[number] or each) if number in shares else None) for number in PRIORITIES
    }
