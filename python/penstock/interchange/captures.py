"""Logged frames of a run as pcapng."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock.measurements import numpy_of

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.result import Result

COLUMNS = ("time_ps", "source_port", "destination_port", "priority", "bytes", "word", "ecn")
"""Columns of the table `frames` that cross as they are."""
VERBS = ["", "send", "write", "read"]
"""What messages of RDMA are, in the order that the engine knows."""
XOFF = 0xFF
"""Bits of the word of a pause frame that name the priorities that it stops."""


def write_capture(result: Result, out: Path) -> int:
    """Writes the table `frames` of a result, with headers made up: the number of ports in it.

    The file is there when it is whole.

    Raises
    ------
    ValueError
        If the engine has no headers for a frame.
    """
    table = result.table("frames")
    ports = _ports(result, table)
    unfinished = out.with_name(out.name + ".part")
    try:
        _core.write_log(str(unfinished), ports, _log(result, table, [name for name, _ in ports]))
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    return len(ports)


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
        "verb": places("verb", VERBS) if "verb" in table.column_names else _numbers(pc.multiply(said, 0)),
        "comment": _numbers(said),
        "outward": places("direction", ["in", "out"]),
        "port": places("port", ports),
        "flow": places("flow", words("flow")),
        "source": places("source", nodes),
        "destination": places("destination", nodes),
    }


def _numbers(column: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(numpy_of(column), dtype=np.uint64)
