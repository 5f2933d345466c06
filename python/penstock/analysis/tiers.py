"""The links of a fabric by the layers that they join, each with what both its ends did."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.measurements import numpy_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

STEPS = (0.001, 0.25, 0.5, 0.75, 0.95)
"""Limits between the steps in which pictures show utilisation: idle, up to 25 %, ..., above 95 %."""


@dataclass(frozen=True)
class Direction:
    """What the ports at one end of a tier's links did, an entry a link.

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
    low, high : list of str
        The nodes at the ends of each link.
    up, down : Direction
        What `low` sent, and what `high` sent.
    """

    groups: list[str]
    group: NDArray[np.int64]
    low: list[str]
    high: list[str]
    up: Direction
    down: Direction


def tiers(result: Measurements) -> list[Tier]:
    """The tiers of the fabric, the uppermost first."""
    nodes = result.topology["nodes"]
    level = {node["name"]: int(node["level"]) for node in nodes}
    order = {node["name"]: place for place, node in enumerate(nodes)}
    hosts = {node["name"] for node in nodes if node["role"] == "host"}
    layers: dict[int, list[str]] = defaultdict(list)
    for node in nodes:
        layers[level[node["name"]]].append(node["name"])
    words = {number: _word(names, hosts) for number, names in layers.items()}
    links: dict[tuple[int, int], list[tuple[int, str, str]]] = defaultdict(list)
    ends: dict[tuple[str, str], int] = defaultdict(int)
    for link in result.topology["links"]:
        low, high = sorted((link["a"], link["b"]), key=lambda name: (level[name], order[name]))
        # Parallel links take the ports between their two nodes in turn, in the order of both tables.
        links[level[high], level[low]].append((ends[low, high], low, high))
        ends[low, high] += 1
    ports = _Ports(result)
    found = []
    for (upper, lower), joined in sorted(links.items(), reverse=True):
        keys = [high if low in hosts else low for _, low, high in joined]
        by_place = sorted(range(len(joined)), key=lambda n: (order[keys[n]], n))
        joined, keys = [joined[n] for n in by_place], [keys[n] for n in by_place]
        groups = list(dict.fromkeys(keys))
        number = {name: n for n, name in enumerate(groups)}
        found.append(
            Tier(
                groups,
                np.array([number[key] for key in keys], dtype=np.int64),
                [low for _, low, _ in joined],
                [high for _, _, high in joined],
                ports.direction(f"{words[lower]} -> {words[upper]}", joined),
                ports.direction(f"{words[upper]} -> {words[lower]}", [(n, b, a) for n, a, b in joined]),
            )
        )
    return found


def step(utilisation: NDArray[np.float64]) -> NDArray[np.int64]:
    """The step of each utilisation, 0 for idle to 5 for full; -1 where it is not known."""
    steps = np.searchsorted(STEPS, utilisation, side="right")
    return np.where(np.isnan(utilisation), -1, steps)


class _Ports:
    """The columns of the table of ports, by the nodes at both ends."""

    def __init__(self, result: Measurements) -> None:
        table = result.table("ports")
        names = zip(table["node"].to_pylist(), table["peer"].to_pylist(), strict=True)
        self.rows: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row, pair in enumerate(names):
            self.rows[pair].append(row)
        time = float(result.run["simulated_s"] - result.run.get("warmup_s", 0.0)) or 1.0
        self.utilisation = _numbers(table["utilisation"], np.nan)
        self.paused = np.minimum(1.0, _numbers(table["paused_s"], 0.0) / time)
        self.drops = _numbers(table["drops"], 0.0)

    def direction(self, name: str, links: list[tuple[int, str, str]]) -> Direction:
        """What the first of the two nodes of each link sent to the other."""
        rows = [self.rows.get((a, b), []) for _, a, b in links]
        at = np.array([own[n] if n < len(own) else -1 for own, (n, _, _) in zip(rows, links, strict=True)])
        known = at >= 0
        return Direction(
            name,
            np.where(known, self.utilisation[at], np.nan),
            np.where(known, self.paused[at], 0.0),
            np.where(known, self.drops[at], 0.0).astype(np.int64),
            at,
        )


def _numbers(column: Any, unknown: float) -> NDArray[np.float64]:
    values = np.asarray(numpy_of(column), dtype=np.float64)
    return np.where(np.isnan(values), unknown, values)


def _word(names: list[str], hosts: set[str]) -> str:
    """What the nodes of a layer have in common: ``host``, ``leaf``, or else ``switch``."""
    if all(name in hosts for name in names):
        return "host"
    stems = {re.split(r"[\d.\-_]", name)[0] for name in names}
    stem = stems.pop() if len(stems) == 1 else ""
    return stem if len(stem) > 1 else "switch"
