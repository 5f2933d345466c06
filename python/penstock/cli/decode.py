"""``penstock decode`` and ``penstock dissector``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from json import loads
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from penstock import _core
from penstock.errors import InputError

from . import EXIT_DONE
from .console import Table, console, print_json, write_data

SCHEMA = "penstock-frames/1"
COLUMNS = ("time", "port", "way", "source", "destination", "VLAN", "priority", "what", "comment")


def decode(capture: Path, /, *, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Lists the frames of a capture: pcapng or pcap, of Penstock or of any other program.

    A frame that is not legal is listed with the reason.

    Parameters
    ----------
    capture
        The file.
    json
        Prints one JSON object instead of a table.
    """
    frames = list(_frames(capture))
    if json:
        print_json({"schema": SCHEMA, "capture": str(capture), "frames": frames})
        return EXIT_DONE
    shown = Table("", "no.", *COLUMNS)
    for frame in frames:
        shown.add_row(str(frame["number"]), *_cells(frame))
    out = console()
    out.print(shown)
    wrong = sum("error" in frame for frame in frames)
    out.print(f"{len(frames):,} frames, {wrong:,} of them not legal")
    return EXIT_DONE


def dissector() -> int:
    """Prints a dissector for Wireshark, in Lua: CN-TAG and CNM, and the messages of FECN and L2CI."""
    write_data(files("penstock").joinpath("cli/dissector.lua").read_text("utf-8"))
    return EXIT_DONE


def _frames(capture: Path) -> Iterator[dict[str, Any]]:
    if not capture.is_file():
        what = "is a directory" if capture.is_dir() else "is no file" if capture.exists() else "no such file"
        raise InputError(f"{capture}: {what}; expected a capture, pcapng or pcap")
    try:
        for text in _core.Capture(str(capture)):
            yield loads(text)
    except ValueError as error:
        raise InputError(f"{capture}: {error}") from error


def _cells(frame: dict[str, Any]) -> Iterator[str]:
    vlan = frame.get("vlan") or {}
    what = frame["what"] if "error" not in frame else f"not legal: {frame['error']}"
    yield _time(frame["time_ns"])
    for value in (frame["port"], frame["direction"], frame["source"], frame["destination"]):
        yield value or ""
    for key in ("vlan", "priority"):
        yield str(vlan.get(key, ""))
    yield what
    yield frame["comment"] or ""


def _time(time_ns: int) -> str:
    """Seconds with all nine digits: what Wireshark shows too."""
    return f"{time_ns // 10**9}.{time_ns % 10**9:09d} s"
