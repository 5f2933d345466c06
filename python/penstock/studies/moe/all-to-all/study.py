"""Time of the all-to-all of an expert layer by path selection and control, relative to its lower bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.analysis.critical_path import critical_path
from penstock.plots import rank_timeline
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.comparing import CONTROLS, PATHS, arranged
from penstock.studies.reproduce import Context, Outcome

RATE_BPS = 100e9
LINE_BYTES = 20
LAYERS: Mapping[str, Mapping[str, Any]] = {
    "even, shifted": {"algorithm": "shifted"},
    "popular, burst": {"algorithm": "burst", "skew": 1.0},
}
WAITS = ("queueing", "pause", "control", "retransmission")


@dataclass(frozen=True)
class Point:
    """Time, bound and waits of the all-to-all of one layer."""

    layer: str
    paths: str
    control: str
    time_s: float
    bound_s: float
    waits: float

    @property
    def key(self) -> tuple[str, str, str]:
        """Layer, path selection and control."""
        return self.layer, self.paths, self.control

    @property
    def over(self) -> float:
        """Time divided by the bound."""
        return self.time_s / self.bound_s


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    base = context.scenario("layer")
    points: dict[tuple[str, str, str], Point] = {}
    for layer in LAYERS:
        for paths in PATHS:
            context.say(f"{layer}, {paths}")
            for control in CONTROLS:
                one = point(base, layer, paths, control)
                points[one.key] = one
    table(context, list(points.values()))
    drawn = rank_timeline(run_of(base, "even, shifted", "hash", "PFC"))
    cover = context.save_figure(drawn, "hashed", cover=True)
    even, hashed = (points["even, shifted", paths, "PFC"] for paths in ("adaptive", "hash"))
    popular = points["popular, burst", "adaptive", "PFC"]
    waits = {control: points["popular, burst", "adaptive", control].waits for control in CONTROLS}
    return [
        context.judge("M-1", {"over_bound": even.over}),
        context.judge("M-2", {"over_adaptive": hashed.time_s / even.time_s}, pictures=[cover]),
        context.judge("M-3", {"over_bound": popular.over}),
        context.judge(
            "M-4",
            {"waits_min": min(waits.values())},
            measured=", ".join(f"{control} {share:.1%}" for control, share in waits.items()),
        ),
    ]


def run_of(base: Scenario, layer: str, paths: str, control: str) -> Result:
    """Result of a layer with this path selection and control."""
    scenario = arranged(base, paths, control)
    (entry,) = scenario.to_dict()["jobs"]
    workload = {**entry["workload"], **LAYERS[layer]}
    return scenario.with_value("jobs", [{**entry, "workload": workload}]).run()


def point(base: Scenario, layer: str, paths: str, control: str) -> Point:
    """Runs a layer, and returns its time, bound and waits."""
    result = run_of(base, layer, paths, control)
    (row,) = result.rows("collectives")
    path = critical_path(result, "layer")
    waits = 0.0 if path is None else sum(path.parts.get(cause, 0) for cause in WAITS) / path.length_ps
    return Point(layer, paths, control, row["time_ns"] / 1e9, bound_s(result), waits)


def bound_s(result: Result) -> float:
    """Lower bound of the time: transmission at the busiest NIC, with headers."""
    sent: dict[str, int] = {}
    received: dict[str, int] = {}
    for row in result.rows("messages"):
        sent[row["source"]] = sent.get(row["source"], 0) + row["bytes"]
        received[row["destination"]] = received.get(row["destination"], 0) + row["bytes"]
    flows = result.rows("flows")
    on_wire = sum(row["bytes_sent"] + LINE_BYTES * row["frames_sent"] for row in flows)
    busiest = max(*sent.values(), *received.values())
    return float(busiest * 8 / RATE_BPS * on_wire / sum(sent.values()))


def table(context: Context, points: list[Point]) -> None:
    """Table of times and waits."""
    rows = [
        (
            *one.key,
            f"{one.time_s * 1e6:.1f}",
            f"{one.bound_s * 1e6:.1f}",
            f"{one.over:.3f}",
            f"{one.waits:.1%}",
        )
        for one in points
    ]
    columns = ("layer", "paths", "control", "time (us)", "bound (us)", "times the bound", "waits")
    context.save_table(
        "layers",
        "Time of the all-to-all of an expert layer, 4 MB per rank",
        columns,
        rows,
        note="Waits: queueing, pauses, control and retransmission on the critical path.",
    )
