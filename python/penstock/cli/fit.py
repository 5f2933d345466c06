"""``penstock fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.errors import InputError

from . import EXIT_DONE
from .console import Table, console, print_json

SCHEMA = "penstock-fit/1"


def fit(baseline: Path, /, *, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Fits the two lines of DRR-AWC (Hagen 2012, formulas 6.1 and 6.2) to measured fair weights.

    Parameters
    ----------
    baseline
        A file of lines SIZE,WEIGHT: the frame size in bytes (DA to FCS), and the weight at which frames of
        this size get the same throughput as the largest frames.
    json
        Prints one JSON object instead of a table.
    """
    from penstock.analysis import fitting

    try:
        text = baseline.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{baseline}: {error}") from error
    measured = fitting.read_baseline(text, str(baseline))
    found = fitting.fit(measured)
    if json:
        lines = {name: vars(line) for name, line in (("small", found.small), ("large", found.large))}
        rest = {"pivot_bytes": found.pivot_bytes, "rms": found.rms, "worst": found.worst}
        print_json({"schema": SCHEMA, "baseline": str(baseline), **lines, **rest})
        return EXIT_DONE
    out = console()
    shown = Table("Fair weights", "bytes", "measured", "fitted", "published", numeric=0)
    for size, weight in sorted(measured.items()):
        cells = (found.weight(size), fitting.PUBLISHED.weight(size))
        shown.add_row(str(size), f"{weight:.4f}", *(f"{cell:.4f}" for cell in cells))
    out.print(shown)
    small, large = found.small, found.large
    out.print(f"up to {found.pivot_bytes:.1f} B   f(x) = {small.slope:.4g} x + {small.intercept:.4g}")
    out.print(f"above           f(x) = {large.slope:.4g} x + {large.intercept:.4g}")
    out.print(f"error           {found.rms:.4f} RMS, {found.worst:.4f} maximum")
    return EXIT_DONE
