"""The fabric as layers: hosts below, switches above, links between; links that were paused stand out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from .style import INK, PAUSE_COLOUR, QUIET_COLOUR, style

if TYPE_CHECKING:
    from penstock.result import Result

Point = tuple[float, float]
MAX_NAMED = 40
"""A layer with more nodes than this is drawn without names."""
_ARC_HEIGHT = 0.35


def fabric(result: Result) -> Figure:
    """Nodes in layers and the links between them; the longer a link was paused, the wider its line."""
    with style():
        figure = Figure(figsize=(7.0, 3.6))
        axes = figure.subplots()
        places = layout(result)
        paused = _paused_share(result)
        quiet: list[list[Point]] = []
        for link in result.topology["links"]:
            ends = _way(places[link["a"]], places[link["b"]], places.values())
            share = paused.get(frozenset((link["a"], link["b"])), 0.0)
            if share > 0:
                axes.plot(*zip(*ends, strict=True), color=PAUSE_COLOUR, linewidth=1.2 + 4.0 * share, zorder=2)
            else:
                quiet.append(ends)
        axes.add_collection(LineCollection(quiet, colors=QUIET_COLOUR, linewidths=0.8, zorder=1))
        rows: dict[float, int] = defaultdict(int)
        for _, y in places.values():
            rows[y] += 1
        for node in result.topology["nodes"]:
            x, y = places[node["name"]]
            host = node["role"] == "host"
            small = rows[y] > MAX_NAMED
            axes.plot(
                x,
                y,
                marker="o" if host else "s",
                markersize=3 if small else (7 if host else 11),
                markerfacecolor="white",
                markeredgecolor=INK,
                zorder=3,
            )
            if not small:
                axes.annotate(
                    node["name"],
                    (x, y),
                    xytext=(0, -9 if host else 9),
                    textcoords="offset points",
                    ha="center",
                    va="top" if host else "bottom",
                    fontsize=7,
                    rotation=60 if rows[y] > 16 else 0,
                )
        title = f"Fabric: {len(result.topology['nodes'])} nodes, {len(result.topology['links'])} links"
        axes.set_title(title + (" (orange: paused, by share of time)" if paused else ""))
        axes.margins(0.08, 0.22)
        axes.set_axis_off()
    return figure


def layout(result: Result) -> dict[str, Point]:
    """A place for each node: its level is its height, the mean of its lower neighbours its order."""
    neighbours: dict[str, list[str]] = defaultdict(list)
    for link in result.topology["links"]:
        neighbours[link["a"]].append(link["b"])
        neighbours[link["b"]].append(link["a"])
    layers: dict[int, list[str]] = defaultdict(list)
    for node in result.topology["nodes"]:
        layers[int(node["level"])].append(node["name"])
    widest = max((len(names) for names in layers.values()), default=1)
    places: dict[str, Point] = {}
    for level in sorted(layers):
        names = layers[level]
        below = {name: [places[n][0] for n in neighbours[name] if n in places] for name in names}
        if all(below.values()):
            names = sorted(names, key=lambda name: sum(below[name]) / len(below[name]))
        for index, name in enumerate(names):
            places[name] = ((index + 0.5) * widest / len(names), float(level))
    return places


def _way(a: Point, b: Point, places: Iterable[Point]) -> list[Point]:
    """A straight line, or an arc above what stands between two nodes of the same level."""
    left, right = min(a[0], b[0]), max(a[0], b[0])
    if a[1] != b[1] or not any(y == a[1] and left < x < right for x, y in places):
        return [a, b]
    steps = [step / 24 for step in range(25)]
    return [(a[0] + (b[0] - a[0]) * s, a[1] + 4 * _ARC_HEIGHT * s * (1 - s)) for s in steps]


def _paused_share(result: Result) -> dict[frozenset[str], float]:
    """Share of time that the more paused end of each link was stopped, for links that were."""
    time = float(result.run["simulated_s"]) or 1.0
    shares: dict[frozenset[str], float] = {}
    for row in result.rows("ports"):
        share = min(1.0, (row["paused_s"] or 0.0) / time)
        if share > 0:
            ends = frozenset((row["node"], row["peer"]))
            shares[ends] = max(shares.get(ends, 0.0), share)
    return shares
