"""Delay variation over time: deviation of each frame's delay from the running mean of its flow.

The engine computes the deviations (tables ``frames`` and ``delay_variation``,
`crates/fabric/src/tables/delay_variation.rs`). This module returns them as series.

Requires a log of the frames that arrive at receivers: ``[[probes]]`` with ``what = "frames"`` and their
ports. Excludes the processing delay of slow receivers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from penstock.measurements import numpy_of, of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Variation:
    """Frames of a flow in order of arrival.

    Attributes
    ----------
    time_ns, delay_ns : array of float
        Arrival of the last bit, and delay since the creation of the frame.
    deviation_ns : array of float
        Absolute difference between the delay and the mean of earlier delays; 0 for the first frame.
    """

    time_ns: Array
    delay_ns: Array
    deviation_ns: Array

    def peaks(self, width_ns: float) -> tuple[Array, Array]:
        """Returns the maximum deviation in each non-empty bin.

        Parameters
        ----------
        width_ns : float
            Width of the bins, which start at time 0; above 0.

        Returns
        -------
        start_ns, deviation_ns : array of float
            Start times of the bins, and maximum deviation in each.
        """
        starts, first = np.unique(np.floor(self.time_ns / width_ns), return_index=True)
        return starts * width_ns, np.maximum.reduceat(self.deviation_ns, first)


@of_result
def variations(result: Measurements) -> dict[tuple[str, str], Variation]:
    """Returns the delays of arrived data frames by flow and destination.

    Parameters
    ----------
    result : Measurements
        Result with the table ``frames``. Frames logged at intermediate ports are ignored.

    Returns
    -------
    dict
        Empty if no frames were logged at a destination port.
    """
    if "frames" not in result.table_names:
        return {}
    frames = result.table("frames")
    frames = frames.filter(pc.is_finite(frames["deviation_ns"]))
    names = list(zip(frames["flow"].to_pylist(), frames["destination"].to_pylist(), strict=True))
    order: dict[tuple[str, str], list[int]] = {}
    for row, name in enumerate(names):
        order.setdefault(name, []).append(row)
    time, created, off = (numpy_of(frames[name]) for name in ("time_ps", "created_ps", "deviation_ns"))
    return {
        name: Variation(time[rows] / 1e3, (time[rows] - created[rows]) / 1e3, off[rows])
        for name, rows in sorted(order.items())
    }
