"""``penstock timeline``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from penstock.errors import InputError
from penstock.units import count, size

from . import EXIT_DONE
from .console import console

Format = Literal["page", "perfetto", "png"]
_SUFFIXES: dict[str, Format] = {".html": "page", ".json": "perfetto", ".gz": "perfetto", ".png": "png"}
_ENDINGS: dict[Format, str] = {"page": ".timeline.html", "perfetto": ".trace.json.gz", "png": ".timeline.png"}
"""Suffix of the output file, appended to the name of the result directory: files in it belong to the
result."""


def timeline(
    result: Path,
    job: str | None = None,
    /,
    *,
    format: Format | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
) -> int:
    """Writes the timeline of the ranks of a job: as a page, a trace for Perfetto, or a picture.

    The page also has the times of the job, its collectives, its critical path and the traffic between ranks.
    A trace (JSON, in the Trace Event Format) opens in ui.perfetto.dev and chrome://tracing.

    Parameters
    ----------
    result
        Directory of a result.
    job
        Name of a job. Default: the first job for a page or picture, all jobs for a trace.
    format
        "page" (HTML), "perfetto" (JSON), or "png". Default: by the file extension; otherwise "page".
    out
        Output file, outside the result directory; a trace whose name ends in ".gz" is compressed. Default:
        next to the result, RESULT.timeline.html, RESULT.trace.json.gz or RESULT.timeline.png.
    """
    from penstock.analysis.jobs import chosen
    from penstock.report import perfetto, ranks
    from penstock.result import Result

    form = format or ("page" if out is None else _SUFFIXES.get(out.suffix))
    if form is None:
        raise InputError(f"--out {out}: expected .html, .json, .json.gz or .png, or --format")
    found = Result.load(result)
    path = out if out is not None else result.with_name(f"{result.name}{_ENDINGS[form]}")
    if path.resolve().is_relative_to(result.resolve()):
        raise InputError(
            f"--out {path}: expected a file outside the result directory, which is replaced as a whole"
        )
    more = ""
    chosen(found, job)
    if form == "page":
        ranks.write(found, path, job)
    elif form == "perfetto":
        more = f", {count(perfetto.write(found, path, job))} events"
    else:
        from penstock.plots import rank_timeline, save

        save(rank_timeline(found, job), path.parent, path.stem, svg=False)
    console().print(f"timeline {path} ({size(path.stat().st_size)}{more})")
    return EXIT_DONE
