"""Max-min fair rates on links that share by groups: between groups of queues, their queues, and flows.

The rate of a group grows with its weight while one of its flows can grow. The weight of a group is divided
equally over its queues with a growing flow, and the part of a queue over those flows. On one link this is the
allocation of an ideal hierarchical scheduler: J. Bennett and H. Zhang, "Hierarchical packet fair queueing
algorithms", SIGCOMM 1996, §2.

The active queues differ from link to link. Each link is therefore filled separately, first as if no other
link limited its flows. The result is a lower bound for each flow. A link on which no flow gets more than on
its other links is a bottleneck, and the rates of its flows are final. If there is no such link, a link is
accepted as a bottleneck if its flows can get their rates on their other links once their demand is capped. If
that fails as well, flows get their lower bounds plus a max-min share of the rest. That allocation is feasible
and wastes no capacity, but is not unique.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .fairness import EXTREMES, SAME, Array, Problem, max_min, proportionally_fair

_MOST_TRIED = 4
"""Maximum number of links that are tested as a bottleneck if none is certain."""
_NEAR = 1e-9
"""Relative difference below which two links give the same rate."""


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
        """True if a group or queue has several flows. False if all flows share one queue."""
        queues = np.unique(self.queue).size
        return bool(queues > 1 and (queues < self.queue.size or np.unique(self.group).size < queues))

    @EXTREMES
    def max_min(self, problem: Problem) -> Array:
        """Returns the max-min fair rates. The weights of the problem are ignored."""
        usage, demand = problem.usage, problem.demand
        on = usage > 0
        rate, found, unsure = np.zeros_like(demand), demand <= 0, False
        while not found.all():
            demands = np.where(found, rate, demand)
            given = self._given(problem, ~found, demands, found)
            sure = np.minimum(demand, given.min(axis=0, initial=np.inf))
            settled = ~found & (sure >= demand * (1 - SAME))
            # Excess of the rates on each link over the rates of its flows on other links.
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
            # Uncertain rates can exceed what this link would give. They stay fixed, and the other flows share
            # the rest.
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
        """Returns the proportionally fair rates, with weights divided over the queues with demand."""
        return proportionally_fair(replace(problem, weight=self.beside(problem.usage, problem.demand > 0)))

    def beside(self, usage: Array, has_demand: NDArray[np.bool_]) -> Array:
        """Returns the weight of each flow among the flows with demand on the links of its path."""
        on = usage > 0
        weight = self.weight.copy()
        for flow in np.flatnonzero(has_demand):
            met = has_demand & on[on[:, flow]].any(axis=0)
            weight[flow] = self._divided(met)[flow]
        return weight

    def among(self, flows: NDArray[np.int_]) -> Hierarchy:
        """Returns the hierarchy restricted to these flows."""
        return Hierarchy(self.weight[flows], self.queue[flows], self.group[flows])

    def _divided(self, active: NDArray[np.bool_]) -> Array:
        """Weight of each flow: the weight of its group, divided over active queues and their active flows."""
        _, first = np.unique(self.queue[active], return_index=True)
        queues = np.bincount(self.group[active][first], minlength=int(self.group.max(initial=0)) + 1)
        flows = np.bincount(self.queue[active], minlength=int(self.queue.max(initial=0)) + 1)
        divided: Array = self.weight / np.maximum(queues[self.group], 1) / np.maximum(flows[self.queue], 1)
        return divided

    def _fill(self, usage: Array, capacity: float, demands: Array) -> Array:
        """Rates on one link, as if no other link limited its flows."""
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
