"""Pictures of a result: matplotlib figures, PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.measurements import of_result

from .beside import cdf, save_as, sizes
from .congestion import congestion, deadlock
from .differences import differences
from .fabric import FabricPicture, fabric
from .latencies import latencies
from .occupancies import occupancies
from .ranks import rank_timeline
from .series import series
from .style import save, save_each, style
from .timeline import timeline
from .transfers import transfers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.measurements import Measurements

__all__ = [
    "FabricPicture",
    "cdf",
    "congestion",
    "deadlock",
    "differences",
    "fabric",
    "latencies",
    "occupancies",
    "rank_timeline",
    "save",
    "save_all",
    "save_as",
    "save_each",
    "series",
    "sizes",
    "style",
    "timeline",
    "transfers",
]


@of_result
def save_all(result: Measurements, directory: str | PathLike[str], *, svg: bool = False) -> list[Path]:
    """Writes every picture of a result as PNG, and with `svg` also as SVG; returns the paths."""
    return save_each(_pictures(result), directory, svg=svg)


def _pictures(result: Measurements) -> Iterator[tuple[str, Figure]]:
    drawn = (
        ("congestion", congestion),
        ("deadlocks", deadlock),
        ("transfers", transfers),
        ("occupancies", occupancies),
    )
    for name, draw in drawn:
        if name in result.table_names and result.table(name).num_rows:
            yield "deadlock" if name == "deadlocks" else name, draw(result)
    yield "timeline", timeline(result)
    yield "fabric", fabric(result)
