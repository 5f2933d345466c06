"""Fair rates where some flows go before others: each level shares what those above it leave.

A strict class takes all that it asks for before any class below it gets anything, on every link (IEEE 802.1Q
8.6.8.1): no rate of a level depends on those below. Within a level rates are max-min or proportionally fair.
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
"""A smaller part of a link than this is what rounding leaves of a full one."""


@dataclass(frozen=True)
class Strict:
    """Which flows go first, and how those of a level share.

    Attributes
    ----------
    level : array of int
        That of each flow; lower ones go first.
    within : Hierarchy or None
        Groups and queues of all flows; ``None``: the weights of the problem count.
    """

    level: NDArray[np.int_]
    within: Hierarchy | None

    def max_min(self, problem: Problem) -> Array:
        """The max-min fair rates of each level in what those before it leave."""
        return self._by_level(problem, lambda some, by: by.max_min(some) if by else fairness.max_min(some))

    def proportionally_fair(self, problem: Problem) -> Array:
        """The proportionally fair rates of each level in what those before it leave."""
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
