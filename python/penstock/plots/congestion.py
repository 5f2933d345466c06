"""Congestion trees and deadlocks: who paused whom because of whom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, PathPatch
from matplotlib.path import Path as Curve

from penstock.forensics import WHY, Deadlock, Edge, Tree, deadlocks, port_of, trees

from .style import INK, PAUSE_COLOUR, QUIET_COLOUR, style, time_scale

if TYPE_CHECKING:
    from penstock.result import Result

MAX_TREES = 3
"""Trees in one picture: those that stopped ports longest."""
MAX_EDGES = 24
"""Edges of one tree in a picture: those that stopped their ports longest."""
_WIDEST = 9.0
_CULPRITS = 4


@dataclass(frozen=True)
class Placed:
    """An edge with its place: column and height of its port, and of the port whose queue stopped it."""

    edge: Edge
    x: float
    y: float
    from_x: float
    from_y: float


def congestion(result: Result) -> Figure:
    """The trees that stopped ports longest: root at the left, hosts at the right, wide lines stopped long."""
    with style():
        shown = trees(result)[:MAX_TREES]
        places = [place(tree) for tree in shown]
        heights = [max(2.0, 1.0 + len({p.y for p in placed if _is_end(p, placed)})) for placed in places]
        figure = Figure(
            figsize=(2.2 + 2.0 * _deepest(places), max(1.6, 0.32 * sum(heights) + 0.55 * len(shown) + 0.4))
        )
        if not shown:
            axes = figure.subplots()
            axes.set_axis_off()
            axes.annotate("no pause was sent", (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK)
            return figure
        grid = figure.subplots(len(shown), 1, gridspec_kw={"height_ratios": heights}, squeeze=False)
        for axes, tree, placed in zip(grid[:, 0], shown, places, strict=True):
            _draw(axes, result, tree, placed)
    return figure


def _deepest(places: list[list[Placed]]) -> float:
    """Columns of the deepest tree; at least three, for the titles."""
    return max([3.0, *(one.x for placed in places for one in placed)])


def place(tree: Tree) -> list[Placed]:
    """Columns by depth; the ends of the tree below each other, what leads to them half-way between."""
    kept = _kept(tree)
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


def _kept(tree: Tree) -> list[Edge]:
    """The edges with the longest pauses, each with all that leads to it."""
    kept: list[Edge] = []
    for edge in sorted(tree.edges, key=lambda edge: -edge.paused_ns):
        way: list[Edge] = []
        at: Edge | None = edge
        while at is not None and at not in kept:
            way.append(at)
            at = tree.parent(at) if at.depth > 1 else None
        if len(kept) + len(way) <= MAX_EDGES:
            kept += way
    return sorted(kept, key=tree.edges.index)


def _is_end(one: Placed, placed: list[Placed]) -> bool:
    return not any(other.from_x == one.x and other.from_y == one.y for other in placed)


def _draw(axes: Axes, result: Result, tree: Tree, placed: list[Placed]) -> None:
    run_ns = max(result.run["simulated_s"] - result.run.get("warmup_s", 0.0), 1e-12) * 1e9
    longest = max(one.edge.paused_ns for one in placed) or 1.0
    root_y = placed[0].from_y if placed[0].edge.depth == 1 else 0.0
    depth = max(one.x for one in placed)
    for one in placed:
        middle = (one.from_x + 0.66 + one.x) / 2
        start, end = (one.from_x + 0.66, one.from_y), (float(one.x), one.y)
        if one.from_x == 0:
            start = (0.0, root_y)
            middle = one.x / 2
        ways = [start, (middle, one.from_y), (middle, one.y), end]
        curve = Curve(ways, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
        width = 0.8 + _WIDEST * one.edge.paused_ns / longest
        axes.add_patch(
            PathPatch(curve, fill=False, edgecolor=PAUSE_COLOUR, linewidth=width, alpha=0.55, capstyle="butt")
        )
        share = 100 * one.edge.paused_ns / run_ns
        axes.annotate(
            f"{one.edge.port}",
            (one.x, one.y),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7.5,
            va="center",
            color=INK,
        )
        axes.annotate(
            f"{one.edge.pauses:,}×, {share:.3g} %",
            (one.x, one.y),
            xytext=(4, -5),
            textcoords="offset points",
            fontsize=6.5,
            va="center",
            color="#777777",
        )
    axes.scatter([0], [root_y], s=60, color=PAUSE_COLOUR, zorder=3)
    culprits = [f"{part.flow} {100 * part.share:.0f} %" for part in tree.culprits[:_CULPRITS]]
    more = len(tree.culprits) - len(culprits)
    lines = [port_of(tree.root), f"{WHY[tree.why].removeprefix('was ')}", *culprits]
    if more > 0:
        lines.append(f"and {more} more")
    axes.annotate(
        "\n".join(lines),
        (0, root_y),
        xytext=(-8, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=7.5,
    )
    hidden = len(tree.edges) - len(placed)
    rest = f" ({hidden} edges with shorter pauses not shown)" if hidden else ""
    victims = len(tree.victims)
    said = f", {victims} victim{'s' if victims != 1 else ''}" if victims else ""
    axes.set_title(f"{tree.root} stopped {len({e.port for e in tree.edges})} ports{said}{rest}", fontsize=9)
    axes.set_xlim(-0.95, max(3.0, depth) + 0.75)
    heights = [one.y for one in placed] + [root_y]
    axes.set_ylim(min(heights) - 0.8, max(heights) + 0.8)
    axes.set_axis_off()


def deadlock(result: Result) -> Figure:
    """The first deadlock: its queues in a circle, each with an arrow to the one that it waits for."""
    with style():
        figure = Figure(figsize=(5.6, 4.6))
        axes = figure.subplots()
        found = deadlocks(result)
        if not found:
            axes.annotate("no deadlock", (0.5, 0.5), xycoords="axes fraction", ha="center", color=INK)
        else:
            _circle(axes, found[0], len(found))
        axes.set_axis_off()
        axes.set_aspect("equal")
    return figure


def _circle(axes: Axes, one: Deadlock, number: int) -> None:
    count = len(one.queues)
    angles = [math.pi / 2 - 2 * math.pi * index / count for index in range(count)]
    places = [(math.cos(angle), math.sin(angle)) for angle in angles]
    for index, (x, y) in enumerate(places):
        axes.add_patch(
            FancyArrowPatch(
                (x, y),
                places[(index + 1) % count],
                connectionstyle="arc3,rad=-0.18",
                arrowstyle="-|>",
                mutation_scale=16,
                linewidth=2.2,
                color=PAUSE_COLOUR,
                shrinkA=24,
                shrinkB=24,
            )
        )
        axes.annotate(
            f"{one.queues[index]}\n{one.frames[index]:,} frames",
            (x, y),
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": QUIET_COLOUR},
        )
    scale = time_scale(one.closed_ns)
    more = f" (the first of {number})" if number > 1 else ""
    axes.set_title(
        f"Deadlock{more}, closed at {one.closed_ns / scale.size:.6g} {scale.unit}: each waits for the next"
    )
    axes.set_xlim(-1.7, 1.7)
    axes.set_ylim(-1.35, 1.35)
