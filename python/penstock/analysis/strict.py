"""Fair rates with strict priority: each level shares the capacity that higher levels leave.

On every link, a strict class gets its full demand before any class below it gets capacity (IEEE 802.1Q
8.6.8.1), so rates of a level do not depend on lower levels. Within a level rates are max-min or
proportionally fair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import fairness
from .fairness import SAME, Array, Problem
from .hierarchy import Hierarchy

_NOTHING = 1e-9
"""Relative remainder below which a link is full (rounding)."""


@dataclass(frozen=True)
class Strict:
    """Priority levels of flows, and allocation within a level.

    Attributes
    ----------
    level : array of int
        Level of each flow; lower levels go first.
    within : Hierarchy or None
        Groups and queues of all flows; ``None`` to use the weights of the problem.
    """

    level: NDArray[np.int_]
    within: Hierarchy | None

    def max_min(self, problem: Problem) -> Array:
        """Returns the max-min fair rates, level by level."""
        return self._by_level(problem, lambda some, by: by.max_min(some) if by else fairness.max_min(some))

    def proportionally_fair(self, problem: Problem) -> Array:
        """Returns the proportionally fair rates, level by level."""
        return self._by_level(
            problem,
            lambda some, by: by.proportionally_fair(some) if by else fairness.proportionally_fair(some),
        )

    def _by_level(self, problem: Problem, allocate: Callable[[Problem, Hierarchy | None], Array]) -> Array:
        rate = np.zeros_like(problem.demand)
        for level in np.unique(self.level):
            own = np.flatnonzero(self.level == level)
            left = np.maximum(problem.capacity - problem.usage @ rate, problem.capacity * SAME)
            some = replace(
                problem,
                usage=problem.usage[:, own],
                capacity=left,
                demand=problem.demand[own],
                weight=problem.weight[own],
            )
            found = allocate(some, self.within.among(own) if self.within else None)
            taken = problem.usage[:, own] * found
            least = problem.capacity[:, None] * _NOTHING
            starved = ((problem.usage[:, own] > 0) & (taken <= least)).any(axis=0) & (found < some.demand)
            rate[own] = np.where(starved, 0.0, found)
        return rate
