"""The report page as a widget of notebooks; needs anywidget."""

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
    """One report page.

    Attributes
    ----------
    page : str
        The page, which needs nothing else.
    name : str
        Of the run.
    height : int
        Pixels.
    """

    _esm = Path(__file__).with_name("widget.js")
    page = traitlets.Unicode().tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)


@of_result
def widget(result: Measurements, height: int) -> ReportWidget:
    """The report of a result, `height` pixels tall."""
    return ReportWidget(page=page_of(result), name=result.name, height=height)
