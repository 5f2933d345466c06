"""``penstock capture``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

from penstock import library
from penstock.errors import InputError, TomlError
from penstock.interchange import captures

from . import EXIT_DONE
from .console import say

if TYPE_CHECKING:
    from penstock.result import Result


def capture(result: str, /, *, out: Path, port: tuple[str, ...] = ()) -> int:
    """Writes the frames of a run as pcapng, for Wireshark and `penstock decode`.

    Every port is an interface. Headers are made up: stations are numbered; the ports of UDP and TCP
    are those that switches hash, priorities are those of VLAN tags, and a DSCP is in the header of IPv4. What
    was dropped has a comment that says why, as have pauses.

    Parameters
    ----------
    result
        Directory of a result whose scenario logs frames (`[[probes]]` with `what = "frames"`); or a
        scenario, by file or name, which is run first.
    out
        The file to write.
    port
        Ports of a scenario to log, repeatable: names as `which` of `[[probes]]` takes them. Default: what the
        scenario logs.
    """
    if not out.parent.is_dir():
        raise InputError(f"--out {out}: {out.parent} is no directory")
    logged = _result(result, port)
    if "frames" not in set(logged) or logged.table("frames").num_rows == 0:
        raise InputError(
            f"{result}: no frames were logged; name ports of a scenario with --port, or add to it: "
            '[[probes]] what = "frames" which = "PORT"'
        )
    try:
        ports, remarks = captures.write_capture(logged, out)
    except ValueError as error:
        raise InputError(f"{result}: {error}") from error
    for remark in remarks:
        say(f"note: {remark}")
    say(f"capture  {out}: {logged.table('frames').num_rows:,} frames at {ports:,} ports")
    return EXIT_DONE


def _result(run: str, port: tuple[str, ...]) -> Result:
    from penstock import running
    from penstock.result import Result

    from .progress import stop_on_interrupt, watching

    if Path(run).is_dir():
        if port:
            raise InputError("--port is for scenarios; a result has the ports that were logged")
        return Result.load(run)
    source = library.read(run)
    if port:
        source = library.Source(_logging(source, port), f"{source.file} with --port")
    with stop_on_interrupt() as wish, watching(wish) as watch:
        return running.run_source(source, progress=watch)


def _logging(source: library.Source, port: tuple[str, ...]) -> str:
    """The scenario, with a log of frames at these ports beside the probes that it chooses."""
    try:
        scenario = library.toml(source.text)
    except TomlError:
        return source.text  # the engine says what is wrong, and where
    probes = scenario.get("probes", [])
    chosen = probes if isinstance(probes, list) else []
    return tomli_w.dumps({**scenario, "probes": [*chosen, {"what": "frames", "which": list(port)}]})
