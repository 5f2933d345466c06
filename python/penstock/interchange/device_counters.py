"""Compares counters of devices with the measures of a run.

Results count pause frames per port. If only one priority of a port pauses, all pause frames of the port are
for this priority. Otherwise the number of its pause intervals is a lower bound, since a port repeats XOFF
during a pause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InputError
from penstock.library import suggestion
from penstock.measurements import Measurements, of_result

from .counters import Counter

_SENDER = ("cnps_received", "naks_received", "timeouts", "rnr_naks_received")
"""Columns of queue pairs that the sender counts. All others are counted by the receiver."""


@dataclass(frozen=True)
class Beside:
    """A counter of a device, and the corresponding measure of a run.

    Attributes
    ----------
    port : str
        The port of the run.
    name : str
        Name of the counter.
    device : int
        Value of the counter.
    run : float or None
        Value in the run; ``None`` if the run has no such queue.
    device_per_s, run_per_s : float or None
        Both values per second; ``None`` if the counting time of the device is unknown.
    """

    port: str
    name: str
    device: int
    run: float | None
    device_per_s: float | None
    run_per_s: float | None


@of_result
def beside(
    result: Measurements, counters: Sequence[Counter], port: str | None = None, seconds: float | None = None
) -> tuple[list[Beside], list[str]]:
    """Pairs counters with the measures of a run; also returns ports of the file that the run does not have.

    Parameters
    ----------
    result : Measurements
        The run.
    counters : sequence of Counter
        The counters of a device.
    port : str, optional
        A port of the run, or a node with one port. Default: the port towards the node with the name of the
        device's port, or the port of the only host.
    seconds : float, optional
        Counting time of the device.

    Raises
    ------
    InputError
        If the run has no such port, or the node has several.
    """
    ports = {str(row["port"]): row for row in result.rows("ports")}
    pauses = [*result.rows("pauses")]
    simulated = float(result.run["simulated_s"]) - float(result.run.get("warmup_s", 0.0))
    rows: list[Beside] = []
    missing: dict[str, None] = {}
    for one in counters:
        found = _port(ports, port) if one.port is None or port is not None else _facing(ports, one.port)
        if found is None:
            missing[one.port or ""] = None
            continue
        value = _measure(result, ports[found], pauses, one)
        rate = None if value is None or seconds is None or simulated <= 0 else value / simulated
        rows.append(
            Beside(found, one.name, one.value, value, None if seconds is None else one.value / seconds, rate)
        )
    return rows, [*missing]


def _port(ports: dict[str, dict[str, Any]], named: str | None) -> str:
    """A port by its name, by the name of a node with one port, or the first port of a host."""
    if named in ports:
        return str(named)
    own = [name for name, row in ports.items() if row["node"] == named]
    if len(own) == 1:
        return own[0]
    if own:
        raise InputError(f"--port {named}: has {len(own)} ports; expected one of {', '.join(own[:8])}")
    if named is None:
        raise InputError(f"--port is missing; expected a node or port, such as {next(iter(ports), 'h0')}")
    nodes = [str(row["node"]) for row in ports.values()]
    raise InputError(f"--port {named}: the run has no such port; {suggestion(named, [*ports, *nodes])}")


def _facing(ports: dict[str, dict[str, Any]], named: str) -> str | None:
    """The switch port towards the node with this name, as imported switches have it."""
    return next((name for name, row in ports.items() if row["peer"] == named), None)


def _measure(
    result: Measurements, row: dict[str, Any], pauses: Sequence[dict[str, Any]], one: Counter
) -> float | None:
    """Value of the measure that corresponds to a counter at a port."""
    name = row["port"]
    if one.what in ("pause_frames", "pauses", "pause_us"):
        end = "port" if one.received else "sent_by"
        of_port = [pause for pause in pauses if pause[end] == name]
        own = [pause for pause in of_port if one.priority in (None, pause["priority"])]
        if one.what == "pause_us":
            return sum(float(pause["end_ns"]) - float(pause["start_ns"]) for pause in own) / 1e3
        frames = float(row["pauses_received" if one.received else "pauses_sent"])
        if one.what == "pause_frames" and len(own) == len(of_port):
            return frames
        return float(len(own))
    if one.what in ("bytes", "frames") and one.priority is not None:
        queues = {(queue["port"], queue["class"]): queue for queue in result.rows("queues")}
        queue = queues.get((name, one.priority))
        return None if queue is None else float(queue[one.what])
    if one.what in ("bytes", "frames"):
        return float(row[f"{one.what}_{'received' if one.received else 'sent'}"])
    if one.what == "drops":
        return float(row["drops"])
    end = "source" if one.what in _SENDER else "destination"
    return float(sum(int(pair[one.what]) for pair in result.rows("queue_pairs") if pair[end] == row["node"]))
