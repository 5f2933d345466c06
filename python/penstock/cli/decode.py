"""``penstock decode`` and ``penstock dissector``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from orjson import loads

from penstock import _core
from penstock.errors import InputError

from . import EXIT_BAD_INPUT, EXIT_DONE
from .console import complain, print_json, print_rows, write_data

SCHEMA = "penstock-frames/1"
COLUMNS = {
    "no.": 6,
    "time": 16,
    "port": 12,
    "way": 3,
    "source": 17,
    "destination": 17,
    "VLAN": 4,
    "priority": 8,
    "ECN": 7,
    "what": 0,
}
"""Columns and their widths; a longer cell shifts the cells after it."""
Times = Literal["relative", "delta", "absolute"]


def decode(
    capture: Path,
    /,
    *,
    filter: str | None = None,
    time: Times = "relative",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Lists the frames of a capture: pcapng or pcap, from Penstock or any other program.

    Invalid frames are listed with the reason. Frames are listed as they are read, so a capture may have any
    length.

    Parameters
    ----------
    capture
        Capture file.
    filter
        Lists only the frames that match a display filter, such as "vlan.priority == 3 and not pfc". Supports
        a subset of Wireshark's filters, with its field names. Default: all frames.
    time
        Time since the first frame ("relative"), since the previous frame ("delta"), or since 1970
        ("absolute").
    json
        Prints one JSON object instead of a table.
    """
    from penstock.interchange.display_filter import compiled

    test = None if filter is None else compiled(filter)
    found = _Capture(capture)
    frames = (frame for frame in found.frames() if test is None or test(frame))
    if json:
        listed = {"frames": _counted(frames, found), "errors": found.errors()}
        print_json({"schema": SCHEMA, "capture": str(capture), **listed})
    else:
        print_rows(COLUMNS, (_cells(frame, time) for frame in _counted(frames, found)), found.summary)
    if found.error:
        complain(found.error)
        return EXIT_BAD_INPUT
    return EXIT_DONE


def dissector() -> int:
    """Prints a Wireshark dissector in Lua for CN-TAG, CNM, and the messages of FECN and L2CI."""
    write_data(files("penstock").joinpath("cli/dissector.lua").read_text("utf-8"))
    return EXIT_DONE


@dataclass
class _Capture:
    """A capture that is being read."""

    path: Path
    read: int = 0
    listed: int = 0
    wrong: int = 0
    error: str = ""
    """Reason why the capture cannot be read to its end, if any."""

    def __post_init__(self) -> None:
        path = self.path
        if not path.is_file():
            what = "is a directory" if path.is_dir() else "is not a file" if path.exists() else "no such file"
            raise InputError(f"{path}: {what}; expected a capture, pcapng or pcap")
        try:
            self._reader = _core.Capture(str(path))
        except ValueError as error:
            raise InputError(f"{path}: {error}") from error

    def frames(self) -> Iterator[dict[str, Any]]:
        """Yields the frames, each with the time since the first frame and since the previous one."""
        first = before = None
        try:
            for text in self._reader:
                frame = loads(text)
                now = frame["time_ns"]
                first = now if first is None else first
                frame["relative_ns"], frame["delta_ns"] = (
                    now - first,
                    now - (now if before is None else before),
                )
                before = now
                self.read += 1
                yield frame
        except ValueError as error:
            self.error = f"{self.path}: {error}"

    def errors(self) -> Iterator[str]:
        """Yields the reason why the capture cannot be read to its end, if any; call it last."""
        if self.error:
            yield self.error

    def summary(self) -> str:
        """Number of frames. Call it after the last frame."""
        of_all = f" of {self.read:,}" if self.listed != self.read else ""
        return f"{self.listed:,}{of_all} frames, {self.wrong:,} of them not legal"


def _counted(frames: Iterator[dict[str, Any]], found: _Capture) -> Iterator[dict[str, Any]]:
    for frame in frames:
        found.listed += 1
        found.wrong += "error" in frame
        yield frame


def _cells(frame: dict[str, Any], time: Times) -> Iterator[str]:
    from penstock.interchange.display_filter import ECN_NAMES

    vlan = frame.get("vlan") or {}
    datagram = (frame.get("contents") or {}).get("ipv4") or {}
    yield str(frame["number"])
    yield _time(frame[{"relative": "relative_ns", "delta": "delta_ns", "absolute": "time_ns"}[time]])
    for value in (frame["port"], frame["direction"], frame["source"], frame["destination"]):
        yield value or ""
    for key in ("vlan", "priority"):
        yield str(vlan.get(key, ""))
    yield ECN_NAMES.get(datagram.get("ecn", -1), "")
    what = frame["what"] if "error" not in frame else f"not legal: {frame['error']}"
    yield f"{what}  [{frame['comment']}]" if frame["comment"] else what


def _time(time_ns: int) -> str:
    """Seconds with nine decimals, as in Wireshark."""
    sign, time_ns = ("-" if time_ns < 0 else ""), abs(time_ns)
    return f"{sign}{time_ns // 10**9}.{time_ns % 10**9:09d} s"
