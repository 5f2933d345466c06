"""``penstock capture``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from penstock import _core, library
from penstock.errors import InputError

from . import EXIT_DONE
from .console import say

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.result import Result

COLUMNS = ("time_ps", "priority", "bytes", "word", "ecn")
"""Columns of the table `frames` that cross as they are."""
XOFF = 0xFF
"""Bits of the word of a pause frame that name the priorities that it stops."""


def capture(run: str, /, *, out: Path, port: tuple[str, ...] = ()) -> int:
    """Writes the frames of a run as pcapng, for Wireshark and `penstock decode`.

    Every port is an interface. Headers are made up: stations are numbered, flows have ports of UDP or TCP,
    and priorities are those of VLAN tags. What was dropped has a comment that says why, as have pauses.

    Parameters
    ----------
    run
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
    result = _result(run, port)
    if "frames" not in set(result) or result.table("frames").num_rows == 0:
        raise InputError(
            f"{run}: no frames were logged; name ports with --port (of a scenario), or add to the scenario: "
            '[[probes]] what = "frames" which = "PORT"'
        )
    table = result.table("frames")
    ports = _ports(result, table)
    unfinished = out.with_name(out.name + ".part")
    try:
        _core.write_log(str(unfinished), ports, _log(result, table, [name for name, _ in ports]))
        unfinished.replace(out)
    except ValueError as error:
        raise InputError(f"{run}: {error}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    say(f"capture  {out}: {table.num_rows:,} frames at {len(ports):,} ports")
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
        scenario = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError:
        return source.text  # the engine says what is wrong, and where
    probes = scenario.get("probes", [])
    chosen = probes if isinstance(probes, list) else []
    return tomli_w.dumps({**scenario, "probes": [*chosen, {"what": "frames", "which": list(port)}]})


def _ports(result: Result, table: pa.Table) -> list[tuple[str, int | None]]:
    """Names and rates of the ports in the log, in the order of the table `ports`."""
    logged = set(table["port"].unique().to_pylist())
    ports = result.table("ports")
    rates = zip(ports["port"].to_pylist(), ports["rate_bps"].to_pylist(), strict=True)
    return [(name, int(rate)) for name, rate in rates if name in logged]


def _log(result: Result, table: pa.Table, ports: list[str]) -> dict[str, Any]:
    """The columns that the engine reads: whole numbers, and names by their places in lists."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def places(column: str, names: list[str]) -> Any:
        found = pc.index_in(table[column].cast(pa.string()), value_set=pa.array(names))
        return _numbers(pc.fill_null(found, 0))

    def words(column: str) -> list[str]:
        return sorted(set(table[column].cast(pa.string()).to_pylist()))

    nodes = [node["name"] for node in result.topology["nodes"]]
    kinds = words("kind")
    causes = words("cause")
    pauses = pc.is_in(table["kind"].cast(pa.string()), value_set=pa.array(["pause", "pfc"]))
    stops = pc.not_equal(pc.bit_wise_and(table["word"].cast(pa.uint64()), XOFF), 0)
    comments = ["", "XOFF", "XON", *(f"dropped: {cause}" for cause in causes)]
    said = pc.if_else(pauses, pc.if_else(stops, 1, 2), 0)
    dropped = pc.equal(table["event"].cast(pa.string()), "dropped")
    said = pc.if_else(dropped, pc.add(pa.array(places("cause", causes)), 3), said)
    return {
        **{column: _numbers(table[column]) for column in COLUMNS},
        "kinds": kinds,
        "comments": comments,
        "kind": places("kind", kinds),
        "comment": _numbers(said),
        "outward": places("direction", ["in", "out"]),
        "port": places("port", ports),
        "flow": places("flow", words("flow")),
        "source": places("source", nodes),
        "destination": places("destination", nodes),
    }


def _numbers(column: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(column.to_numpy(), dtype=np.uint64)
