"""Writes the logged frames of a run as pcapng."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core, arrow, library
from penstock.measurements import numpy_of

from .code_points import NONE, CodePoints

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.result import Result

COLUMNS = ("time_ps", "source_port", "destination_port", "priority", "bytes", "word", "ecn")
"""Columns of the table `frames` that are passed to the engine unchanged."""
VERBS = ["", "send", "write", "read", "write_with_immediate", "read_request"]
"""Kinds of RDMA messages, in the engine's numbering."""
PROTOCOLS = ["", "tcp", "rdma", "fcoe", "uet"]
"""Protocols of connections, in the engine's numbering."""
SAMPLED_KINDS = ("raw", "data", "ack", "marked_ack", "cnp", "part")
"""Congestion controls whose congestion points sample frames."""
UNIT_BYTES = 64
"""Fields of a congestion message that describe the queue."""
XOFF = 0xFF
"""Bits of the priority enable vector in a pause frame."""


def write_capture(result: Result, out: Path) -> tuple[int, list[str]]:
    """Writes the table `frames` of a result with synthesized headers; returns its port count, and remarks.

    The file appears only once it is complete.

    Raises
    ------
    ValueError
        If the engine has no headers for a frame.
    """
    table = result.table("frames")
    ports = _ports(result, table)
    if "protocol" in table.column_names and "mrc" in table["protocol"].unique().to_pylist():
        raise ValueError(
            "the log has frames of MRC, whose headers captures do not have yet; "
            "leave the ports of its hosts out of [[probes]], or read the table `frames`"
        )
    dscps, remarks = _code_points(result, table)
    unfinished = out.with_name(out.name + ".part")
    try:
        log = {**_log(result, table, [name for name, _ in ports]), "dscp": dscps}
        log.update(_congestion(result, table, log["kinds"]))
        _core.write_log(str(unfinished), ports, log)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    return len(ports), remarks


def _ports(result: Result, table: pa.Table) -> list[tuple[str, int | None]]:
    """Names and rates of the ports in the log, in the order of the table `ports`."""
    logged = set(table["port"].unique().to_pylist())
    ports = result.table("ports")
    rates = zip(ports["port"].to_pylist(), ports["rate_bps"].to_pylist(), strict=True)
    return [(name, int(rate)) for name, rate in rates if name in logged]


def _code_points(result: Result, table: pa.Table) -> tuple[Any, list[str]]:
    """The DSCP of each frame, and remarks on DSCPs that are ambiguous."""
    import numpy as np

    known = CodePoints.of(library.toml(result.scenario_toml))
    of_flow, flows = arrow.codes(table["flow"])
    priorities = _numbers(table["priority"])
    by_flow = np.full((max(len(flows), 1), 32), NONE, np.uint64)
    remarks = []
    for row, flow in enumerate(flows.to_pylist()):
        for priority in np.unique(priorities[of_flow == row]).tolist() if known.own else []:
            codes = known.at(flow, priority)
            by_flow[row, priority] = codes[0] if codes else NONE
            if len(codes) > 1:
                listed = " or ".join(map(str, codes))
                remarks.append(
                    f"{flow}: switches change its DSCP but not its class, so frames of priority "
                    f"{priority} may have {listed}; the capture has {codes[0]}"
                )
    codes = by_flow[of_flow, priorities]
    is_data = np.asarray(table["kind"].cast("string")) == "data"
    for row, flow in enumerate(flows.to_pylist()):
        own = is_data & (of_flow == row)
        for priority in np.unique(priorities[own]).tolist() if known.trimmed else []:
            code = known.trimmed_at(flow, priority)
            if code is not None:
                codes[own & (priorities == priority)] = code
    return np.ascontiguousarray(codes), remarks


def _log(result: Result, table: pa.Table, ports: list[str]) -> dict[str, Any]:
    """The columns that the engine reads: integers, and names as indexes into lists."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def places(column: str, names: list[str]) -> Any:
        found = pc.index_in(table[column].cast(pa.string()), value_set=arrow.strings(names))
        return _numbers(arrow.call("fill_null", found, 0))

    def words(column: str) -> list[str]:
        return sorted(set(table[column].cast(pa.string()).to_pylist()))

    nodes = [node["name"] for node in result.topology["nodes"]]
    # A congestion message may repeat a kind of frame that does not occur in the log.
    kinds = sorted({*words("kind"), *SAMPLED_KINDS})
    causes = words("cause")
    pauses = pc.is_in(table["kind"].cast(pa.string()), value_set=arrow.strings(["pause", "pfc"]))
    stops = arrow.call("not_equal", arrow.call("bit_wise_and", table["word"].cast(pa.uint64()), XOFF), 0)
    comments = ["", "XOFF", "XON", *(f"dropped: {cause}" for cause in causes)]
    comment = arrow.call("if_else", pauses, arrow.call("if_else", stops, 1, 2), 0)
    dropped = arrow.call("equal", table["event"].cast(pa.string()), "dropped")
    zeros = _numbers(arrow.call("multiply", comment, 0))  # results of older versions lack the columns
    comment = arrow.call(
        "if_else", dropped, arrow.call("add", arrow.numbers(places("cause", causes)), 3), comment
    )
    return {
        **{column: _numbers(table[column]) for column in COLUMNS},
        "kinds": kinds,
        "comments": comments,
        "kind": places("kind", kinds),
        "verb": places("verb", VERBS) if "verb" in table.column_names else zeros,
        "protocol": places("protocol", PROTOCOLS) if "protocol" in table.column_names else zeros,
        "message_bytes": _numbers(table["message_bytes"]) if "message_bytes" in table.column_names else zeros,
        "comment": _numbers(comment),
        "outward": places("direction", ["in", "out"]),
        "port": places("port", ports),
        "flow": places("flow", words("flow")),
        "source": places("source", nodes),
        "destination": places("destination", nodes),
    }


def _congestion(result: Result, table: pa.Table, kinds: list[str]) -> dict[str, Any]:
    """CN-TAGs, each plus one, and the fields of congestion messages by row of the log; 0 for other rows."""
    import numpy as np

    def zeros() -> Any:
        return np.zeros(table.num_rows, np.uint64)

    names = ("congestion_point", "sampled_priority", "sampled_bytes", "sampled_word", "octets")
    columns = {name: zeros() for name in ("cn_tag", "offset", "delta", "sampled_kind", *names)}
    if "cn_tag" not in table.column_names:
        return columns  # results of older versions lack the columns
    number, tags = arrow.codes(table["cn_tag"])
    if table.num_rows:
        numbers = np.array([int(tag) + 1 if tag else 0 for tag in tags.to_pylist()], np.uint64)
        columns["cn_tag"] = np.ascontiguousarray(numbers[number])
    for comment in result.rows("congestion_messages"):
        row = int(comment["row"])
        for name in names:
            columns[name][row] = comment[name]
        columns["sampled_kind"][row] = kinds.index(str(comment["sampled_kind"]))
        for name in ("offset", "delta"):
            columns[name][row] = round(float(comment[f"{name}_bytes"]) / UNIT_BYTES) % (1 << 64)
    return columns


def _numbers(column: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(numpy_of(column), dtype=np.uint64)
