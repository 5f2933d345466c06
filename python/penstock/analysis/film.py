"""State of each port over time, for the report page: one character per port and interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import arrow
from penstock.measurements import numpy_of, of_result

from .tiers import step

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

MOST_STRETCHES = 150
FEWEST_STRETCHES = 12
"""Minimum number of intervals; with fewer the page has no film."""
MOST_CHARACTERS = 1_000_000
"""Maximum number of characters; large fabrics have fewer intervals."""
_LEVELS = 9
_UNKNOWN = "-"


@of_result
def film(result: Measurements) -> dict[str, Any] | None:
    """Returns the film of the report page; ``None`` without port series, or if the fabric is too large.

    Keys: ``stretch_ns``, the length of an interval; ``ports``, their names. The other keys have one string
    per interval with one character per port. ``used``: utilisation level, 0 (idle) to 5 (full), "-" if
    unknown. ``paused``: share of the interval, 0 to 9. ``queued``: longest queue, 0 to 9, relative to the
    longest switch queue of the run, ``queue_bytes_max`` (host queues are unlimited). ``marked``, if frames
    were marked: 0 to 9, relative to the maximum of a port in an interval, ``marks_max``.
    """
    ports = result.table("ports")
    names: list[str] = ports["port"].to_pylist()
    sent = _points(result, "port_tx_bps", names)
    if sent is None or not names:
        return None
    bin_ns, end_ns = sent.bin_ns, float(result.run["simulated_s"]) * 1e9
    bins = int(np.ceil(end_ns / bin_ns))
    most = min(MOST_STRETCHES, MOST_CHARACTERS // (4 * len(names)), bins)
    if most < FEWEST_STRETCHES:
        return None
    stretch_ns = bin_ns * -(-bins // most)
    count = int(np.ceil(end_ns / stretch_ns))
    rates = sent.mean(stretch_ns, count)
    used = step(np.minimum(rates / _line_rates(ports)[:, None], 1.0))
    queues = _points(result, "queue_bytes", names)
    depth = queues.most(stretch_ns, count) if queues is not None else np.zeros((len(names), count))
    hosts = arrow.strings(node["name"] for node in result.topology["nodes"] if node["role"] == "host")
    at_switch = arrow.places(ports["node"], hosts) < 0
    deepest = float(depth[at_switch].max(initial=0.0))
    marks = _points(result, "queue_marks", names)
    record = {} if marks is None else _marked(marks.total(stretch_ns, count))
    return {
        "stretch_ns": stretch_ns,
        "ports": names,
        "used": _strings(used),
        "paused": _strings(_levels(np.ceil, _paused(result, names, stretch_ns, count))),
        "queued": _strings(_levels(np.rint, depth / deepest if deepest else np.zeros_like(depth))),
        "queue_bytes_max": deepest,
        **record,
    }


def _marked(marks: NDArray[np.float64]) -> dict[str, Any]:
    most = float(marks.max())
    return {"marked": _strings(_levels(np.ceil, marks / most)), "marks_max": most} if most else {}


class _Points:
    """One metric: port of each series, start times of the bins, and values with one row per series."""

    def __init__(self, port: NDArray[np.int64], starts: NDArray[np.float64], values: Any, ports: int) -> None:
        self.port, self.starts, self.values, self.ports = port, starts, values, ports
        self.bin_ns = float(starts[1] - starts[0])

    def mean(self, stretch_ns: float, count: int) -> NDArray[np.float64]:
        """Mean by port and interval; NaN without a point."""
        firsts, stretches = self._stretches(stretch_ns, count)
        widths = np.diff(np.append(firsts, len(self.starts)))
        found = np.full((self.ports, count), np.nan)
        found[np.ix_(self.port, stretches)] = np.add.reduceat(self.values, firsts, axis=1) / widths
        return found

    def most(self, stretch_ns: float, count: int) -> NDArray[np.float64]:
        """Maximum by port and interval over its series; 0 without a point."""
        return self._together(np.maximum, stretch_ns, count)

    def total(self, stretch_ns: float, count: int) -> NDArray[np.float64]:
        """Sum by port and interval over its series."""
        return self._together(np.add, stretch_ns, count)

    def _together(self, fold: np.ufunc, stretch_ns: float, count: int) -> NDArray[np.float64]:
        firsts, stretches = self._stretches(stretch_ns, count)
        of_series = np.zeros((len(self.port), count))
        of_series[:, stretches] = fold.reduceat(self.values, firsts, axis=1)
        found = np.zeros((self.ports, count))
        fold.at(found, self.port, of_series)
        return found

    def _stretches(self, stretch_ns: float, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First bin of each interval that has any, and the numbers of those intervals."""
        # Compares the middle of bins, since start times are not exact in floating point.
        of_bin = np.minimum(((self.starts + self.bin_ns / 2) // stretch_ns).astype(np.int64), count - 1)
        stretches, firsts = np.unique(of_bin, return_index=True)
        return firsts, stretches


def _points(result: Measurements, metric: str, ports: list[str]) -> _Points | None:
    """Points of ports or their queues; ``None`` if there are none, or bins have different widths."""
    own = result.curves().get(metric, {})
    bins = {len(times) for times, _ in own.values()}
    if len(bins) != 1 or bins == {1}:
        return None
    starts = next(iter(own.values()))[0]
    number = {name: n for n, name in enumerate(ports)}
    known = {entity: number.get(entity.partition("/")[0], -1) for entity in own}
    kept = [entity for entity, port in known.items() if port >= 0]
    values = np.array([own[entity][1] for entity in kept]).reshape(len(kept), len(starts))
    port = np.array([known[entity] for entity in kept], dtype=np.int64)
    return _Points(port, starts, values, len(ports))


def _line_rates(ports: pa.Table) -> NDArray[np.float64]:
    """Rate in b/s of frames (DA to FCS) that fills each link, at the mean frame length of that link."""
    rate, frames, length, overhead = (
        np.asarray(numpy_of(ports[name]), dtype=np.float64)
        for name in ("rate_bps", "frames_sent", "bytes_sent", "overhead_bytes")
    )
    around = length + frames * overhead
    return np.where(around > 0, rate * length / np.maximum(around, 1.0), rate)


def _paused(result: Measurements, names: list[str], stretch_ns: float, count: int) -> NDArray[np.float64]:
    """Share of each interval in which each port was paused, by port.

    Handles all ports in one pass by placing them one after another on a common time axis.
    """
    found = np.zeros((len(names), count))
    edges = stretch_ns * np.arange(count + 1)
    if "pauses" not in result.table_names or not (table := result.table("pauses")).num_rows:
        return found
    piece, ports = arrow.codes(table["port"])
    paused = arrow.places(ports, arrow.strings(names))
    at = edges[-1] * piece
    end = numpy_of(table["end_ns"])
    ends = at + np.minimum(np.where(np.isnan(end), edges[-1], end), edges[-1])
    starts = at + numpy_of(table["start_ns"])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    # Pauses of several priorities overlap: a new period starts where no earlier pause is still in force.
    first = np.flatnonzero(np.append(True, starts[1:] > ends[:-1]))
    starts, ends = starts[first], ends[np.append(first[1:], len(ends)) - 1]
    # Paused time up to each edge: earlier pauses, plus the elapsed part of the current one.
    line = (edges[-1] * np.arange(len(paused))[:, None] + edges).ravel()
    until = np.concatenate([[0.0], np.cumsum(ends - starts)])
    before = np.searchsorted(starts, line, side="right")
    passed = until[before] - np.maximum(ends[before - 1] - line, 0.0) * (before > 0)
    shares = np.diff(passed.reshape(len(paused), count + 1)) / stretch_ns
    found[paused[paused >= 0]] = shares[paused >= 0]
    return found


def _levels(whole: np.ufunc, share: NDArray[np.float64]) -> NDArray[np.int64]:
    """Quantizes a share to 0..9."""
    found: NDArray[np.int64] = whole(_LEVELS * np.clip(share, 0.0, 1.0) - 1e-9).astype(np.int64)
    return found


def _strings(levels: NDArray[np.int64]) -> list[str]:
    """One string per interval, one character per port."""
    letters = np.where(levels < 0, ord(_UNKNOWN), levels + ord("0")).astype(np.uint8)
    return [bytes(column).decode("ascii") for column in np.ascontiguousarray(letters.T)]
