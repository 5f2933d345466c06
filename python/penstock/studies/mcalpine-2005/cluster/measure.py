"""Measures that the experiments extract from results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import StudyError
from penstock.result import Result
from penstock.scenario import Scenario

Array = npt.NDArray[np.float64]
DATA, FRAME, ACKNOWLEDGEMENT = 1460, 1542, 84
"""Data bytes of a full segment, and bytes on the wire of it and of the acknowledgement of two segments."""
UPLINKS = 2 * 10e9 / 8
"""Bytes per second that the server switches and the shelf exchange, in each direction."""
MESSAGES = 4 * 6510 * (1106 + 146 + ACKNOWLEDGEMENT)
"""Bytes per second on these links of 8 of the 12 connections between servers, half in each direction."""
VIDEO = 24 * 28.3e6 / 8 * 1420 / 1400
"""Bytes per second on these links of video."""
CONTROL_BYTES, GAP = 84, 20
TO_HOST = re.compile(r"->[cs]\d/2$")
DURATION_S = 0.1
STACK_US = 38
"""Time of an exchange between servers in the end stations, in us: an input."""
MOST_FRAMES = 1_000_000
"""Frames in the log, at most."""


def most(*, video: bool = False) -> float:
    """Data bytes per second that the database can exchange, both directions together."""
    left = UPLINKS - MESSAGES - (VIDEO if video else 0)
    return 2 * left * 2 * DATA / (2 * FRAME + ACKNOWLEDGEMENT)


@dataclass(frozen=True)
class Run:
    """Measures of the cluster over 100 ms.

    Attributes
    ----------
    database : float
        Bytes of blocks exchanged per second, both directions together.
    response_us, late_us : float
        Mean time of an exchange with the database, in the whole run and in the last 20 ms. Unless the run is
        measured `late`, the figures of the last 20 ms equal those of the whole run.
    silent : int
        Number of connections to the database without a finished exchange in the last 20 ms.
    lost, lost_late : int
        Lost frames in total and in the last 20 ms.
    queue : float
        Queued bytes at a switch port, averaged over time and the 18 ports.
    ipc_us, ethernet_us : float
        Mean time of an exchange between servers, and the time of its frames through the fabric.
    ipc : float
        Bytes per second between servers.
    overhead : float
        Share of path rate control messages in the bytes on the wire that hosts receive.
    paused_ms : float
        Paused time of all ports together.
    """

    database: float
    response_us: float
    late_us: float
    silent: int
    lost: int
    lost_late: int
    queue: float
    ipc_us: float
    ethernet_us: float
    ipc: float
    overhead: float
    paused_ms: float
    result: Result

    @classmethod
    def of(cls, scenario: Scenario, *, seed: int | None = None, late: bool = False) -> Run:
        """Runs the scenario; with `late` a second time, for the measures after 80 ms."""
        result = scenario.run(seed=seed)
        end = scenario.with_value("simulation.warmup", "80 ms").run(seed=seed) if late else result
        database, ipc = connections(result, ("entry", "query")), connections(result, ("ipc",))
        database_late = connections(end, ("entry", "query"))
        waits = [row["queue_bytes_mean"] for row in result.rows("ports") if is_switch(row["node"])]
        at_hosts = [row for row in result.rows("ports") if not is_switch(row["node"])]
        arrived = sum(row["bytes_received"] + GAP * row["frames_received"] for row in at_hosts)
        limiters = result.rows("rate_limiters")
        control = sum(row["tags_sent"] + row["tags_returned"] + row["messages"] for row in limiters)
        ipc_us = response(ipc)
        return cls(
            database=application_bytes(database) / DURATION_S,
            response_us=response(database),
            late_us=response(database_late),
            silent=sum(row["exchanges"] == 0 for row in database_late),
            lost=lost(result),
            lost_late=lost(end),
            queue=float(np.mean(waits)),
            ipc_us=ipc_us,
            ethernet_us=(ipc_us - STACK_US) / 2,
            ipc=application_bytes(ipc) / DURATION_S,
            overhead=control * CONTROL_BYTES / arrived,
            paused_ms=sum(row["paused_s"] for row in result.rows("ports")) * 1e3,
            result=result,
        )


def connections(result: Result, begin: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The connections of flows whose names begin with one of these."""
    return [row for row in result.rows("connections") if row["flow"].startswith(begin)]


def application_bytes(rows: Iterable[Mapping[str, Any]]) -> float:
    """Application bytes of complete exchanges."""
    return float(sum(row["application_bytes"] for row in rows))


def response(rows: Iterable[Mapping[str, Any]]) -> float:
    """Mean time of the exchanges of these connections, in us."""
    counts = [(row["exchanges"], row["exchange_mean_ns"]) for row in rows if row["exchanges"]]
    return float(sum(count * mean for count, mean in counts) / sum(count for count, _ in counts) / 1e3)


def lost(result: Result) -> int:
    """Total number of lost frames."""
    return int(sum(row["frames"] for row in result.rows("drops")))


def is_switch(node: str) -> bool:
    """Returns true for a switch; hosts are c1 to c6 and s1 to s4."""
    return len(node) > 2


def database_series(result: Result) -> tuple[Array, Array]:
    """Time in ms and block throughput in GB/s: class 2 without headers and acknowledgements."""
    classes = result.all_series("class_tx_bps")
    of = [series for name, series in classes.items() if TO_HOST.search(name)]
    together = sum((values for _, values in of), np.zeros(len(of[0][0])))
    frames = 2 * (FRAME - GAP) + ACKNOWLEDGEMENT - GAP
    return of[0][0] / 1e6, together * 2 * DATA / frames / 8e9


def queue_series(result: Result) -> tuple[Array, Array]:
    """Time in ms and the longest queue of all switches, in KiB."""
    queues = result.all_series("queue_bytes")
    of = [series for name, series in queues.items() if is_switch(name.split(".")[0])]
    return of[0][0] / 1e6, np.max([values for _, values in of], axis=0) / 1024


def deviation_us(result: Result) -> float:
    """Largest deviation of a video frame from the running mean delay of its stream."""
    if result.table("frames").num_rows == MOST_FRAMES:
        raise StudyError("the log of frames ends before the run")
    streams = result.rows("delay_variation")
    return float(max(of["deviation_max_ns"] for of in streams if of["flow"].startswith("video")) / 1e3)


def late_us(result: Result) -> float:
    """Largest delay of a video frame above the mean of its stream, processing at the receiver included."""
    streams = [of for of in result.rows("flows") if of["flow"].startswith("video")]
    return float(max(of["latency_max_ns"] - of["latency_mean_ns"] for of in streams) / 1e3)


def video_lost(result: Result) -> int:
    """Number of lost video frames."""
    return int(sum(row["frames"] for row in result.rows("drops") if row["flow"].startswith("video")))
