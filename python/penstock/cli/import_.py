"""``penstock import``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from penstock import _core, library, running
from penstock.errors import InputError

from . import EXIT_DONE
from .console import console, say

if TYPE_CHECKING:
    from penstock.interchange.join import Joined
    from penstock.interchange.piece import Document

TRAFFIC = ("[[flows]]", "[[transfers]]", "[[jobs]]")
"""Tables of a scenario that generate traffic."""


@Parameter(name="*")
@dataclass(frozen=True)
class Open:
    """Values that the files do not specify.

    Parameters
    ----------
    rate
        Rate of links without a rate in the files.
    length
        Length of links without a length or delay in the files. Default: Penstock's default.
    time_unit
        Unit of the start times in a connection matrix. Programs use different units. Default: "us".
    interface
        Port to read if a file contains ports with different settings. Default: a port with the most common
        configuration.
    cell
        Cell size of the switch's memory, such as "208 B", if a file counts cells.
    buffer
        Size of the switch's shared memory, such as "64 MiB", if a file contains fractions of it.
    """

    rate: str | None = None
    length: str | None = None
    time_unit: Literal["us", "ps"] | None = None
    interface: str | None = None
    cell: str | None = None
    buffer: str | None = None


def import_(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    /,
    *,
    format: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    like: str | None = None,
    duration: str | None = None,
    options: Open = Open(),
    out: Path = Path("imported.toml"),
) -> int:
    """Converts files of other formats (fabrics, traffic, switch settings) to a scenario.

    Parameters
    ----------
    files
        One file, or several that belong together, such as a fabric and its traffic; or a folder with the
        CONFIG_DB of each switch of a fabric.
    format
        Format of each file, in their order, repeatable. Default: detected from the contents.
    like
        Scenario, by name or file, for all settings that the files do not contain.
    duration
        Simulated time. Default: that of --like; with traffic, the interval from the first to the last start,
        plus twice the transmission time of the busiest host.
    out
        Scenario to write. Lists of transfers or sizes are written next to it. Existing files are not
        overwritten.
    """
    from penstock.interchange.files import document
    from penstock.interchange.formats import format_of, read_all
    from penstock.interchange.join import join

    if format and len(format) != len(files):
        raise InputError(
            f"--format was given {len(format)} times; expected it once for each of {len(files)} files"
        )
    beside = {kind: out.with_name(f"{out.stem}.{kind}.csv") for kind in ("transfers", "sizes")}
    for path in (out, *beside.values()):
        if path.exists():
            raise InputError(f"{path}: exists; choose another name")
    if any(path.is_dir() for path in files):
        return _import_folder(files, format, like, duration, options, out)
    found = []
    for number, path in enumerate(files):
        text = document(path, **vars(options))
        known = format_of(text, format[number] if format else None)
        say(f"{path}: {known.name}, {known.about}")
        found.append((known, text))
    read = list(zip((text for _, text in found), read_all(found), strict=True))
    return _written(join(read, out, like=_like(like), duration=duration), out)


def _import_folder(
    files: tuple[Path, ...],
    format: tuple[str, ...],
    like: str | None,
    duration: str | None,
    options: Open,
    out: Path,
) -> int:
    """Writes a scenario from a folder with the configurations of all switches of a fabric."""
    from penstock.interchange.files import document
    from penstock.interchange.sonic_fabric import read_folder

    if len(files) != 1 or format not in ((), ("sonic",)):
        raise InputError(
            f"{files[0]}: expected no other files with a folder, which has a SONiC CONFIG_DB for each switch"
        )

    def read(path: Path) -> Document:
        return document(path, **vars(options))

    return _written(read_folder(files[0], read, out, like=_like(like), duration=duration), out)


def _like(name: str | None) -> library.Source | None:
    return None if name is None else library.read(name)


def _written(joined: Joined, out: Path) -> int:
    """Writes a scenario and its lists, and prints the remarks."""
    beside = {kind: out.with_name(f"{out.stem}.{kind}.csv") for kind in ("transfers", "sizes")}
    for remark in joined.remarks:
        say(f"note: {remark}")
    _write(out, joined.text, {path: text for kind, path in beside.items() if (text := getattr(joined, kind))})
    has_traffic = any(line.startswith(TRAFFIC) for line in joined.text.splitlines())
    console().print(
        f"{out} written; run it with: penstock run {out}"
        if has_traffic
        else f"{out} written, without traffic; add [[flows]] or [[transfers]], or use --like SCENARIO"
    )
    return EXIT_DONE


def _write(out: Path, text: str, beside: dict[Path, str]) -> None:
    """Writes all files, or none if the scenario is invalid."""
    try:
        for path, listed in beside.items():
            path.write_text(listed, "utf-8")
        with running.engine_errors():
            _core.check(text, str(out))
        out.write_text(text, "utf-8")
    except BaseException:
        for path in beside:
            path.unlink(missing_ok=True)
        raise
