"""Slowdown of transfers by size: completion time divided by the ideal time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from penstock import arrow
from penstock.measurements import numpy_of, of_result

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

BINS = 20
"""Number of size bins, each with a twentieth of the transfers, as in published FCT figures."""
UNFINISHED = "unfinished"
"""Measure with the number of transfers that statistics exclude."""
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class SizeBin:
    """Transfers of similar size.

    Attributes
    ----------
    transfers : int
        Number of complete transfers.
    bytes_min, bytes_max : int
        Smallest and largest size.
    mean, p50, p95, p99, max : float
        Statistics of the slowdown. Percentiles are nearest ranks.
    unfinished : int
        Number of incomplete transfers of these sizes; statistics exclude them.
    """

    transfers: int
    bytes_min: int
    bytes_max: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float
    unfinished: int = 0


@dataclass(frozen=True)
class Totals:
    """The transfers of one entry of a scenario.

    Attributes
    ----------
    name : str
        Name of the entry.
    begun, complete, unfinished : int
        Number of transfers that started after the warm-up; that completed; and that did not.
    never_began : int
        Number of transfers that never started because their dependencies had not completed.
    bytes : int
        Total size of the complete transfers.
    completion_ns, slowdown : dict
        ``mean``, ``p50``, ``p95``, ``p99`` and ``max`` over complete transfers; ``None`` if there are none.
    """

    name: str
    begun: int
    complete: int
    unfinished: int
    never_began: int
    bytes: int
    completion_ns: dict[str, float | None]
    slowdown: dict[str, float | None]


@of_result
def size_bins(result: Measurements, *, name: str | None = None, bins: int = BINS) -> list[SizeBin]:
    """Returns the slowdown of complete transfers in bins with equal numbers of transfers, by ascending size.

    Transfers of one size share a bin, so bins can be larger or fewer.

    Parameters
    ----------
    result : Result
        With a table ``transfers``.
    name : str, optional
        Entry to select. Default: all entries.
    bins : int
        Number of bins. Default 20.
    """
    table = begun(result, name)
    slowdown = _reals(table, "slowdown")
    done = ~np.isnan(slowdown)
    sizes = _integers(table, "bytes")[done]
    left = np.sort(_integers(table, "bytes")[~done])
    order = np.argsort(sizes, kind="stable")
    sizes, slowdown = sizes[order], slowdown[done][order]
    found: list[SizeBin] = []
    first = passed = 0
    for n in range(1, bins + 1):
        end = round(n * len(sizes) / bins)
        if end <= first:
            continue
        end = int(np.searchsorted(sizes, sizes[end - 1], side="right"))
        part = slowdown[first:end]
        reported = statistics(part)
        # Incomplete transfers larger than every complete one count in the last bin.
        below = len(left) if end == len(sizes) else int(np.searchsorted(left, sizes[end - 1], side="right"))
        own = {**reported, "unfinished": below - passed}
        found.append(SizeBin(end - first, int(sizes[first]), int(sizes[end - 1]), **own))  # type: ignore[arg-type]
        first, passed = end, below
    return found


@of_result
def totals(result: Measurements) -> list[Totals]:
    """Returns the totals of each entry with transfers; empty without transfers."""
    if "transfers" not in result.table_names:
        return []
    never: dict[str, int] = {}
    if "waiting_transfers" in result.table_names:
        counted = pc.value_counts(result.table("waiting_transfers")["name"])
        never = {one["values"]: one["counts"] for one in counted.to_pylist()}
    names = dict.fromkeys([*pc.unique(result.table("transfers")["name"]).to_pylist(), *never])
    return [_total(begun(result, name), name, never.get(name, 0)) for name in names]


@of_result
def distribution(
    result: Measurements, name: str, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the slowdowns of the complete transfers of an entry, with their cumulative distribution.

    Parameters
    ----------
    result : Result
        With a table ``transfers``.
    name : str
        The entry.
    most : int
        Maximum number of points; longer distributions are thinned, keeping the first and last point.
    """
    values = _reals(begun(result, name), "slowdown")
    values = np.sort(values[~np.isnan(values)])
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), most)).astype(int))
    return values[kept], (kept + 1) / len(values)


def measures(entry: Totals) -> dict[str, float | None]:
    """Returns the measures of an entry that are compared between runs."""
    took, slowdown = entry.completion_ns, entry.slowdown
    return {
        "completion_mean_ns": took["mean"],
        "completion_p99_ns": took["p99"],
        "slowdown_mean": slowdown["mean"],
        "slowdown_p99": slowdown["p99"],
        UNFINISHED: float(entry.unfinished + entry.never_began),
    }


@of_result
def begun(result: Measurements, name: str | None = None) -> pa.Table:
    """Rows of transfers that started after the warm-up, of one entry or of all."""
    table = result.table("transfers")
    wanted = arrow.call("greater_equal", table["start_ns"], float(result.run.get("warmup_s", 0.0)) * 1e9)
    if name is not None:
        wanted = pc.and_(wanted, arrow.call("equal", table["name"], name))
    return table.filter(wanted)


def statistics(values: NDArray[np.float64]) -> dict[str, float | None]:
    """Mean, nearest-rank percentiles and maximum; all ``None`` for no values."""
    if not len(values):
        return dict.fromkeys(("mean", *PERCENTILES, "max"))
    ranked = np.sort(values)
    ranks = {key: float(ranked[math.ceil(part * len(ranked)) - 1]) for key, part in PERCENTILES.items()}
    return {"mean": float(ranked.mean()), **ranks, "max": float(ranked[-1])}


def _total(table: pa.Table, name: str, never_began: int) -> Totals:
    slowdown = _reals(table, "slowdown")
    done = ~np.isnan(slowdown)
    return Totals(
        name,
        len(slowdown),
        int(done.sum()),
        int((~done).sum()),
        never_began,
        int(_integers(table, "bytes")[done].sum()),
        statistics(_reals(table, "completion_ns")[done]),
        statistics(slowdown[done]),
    )


def _reals(table: pa.Table, column: str) -> NDArray[np.float64]:
    return np.asarray(numpy_of(table[column]), dtype=np.float64)


def _integers(table: pa.Table, column: str) -> NDArray[Any]:
    return np.asarray(numpy_of(table[column]))
