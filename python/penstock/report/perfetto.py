"""Exports the steps of jobs as a Chrome trace (JSON) for Perfetto and chrome://tracing.

Each rank is a process with tracks for computation, sends and receives. Overlapping steps of one kind are
placed on several tracks, because slices of a track must nest. A flow arrow connects each message with its
receive. A counter per rank shows the paused priorities at the ports of its host.

Source: Trace Event Format (Google, 2016), sections "Complete Events", "Flow Events" and "Counter Events".
"""

from __future__ import annotations

import contextlib
import gzip
import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import orjson

from penstock.analysis.jobs import of_jobs
from penstock.analysis.rank_steps import COMPUTE, KINDS, NEVER, RECEIVE, RECEIVE_COST, SEND, Steps, steps_of
from penstock.errors import InputError
from penstock.measurements import of_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

Event = dict[str, Any]
_TRACKS = ("compute", "send", "receive")
_TRACK_OF = (0, 0, 0, 1, 2)
"""Index in `_TRACKS` of each kind of step. Host costs occupy the processor that computes."""
_TIDS = 1_000_000
"""Track numbers reserved per kind; exceeds the number of overlapping slices at a rank."""
_PS_PER_US = 1e6


@of_result
def write(result: Measurements, path: Path, job: str | None = None) -> int:
    """Writes a trace, compressed if the name ends in ``.gz``. Returns the number of events.

    Parameters
    ----------
    result : Result
        Result of the run.
    path : Path
        Output file.
    job : str, optional
        Name of the job. Default: all recorded jobs.

    Raises
    ------
    InputError
        If no steps were recorded.
    OSError
        If the file cannot be written.
    """
    names = [row["job"] for row in of_jobs(result)] if job is None else [job]
    recorded = [steps for name in names if (steps := steps_of(result, name)) is not None]
    if not recorded:
        raise InputError("no steps of ranks were recorded; increase timeline_rows of [[jobs]]")
    written = 0
    with _opened(path) as file:
        file.write(b'{"displayTimeUnit":"ns","otherData":')
        file.write(orjson.dumps({"name": result.name, "fingerprint": str(result.fingerprint)}))
        file.write(b',"traceEvents":[')
        for event in _events(result, recorded):
            file.write(b",\n" if written else b"\n")
            file.write(orjson.dumps(event))
            written += 1
        file.write(b"\n]}\n")
    return written


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Opens the file, with compression if the name ends in ``.gz``; the header has no timestamp."""
    with path.open("wb") as plain:
        if path.suffix != ".gz":
            yield plain
            return
        with gzip.GzipFile(filename="", fileobj=plain, mode="wb", compresslevel=6, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def _events(result: Measurements, recorded: list[Steps]) -> Iterator[Event]:
    first, arrow = 1, 1
    for steps in recorded:
        tracks = _tracks(steps)
        yield from _names(steps, tracks, first)
        yield from _slices(steps, tracks, first)
        yield from _arrows(steps, tracks, first, arrow)
        yield from _counters(result, steps, first)
        arrow += int((steps.kind == RECEIVE).sum())
        first += len(steps.hosts)


def _spans(steps: Steps) -> tuple[NDArray[Any], NDArray[Any]]:
    """Start and end of the slice of each step; `NEVER` if it has none.

    A receive starts when its message has arrived, if that was before the rank waited for it.
    """
    begin = np.where(steps.kind <= RECEIVE_COST, steps.begin, steps.requested)
    early = (steps.kind == RECEIVE) & (steps.begin < steps.requested)
    begin = np.where(early, steps.begin, begin)
    return begin, np.where(begin < NEVER, steps.end, NEVER)


def _tracks(steps: Steps) -> NDArray[Any]:
    """Track number of each step: the first free track of its kind."""
    begin, end = _spans(steps)
    kind = np.array(_TRACK_OF)[steps.kind]
    tracks = np.zeros(len(steps), dtype=np.int64)
    order = np.lexsort((end, begin, kind, steps.rank))
    at: tuple[int, int] | None = None
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    used = 0
    for step in order.tolist():
        own = (int(steps.rank[step]), int(kind[step]))
        if own != at:
            at, free, busy, used = own, [], [], 0
        while busy and busy[0][0] <= begin[step]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            number = heapq.heappop(free)
        else:
            number, used = used, used + 1
        heapq.heappush(busy, (int(end[step]), number))
        tracks[step] = own[1] * _TIDS + number + 1
    return tracks


def _names(steps: Steps, tracks: NDArray[Any], first: int) -> Iterator[Event]:
    for rank, host in enumerate(steps.hosts):
        pid = first + rank
        about = {"name": f"{steps.job} rank {rank} ({host})"}
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": about}
        yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    for rank, track in np.unique(np.stack([steps.rank, tracks], axis=1), axis=0).tolist():
        kind, number = divmod(track - 1, _TIDS)
        name = _TRACKS[kind] + ("" if number == 0 else f" {number + 1}")
        yield {
            "ph": "M",
            "pid": first + rank,
            "tid": track,
            "name": "thread_name",
            "args": {"name": name},
        }
        yield {
            "ph": "M",
            "pid": first + rank,
            "tid": track,
            "name": "thread_sort_index",
            "args": {"sort_index": track},
        }


def _slices(steps: Steps, tracks: NDArray[Any], first: int) -> Iterator[Event]:
    begin, end = _spans(steps)
    for at in np.flatnonzero(end < NEVER).tolist():
        kind = int(steps.kind[at])
        args: dict[str, Any] = {"iteration": int(steps.iteration[at]), "operation": int(steps.operation[at])}
        name = KINDS[kind]
        if kind != COMPUTE:
            way = "from" if kind in (RECEIVE, RECEIVE_COST) else "to"
            name = f"{KINDS[kind].replace('_', ' ')} {way} {int(steps.peer[at])}"
            args |= {"bytes": int(steps.size[at]), "tag": int(steps.tag[at])}
        if kind == SEND:
            waits = {f"{name}_us": int(ps[at]) / _PS_PER_US for name, ps in steps.waits.items() if ps[at]}
            args |= {"ideal_us": int(steps.ideal[at]) / _PS_PER_US, **waits}
        yield {
            "ph": "X",
            "pid": first + int(steps.rank[at]),
            "tid": int(tracks[at]),
            "name": name,
            "cat": KINDS[kind],
            "ts": int(begin[at]) / _PS_PER_US,
            "dur": (int(end[at]) - int(begin[at])) / _PS_PER_US,
            "args": args,
        }


def _arrows(steps: Steps, tracks: NDArray[Any], first: int, arrow: int) -> Iterator[Event]:
    received = np.flatnonzero((steps.kind == RECEIVE) & (steps.message != np.arange(len(steps))))
    for number, at in enumerate(received.tolist(), start=arrow):
        send = int(steps.message[at])
        if steps.end[send] >= NEVER or steps.end[at] >= NEVER:
            continue
        shared = {"id": number, "name": "message", "cat": "message"}
        yield {
            "ph": "s",
            "pid": first + int(steps.rank[send]),
            "tid": int(tracks[send]),
            "ts": int(steps.requested[send]) / _PS_PER_US,
            **shared,
        }
        yield {
            "ph": "f",
            "bp": "e",
            "pid": first + int(steps.rank[at]),
            "tid": int(tracks[at]),
            "ts": int(steps.begin[at]) / _PS_PER_US,
            **shared,
        }


def _counters(result: Measurements, steps: Steps, first: int) -> Iterator[Event]:
    """Number of paused priorities at the ports of each host."""
    if "pauses" not in result.table_names:
        return
    rank_of = {host: rank for rank, host in enumerate(steps.hosts)}
    node_of = {row["port"]: row["node"] for row in result.rows("ports")}
    changes: dict[int, list[tuple[float, int]]] = {}
    for row in result.rows("pauses"):
        rank = rank_of.get(node_of.get(row["port"], ""))
        if rank is None:
            continue
        changes.setdefault(rank, []).append((row["start_ns"], 1))
        if row["end_ns"] is not None:
            changes[rank].append((row["end_ns"], -1))
    for rank, own in sorted(changes.items()):
        level = 0
        for ns, change in sorted(own):
            level += change
            yield {
                "ph": "C",
                "pid": first + rank,
                "name": "paused priorities",
                "ts": ns / 1e3,
                "args": {"paused": level},
            }
