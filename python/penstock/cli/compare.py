"""``penstock compare``."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from penstock.units import count, duration, rate, share, size

from . import EXIT_DONE
from .console import console, print_json, table

if TYPE_CHECKING:
    from penstock.result import Result

Row = dict[str, Any]
Writer = Callable[[float | None], str]

FLOWS: dict[str, Writer] = {
    "throughput_bps": rate,
    "frames_dropped": count,
    "latency_mean_ns": duration,
    "latency_p99_ns": duration,
}
CONNECTIONS: dict[str, Writer] = {
    "round_trips": count,
    "round_trip_mean_ns": duration,
    "round_trip_p99_ns": duration,
    "exchanges": count,
    "exchange_mean_ns": duration,
    "exchange_p99_ns": duration,
    "completed_ns": duration,
    "segments_sent_again": count,
    "frames_discarded": count,
}
PORTS: dict[str, Writer] = {
    "utilisation": share,
    "queue_bytes_max": size,
    "drops": count,
    "pauses_received": count,
    "paused_s": lambda seconds: duration(None if seconds is None else seconds * 1e9),
}


def compare(first: Path, second: Path, /, *, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Compares two results: their scenarios, and all flows, connections and ports that differ.

    Parameters
    ----------
    first
        Directory of a result.
    second
        Directory of another.
    json
        Prints one JSON object instead of tables.
    """
    from penstock.result import Result

    a, b = Result.load(first), Result.load(second)
    same = a.fingerprint == b.fingerprint
    scenario = list(
        difflib.unified_diff(
            a.scenario_toml.splitlines(),
            b.scenario_toml.splitlines(),
            str(first),
            str(second),
            "",
            "",
            n=2,
            lineterm="",
        )
    )
    flows = differences(a, b, "flows", "flow", list(FLOWS))
    connections = differences(a, b, "connections", "flow", list(CONNECTIONS))
    ports = differences(a, b, "ports", "port", list(PORTS))
    if json:
        print_json(
            {
                "schema": "penstock-compare/1",
                "first": _identity(first, a),
                "second": _identity(second, b),
                "same_trajectory": same,
                "scenario_diff": scenario,
                "flows": flows,
                "connections": connections,
                "ports": ports,
            }
        )
        return EXIT_DONE
    out = console()
    for label, path, result in (("first", first, a), ("second", second, b)):
        cut = "" if result.complete else ", cut short"
        out.print(
            f"{label:6}  {path}: {result.name}, seed {result.seed}, fingerprint {result.fingerprint}{cut}",
            markup=False,
            soft_wrap=True,
        )
    out.print("the trajectories are the same" if same else "the trajectories differ")
    out.print("\n".join(scenario) if scenario else "the scenarios are the same", markup=False, soft_wrap=True)
    _show(out, "Flows that differ", flows, FLOWS)
    _show(out, "Connections that differ", connections, CONNECTIONS)
    _show(out, "Ports that differ", ports, PORTS)
    return EXIT_DONE


def differences(a: Result, b: Result, name: str, key: str, metrics: list[str]) -> list[Row]:
    """One entry a row and metric whose value differs; ``None`` where one result has no such row."""
    left, right = ({row[key]: row for row in _rows(result, name)} for result in (a, b))
    found = []
    for entity in dict.fromkeys([*left, *right]):
        for metric in metrics:
            first = left.get(entity, {}).get(metric)
            second = right.get(entity, {}).get(metric)
            if first != second:
                found.append({"name": entity, "metric": metric, "first": first, "second": second})
    return found


def _rows(result: Result, name: str) -> list[Row]:
    from penstock.analysis import connections

    return connections.rows(result) if name == "connections" else result.rows(name)


def _show(out: Any, title: str, rows: list[Row], writers: dict[str, Writer]) -> None:
    if not rows:
        return
    shown = table(title, "name", "metric", "first", "second", "change", numeric=2)
    for row in rows:
        write = writers[row["metric"]]
        shown.add_row(
            row["name"],
            row["metric"],
            write(row["first"]),
            write(row["second"]),
            _change(row["first"], row["second"]),
        )
    out.print(shown)


def _change(first: float | None, second: float | None) -> str:
    if first is None or second is None or first == 0:
        return "-"
    return f"{100 * (second - first) / first:+.1f} %"


def _identity(path: Path, result: Result) -> Row:
    keys = ("name", "seed", "fingerprint", "engine_version", "simulated_s", "complete")
    return {"directory": str(path), **{key: result.run.get(key) for key in keys}}
