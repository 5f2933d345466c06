"""Congestion trees and deadlocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, PathPatch
from matplotlib.path import Path as Curve

from penstock.analysis.forensics import WHY, Deadlock, Edge, Tree, deadlocks, number_of_trees, trees
from penstock.measurements import of_result

from .style import FAINT, INK, PAUSE_COLOR, QUIET_COLOR, Margins, stack, style, time_scale

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MAX_TREES = 3
"""Maximum number of trees in a picture, by paused time."""
LEAST = 0.01
"""Trees with less than this share of the paused time of the first tree are omitted."""
MAX_EDGES = (24, 16, 12)
"""Maximum number of edges per tree, by the number of trees; edges with the longest pauses are kept."""
_WIDEST, _THINNEST = 11.0, 0.7
"""Line width for pauses during the whole run, and minimum line width, in points."""
_CULPRITS = 4
_LINE = "#eeb48a"
_LEFT, _COLUMN, _RIGHT, _ROW, _TALL_ROW, _TEXT = 1.9, 1.75, 1.25, 0.42, 0.55, 0.18
"""In inches: left of the root, between columns, right of the last column, height of a port row, of a row with
labels above and below, and of a line of text."""
_LETTER = 0.062
"""Width of a letter of a port name, in inches."""
_AROUND = Margins(left=0.05, right=0.05, top=0.48, between=0.68, bottom=0.35)


@dataclass(frozen=True)
class Placed:
    """An edge with its column and height, and the height of the port whose queue sent the pauses."""

    edge: Edge
    x: float
    y: float
    from_x: float
    from_y: float


@dataclass(frozen=True)
class Grid:
    """Width of a column and of the margin at the right, and height of a row, in inches."""

    column: float
    right: float
    row: float


@of_result
def congestion(result: Measurements) -> Figure:
    """Draws the trees with the longest pauses: root left, hosts right, line width by paused time."""
    with style():
        found = trees(result, MAX_TREES)
        shown = [tree for tree in found if tree.paused_ns >= LEAST * found[0].paused_ns]
        if not shown:
            figure, (axes,) = stack(4.0, [1.0], _AROUND)
            axes.set_axis_off()
            axes.annotate("no pause was sent", (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK)
            return figure
        places = [place(tree, MAX_EDGES[len(shown) - 1]) for tree in shown]
        columns = max(one.x for placed in places for one in placed)
        grid = _grid(places)
        heights = [
            max(grid.row * _rows(placed), _TEXT * (1 + _label(tree).count("\n")))
            for tree, placed in zip(shown, places, strict=True)
        ]
        figure, panels = stack(_LEFT + grid.column * columns + grid.right, heights, _AROUND)
        for axes, tree, placed, height in zip(panels, shown, places, heights, strict=True):
            _draw(axes, result, tree, placed)
            axes.set_xlim(-_LEFT / grid.column, columns + grid.right / grid.column)
            axes.set_ylim(_middle(placed) - height / grid.row / 2, _middle(placed) + height / grid.row / 2)
        more = number_of_trees(result) - len(shown)
        rest = f";  {more:,} more tree{'s' if more != 1 else ''} not shown" if more else ""
        figure.text(
            0.5,
            0.0,
            f"×: pauses of a port;  %: share of the run (line width){rest}",
            ha="center",
            fontsize=7.5,
            color=FAINT,
        )
    return figure


def _grid(places: list[list[Placed]]) -> Grid:
    """Column widths and row heights that fit the labels."""
    name = _LETTER * max(len(one.edge.port) for placed in places for one in placed)
    tall = any(
        one.x == other.x and 0 < abs(one.y - other.y) < 1.4
        for placed in places
        for inner in [_inner(placed)]
        for one in inner
        for other in inner
    )
    # A name at the right of a port must not overlap a name centred at a port of the next column.
    return Grid(max(_COLUMN, 0.15 + 1.5 * name), max(_RIGHT, 0.25 + name), _TALL_ROW if tall else _ROW)


def _inner(placed: list[Placed]) -> list[Placed]:
    """Edges whose port has edges of its own."""
    onward = {(one.from_x, one.from_y) for one in placed}
    return [one for one in placed if (one.x, one.y) in onward]


def _middle(placed: list[Placed]) -> float:
    heights = [one.y for one in placed]
    return (min(heights) + max(heights)) / 2


def _rows(placed: list[Placed]) -> float:
    """Number of port rows."""
    return 1.0 + max(one.y for one in placed) - min(one.y for one in placed)


def _label(tree: Tree) -> str:
    """Label of the root."""
    culprits = [f"{part.flow}  {100 * part.share:.0f} %" for part in tree.culprits[:_CULPRITS]]
    more = len(tree.culprits) - len(culprits)
    lines = ["frames of", *culprits] if culprits else ["no queued frames"]
    return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)


def place(tree: Tree, most: int = MAX_EDGES[0]) -> list[Placed]:
    """Places edges in columns by depth; leaves are stacked, inner edges centred between them."""
    kept = _kept(tree, most)
    below: dict[Edge | None, list[Edge]] = {}
    for edge in kept:
        below.setdefault(tree.parent(edge) if edge.depth > 1 else None, []).append(edge)
    heights: dict[Edge, float] = {}
    free = 0.0

    def settle(edge: Edge) -> float:
        nonlocal free
        under = [settle(child) for child in below.get(edge, [])]
        if under:
            heights[edge] = (under[0] + under[-1]) / 2
        else:
            heights[edge] = -free
            free += 1.0
        return heights[edge]

    tops = [settle(edge) for edge in below.get(None, [])]
    root = (tops[0] + tops[-1]) / 2 if tops else 0.0
    placed = []
    for edge in kept:
        parent = tree.parent(edge) if edge.depth > 1 else None
        from_y = root if parent is None else heights[parent]
        placed.append(Placed(edge, edge.depth, heights[edge], edge.depth - 1, from_y))
    return placed


def _kept(tree: Tree, most: int) -> list[Edge]:
    """Edges with the longest pauses, including all edges towards the root."""
    kept: list[Edge] = []
    for edge in sorted(tree.edges, key=lambda edge: -edge.paused_ns):
        way: list[Edge] = []
        at: Edge | None = edge
        while at is not None and at not in kept:
            way.append(at)
            at = tree.parent(at) if at.depth > 1 else None
        if len(kept) + len(way) <= most:
            kept += way
    return sorted(kept, key=tree.edges.index)


def _draw(axes: Axes, result: Measurements, tree: Tree, placed: list[Placed]) -> None:
    run_ns = max(result.run["simulated_s"] - result.run.get("warmup_s", 0.0), 1e-12) * 1e9
    root_y = placed[0].from_y if placed[0].edge.depth == 1 else 0.0
    inner = _inner(placed)
    for one in placed:
        share = one.edge.paused_ns / run_ns
        start, end = (float(one.from_x), one.from_y), (float(one.x), one.y)
        middle = one.from_x + 0.62 * (one.x - one.from_x)
        curve = Curve(
            [start, (middle, one.from_y), (one.from_x + 0.38, one.y), end],
            [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4],
        )
        axes.add_patch(
            PathPatch(
                curve,
                fill=False,
                edgecolor=_LINE,
                linewidth=max(_WIDEST * min(share, 1.0), _THINNEST),
                capstyle="butt",
                zorder=1,
            )
        )
        _name(axes, one, share, inner=one in inner)
    xs, ys = [one.x for one in placed], [one.y for one in placed]
    axes.scatter(xs, ys, s=26, color="white", edgecolor=PAUSE_COLOR, linewidth=1.4, zorder=3)
    axes.scatter([0], [root_y], s=90, color=PAUSE_COLOR, zorder=3)
    axes.annotate(
        _label(tree),
        (0, root_y),
        xytext=(-10, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=7.5,
        color=INK,
        linespacing=1.35,
    )
    hidden = len(tree.edges) - len(placed)
    rest = f" ({hidden:,} edges with shorter pauses are not shown)" if hidden else ""
    victims = len(tree.victims)
    note = f", {victims:,} victim{'s' if victims != 1 else ''}" if victims else ""
    ports = len({edge.port for edge in tree.edges})
    stopped = f"paused {ports:,} port{'s' if ports != 1 else ''}"
    axes.set_title(f"{tree.root} {WHY[tree.why]}, {stopped}{note}{rest}", fontsize=9, pad=18)
    axes.set_axis_off()


def _name(axes: Axes, one: Placed, share: float, *, inner: bool) -> None:
    """Draws the name and pauses of a port: right of a leaf, otherwise above and below."""
    x, ha, above, below = 9.0, "left", 6.0, -5.0
    if inner:
        lift = _WIDEST * 0.5 + 2
        x, ha, above, below = 0.0, "center", above + lift, below - lift
        if one.y < one.from_y:
            above, below = below - 2, below - 12
        elif one.y > one.from_y:
            above, below = above + 9, above
    much = f"{one.edge.pauses:,}×   {100 * share:.3g} %"
    for text, y, size, color in ((one.edge.port, above, 7.5, INK), (much, below, 6.5, FAINT)):
        label = axes.annotate(
            text,
            (one.x, one.y),
            xytext=(x, y),
            textcoords="offset points",
            ha=ha,
            va="center",
            fontsize=size,
            color=color,
            zorder=4,
            annotation_clip=False,  # skips the test whether the point is within the axes
        )
        label.set_in_layout(False)  # space is reserved; measuring the label is slow


@of_result
def deadlock(result: Measurements) -> Figure:
    """Draws the first deadlock: its queues in a circle, with arrows to the queues that they wait for."""
    with style():
        figure = Figure(figsize=(5.6, 4.6))
        axes = figure.subplots()
        found = deadlocks(result)
        if not found:
            axes.annotate("no deadlock", (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK)
        else:
            axes.set_aspect("equal")
            _circle(figure, axes, found[0], len(found))
        axes.set_axis_off()
    return figure


def _circle(figure: Figure, axes: Axes, one: Deadlock, number: int) -> None:
    count = len(one.queues)
    angles = [math.pi / 2 - 2 * math.pi * index / count for index in range(count)]
    places = [(math.cos(angle), math.sin(angle)) for angle in angles]
    axes.set_xlim(-1.7, 1.7)
    axes.set_ylim(-1.35, 1.35)
    boxes = [
        axes.annotate(
            f"{queue}\n{frames:,} frames",
            place,
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": QUIET_COLOR},
        )
        for queue, frames, place in zip(one.queues, one.frames, places, strict=True)
    ]
    figure.draw_without_rendering()  # computes the sizes of boxes, where the arrows end
    for index, start in enumerate(places):
        following = (index + 1) % count
        axes.add_patch(
            FancyArrowPatch(
                start,
                places[following],
                patchA=boxes[index].get_bbox_patch(),
                patchB=boxes[following].get_bbox_patch(),
                connectionstyle="arc3,rad=-0.18",
                arrowstyle="-|>",
                mutation_scale=16,
                linewidth=2.2,
                color=PAUSE_COLOR,
                shrinkA=3,
                shrinkB=3,
            )
        )
    scale = time_scale(one.closed_ns)
    more = f" (the first of {number})" if number > 1 else ""
    axes.set_title(
        f"Deadlock{more}, closed at {one.closed_ns / scale.size:.6g} {scale.unit}: each waits for the next"
    )
