"""Distribution of the latency of frames from host to host: the share that took at least a given time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock import arrow
from penstock.measurements import numpy_of, of_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

MOST_FLOWS = 8
_TAIL = 0.99


@dataclass(frozen=True)
class Tails:
    """The distributions of the slowest flows.

    Attributes
    ----------
    flows : int
        How many flows have a distribution.
    ends_ns, above : dict
        By flow, in the order of the run: where the bins of its distribution end, and the part of its frames
        that took at least as long. The last is 0.
    """

    flows: int
    ends_ns: dict[str, NDArray[np.float64]]
    above: dict[str, NDArray[np.float64]]


@of_result
def tails(result: Measurements, most: int = MOST_FLOWS) -> Tails:
    """The distributions of the flows with the longest latency at the 99th percentile.

    Parameters
    ----------
    result : Result
        With a table ``latencies``.
    most : int
        How many flows. Default 8.
    """
    table = result.table("latencies")
    number, names = arrow.codes(table["flow"])
    order = np.argsort(number, kind="stable")
    ends, below = (numpy_of(table[name])[order] for name in ("to_ns", "share_below"))
    counts = np.bincount(number, minlength=len(names))
    stops = np.cumsum(counts)
    starts = stops - counts
    # The first bin of each flow below whose end are so many of its frames.
    tail = ends[starts + np.add.reduceat(below < _TAIL, starts)]
    shown = np.sort(np.argsort(-tail, kind="stable")[:most]).tolist()
    own = {str(names[n]): slice(starts[n], stops[n]) for n in shown}
    return Tails(
        len(names),
        {name: ends[of] for name, of in own.items()},
        {name: 1.0 - below[of] for name, of in own.items()},
    )
