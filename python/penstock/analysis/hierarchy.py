"""Max-min fair rates where links divide by groups: over groups of queues, their queues, and flows of these.

A group grows with its weight as long as one of its flows grows; its weight is divided equally over the queues
in which a flow grows, and what a queue has of it over those flows. On one link that is what an ideal
hierarchical scheduler gives: J. Bennett and H. Zhang, "Hierarchical packet fair queueing algorithms", SIGCOMM
1996, §2. A flow counts what its queue counts, as everywhere in the fair shares.

What a queue counts differs from link to link, because others are busy there. Each link is filled by itself,
first as if nothing else held flows back: what it gives is the least that a flow can be sure of. A link that
gives none of its flows more than their other links do is their bottleneck, and their rates are found. If
there is none (a link may give most to those that another holds back), a link counts whose flows all get its
rates at their other links, too, once their demand is met. If that fails, flows get what they are sure of
and a max-min share of what is left: feasible, and nothing is wasted, but not unique.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .fairness import EXTREMES, SAME, Array, Problem, max_min, proportionally_fair

_MOST_TRIED = 4
"""Links of which it is tried whether they are a bottleneck, when none is without doubt."""
_NEAR = 1e-9
"""A link that gives this much more than another, relatively, gives the same."""


@dataclass(frozen=True)
class Hierarchy:
    """Groups and priority levels of flows.

    Attributes
    ----------
    weight : array
        Weight of the group of each flow, above 0.
    queue, group : array of int
        Queue of each flow and group of that queue, at least 0.
    """

    weight: Array
    queue: NDArray[np.int_]
    group: NDArray[np.int_]

    def divides(self) -> bool:
        """Returns true if a group or queue has several flows; with one queue for all, none has."""
        queues = np.unique(self.queue).size
        return bool(queues > 1 and (queues < self.queue.size or np.unique(self.group).size < queues))

    @EXTREMES
    def max_min(self, problem: Problem) -> Array:
        """The max-min fair rates; the weights of the problem do not count."""
        usage, demand = problem.usage, problem.demand
        on = usage > 0
        rate, found, unsure = np.zeros_like(demand), demand <= 0, False
        while not found.all():
            demands = np.where(found, rate, demand)
            given = self._given(problem, ~found, demands, found)
            sure = np.minimum(demand, given.min(axis=0, initial=np.inf))
            settled = ~found & (sure >= demand * (1 - SAME))
            # By how much each link gives its flows more than the others do.
            beyond = np.where(on & ~found & ~settled, given / sure, 0.0).max(axis=1, initial=0.0)
            settled |= ~found & on[(beyond > 0) & (beyond <= 1 + _NEAR)].any(axis=0)
            rates = sure
            if not settled.any():
                nearest = [link for link in np.argsort(beyond, kind="stable") if beyond[link] > 0]
                for link in nearest[:_MOST_TRIED]:
                    of = on[link] & ~found
                    held = np.where(of, given[link], demands)
                    elsewhere = self._given(problem, of, held, found).min(axis=0)
                    if (elsewhere >= held * (1 - _NEAR))[of].all():
                        settled, rates = of, held
                        break
                else:
                    settled, unsure = on[nearest[0]] & ~found, True
            rate[settled] = rates[settled]
            found |= settled
        return self._with_the_rest(problem, rate) if unsure else rate

    def _given(
        self, problem: Problem, flows: NDArray[np.bool_], demands: Array, found: NDArray[np.bool_]
    ) -> Array:
        """Rate of each flow on each link of its path; infinite elsewhere."""
        given = np.full(problem.usage.shape, np.inf)
        for link in np.flatnonzero((problem.usage[:, flows] > 0).any(axis=1)):
            of = np.flatnonzero(problem.usage[link] > 0)
            usage, capacity, demand_on_link = problem.usage[link, of], problem.capacity[link], demands[of]
            rates, has = self.among(of)._fill(usage, capacity, demand_on_link), found[of]
            # Rates that were found in doubt may be more than this link would give them. They hold, and the
            # others share the rest.
            if (rates < demand_on_link * (1 - _NEAR))[has].any():
                rates[has] = demand_on_link[has]
                left = max(capacity - float(usage[has] @ demand_on_link[has]), 0.0)
                rates[~has] = self.among(of[~has])._fill(usage[~has], left, demand_on_link[~has])
            given[link, of] = rates
        return given

    def _with_the_rest(self, problem: Problem, rate: Array) -> Array:
        left = np.maximum(problem.capacity - problem.usage @ rate, problem.capacity * SAME)
        rest = replace(problem, capacity=left, demand=problem.demand - rate, weight=self.weight)
        return np.minimum(rate + max_min(rest), problem.demand)

    def proportionally_fair(self, problem: Problem) -> Array:
        """The proportionally fair rates, weights divided over the queues with demand."""
        return proportionally_fair(replace(problem, weight=self.beside(problem.usage, problem.demand > 0)))

    def beside(self, usage: Array, has_demand: NDArray[np.bool_]) -> Array:
        """The weight of each flow among the flows with demand on a link of its path."""
        on = usage > 0
        weight = self.weight.copy()
        for flow in np.flatnonzero(has_demand):
            met = has_demand & on[on[:, flow]].any(axis=0)
            weight[flow] = self._divided(met)[flow]
        return weight

    def among(self, flows: NDArray[np.int_]) -> Hierarchy:
        """The weights of some flows."""
        return Hierarchy(self.weight[flows], self.queue[flows], self.group[flows])

    def _divided(self, active: NDArray[np.bool_]) -> Array:
        """The weight of each flow: of its group's, over the queues with an active flow, and over these."""
        _, first = np.unique(self.queue[active], return_index=True)
        queues = np.bincount(self.group[active][first], minlength=int(self.group.max(initial=0)) + 1)
        flows = np.bincount(self.queue[active], minlength=int(self.queue.max(initial=0)) + 1)
        divided: Array = self.weight / np.maximum(queues[self.group], 1) / np.maximum(flows[self.queue], 1)
        return divided

    def _fill(self, usage: Array, capacity: float, demands: Array) -> Array:
        """The rates that one link gives."""
        rate, growing, room = np.zeros_like(demands), demands > 0, capacity
        while growing.any():
            speed = np.where(growing, self._divided(growing), 0.0)
            sated_after = np.where(growing, (demands - rate) / speed, np.inf)
            full_after = room / (usage @ speed)
            step = min(full_after, sated_after.min())
            rate += speed * step
            room -= float(usage @ speed) * step
            sated = growing & (sated_after <= step * (1 + SAME))
            rate[sated] = demands[sated]
            if full_after <= step * (1 + SAME):
                break
            growing &= ~sated
        return rate
