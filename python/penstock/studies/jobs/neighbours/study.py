"""Slowdown of jobs by their neighbours, by path selection and control."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.analysis.critical_path import critical_path
from penstock.laboratory.alone import TRAFFIC
from penstock.plots import rank_timeline
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.comparing import CONTROLS, PATHS, arranged
from penstock.studies.reproduce import Context, Outcome


@dataclass(frozen=True)
class Point:
    """Results of a job with its neighbour and alone."""

    paths: str
    control: str
    job: str
    together: Result
    alone: Result

    def step_ns(self, result: Result) -> float:
        """Time of an iteration in ns."""
        return next(float(row["step_ns"]) for row in result.rows("jobs") if row["job"] == self.job)

    @property
    def slowdown(self) -> float:
        """Time of an iteration with the neighbour over that alone."""
        return self.step_ns(self.together) / self.step_ns(self.alone)

    @property
    def pauses(self) -> int:
        """Number of pause frames in the run of both jobs."""
        return sum(row["pauses_sent"] for row in self.together.rows("ports"))

    def waiting_ps(self, result: Result) -> int:
        """Queueing and pauses on the critical path in ps."""
        path = critical_path(result, self.job)
        return 0 if path is None else path.parts.get("queueing", 0) + path.parts.get("pause", 0)

    @property
    def growth(self) -> float:
        """Growth of queueing and pauses on the critical path, as a share of the growth of the path."""
        ends = [
            path.length_ps for one in (self.together, self.alone) if (path := critical_path(one, self.job))
        ]
        return (self.waiting_ps(self.together) - self.waiting_ps(self.alone)) / (ends[0] - ends[1])


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    base = context.scenario("pair")
    points = []
    for paths in PATHS:
        for control in CONTROLS:
            context.say(f"{paths}, {control}")
            points += pair(base, paths, control)
    table(context, points)
    drawn = next(one for one in points if (one.paths, one.control, one.job) == ("hash", "PFC", "dense"))
    cover = context.save_figure(rank_timeline(drawn.together, "dense"), "dense", cover=True)
    hashed, adaptive = (
        [one for one in points if (one.paths, one.control) == (paths, "PFC")]
        for paths in ("hash", "adaptive")
    )
    nscc = [one for one in points if one.control == "NSCC"]
    alone = {(one.paths, one.job): one.step_ns(one.alone) for one in points if one.control == "PFC"}
    costs = [one.step_ns(one.alone) / alone[one.paths, one.job] for one in nscc]
    pauses = sum(one.pauses for one in nscc)
    worst = max(hashed, key=lambda one: one.slowdown)
    return [
        context.judge("N-1", {"slowdown_max": worst.slowdown}, measured=listed(hashed), pictures=[cover]),
        context.judge(
            "N-2", {"slowdown_max": max(one.slowdown for one in adaptive)}, measured=listed(adaptive)
        ),
        context.judge(
            "N-3",
            {"pauses": pauses, "cost_min": min(costs)},
            measured=f"{pauses} pause frames; {min(costs):.2f} to {max(costs):.2f} times as long as with PFC",
        ),
        context.judge("N-4", {"growth": worst.growth}, measured=f"{worst.job}: {worst.growth:.1%}"),
    ]


def pair(base: Scenario, paths: str, control: str) -> list[Point]:
    """Runs of both jobs together, and of each alone."""
    whole = arranged(base, paths, control)
    together = whole.run()
    found = []
    for entry in whole.to_dict()["jobs"]:
        one = whole
        for key in TRAFFIC:
            one = one.with_value(key, [entry] if key == "jobs" else None)
        found.append(Point(paths, control, entry["name"], together, one.run()))
    return found


def listed(points: list[Point]) -> str:
    """Slowdown by job, as text."""
    return ", ".join(f"{one.job} {one.slowdown:.3f}" for one in points)


def table(context: Context, points: list[Point]) -> None:
    """Table of iteration times and slowdowns."""
    rows = [
        (
            one.paths,
            one.control,
            one.job,
            f"{one.step_ns(one.alone) / 1e3:.1f}",
            f"{one.step_ns(one.together) / 1e3:.1f}",
            f"{one.slowdown:.3f}",
            str(one.pauses),
        )
        for one in points
    ]
    columns = ("paths", "control", "job", "alone (us)", "together (us)", "slowdown", "pause frames")
    context.save_table("slowdowns", "Iteration time, alone and with the other job", columns, rows)
