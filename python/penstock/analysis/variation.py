"""Delay variation over time: how far the delay of each frame was from the running mean of its flow.

The engine computes it (tables ``frames`` and ``delay_variation``,
`crates/fabric/src/tables/delay_variation.rs`); here are its series.

Needs the frames that arrive at the receivers: ``[[probes]]`` with ``what = "frames"`` and their ports. Not
counted: what a host that takes its time adds after a frame has arrived.
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
    """The frames of a flow in the order in which they arrived.

    Attributes
    ----------
    time_ns, delay_ns : array of float
        When the last bit of each arrived, and how long that was after it was made.
    deviation_ns : array of float
        How far that was from the mean of those before it, either way; of the first 0.
    """

    time_ns: Array
    delay_ns: Array
    deviation_ns: Array

    def peaks(self, width_ns: float) -> tuple[Array, Array]:
        """The largest deviation in each bin that has a frame.

        Parameters
        ----------
        width_ns : float
            Of the bins, which begin at time 0; above 0.

        Returns
        -------
        start_ns, deviation_ns : array of float
            Starts of the bins, and the largest deviation in each.
        """
        starts, first = np.unique(np.floor(self.time_ns / width_ns), return_index=True)
        return starts * width_ns, np.maximum.reduceat(self.deviation_ns, first)


@of_result
def variations(result: Measurements) -> dict[tuple[str, str], Variation]:
    """By flow and destination, the delays of the frames with data that arrived there.

    Parameters
    ----------
    result : Measurements
        With the table ``frames``; frames that a port on the way saw do not count.

    Returns
    -------
    dict
        Empty if no frame arrived at a recorded port of its destination.
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
