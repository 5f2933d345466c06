"""The picture that ``penstock compare`` draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

from penstock.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from penstock.result import Result


@Parameter(name="*")
@dataclass(frozen=True)
class Drawing:
    """A picture of several results, for a paper or slides.

    Parameters
    ----------
    picture
        File for a picture of all results: .png, .pdf or .svg. Default: no picture.
    draw
        Contents of the picture: cdf, tail (complementary CDF), sizes (slowdown by size), or a metric of the
        table series.
    measure
        For cdf and tail: slowdown or completion_ns of transfers, latency_ns of a flow, or occupancy_bytes.
        For sizes: p50, p95, p99, mean or max; default p99.
    of
        Entry of transfers, flow, port or queue to draw. Default: the only one, or the largest series.
    width
        Width of the picture: column (3.4 inches) or page (7 inches).
    """

    picture: Path | None = None
    draw: str = "cdf"
    measure: str = "slowdown"
    of: str | None = None
    width: Literal["column", "page"] = "column"


def draw_beside(places: Sequence[Path], results: Sequence[Result], drawing: Drawing) -> Path | None:
    """Writes the picture if `--picture` is given, and returns its path."""
    if drawing.picture is None:
        return None
    from penstock.plots import beside, series

    named = dict(zip(_labels(places), results, strict=True))
    try:
        if drawing.draw in ("cdf", "tail"):
            tail = drawing.draw == "tail"
            figure = beside.cdf(named, drawing.measure, drawing.of, tail=tail, width=drawing.width)
        elif drawing.draw == "sizes":
            percentile = "p99" if drawing.measure == "slowdown" else drawing.measure
            figure = beside.sizes(named, drawing.of, percentile=percentile, width=drawing.width)
        else:
            figure = series(named, drawing.draw, None if drawing.of is None else [drawing.of])
    except ArgumentError as error:
        raise InputError(f"--picture {drawing.picture}: {error}") from None
    return beside.save_as(figure, drawing.picture)


def _labels(places: Sequence[Path]) -> list[str]:
    """Shortest trailing parts of the directories that are distinct."""
    for parts in range(1, max(len(place.parts) for place in places) + 1):
        labels = ["/".join(place.parts[-parts:]) for place in places]
        if len(set(labels)) == len(labels):
            return labels
    raise InputError("--picture: a result is given twice; expected different directories")
