"""Division of the bytes that ports sent while classes competed.

Weights determine shares only if classes are backlogged. A class that rarely waits is served when a frame
arrives, whatever its weight. Therefore only classes with at least one queued frame on average are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from penstock.analysis.contention import Split
from penstock.analysis.contention import splits as all_splits
from penstock.measurements import of_result, rows

from .style import FAINT, INK

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MAX_ROWS = 4
_LEAST = 0.01
"""Minimum share of all bytes sent under contention for a split to be drawn."""
_ROOM = 0.08
"""Share below which a bar segment has no number."""


@of_result
def waiting_classes(result: Measurements) -> set[tuple[str, int]]:
    """Ports and traffic classes with at least one queued frame on average."""
    table = result.table("queues").select(["port", "class", "queue_frames_mean"])
    return {(row["port"], row["class"]) for row in rows(table) if (row["queue_frames_mean"] or 0.0) >= 1.0}


@of_result
def fullest_splits(result: Measurements) -> list[Split]:
    """Splits to draw: those with most bytes and a scheduler whose weights determine shares."""
    with_guarantee = [split for split in all_splits(result) if split.guaranteed]
    waiting = waiting_classes(result) if with_guarantee else set()
    found = [split for split in with_guarantee if all((split.port, one) in waiting for one in split.classes)]
    most = sum(split.sent_bytes for split in found)
    return [split for split in found if split.sent_bytes >= _LEAST * most][:MAX_ROWS]


def draw_splits(axes: Axes, splits: list[Split], colors: Mapping[int, str], more: Iterator[str]) -> None:
    """Draws a bar per port with the share of each class; dashed lines show the guaranteed shares."""
    axes.set_title("Shares of competing classes (dashed: configured)")
    of_class = dict(colors)
    for height, split in enumerate(splits):
        left = with_guarantee = 0.0
        shares = zip(split.classes, split.kept, split.guaranteed or (), strict=True)
        for one, kept, guarantee in sorted(shares, reverse=True):
            color = of_class.setdefault(one, next(more, INK))
            axes.barh(height, 100 * kept, left=100 * left, height=0.7, color=color, edgecolor="white")
            if kept > _ROOM:
                text = f"class {one}: {100 * kept:.1f} of {100 * guarantee:.3g} %"
                axes.text(
                    100 * (left + kept / 2), height, text, ha="center", va="center", color="white", fontsize=7
                )
            left, with_guarantee = left + kept, with_guarantee + guarantee
            if with_guarantee < 1 - 1e-9:
                axes.plot(
                    [100 * with_guarantee] * 2,
                    [height - 0.48, height + 0.48],
                    color=INK,
                    linestyle=(0, (2, 1)),
                )
    axes.set_yticks(range(len(splits)), [split.port for split in splits], fontsize=7)
    axes.set_ylim(len(splits) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.grid(visible=False)
    axes.set_xlabel("share of bytes sent while all classes had frames and none was paused (%)", color=FAINT)
