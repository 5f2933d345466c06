"""Pictures of a result, as matplotlib figures, PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .congestion import congestion, deadlock
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
    "fabric",
    "occupancies",
    "save",
    "save_all",
    "style",
    "timeline",
    "transfers",
]


def save_all(result: Measurements, directory: Path) -> list[Path]:
    """Writes every picture of a result as PNG and SVG; returns the paths."""
    written = [
        *save(timeline(result), directory, "timeline"),
        *save(fabric(result), directory, "fabric"),
    ]
    drawn = (
        ("congestion", congestion),
        ("deadlocks", deadlock),
        ("transfers", transfers),
        ("occupancies", occupancies),
    )
    for name, draw in drawn:
        if name in result.table_names and result.table(name).num_rows:
            written += save(draw(result), directory, "deadlock" if name == "deadlocks" else name)
    return written
