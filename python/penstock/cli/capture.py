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

    Each port becomes an interface of the capture. Headers are synthetic: addresses are assigned to stations,
    UDP and TCP ports are those that switches hash, priorities are in VLAN tags, and the DSCP is in the IPv4
    header. Dropped frames and pause frames have a comment with the reason.

    Parameters
    ----------
    result
        Directory of a result whose scenario logs frames (`[[probes]]` with `what = "frames"`). Or a scenario,
        by file or name; it is run first.
    out
        File to write.
    port
        Port of the scenario to log, repeatable, named as in `which` of `[[probes]]`. Default: the ports that
        the scenario logs.
    """
    if not out.parent.is_dir():
        raise InputError(f"--out {out}: {out.parent} is not a directory")
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
            raise InputError("--port applies to scenarios; a result contains only the ports that were logged")
        return Result.load(run)
    source = library.read(run)
    if port:
        source = library.Source(_logging(source, port), f"{source.file} with --port")
    with stop_on_interrupt() as wish, watching(wish) as watch:
        return running.run_source(source, progress=watch)


def _logging(source: library.Source, port: tuple[str, ...]) -> str:
    """Returns the scenario with a frame log at these ports in addition to its own probes."""
    try:
        scenario = library.toml(source.text)
    except TomlError:
        return source.text  # the engine reports the error with its position
    probes = scenario.get("probes", [])
    chosen = probes if isinstance(probes, list) else []
    return tomli_w.dumps({**scenario, "probes": [*chosen, {"what": "frames", "which": list(port)}]})
