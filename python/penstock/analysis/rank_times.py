"""Time of the ranks of a job by activity: computation, exposed communication, and bubble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.measurements import of_result

from .rank_steps import COMPUTE, NEVER, RECEIVE, RECEIVE_COST, SEND, SEND_COST, Steps, steps_of, union_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements


@dataclass(frozen=True)
class RankTime:
    """Time of one rank in one iteration, in picoseconds.

    Attributes
    ----------
    rank, iteration : int
        The rank and the number of the iteration.
    total : int
        From the first step of any rank in the iteration to the end of the last.
    computation : int
        Time with a computation in progress.
    exposed : int
        Time without computation in which a message of the rank was in flight, or had host costs.
    bubble : int
        Remaining time: the rank waited for ranks that had not sent yet, or had finished.
    """

    rank: int
    iteration: int
    total: int
    computation: int
    exposed: int
    bubble: int


@of_result
def rank_times(result: Measurements, job: str, iteration: int = 0) -> list[RankTime]:
    """Returns the times of the ranks of a job in an iteration; empty unless it is completely recorded.

    Parameters
    ----------
    result : Result
        Result of the run.
    job : str
        Name of the job.
    iteration : int, optional
        Number of the iteration, from 0. Default: 0.
    """
    steps = steps_of(result, job)
    if steps is None:
        return []
    return _times(steps, iteration)


def _times(steps: Steps, iteration: int) -> list[RankTime]:
    own = steps.of_iteration(iteration)
    if not len(own) or (steps.end[own] >= NEVER).any():
        return []
    start, stop = int(steps.requested[own].min()), int(steps.end[own].max())
    kind, rank = steps.kind[own], steps.rank[own]
    is_compute = kind == COMPUTE
    is_cost = (kind == SEND_COST) | (kind == RECEIVE_COST)
    computes = _Intervals(rank[is_compute], steps.begin[own][is_compute], steps.end[own][is_compute])
    sends = own[kind == SEND]
    received = own[(kind == RECEIVE) & (steps.message[own] != own)]
    costs = own[is_cost]
    busy = _Intervals(
        np.concatenate([steps.rank[sends], steps.rank[received], steps.rank[costs], computes.rank]),
        np.concatenate(
            [
                steps.requested[sends],
                steps.requested[steps.message[received]],
                steps.begin[costs],
                computes.begin,
            ]
        ),
        np.concatenate([steps.end[sends], steps.begin[received], steps.end[costs], computes.end]),
    ).within(start, stop)
    found = []
    for number in range(steps.ranks):
        computation, occupied = computes.covered(number), busy.covered(number)
        total = stop - start
        found.append(
            RankTime(number, iteration, total, computation, occupied - computation, total - occupied)
        )
    return found


@dataclass(frozen=True)
class _Intervals:
    """Intervals of ranks."""

    rank: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]

    def within(self, start: int, stop: int) -> _Intervals:
        """Returns the intervals clipped to a window, ordered by rank."""
        return _Intervals(self.rank, np.clip(self.begin, start, stop), np.clip(self.end, start, stop))

    def covered(self, rank: int) -> int:
        """Length of the union of the intervals of a rank."""
        own = self.rank == rank
        return union_length(self.begin[own], self.end[own])
