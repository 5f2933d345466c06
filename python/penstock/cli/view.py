"""``penstock view``."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.errors import InputError

from . import EXIT_DONE
from .console import console, say

MOST_PORT = 65_535


def view(
    *results: Path, port: int = 0, browser: Annotated[bool, Parameter(negative="--no-browser")] = True
) -> int:
    """Shows the report of a run or a sweep in a browser, or those of two runs side by side.

    The pages are served to this machine alone, until Ctrl-C. A page of a large result has thinned out its
    time series; served so, it gets all points of the part to which it is zoomed.

    Parameters
    ----------
    results
        Directories of results, or of a sweep.
    port
        Port of the loopback interface. Default: one that is free.
    browser
        Whether a browser is opened; its address is printed in any case.
    """
    from penstock.viewing.server import Pages

    if not results:
        raise InputError(
            "name the directory of a result or of a sweep, such as: penstock view out/first-light"
        )
    if not 0 <= port <= MOST_PORT:
        raise InputError(f"--port is {port}; expected 0 (any that is free) to {MOST_PORT}")
    for directory in results:
        _has_page(directory)
    try:
        pages = Pages(results, port)
    except OSError as error:
        raise InputError(
            f"--port {port}: {error.strerror or error}; leave it out for one that is free"
        ) from None
    with pages:
        console().print(f"view     {pages.url}", soft_wrap=True)
        say("Ctrl-C ends it")
        if browser:
            webbrowser.open(pages.url)
        try:
            pages.serve_forever()
        except KeyboardInterrupt:
            return EXIT_DONE
    return EXIT_DONE


def _has_page(directory: Path) -> None:
    """Makes the report of a run if it was left out."""
    from penstock.report import write_report
    from penstock.result import Result
    from penstock.viewing.server import PAGE

    page = directory / PAGE
    if page.is_file():
        return
    if (directory / "run.json").is_file():
        write_report(Result.load(directory), page)
        return
    raise InputError(f"{directory}: has no {PAGE}; expected the directory of a result or of a sweep")
