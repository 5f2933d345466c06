"""Pictures of the fabric: small ones as nodes and links, large ones as one cell per link and direction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from penstock.analysis.tiers import STEPS, Tier, step, tiers
from penstock.measurements import of_result

from .cells import draw_cells, heights
from .style import (
    DROP_COLOR,
    FAINT,
    INK,
    PAUSE_COLOR,
    QUEUE_COLOR,
    USE_COLORS,
    Margins,
    stack,
    style,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

Point = tuple[float, float]
MAX_NODES = 40
"""Maximum number of nodes per layer in a drawing of nodes; larger fabrics are drawn as cells."""
MAX_LINKS = 160
"""Maximum number of links in a drawing of nodes."""
MAX_LEVEL_NAMES = 16
"""Maximum number of nodes per layer with horizontal names."""
_ARC_HEIGHT = 0.35
_NEAR = 0.27
"""Position of the paused share on a link, as a fraction of the distance from the sender."""
_WIDTH = 7.0
_QUEUE_AT, _QUEUE_SIZE = 0.13, 160.0
"""Position of the queue on a link from the sender, and area of the longest queue in square points."""
_AROUND = Margins(left=0.1, right=0.1, top=0.55, between=0.0, bottom=0.35)
"""Margin around the fabric in inches; the legend is below it."""


@of_result
def fabric(result: Measurements) -> Figure:
    """Draws the fabric. The color of each link end is the utilisation; pauses and drops are marked."""
    found = tiers(result)
    picture = FabricPicture(result, found)
    picture.draw(found)
    with style():
        _draw_legend(picture.figure, found)
    return picture.figure


class FabricPicture:
    """Figure of a fabric, drawn once or once per frame of a recording.

    Attributes
    ----------
    figure : Figure
        Figure with space for a legend below the fabric.
    """

    def __init__(self, result: Measurements, found: list[Tier]) -> None:
        self._result = result
        nodes, links = len(result.topology["nodes"]), len(result.topology["links"])
        layers = Counter(node["level"] for node in result.topology["nodes"])
        self._large = max(layers.values(), default=0) > MAX_NODES or links > MAX_LINKS
        self._title = f"Fabric: {nodes:,} nodes, {links:,} links"
        self._width = _WIDTH - _AROUND.left - _AROUND.right
        with style():
            height = sum(heights(found)) if self._large else 3.2
            self.figure, (self._axes,) = stack(_WIDTH, [height], _AROUND)

    def draw(self, found: list[Tier], *, queued: NDArray[np.float64] | None = None, when: str = "") -> None:
        """Draws the fabric with the activity of its tiers; replaces the previous drawing.

        Parameters
        ----------
        queued : ndarray of float, optional
            Longest queue of each row of the table ``ports``, 0 to 1.
        when : str
            Time in the title.
        """
        axes = self._axes
        with style():
            axes.clear()
            axes.set_axis_off()
            axes.set_title(f"{self._title}{f', {when}' if when else ''}", pad=22)
            explained = (
                "one cell per link and direction, in the column of its lower switch (hosts: of their switch)"
                if self._large
                else "each half of a link shows the traffic sent by the node at that end"
            )
            axes.annotate(
                explained,
                (0.0, 1.0),
                xytext=(0, 10),
                xycoords="axes fraction",
                textcoords="offset points",
                fontsize=7.5,
                color=FAINT,
            )
            if self._large:
                draw_cells(axes, found, self._width)
            else:
                _draw_links(axes, self._result, found, queued)

    def legend(self, *, queues: bool = False) -> None:
        """Draws the legend of a recording: utilisation, pauses, and queues if they are drawn."""
        entries = [(PAUSE_COLOR, "paused")]
        if queues and not self._large:
            entries.append((QUEUE_COLOR, "port queue"))
        with style():
            _draw_entries(self.figure, entries)


def _draw_links(
    axes: Axes, result: Measurements, found: list[Tier], queued: NDArray[np.float64] | None
) -> None:
    places = layout(result)
    ways: dict[str, list[list[Point]]] = defaultdict(list)
    names = [node["name"] for node in result.topology["nodes"]]
    waits: list[tuple[Point, float]] = []
    for start, end, use, paused, drops, row in _ends(found):
        way = _way(places[names[start]], places[names[end]], places.values())
        if queued is not None and row >= 0 and queued[row] > 0:
            waits.append((_point(way, _QUEUE_AT), float(queued[row])))
        ways[USE_COLORS[use]].append(_first_half(way))
        for text, color, at in (
            (f"{100 * paused:.0f} %" if paused >= 0.005 else "< 1 %", PAUSE_COLOR, _NEAR),
            (f"{drops:,} lost", DROP_COLOR, _NEAR + 0.13),
        ):
            if (color == PAUSE_COLOR and paused > 0) or (color == DROP_COLOR and drops > 0):
                _badge(axes, _point(way, at), text, color)
    for color, lines in ways.items():
        axes.add_collection(LineCollection(lines, colors=color, linewidths=3.0, capstyle="butt"))
    if waits:
        x, y = zip(*(place for place, _ in waits), strict=True)
        sizes = [_QUEUE_SIZE * share for _, share in waits]
        axes.scatter(x, y, s=sizes, color=QUEUE_COLOR, edgecolor="white", linewidth=0.6, zorder=5)
    in_layer = Counter(y for _, y in places.values())
    _draw_nodes(axes, result, places, in_layer)
    axes.margins(0.08, 0.22)


def _ends(found: list[Tier]) -> Iterator[tuple[int, int, int, float, int, int]]:
    """Sender, receiver, utilisation level, paused share, drops and port row of each link end."""
    for tier in found:
        for one, starts, ends in ((tier.up, tier.low, tier.high), (tier.down, tier.high, tier.low)):
            columns = (starts, ends, step(one.utilisation), one.paused, one.drops, one.rows)
            for start, end, use, paused, drops, row in zip(*columns, strict=True):
                yield int(start), int(end), int(use), float(paused), int(drops), int(row)


def _badge(axes: Axes, place: Point, text: str, color: str) -> None:
    box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": color, "linewidth": 0.9}
    axes.annotate(text, place, ha="center", va="center", fontsize=5.5, color=INK, bbox=box, zorder=4)


def _draw_nodes(
    axes: Axes, result: Measurements, places: dict[str, Point], in_layer: Mapping[float, int]
) -> None:
    """Draws hosts as circles and switches as squares, with their names."""
    for role, marker, size, below in (("host", "o", 50, True), ("switch", "s", 120, False)):
        names = [node["name"] for node in result.topology["nodes"] if node["role"] == role]
        if not names:
            continue
        x, y = zip(*(places[name] for name in names), strict=True)
        axes.scatter(x, y, s=size, marker=marker, facecolor="white", edgecolor=INK, linewidth=1.0, zorder=3)
        for name in names:
            turned = in_layer[places[name][1]] > MAX_LEVEL_NAMES
            axes.annotate(
                name,
                places[name],
                xytext=(0, -9 if below else 9),
                textcoords="offset points",
                ha="center",
                va="top" if below else "bottom",
                fontsize=7,
                rotation=60 if turned else 0,
            )


def _draw_legend(figure: Figure, found: list[Tier]) -> None:
    """Draws the legend: one line below the picture."""
    entries = []
    ends = [end for tier in found for end in (tier.up, tier.down)]
    if any((end.paused > 0).any() for end in ends):
        entries.append((PAUSE_COLOR, "share of time paused"))
    if any((end.drops > 0).any() for end in ends):
        entries.append((DROP_COLOR, "frames dropped"))
    _draw_entries(figure, entries)


def _draw_entries(figure: Figure, more: list[tuple[str, str]]) -> None:
    """Draws the utilisation levels and these additional entries."""
    limits = [f"{100 * limit:.0f}" for limit in STEPS]
    names = ["idle", f"≤ {limits[1]} %", *(f"≤ {limit} %" for limit in limits[2:]), f"> {limits[-1]} %"]
    entries = [*zip(USE_COLORS[:-1], names, strict=True), *more]
    handles = [Rectangle((0, 0), 1, 1, facecolor=color, label=name) for color, name in entries]
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=len(handles),
        fontsize=6.5,
        handlelength=1.2,
        handleheight=0.8,
        columnspacing=1.1,
        handletextpad=0.4,
        title="utilisation",
        title_fontsize=6.5,
        borderpad=0.0,
    )


@of_result
def layout(result: Measurements) -> dict[str, Point]:
    """Position of each node: height by level, order by the mean position of its lower neighbours."""
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
    """Straight line, or an arc above the nodes between two nodes of the same level."""
    left, right = min(a[0], b[0]), max(a[0], b[0])
    if a[1] != b[1] or not any(y == a[1] and left < x < right for x, y in places):
        return [a, b]
    steps = [step / 24 for step in range(25)]
    return [(a[0] + (b[0] - a[0]) * s, a[1] + 4 * _ARC_HEIGHT * s * (1 - s)) for s in steps]


def _point(way: list[Point], part: float) -> Point:
    """Point on a path, 0 at its start and 1 at its end; its segments have equal length along x."""
    at = part * (len(way) - 1)
    n = min(int(at), len(way) - 2)
    (x1, y1), (x2, y2) = way[n], way[n + 1]
    return (x1 + (x2 - x1) * (at - n), y1 + (y2 - y1) * (at - n))


def _first_half(way: list[Point]) -> list[Point]:
    return [*way[: (len(way) + 1) // 2], _point(way, 0.5)]
