"""The one JSON object that ``penstock run --json`` prints. Its schema is ``schemas/run.schema.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from penstock.analysis import connections, transfers
from penstock.analysis.verdict import unfinished, verdict
from penstock.measurements import numpy_of

from .rows import Rows, mapped

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.measurements import Measurements

SCHEMA = "penstock-run/1"

MOST_FLOWS_JUDGED = 256
MOST_PATHS_JUDGED = 4_096
MOST_STEPS_JUDGED = 100
"""With more the fair shares would take longer than many a run; ``penstock fair`` computes them."""

_RUN_KEYS = (
    "name",
    "seed",
    "fingerprint",
    "engine_version",
    "simulated_s",
    "duration_s",
    "load_s",
    "build_s",
    "wall_s",
    "events",
    "frame_hops",
    "complete",
    "warnings",
)
_FLOW_KEYS = (
    "class",
    "source",
    "destination",
    "offered_bps",
    "throughput_bps",
    "goodput_bps",
    "frames_sent",
    "frames_delivered",
    "frames_dropped",
    "jitter_ns",
    "throughput_stddev_bps",
)
_PORT_KEYS = (
    "utilisation",
    "queue_bytes_mean",
    "queue_bytes_max",
    "drops",
    "pauses_sent",
    "pauses_received",
    "paused_s",
)
_QUEUE_KEYS = ("class", "frames", "queue_bytes_mean", "queue_bytes_max", "drops")
_CONNECTION_KEYS = (
    "endpoint",
    "round_trips",
    "exchanges",
    "application_bytes",
    "completed_ns",
    "segments_sent_again",
    "frames_discarded",
)
_STATISTICS = ("mean", "p50", "p90", "p99", "p999", "max")


def summarise(result: Measurements) -> dict[str, Any]:
    """A result as plain values: numbers that are not known, such as the latency of nothing, are ``None``."""
    return {key: list(value) if isinstance(value, Rows) else value for key, value in in_rows(result).items()}


def in_rows(result: Measurements) -> dict[str, Any]:
    """A summary with `Rows` in place of the lists that are as long as the fabric is large."""
    return {
        "schema": SCHEMA,
        "verdict": verdict(result).to_dict(),
        "unfinished": asdict(unfinished(result)),
        **{key: result.run[key] for key in _RUN_KEYS if key in result.run},
        "flows": _flows(result.table("flows")),
        "ports": _ports(result.table("ports")),
        "queues": Rows(
            result.table("queues"), mapped(("port", *_QUEUE_KEYS)), {"wait_ns": _statistics("wait")}
        ),
        "connections": _connections(result),
        "transfers": [asdict(entry) for entry in transfers.totals(result)],
        "fairness": fairness(result),
    }


def _connections(result: Measurements) -> Rows | list[dict[str, Any]]:
    if "connections" not in result.table_names:
        return []
    timed = {
        f"{what}_ns": {name: f"{what}_{name}_ns" for name in connections.DURATIONS}
        for what in ("round_trip", "exchange")
    }
    return Rows(connections.table(result), {"name": "flow", **mapped(_CONNECTION_KEYS)}, timed)


def flows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of the table ``flows`` as the summary has them."""
    return list(_flows(table))


def _flows(table: pa.Table) -> Rows:
    return Rows(table, {"name": "flow", **mapped(_FLOW_KEYS)}, {"latency_ns": _statistics("latency")})


def ports(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of the table ``ports`` as the summary has them."""
    return list(_ports(table))


def _ports(table: pa.Table) -> Rows:
    return Rows(table, {"name": "port", **mapped(_PORT_KEYS)})


def fairness(result: Measurements) -> dict[str, Any]:
    """Jain's index over the throughput of all flows, ``None`` without flows; and `against_max_min`."""
    from penstock.analysis.statistics import jain

    column = result.table("flows")["throughput_bps"]
    throughput = numpy_of(column.drop_null()).tolist()
    return {"jain": jain(throughput) if throughput else None, "max_min": against_max_min(result)}


def against_max_min(result: Measurements) -> dict[str, Any] | None:
    """How far the run was from what its schedulers promise: weighted max-min, strict classes first.

    Rates are counted as the schedulers count. ``None`` for one flow, for very many, and where schedulers
    promise nothing: of connections, for example, which ask for what their windows allow.
    """
    if not {"paths", "demands"} <= set(result.table_names):
        return None
    flows, paths = result.table("flows").num_rows, result.table("paths").num_rows
    if not (1 < flows <= MOST_FLOWS_JUDGED and 0 < paths <= MOST_PATHS_JUDGED):
        return None
    from penstock.analysis.class_weights import accounted_length
    from penstock.analysis.oracle import assess
    from penstock.errors import ConvergenceError

    try:
        counts: Any = accounted_length(result) or "frame"
        found = assess(result, counts=counts, proportional=False, most_steps=MOST_STEPS_JUDGED)
    except ConvergenceError:
        return None  # more changes than are worth waiting for
    verdict = found.verdict() if found.is_promised else None
    return None if verdict is None else asdict(verdict)


def _pick(row: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: row[key] for key in keys if key in row}


def _statistics(quantity: str) -> dict[str, str]:
    """The columns of the statistics of a quantity."""
    return {name: f"{quantity}_{name}_ns" for name in _STATISTICS}
