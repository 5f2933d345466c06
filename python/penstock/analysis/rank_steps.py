"""Steps of the ranks of a job: sends, receives and computations (table ``rank_steps``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import arrow
from penstock.measurements import numpy_of, of_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

KINDS = ("compute", "send_cost", "receive_cost", "send", "receive")
"""Kinds of steps; `Steps.kind` contains indexes of this tuple."""
COMPUTE, SEND_COST, RECEIVE_COST, SEND, RECEIVE = range(len(KINDS))
NEVER = np.iinfo(np.int64).max
"""Time of an event that did not occur, in picoseconds."""
WAITS = ("again", "receiver", "pause", "control", "behind", "nic")
"""Columns with the delays of a message at its sender, without ``_ns``."""


@dataclass(frozen=True)
class Steps:
    """Steps of one job as NumPy arrays, one element per step. Times are in picoseconds.

    Attributes
    ----------
    job : str
        Name of the job.
    ranks : int
        Number of ranks; in-network reduction units have the numbers after them.
    hosts : list of str
        Host of each rank.
    kind : numpy.ndarray
        Indexes of `KINDS`.
    rank, iteration, operation, peer, tag, size : numpy.ndarray
        As in the table; `size` in bytes.
    requested, begin, end : numpy.ndarray
        As in the table; `NEVER` for an event that did not occur.
    after, message : numpy.ndarray
        Indexes of elements of these arrays, in place of row numbers of the table.
    ideal : numpy.ndarray
        Ideal time of sends; 0 for other steps.
    waits : dict
        Time by the names in `WAITS`; 0 where not measured.
    measured : numpy.ndarray
        True where `waits` were measured.
    """

    job: str
    ranks: int
    hosts: list[str]
    kind: NDArray[Any]
    rank: NDArray[Any]
    iteration: NDArray[Any]
    operation: NDArray[Any]
    peer: NDArray[Any]
    tag: NDArray[Any]
    size: NDArray[Any]
    requested: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    after: NDArray[Any]
    message: NDArray[Any]
    ideal: NDArray[Any]
    waits: dict[str, NDArray[Any]]
    measured: NDArray[Any]

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def delivered(self) -> NDArray[Any]:
        """Delivery time of sends; `NEVER` for other steps and for sends without a matching receive."""
        found = np.full(len(self), NEVER)
        taken = np.flatnonzero((self.kind == RECEIVE) & (self.message != np.arange(len(self))))
        found[self.message[taken]] = self.begin[taken]
        return found

    def of_iteration(self, iteration: int) -> NDArray[Any]:
        """Indexes of the steps of ranks in an iteration, without reduction units."""
        return np.flatnonzero((self.iteration == iteration) & (self.rank < self.ranks))


@of_result
def steps_of(result: Measurements, job: str) -> Steps | None:
    """Returns the steps of a job; ``None`` if none were recorded.

    Parameters
    ----------
    result : Result
        Result of the run.
    job : str
        Name of the job.
    """
    if "rank_steps" not in result.table_names:
        return None
    whole = result.table("rank_steps")
    number, names = arrow.codes(whole["job"])
    known = names.to_pylist()
    if job not in known:
        return None
    own = np.flatnonzero(number == known.index(job))
    first = int(own[0])
    table = whole.slice(first, len(own))
    kinds, kind_names = arrow.codes(table["kind"])
    place = np.array([KINDS.index(name) for name in kind_names.to_pylist()], dtype=np.int8)
    rank = numpy_of(table["rank"]).astype(np.int64)
    host, host_names = arrow.codes(table["host"])
    hosts = [""] * (int(rank.max()) + 1)
    for at in np.unique(rank, return_index=True)[1]:
        hosts[int(rank[at])] = host_names[int(host[at])].as_py()
    waits = {name: _ps(table[f"{name}_ns"], 0) for name in WAITS}
    return Steps(
        job=job,
        ranks=next(int(row["ranks"]) for row in result.rows("jobs") if row["job"] == job),
        hosts=hosts,
        kind=place[kinds],
        rank=rank,
        **{
            name: numpy_of(table[name]).astype(np.int64) for name in ("iteration", "operation", "peer", "tag")
        },
        size=numpy_of(table["bytes"]).astype(np.int64),
        requested=_ps(table["requested_ns"], NEVER),
        begin=_ps(table["begin_ns"], NEVER),
        end=_ps(table["end_ns"], NEVER),
        after=numpy_of(table["after"]).astype(np.int64) - first,
        message=numpy_of(table["message"]).astype(np.int64) - first,
        ideal=_ps(table["ideal_ns"], 0),
        waits=waits,
        measured=np.isfinite(numpy_of(table["behind_ns"]).astype(float)),
    )


def _ps(column: Any, null: int) -> NDArray[Any]:
    """Converts nanoseconds with three decimals to whole picoseconds."""
    values = numpy_of(column).astype(float)
    known = np.isfinite(values)
    found = np.full(len(values), null, dtype=np.int64)
    found[known] = np.rint(values[known] * 1e3).astype(np.int64)
    return found


def union_length(begin: NDArray[Any], end: NDArray[Any]) -> int:
    """Length of the union of the intervals."""
    if not len(begin):
        return 0
    order = np.argsort(begin, kind="stable")
    first, last = begin[order], np.maximum.accumulate(end[order])
    covered = np.maximum(first[1:], last[:-1])
    gained = np.maximum(last[1:] - covered, 0).sum()
    return int(last[0] - first[0] + gained)
