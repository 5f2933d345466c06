"""Pictures of a result, as matplotlib figures, PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .fabric import fabric
from .style import save, style
from .timeline import timeline

if TYPE_CHECKING:
    from penstock.result import Result

__all__ = ["fabric", "save", "save_all", "style", "timeline"]


def save_all(result: Result, directory: Path) -> list[Path]:
    """Writes every picture of a result as PNG and SVG; returns the paths."""
    return [
        *save(timeline(result), directory, "timeline"),
        *save(fabric(result), directory, "fabric"),
    ]
