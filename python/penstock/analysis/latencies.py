"""End-to-end latency of frames: complementary distributions (share with at least a given latency)."""

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
    """Latency distributions of the slowest flows.

    Attributes
    ----------
    flows : int
        Number of flows with a distribution.
    ends_ns, above : dict
        By flow, in the order of the run: upper ends of the bins, and share of frames with at least that
        latency. The last share is 0.
    """

    flows: int
    ends_ns: dict[str, NDArray[np.float64]]
    above: dict[str, NDArray[np.float64]]


@of_result
def tails(result: Measurements, most: int = MOST_FLOWS) -> Tails:
    """Returns the distributions of the flows with the highest 99th percentile of latency.

    Parameters
    ----------
    result : Result
        Result with a table ``latencies``.
    most : int
        Maximum number of flows. Default 8.
    """
    table = result.table("latencies")
    number, names = arrow.codes(table["flow"])
    order = np.argsort(number, kind="stable")
    ends, below = (numpy_of(table[name])[order] for name in ("to_ns", "share_below"))
    counts = np.bincount(number, minlength=len(names))
    stops = np.cumsum(counts)
    starts = stops - counts
    # First bin of each flow whose upper end covers this share of its frames.
    tail = ends[starts + np.add.reduceat(below < _TAIL, starts)]
    shown = np.sort(np.argsort(-tail, kind="stable")[:most]).tolist()
    own = {str(names[n]): slice(starts[n], stops[n]) for n in shown}
    return Tails(
        len(names),
        {name: ends[of] for name, of in own.items()},
        {name: 1.0 - below[of] for name, of in own.items()},
    )
