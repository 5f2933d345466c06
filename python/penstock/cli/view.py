"""``penstock view``."""

from __future__ import annotations

import contextlib
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock import storage
from penstock.errors import InputError

from . import EXIT_DONE
from .console import console, progress_bar, say

MOST_PORT = 65_535


def view(
    *results: Path,
    port: int = 0,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
    record: Path | None = None,
    seconds: float = 12.0,
) -> int:
    """Shows the report of a run or sweep in a browser, or several reports side by side.

    Serves the pages only on this machine, until Ctrl-C. Their address contains a random token that keeps out
    other users. The page of a large result contains thinned-out time series; this server adds all points of
    the visible part after zooming.

    Parameters
    ----------
    results
        Directories of results, or of a sweep.
    port
        TCP port on the loopback interface. Default: any free port.
    browser
        Opens a browser. The address is printed in any case.
    record
        Records the animation of the page to this file instead: .gif or .webp; .mp4 and .webm require ffmpeg.
    seconds
        Length of the recording in seconds, above 0 and at most 120.
    """
    from penstock.viewing.server import Pages

    if not results:
        raise InputError("name the directory of a result or sweep, such as: penstock view out/first-light")
    if record is not None:
        return _record(results, record, seconds)
    if not 0 <= port <= MOST_PORT:
        raise InputError(f"--port is {port}; expected 0 (any free port) to {MOST_PORT}")
    for directory in results:
        _has_page(directory)
    try:
        pages = Pages(results, port)
    except OSError as error:
        raise InputError(f"--port {port}: {error.strerror or error}; omit it to use any free port") from None
    with pages, _private_link(pages.url) as link, contextlib.suppress(KeyboardInterrupt):
        console().print(f"view     {pages.url}")
        say("press Ctrl-C to stop")
        if browser:
            webbrowser.open(link.as_uri())
        pages.serve_forever()
    return EXIT_DONE


def _record(results: tuple[Path, ...], path: Path, seconds: float) -> int:
    """Writes a recording of one run."""
    from penstock.plots.recording import record
    from penstock.result import Result

    if len(results) != 1:
        raise InputError(f"--record: expected one result, not {len(results)}")
    with progress_bar("recording") as bar:

        def watch(done: int, frames: int) -> None:
            bar.update(done, frames, f"{done} of {frames} frames", "")

        frames = record(Result.load(results[0]), path, seconds=seconds, progress=watch)
    console().print(f"recording  {path} ({frames} frames, {path.stat().st_size / 1e6:.1f} MB)")
    return EXIT_DONE


@contextlib.contextmanager
def _private_link(url: str) -> Iterator[Path]:
    """Creates a private page that redirects to an address, since command lines are visible to all users."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as private:
        page = Path(private) / "view.html"
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={url}">', "utf-8")
        yield page


def _has_page(directory: Path) -> None:
    """Writes the report of a run if it is missing."""
    from penstock.report import write_report
    from penstock.result import Result
    from penstock.viewing.server import PAGE

    page = directory / PAGE
    if page.is_symlink():
        raise InputError(f"{page}: is a symbolic link, which may leave the result directory; expected a file")
    if page.is_file():
        return
    if (directory / "run.json").is_file():
        write_report(Result.load(directory), page)
        return
    if not directory.is_dir():
        raise InputError(f"{directory}: no such result directory{storage.made_by(directory)}")
    raise InputError(f"{directory}: has no {PAGE}; expected the directory of a result or sweep")
