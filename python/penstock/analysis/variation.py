"""Delay variation: how far the delay of each frame was from the running mean of its flow.

Source: G. McAlpine, Congestion control for switched Ethernet, 2005, section 8, Figure 10: "the maximum
deviation from a running mean delay", by which streams of video are judged. How long the mean runs it does not
say: here it is that of all frames before, so that the first one has none to differ from.

Needs the frames that arrive at the receivers: ``[[probes]]`` with ``what = "frames"`` and their ports. Not
counted: what a host that takes its time adds after a frame has arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
    mean_ns : array of float
        The mean delay of those before it; of the first its own.
    """

    time_ns: Array
    delay_ns: Array
    mean_ns: Array

    @property
    def deviation_ns(self) -> Array:
        """By frame, how far its delay was from the running mean, either way."""
        return np.abs(self.delay_ns - self.mean_ns)

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
    ports, node = frames["port"].combine_chunks().dictionary_encode(), {}
    for port in ports.dictionary.to_pylist():
        node[port] = port.partition("->")[0].rpartition(".")[0]
    here = pa.array(node.values(), pa.string()).take(ports.indices)
    ends = pc.and_(pc.equal(here, frames["destination"]), pc.equal(frames["event"], "arrived"))
    frames = frames.filter(pc.and_(ends, pc.is_in(frames["kind"], pa.array(("raw", "part", "data")))))
    names = list(zip(frames["flow"].to_pylist(), frames["destination"].to_pylist(), strict=True))
    order: dict[tuple[str, str], list[int]] = {}
    for row, name in enumerate(names):
        order.setdefault(name, []).append(row)
    time, created = (frames[name].to_numpy() for name in ("time_ps", "created_ps"))
    return {name: _variation(time[rows], created[rows]) for name, rows in sorted(order.items())}


def _variation(time_ps: npt.NDArray[np.uint64], created_ps: npt.NDArray[np.uint64]) -> Variation:
    delay = (time_ps - created_ps) / 1e3
    before = np.cumsum(delay)[:-1] / np.arange(1, len(delay))
    return Variation(time_ps / 1e3, delay, np.concatenate([delay[:1], before]))
