"""The fabric as layers: hosts below, switches above, links between; links that were paused stand out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from .style import INK, PAUSE_COLOUR, QUIET_COLOUR, Margins, stack, style

if TYPE_CHECKING:
    from penstock.measurements import Measurements

Point = tuple[float, float]
MAX_NAMED = 40
"""A layer with more nodes than this is drawn without names."""
MAX_LEVEL_NAMES = 16
"""With more than this the names are turned."""
MAX_VECTORS = 2_000
"""More links or nodes than this are pixels in the SVG too, which would take seconds to write and to open."""
_ARC_HEIGHT = 0.35


def fabric(result: Measurements) -> Figure:
    """Nodes in layers and the links between them; the longer a link was paused, the wider its line."""
    with style():
        figure, (axes,) = stack(7.0, [3.2], Margins(left=0.1, right=0.1, top=0.3, between=0.0, bottom=0.1))
        places = layout(result)
        paused = _paused_share(result)
        ways: dict[str, list[list[Point]]] = {QUIET_COLOUR: [], PAUSE_COLOUR: []}
        widths: dict[str, list[float]] = {QUIET_COLOUR: [], PAUSE_COLOUR: []}
        for link in result.topology["links"]:
            share = paused.get(frozenset((link["a"], link["b"])), 0.0)
            colour = PAUSE_COLOUR if share > 0 else QUIET_COLOUR
            ways[colour].append(_way(places[link["a"]], places[link["b"]], places.values()))
            widths[colour].append(1.2 + 4.0 * share if share > 0 else 0.8)
        for colour, lines in ways.items():
            drawing = LineCollection(lines, colors=colour, linewidths=widths[colour])
            drawing.set_rasterized(len(lines) > MAX_VECTORS)
            axes.add_collection(drawing)
        in_layer = Counter(y for _, y in places.values())
        _draw_nodes(axes, result, places, in_layer)
        title = f"Fabric: {len(result.topology['nodes'])} nodes, {len(result.topology['links'])} links"
        axes.set_title(title + (" (orange: paused, by share of time)" if paused else ""))
        axes.margins(0.08, 0.22)
        axes.set_axis_off()
    return figure


def _draw_nodes(
    axes: Axes, result: Measurements, places: dict[str, Point], in_layer: Mapping[float, int]
) -> None:
    """Hosts as circles, switches as squares, with their names where there is room."""
    for role, marker, size, below in (("host", "o", 50, True), ("switch", "s", 120, False)):
        names = [node["name"] for node in result.topology["nodes"] if node["role"] == role]
        if not names:
            continue
        x, y = zip(*(places[name] for name in names), strict=True)
        sizes = [10 if in_layer[height] > MAX_NAMED else size for height in y]
        dots = axes.scatter(
            x, y, s=sizes, marker=marker, facecolor="white", edgecolor=INK, linewidth=1.0, zorder=3
        )
        dots.set_rasterized(len(names) > MAX_VECTORS)
        for name in names:
            place = places[name]
            if in_layer[place[1]] <= MAX_NAMED:
                axes.annotate(
                    name,
                    place,
                    xytext=(0, -9 if below else 9),
                    textcoords="offset points",
                    ha="center",
                    va="top" if below else "bottom",
                    fontsize=7,
                    rotation=60 if in_layer[place[1]] > MAX_LEVEL_NAMES else 0,
                )


def layout(result: Measurements) -> dict[str, Point]:
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


def _paused_share(result: Measurements) -> dict[frozenset[str], float]:
    """Share of the measured time that the more paused end of each link was stopped, for links that were."""
    time = float(result.run["simulated_s"] - result.run.get("warmup_s", 0.0)) or 1.0  # as the report
    shares: dict[frozenset[str], float] = {}
    for row in result.rows("ports"):
        share = min(1.0, (row["paused_s"] or 0.0) / time)
        if share > 0:
            ends = frozenset((row["node"], row["peer"]))
            shares[ends] = max(shares.get(ends, 0.0), share)
    return shares
