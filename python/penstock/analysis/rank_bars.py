"""Bars of a rank timeline: steps by layer, merged if there are too many to draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .rank_steps import NEVER, RECEIVE, RECEIVE_COST, Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_DRAWN = 400_000
"""Maximum number of bars; above it, bars that nearly touch are merged."""
_LAYERS = (0, 1, 1, 2, 3)
"""Layer of each kind of step: computation, host cost, send, receive."""


@dataclass(frozen=True)
class Bars:
    """Bars of a rank timeline, by rank and time.

    Attributes
    ----------
    rank, layer, begin, end, peer, size : numpy.ndarray
        One element per bar; times in picoseconds.
    joined : int
        Number of steps merged into other bars.
    """

    rank: NDArray[Any]
    layer: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    peer: NDArray[Any]
    size: NDArray[Any]
    joined: int


def bars_of(steps: Steps, most: int = MAX_DRAWN) -> Bars:
    """Returns the bars of a job; if there are too many, bars of a rank that nearly touch are merged."""
    waits = steps.kind == RECEIVE
    begin = np.where(steps.kind <= RECEIVE_COST, steps.begin, steps.requested)
    drawn = np.flatnonzero((begin < NEVER) & (steps.end < NEVER) & ~(waits & (steps.end <= steps.requested)))
    order = drawn[np.lexsort((steps.end[drawn], begin[drawn], steps.rank[drawn]))]
    layer = np.array(_LAYERS, dtype=np.uint8)[steps.kind[order]]
    found = Bars(
        steps.rank[order], layer, begin[order], steps.end[order], steps.peer[order], steps.size[order], 0
    )
    if len(order) <= most:
        return found
    gap = int(found.end.max() - found.begin.min()) // 8_000
    while len(found.rank) > most:
        found = _joined(found, gap)
        gap *= 2
    return found


def _joined(bars: Bars, gap: int) -> Bars:
    """Merges bars of one rank and layer that are at most `gap` apart; sizes are summed."""
    order = np.lexsort((bars.begin, bars.layer, bars.rank))
    rank, layer, begin, end = (part[order] for part in (bars.rank, bars.layer, bars.begin, bars.end))
    group = (rank.astype(np.int64) << 3) | layer
    starts_group = np.append(True, group[1:] != group[:-1])
    # Compared with the largest end so far in the group.
    shift = np.cumsum(starts_group) * (int(end.max()) + gap + 1)
    reached = np.maximum.accumulate(end + shift) - shift
    starts = starts_group | np.append(True, begin[1:] - reached[:-1] > gap)
    at = np.flatnonzero(starts)
    again = np.lexsort((begin[at], rank[at]))
    sums = np.add.reduceat(bars.size[order], at)
    ends = np.maximum.reduceat(end, at)
    return Bars(
        rank[at][again],
        layer[at][again],
        begin[at][again],
        ends[again],
        bars.peer[order][at][again],
        sums[again],
        bars.joined + len(rank) - len(at),
    )
