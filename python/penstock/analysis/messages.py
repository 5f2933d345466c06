"""Slow RDMA messages: delay of each compared with the same message alone, divided by cause.

The engine divides the time of each message from start to acknowledgement (table ``message_times``). The
parts minus the ideal time of the message sum to its delay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from penstock import arrow
from penstock.errors import InputError
from penstock.measurements import of_result, rows
from penstock.units import duration, instant, rate, size

from . import failures

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.measurements import Measurements

WORDS = {
    "behind": "earlier messages of its queue pair",
    "rate": "rate of congestion control",
    "window": "window of congestion control",
    "receiver": "receiver not ready",
    "pause": "pauses at its NIC",
    "host": "NIC busy",
    "again": "retransmissions and timeouts",
    "queues": "queues and pauses on its path",
}
"""Causes of the delay of a message. All but the last are columns of the table ``message_times``.

"queues" is the remainder; it is negative if the NIC accepted packets early. For a READ it includes the path
of the request and the wait for earlier READs in flight; the table combines them as `request_ns`.
"""

_QUEUES_OF_READ = "wait for its request, queues and pauses on the paths in both directions"

SEPARATOR = "#"
"""Separates the name of an entry from the number of one of its transfers."""

_LEAST = 0.0005
"""Share of the delay of a message below which a cause is not listed."""
_QUEUES_NAMED = 2


@dataclass(frozen=True)
class Message:
    """A complete RDMA message: acknowledged, or read.

    Attributes
    ----------
    transfer : int
        Row in the table ``transfers``, from 0.
    row : dict
        Contents of that row.
    spent : dict
        Row of the message in the table ``message_times``.
    flow : str
        Flow that carried the message.
    """

    transfer: int
    row: dict[str, Any]
    spent: dict[str, Any]
    flow: str

    @property
    def late_ns(self) -> float:
        """Additional time compared with the same message alone."""
        return float(self.row["completion_ns"] - self.row["ideal_ns"])

    @property
    def late_by(self) -> dict[str, float]:
        """Delay in nanoseconds, by the keys of `WORDS`. The values sum to `late_ns`."""
        parts = {what: float(self.spent[f"{what}_ns"]) for what in WORDS if what != "queues"}
        # The ideal time is sending plus propagation; the acknowledgement returns after the delivery.
        return {**parts, "queues": self.late_ns - sum(parts.values())}

    def to_dict(self) -> dict[str, Any]:
        """Returns the message as a JSON object."""
        copied = (
            "name",
            "source",
            "destination",
            "bytes",
            "start_ns",
            "completion_ns",
            "ideal_ns",
            "slowdown",
        )
        return {
            "transfer": self.transfer,
            "flow": self.flow,
            **{name: self.row[name] for name in copied},
            "late_ns": self.late_ns,
            "late_by_ns": self.late_by,
            **{name: self.spent[name] for name in ("queue_pair", "cnps", "marks", "naks")},
            "packets_sent_again": self.row["segments_sent_again"],
            "timeouts": self.row["timeouts"],
        }


@dataclass(frozen=True)
class Span:
    """Transmission of a message.

    Attributes
    ----------
    ports : list of str
        Egress ports on its path.
    priority : int
        Priority of its frames.
    start_ns, end_ns : float
        Start and delivery.
    """

    ports: list[str]
    priority: int
    start_ns: float
    end_ns: float


@of_result
def named(result: Measurements, name: str) -> Message | None:
    """Returns the message ``ENTRY#NUMBER``, or ``None`` if the name does not have this form.

    Raises
    ------
    InputError
        If the result has no such RDMA transfer, or it is not complete.
    """
    entry, separator, number = name.rpartition(SEPARATOR)
    if not separator or "message_times" not in result.table_names:
        return None
    transfers = result.table("transfers")
    own = pc.indices_nonzero(arrow.call("equal", transfers["name"], entry))
    expected = f"; expected its row in the table transfers, {own[0]} to {own[-1]}" if len(own) else ""
    if not number.isdecimal():
        if not expected or any(name in (row["port"], row["node"]) for row in result.rows("ports")):
            return None
        raise InputError(f"{name!r}: {number!r} is not the number of a transfer{expected}")
    if (
        int(number) >= transfers.num_rows
        or (row := rows(transfers.slice(int(number), 1))[0])["name"] != entry
    ):
        raise InputError(f"{name!r}: transfer {number} of this result is none of {entry!r}{expected}")
    times = result.table("message_times")
    found = rows(times.filter(arrow.call("equal", times["transfer"], int(number))))
    if not found or row["completion_ns"] is None:
        what = "expected a complete RDMA message"
        failed = failures.of_flows(result, {_flow_of(result, row)}, row["destination"])
        because = f". {failed.removesuffix('.')}" if failed else ""
        raise InputError(f"{name!r}: its time was not measured; {what}{because}")
    return Message(int(number), row, found[0], _flow_of(result, row))


@of_result
def slowest(result: Measurements, flows: set[str]) -> Message | None:
    """Returns the message of these flows with the largest slowdown; ``None`` without RDMA messages."""
    if "message_times" not in result.table_names or not (times := result.table("message_times")).num_rows:
        return None
    of_times = result.table("transfers").take(times["transfer"])
    own = _of_flows(result, of_times, flows)
    known = pc.and_(own, pc.is_finite(arrow.call("fill_null", of_times["slowdown"], math.nan)))
    if not pc.any(known).as_py():
        return None
    slowdown = arrow.call("if_else", known, of_times["slowdown"], 0.0)
    at = pc.index(slowdown, pc.max(slowdown)).as_py()
    row, spent = rows(of_times.slice(at, 1))[0], rows(times.slice(at, 1))[0]
    return Message(spent["transfer"], row, spent, _flow_of(result, row))


def sentences(result: Measurements, message: Message, *, paused: bool = True) -> Iterator[str]:
    """Describes a message in sentences.

    Parameters
    ----------
    result : Result
        The run.
    message : Message
        The message.
    paused : bool
        Includes the command that shows which queues caused its pauses. Default: true.
    """
    row, spent = message.row, message.spent
    name = f"{row['name']}{SEPARATOR}{message.transfer}"
    alone, took = duration(row["ideal_ns"]), duration(row["completion_ns"])
    yield (
        f"Message {name} ({size(row['bytes'])}, {row['source']} to {row['destination']}) started at "
        f"{instant(row['start_ns'])} and took {took}, {row['slowdown']:.4g} times its ideal time of {alone}."
    )
    yield from _lost(message)
    yield from _feedback(row, spent)
    if spent["rate_ns"] > 0 and spent["sending_ns"] > 0:
        share = spent["sending_ns"] / (spent["sending_ns"] + spent["rate_ns"])
        line = _line_bps(result, row["source"])
        mean = f", {rate(line * share)} on average" if line else ""
        yield f"While limited only by congestion control, it sent at {100 * share:.3g} % of link rate{mean}."
    yield from _lowest(result, message)
    yield from waited(result, _span(result, message))
    if paused and spent["pause_ns"] > 0:
        yield f"For the queues that caused the pauses: penstock why {message.flow}"


def _lost(message: Message) -> Iterator[str]:
    """Divides the delay by cause.

    Percentages are of all time lost, which exceeds the delay if the NIC accepted packets early.
    """
    late, parts = message.late_ns, message.late_by
    lost = late + max(-parts["queues"], 0.0)
    words = {**WORDS, "queues": _QUEUES_OF_READ} if message.spent["request_ns"] else WORDS
    shares = [
        f"{words[what]} {duration(ns)} ({100 * ns / lost:.3g} %)"
        for what, ns in sorted(parts.items(), key=lambda item: -item[1])
        if ns >= _LEAST * lost > 0
    ]
    if not shares:
        return
    if lost - late >= _LEAST * lost:
        yield (
            f"Delay {duration(max(late, 0.0))}: {', '.join(shares)}; {duration(lost - late)} recovered, "
            "because its NIC accepted packets early."
        )
    else:
        yield f"Delay {duration(late)}: {', '.join(shares)}."


def _feedback(row: dict[str, Any], spent: dict[str, Any]) -> Iterator[str]:
    counts = {
        "CNP": spent["cnps"],
        "echoed mark": spent["marks"],
        "NAK": spent["naks"],
        "timeout": row["timeouts"],
    }
    counted = [f"{number:,} {what}{'s' * (number != 1)}" for what, number in counts.items() if number]
    if counted:
        yield f"Its queue pair received {', '.join(counted)} in this time."
    if again := row["segments_sent_again"]:
        were = "1 packet was" if again == 1 else f"{again:,} packets were"
        yield f"{were} retransmitted."


def _lowest(result: Measurements, message: Message) -> Iterator[str]:
    """The lowest rate of its queue pair, if rates were recorded."""
    found = _series(result, "queue_pair_rate_bps", _pair_names(message))
    during = _during(found, _span(result, message))
    if during:
        at, lowest = min(during, key=lambda point: point[1])
        yield f"The lowest rate of its queue pair was {rate(lowest)}, around {instant(at)}."


def _span(result: Measurements, message: Message) -> Span:
    row = message.row
    return Span(
        _ports(result, message), row["class"], row["start_ns"], row["start_ns"] + row["completion_ns"]
    )


@of_result
def waited(result: Measurements, span: Span) -> Iterator[str]:
    """The longest queues on the path of a message, or, without series, the queue with the longest waits."""
    queues = [
        row for row in result.rows("queues") if row["port"] in span.ports and row["class"] == span.priority
    ]
    seen = []
    for queue in queues:
        name = f"{queue['port']}/{queue['class']}"
        during = _during(_series(result, "queue_bytes", {name}), span)
        if during:
            at, longest = max(during, key=lambda point: point[1])
            seen.append((longest, f"{name} ({size(longest)} around {instant(at)})"))
    if seen and max(seen)[0] > 0:
        entries = [text for level, text in sorted(seen, reverse=True)[:_QUEUES_NAMED] if level > 0]
        yield f"Longest queues on its path in this time: {', '.join(entries)}."
    elif not seen and (waits := [queue for queue in queues if queue["wait_max_ns"]]):
        most = max(waits, key=lambda queue: queue["wait_mean_ns"])
        yield (
            f"Longest mean wait on its path: {duration(most['wait_mean_ns'])} at "
            f"{most['port']}/{most['class']} (maximum {duration(most['wait_max_ns'])})."
        )


def _ports(result: Measurements, message: Message) -> list[str]:
    if "paths" not in result.table_names:
        return []
    paths = result.table("paths")
    at = message.row["path"]
    if at is None or at >= paths.num_rows:
        return []
    return str(paths["ports"][at].as_py()).split()


def _pair_names(message: Message) -> set[str]:
    pair = message.spent["queue_pair"]
    return {f"{message.flow}/{pair}", f"{message.flow}->{message.row['destination']}/{pair}"}


def _series(result: Measurements, metric: str, names: set[str]) -> tuple[Any, Any] | None:
    curves = result.curves().get(metric, {}) if "series" in result.table_names else {}
    return next((curves[name] for name in names if name in curves), None)


def _during(series: tuple[Any, Any] | None, span: Span) -> list[tuple[float, float]]:
    """Returns the bins of a series that overlap the transmission of a message."""
    if series is None or len(series[0]) < 2:
        return []
    times, values = series
    inside = (times + (times[1] - times[0]) > span.start_ns) & (times < span.end_ns)
    return list(zip(times[inside].tolist(), values[inside].tolist(), strict=True))


def _line_bps(result: Measurements, host: str) -> float | None:
    return next((row["rate_bps"] for row in result.rows("ports") if row["node"] == host), None)


def _flow_of(result: Measurements, row: dict[str, Any]) -> str:
    """Returns the flow of a transfer: its entry, or the flow of that entry from its source."""
    name, source = row["name"], row["source"]
    of_sender = f"{name}[{source}]"
    known = result.table("flows")["flow"].to_pylist()
    return of_sender if of_sender in known else name


def _of_flows(result: Measurements, transfers: pa.Table, flows: set[str]) -> pa.Array:
    """Returns true for each transfer that belongs to one of these flows."""
    pairs = {(_entry(flow), row["source"]) for row in result.rows("flows") if (flow := row["flow"]) in flows}
    names, sources = transfers["name"].to_pylist(), transfers["source"].to_pylist()
    return arrow.booleans([one in pairs for one in zip(names, sources, strict=True)])


def _entry(flow: str) -> str:
    return flow.partition("[")[0]
