"""Pictures of a result, as matplotlib figures, PNG and SVG."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .congestion import congestion, deadlock
from .differences import differences
from .fabric import fabric
from .occupancies import occupancies
from .style import save, style
from .timeline import timeline
from .transfers import transfers

if TYPE_CHECKING:
    from penstock.measurements import Measurements

__all__ = [
    "congestion",
    "deadlock",
    "differences",
    "fabric",
    "occupancies",
    "save",
    "save_all",
    "style",
    "timeline",
    "transfers",
]


def save_all(result: Measurements, directory: str | PathLike[str], *, svg: bool = False) -> list[Path]:
    """Writes every picture of a result as PNG, if `svg` is true as SVG too; returns the paths."""
    written = [
        *save(timeline(result), directory, "timeline", svg=svg),
        *save(fabric(result), directory, "fabric", svg=svg),
    ]
    drawn = (
        ("congestion", congestion),
        ("deadlocks", deadlock),
        ("transfers", transfers),
        ("occupancies", occupancies),
    )
    for name, draw in drawn:
        if name in result.table_names and result.table(name).num_rows:
            written += save(draw(result), directory, "deadlock" if name == "deadlocks" else name, svg=svg)
    return written
