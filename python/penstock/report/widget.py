"""Notebook widget for the report page; requires anywidget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anywidget
import traitlets

from penstock.measurements import of_result

from .page import page_of

if TYPE_CHECKING:
    from penstock.measurements import Measurements


class ReportWidget(anywidget.AnyWidget):
    """Widget with a report page.

    Attributes
    ----------
    page : str
        Self-contained HTML page.
    name : str
        Name of the run.
    height : int
        Height in pixels.
    """

    _esm = Path(__file__).with_name("widget.js")
    page = traitlets.Unicode().tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)


@of_result
def widget(result: Measurements, height: int) -> ReportWidget:
    """Returns the report of a result as a widget with this height in pixels."""
    return ReportWidget(page=page_of(result), name=result.name, height=height)
