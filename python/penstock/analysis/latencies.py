"""How long frames of flows took from host to host: the part of them that took at least so long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

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
    names = [str(name) for name in pc.unique(table["flow"]).to_pylist()]
    ends: dict[str, NDArray[np.float64]] = {}
    below: dict[str, NDArray[np.float64]] = {}
    for name in names:
        own = table.filter(pc.equal(table["flow"], name))
        ends[name], below[name] = numpy_of(own["to_ns"]), numpy_of(own["share_below"])
    tail = {name: float(ends[name][np.searchsorted(below[name], _TAIL)]) for name in names}
    slowest = set(sorted(names, key=lambda name: -tail[name])[:most])
    shown = [name for name in names if name in slowest]
    return Tails(len(names), {n: ends[n] for n in shown}, {n: 1.0 - below[n] for n in shown})
