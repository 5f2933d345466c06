"""Links of a fabric by the layers that they connect, with the activity of both ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from penstock.measurements import Measurements, numpy_of, of_result

from .decimate import distinct
from .node_numbers import NodeNumbers, node_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS = (0.001, 0.25, 0.5, 0.75, 0.95)
"""Boundaries of the utilisation levels in pictures: idle, up to 25 %, ..., above 95 %."""


@dataclass(frozen=True)
class Direction:
    """Activity of the ports at one end of a tier, one element per link.

    Attributes
    ----------
    name : str
        Layers in the direction of traffic, such as ``host -> leaf``.
    utilisation : ndarray of float
        0 to 1; NaN if unknown.
    paused : ndarray of float
        Share of the measured time for which the port was paused, 0 to 1.
    drops : ndarray of int
        Dropped frames.
    rows : ndarray of int
        Row of each port in the table ``ports``; -1 if unknown.
    """

    name: str
    utilisation: NDArray[np.float64]
    paused: NDArray[np.float64]
    drops: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Tier:
    """Links between two layers, grouped by their lower switch; links of hosts are grouped by their switch.

    Attributes
    ----------
    groups : list of str
        Switches, in topology order.
    group : ndarray of int
        Index in `groups` of each link.
    low, high : ndarray of int
        Nodes at the lower and upper end of each link, by index in the topology.
    up, down : Direction
        Traffic sent by `low`, and traffic sent by `high`.
    """

    groups: list[str]
    group: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    up: Direction
    down: Direction


_found: WeakKeyDictionary[Measurements, tuple[pa.Table, list[Tier]]] = WeakKeyDictionary()


@of_result
def tiers(result: Measurements) -> list[Tier]:
    """Returns the tiers of the fabric, top first. Computed once per result."""
    ports, found = _found.get(result, (None, []))
    if ports is not result.table("ports"):
        found = _tiers(result)
        _found[result] = (result.table("ports"), found)
    return found


def _tiers(result: Measurements) -> list[Tier]:
    nodes = result.topology["nodes"]
    numbers = node_numbers(result)
    names = numbers.names
    level = np.array([node["level"] for node in nodes], dtype=np.int64)
    is_host = np.array([node["role"] == "host" for node in nodes], dtype=bool)
    words = {layer: _word(names, np.flatnonzero(level == layer), is_host) for layer in set(level.tolist())}
    ends = np.sort(numbers.links, axis=1)
    turned = level[ends[:, 0]] > level[ends[:, 1]]
    low, high = np.where(turned, ends[:, 1], ends[:, 0]), np.where(turned, ends[:, 0], ends[:, 1])
    ports = _Ports(result, numbers)
    # Parallel links are matched with the ports between their nodes in the order of both tables.
    nth = _turns(low * len(nodes) + high)
    keys = np.where(is_host[low], high, low)
    found = []
    levels = int(level.max(initial=0)) + 1
    layers = level[high] * levels + level[low]
    for layer in distinct(layers)[::-1].tolist():
        upper, lower = divmod(layer, levels)
        own = np.flatnonzero(layers == layer)
        own = own[np.argsort(keys[own], kind="stable")]
        groups, group = np.unique(keys[own], return_inverse=True)
        found.append(
            Tier(
                [names[n] for n in groups],
                group,
                low[own],
                high[own],
                ports.direction(f"{words[lower]} -> {words[upper]}", low[own], high[own], nth[own]),
                ports.direction(f"{words[upper]} -> {words[lower]}", high[own], low[own], nth[own]),
            )
        )
    return found


def _turns(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each element, the number of equal elements before it."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    turns = np.empty_like(values)
    turns[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return turns


def step(utilisation: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the utilisation level, 0 (idle) to 5 (full); -1 if unknown."""
    steps = np.searchsorted(STEPS, utilisation, side="right")
    return np.where(np.isnan(utilisation), -1, steps)


class _Ports:
    """Columns of the table of ports, indexed by the nodes at both ends."""

    def __init__(self, result: Measurements, numbers: NodeNumbers) -> None:
        table = result.table("ports")
        self.nodes = len(numbers.names) + 1
        pairs = numbers.ports[:, 0] * self.nodes + numbers.ports[:, 1]
        self.order = np.argsort(pairs, kind="stable")
        self.pairs = pairs[self.order]
        time = float(result.run["simulated_s"] - result.run.get("warmup_s", 0.0)) or 1.0
        self.utilisation = _numbers(table["utilisation"], np.nan)
        self.paused = np.minimum(1.0, _numbers(table["paused_s"], 0.0) / time)
        self.drops = _numbers(table["drops"], 0.0)

    def direction(
        self, name: str, of: NDArray[np.int64], to: NDArray[np.int64], nth: NDArray[np.int64]
    ) -> Direction:
        """Returns the traffic from the first to the second node of each link."""
        pairs = of * self.nodes + to
        at = np.searchsorted(self.pairs, pairs) + nth
        within = np.minimum(at, max(len(self.pairs) - 1, 0))
        known = (at < len(self.pairs)) & (self.pairs[within] == pairs)
        rows = np.where(known, self.order[within], -1)
        return Direction(
            name,
            np.where(known, self.utilisation[rows], np.nan),
            np.where(known, self.paused[rows], 0.0),
            np.where(known, self.drops[rows], 0.0).astype(np.int64),
            rows,
        )


def _numbers(column: Any, unknown: float) -> NDArray[np.float64]:
    values = np.asarray(numpy_of(column), dtype=np.float64)
    return np.where(np.isnan(values), unknown, values)


def _word(names: list[str], layer: NDArray[np.int64], is_host: NDArray[np.bool_]) -> str:
    """Name of a layer: ``host``, ``leaf``, or else ``switch``."""
    if is_host[layer].all():
        return "host"
    stems = {re.split(r"[\d.\-_]", names[node])[0] for node in layer}
    stem = stems.pop() if len(stems) == 1 else ""
    return stem if len(stem) > 1 else "switch"
