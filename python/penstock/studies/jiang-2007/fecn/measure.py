"""Measures that the experiments extract from results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.result import Result

Array = npt.NDArray[np.float64]
WIRE = 1520 / 1500
"""Bits on the wire per bit of a frame: the source's links have no overhead per frame."""
FRAME = 1500
CORE = "spine0.10->leaf10"
HOT = "sw.0->h0"
"""The bottleneck with a hundred sources, and in the hot spot."""


def rates(result: Result) -> dict[str, tuple[Array, Array]]:
    """Time in ms and throughput on the wire in Gb/s, by flow."""
    series = result.all_series("flow_throughput_bps")
    return {flow: (times / 1e6, values * WIRE / 1e9) for flow, (times, values) in series.items()}


def allowed(result: Result) -> dict[str, tuple[Array, Array]]:
    """Time in ms and limiter rate on the wire in Gb/s, by flow."""
    series = result.all_series("limiter_rate_bps")
    return {flow: (times / 1e6, values / 1e9) for flow, (times, values) in series.items()}


def port(result: Result, name: str) -> tuple[Array, Array]:
    """Time in ms and rate of a port on the wire in Gb/s."""
    times, values = result.all_series("port_tx_bps")[name]
    return times / 1e6, values * WIRE / 1e9


def queue(result: Result, name: str) -> tuple[Array, Array]:
    """Time in ms and length of a queue in packets."""
    times, values = result.all_series("queue_bytes")[name]
    return times / 1e6, values / FRAME


def mean(series: tuple[Array, Array], begin: float, end: float) -> float:
    """The mean from `begin` to `end`, in ms."""
    times, values = series
    return float(values[(times >= begin) & (times < end)].mean())


def settles(series: tuple[Array, Array], aim: float, share: float, begin: float, end: float) -> float:
    """Time in ms from which the series is within a share of its aim until `end`; infinite if never."""
    times, values = series
    inside = (times >= begin) & (times < end)
    times, off = times[inside], np.abs(values[inside] - aim) > share * aim
    if not off.any():
        return float(times[0])
    last = int(np.flatnonzero(off)[-1])
    return float(times[last + 1]) if last + 1 < len(times) else math.inf


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index."""
    return float(sum(values) ** 2 / (len(values) * sum(value**2 for value in values)))


def active(flows: Mapping[str, tuple[Array, Array]], begin: float, end: float) -> list[float]:
    """Mean rates of the flows that send without a break from `begin` to `end`, in ms."""
    inside = [values[(times >= begin - 0.5) & (times < end + 0.5)] for times, values in flows.values()]
    return [float(values[1:-1].mean()) for values in inside if values.min() > 0]


def longest(result: Result, name: str) -> float:
    """Longest queue at a port, in packets."""
    found = [row["queue_bytes_max"] for row in result.rows("queues") if row["port"] == name]
    return float(max(found, default=0) / FRAME)


def lost(result: Result) -> int:
    """Total number of lost frames."""
    return int(sum(row["frames"] for row in result.rows("drops")))


def pauses(result: Result) -> tuple[int, float]:
    """Number of pauses and paused time in ms, of the port with the most pauses."""
    rows = [(row["pauses_received"], row["paused_s"] * 1e3) for row in result.rows("ports")]
    return max(rows, default=(0, 0.0))


def together(flows: Mapping[str, tuple[Array, Array]], begin: str) -> dict[str, tuple[Array, Array]]:
    """The flows whose names begin with `begin`."""
    return {name: series for name, series in flows.items() if name.startswith(begin)}
