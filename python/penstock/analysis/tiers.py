"""The links of a fabric by the layers that they join, each with what both its ends did."""

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
"""Limits between the steps in which pictures show utilisation: idle, up to 25 %, ..., above 95 %."""


@dataclass(frozen=True)
class Direction:
    """Activity of the ports at one end of a tier's links, an entry for each link.

    Attributes
    ----------
    name : str
        From layer to layer, as ``host -> leaf``.
    utilisation : ndarray of float
        0 to 1; NaN where it is not known.
    paused : ndarray of float
        Share of the measured time that the port was paused, 0 to 1.
    drops : ndarray of int
        Frames.
    rows : ndarray of int
        The row of each port in the table ``ports``; -1 where it is not known.
    """

    name: str
    utilisation: NDArray[np.float64]
    paused: NDArray[np.float64]
    drops: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Tier:
    """The links between two layers, grouped by the switch below them; those of hosts by the switch above.

    Attributes
    ----------
    groups : list of str
        The switches, in the order of the topology.
    group : ndarray of int
        The group of each link.
    low, high : ndarray of int
        The nodes at the ends of each link, by their places in the topology.
    up, down : Direction
        What `low` sent, and what `high` sent.
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
    """The tiers of the fabric, the uppermost first; found once for the page and the picture."""
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
    # Parallel links take the ports between their two nodes in turn, in the order of both tables.
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
    """Number of equal values before each value."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    turns = np.empty_like(values)
    turns[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return turns


def step(utilisation: NDArray[np.float64]) -> NDArray[np.int64]:
    """The step of each utilisation, 0 for idle to 5 for full; -1 where it is not known."""
    steps = np.searchsorted(STEPS, utilisation, side="right")
    return np.where(np.isnan(utilisation), -1, steps)


class _Ports:
    """The columns of the table of ports, by the nodes at both ends."""

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
        """Traffic from the first node of each link to the second."""
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
