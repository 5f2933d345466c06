"""The one JSON object that ``penstock run --json`` prints. Its schema is ``schemas/run.schema.json``."""

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
_STATISTICS = ("mean", "p50", "p90", "p99", "p999", "max")


@dataclass(frozen=True)
class Part:
    """A list of the summary: it has an object for each row of the table of its name.

    Attributes
    ----------
    name : tuple[str, str]
        Field that identifies the row, and its column.
    columns : tuple[str, ...]
        Columns that are fields of their own name.
    durations : Mapping[str, tuple[str, tuple[str, ...]]]
        Fields that are objects: the quantity and its statistics, in nanoseconds. Statistics of a quantity
        that was never measured are ``None``.
    """

    name: tuple[str, str]
    columns: tuple[str, ...]
    durations: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    def statistics(self) -> Iterator[tuple[str, str, str]]:
        """The field, the statistic and the column of each duration."""
        for key, (quantity, names) in self.durations.items():
            for name in names:
                yield key, name, f"{quantity}_{name}_ns"

    def rows(self, table: pa.Table) -> Rows:
        """The objects of a table; columns that an older version did not write are left out."""
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
"""Columns of the tables that the summary has. Types and meanings of its fields are those of the columns."""


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
    """Rows of the table ``flows`` as the summary has them."""
    return list(PARTS["flows"].rows(table))


def ports(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of the table ``ports`` as the summary has them."""
    return list(PARTS["ports"].rows(table))


def fairness(result: Measurements) -> dict[str, Any]:
    """Jain's index over the throughput of all flows, ``None`` without flows; and `against_max_min`."""
    from penstock.analysis.statistics import jain

    column = result.table("flows")["throughput_bps"]
    throughput = numpy_of(column.drop_null()).tolist()
    return {"jain": jain(throughput) if throughput else None, "max_min": against_max_min(result)}


def against_max_min(result: Measurements) -> dict[str, Any] | None:
    """How far the run was from what its schedulers promise: weighted max-min, strict classes first.

    Rates are counted as the schedulers count. ``None`` for one flow, for very many, and where schedulers
    guarantee no shares: for connections, for example, whose demand depends on their windows.
    """
    if not {"paths", "demands"} <= set(result.table_names):
        return None
    if "jobs" in result.table_names and result.table("jobs").num_rows:
        return None  # ranks send when others let them, which is not a demand
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
    verdict = found.verdict() if found.is_guaranteed else None
    return None if verdict is None else asdict(verdict)
