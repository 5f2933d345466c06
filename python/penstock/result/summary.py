"""JSON object printed by ``penstock run --json``. Its schema is ``schemas/run.schema.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
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
"""Maximum number of flows for fair shares in a summary; for more use ``penstock fair``."""

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
_STATISTICS = ("mean", "p50", "p90", "p99", "p999", "max")


@dataclass(frozen=True)
class Part:
    """List in the summary with an object for each row of the table with that name.

    Attributes
    ----------
    name : tuple[str, str]
        Field that identifies the row, and its column.
    columns : tuple[str, ...]
        Columns that become fields with the same name.
    durations : Mapping[str, tuple[str, tuple[str, ...]]]
        Fields that are objects: quantity and its statistics, in nanoseconds. Statistics of a quantity
        that was not measured are ``None``.
    """

    name: tuple[str, str]
    columns: tuple[str, ...]
    durations: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    def statistics(self) -> Iterator[tuple[str, str, str]]:
        """Yields field, statistic and column of each duration."""
        for key, (quantity, names) in self.durations.items():
            for name in names:
                yield key, name, f"{quantity}_{name}_ns"

    def rows(self, table: pa.Table) -> Rows:
        """Returns the objects of a table; columns that an older version did not write are omitted."""
        key, column = self.name
        nested: dict[str, dict[str, str]] = {}
        for field_name, statistic, source in self.statistics():
            nested.setdefault(field_name, {})[statistic] = source
        return Rows(table, {key: column, **mapped(self.columns)}, nested)


PARTS: Mapping[str, Part] = {
    "flows": Part(
        ("name", "flow"),
        (
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
        ),
        {"latency_ns": ("latency", _STATISTICS)},
    ),
    "ports": Part(
        ("name", "port"),
        (
            "utilisation",
            "queue_bytes_mean",
            "queue_bytes_max",
            "drops",
            "pauses_sent",
            "pauses_received",
            "paused_s",
        ),
    ),
    "queues": Part(
        ("port", "port"),
        ("class", "frames", "queue_bytes_mean", "queue_bytes_max", "drops"),
        {"wait_ns": ("wait", _STATISTICS)},
    ),
    "connections": Part(
        ("name", "flow"),
        (
            "endpoint",
            "round_trips",
            "exchanges",
            "application_bytes",
            "completed_ns",
            "segments_sent_again",
            "frames_discarded",
        ),
        {
            "round_trip_ns": ("round_trip", connections.DURATIONS),
            "exchange_ns": ("exchange", connections.DURATIONS),
        },
    ),
}
"""Columns in the summary. Types and meanings of fields are those of the columns."""


def summarise(result: Measurements) -> dict[str, Any]:
    """Returns a result as JSON values; unknown numbers, such as the latency of an idle flow, are ``None``."""
    return {key: list(value) if isinstance(value, Rows) else value for key, value in in_rows(result).items()}


def in_rows(result: Measurements) -> dict[str, Any]:
    """Returns a summary with `Rows` in place of lists whose length grows with the fabric."""
    return {
        "schema": SCHEMA,
        "verdict": verdict(result).to_dict(),
        "unfinished": asdict(unfinished(result)),
        **{key: result.run[key] for key in _RUN_KEYS if key in result.run},
        **{name: PARTS[name].rows(result.table(name)) for name in ("flows", "ports", "queues")},
        "connections": _connections(result),
        "transfers": [asdict(entry) for entry in transfers.totals(result)],
        "fairness": fairness(result),
    }


def _connections(result: Measurements) -> Rows | list[dict[str, Any]]:
    if "connections" not in result.table_names:
        return []
    return PARTS["connections"].rows(connections.table(result))


def flows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of the table ``flows`` in the form of the summary."""
    return list(PARTS["flows"].rows(table))


def ports(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of the table ``ports`` in the form of the summary."""
    return list(PARTS["ports"].rows(table))


def fairness(result: Measurements) -> dict[str, Any]:
    """Jain's index of the throughput of all flows, ``None`` without flows; and `against_max_min`."""
    from penstock.analysis.statistics import jain

    column = result.table("flows")["throughput_bps"]
    throughput = numpy_of(column.drop_null()).tolist()
    return {"jain": jain(throughput) if throughput else None, "max_min": against_max_min(result)}


def against_max_min(result: Measurements) -> dict[str, Any] | None:
    """Compares the run with its guaranteed shares: weighted max-min, strict classes first.

    Rates count the same bytes as the schedulers. ``None`` for a single flow, for too many flows, and if
    schedulers do not guarantee shares, for example for connections, whose demand depends on their windows.
    """
    if not {"paths", "demands"} <= set(result.table_names):
        return None
    if "jobs" in result.table_names and result.table("jobs").num_rows:
        return None  # ranks wait for each other, so their traffic is not a fixed demand
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
        return None  # too many changes of the shares
    verdict = found.verdict() if found.is_guaranteed else None
    return None if verdict is None else asdict(verdict)
