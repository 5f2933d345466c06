"""Slowdown of jobs by their neighbours, under paths and controls."""

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
    """A job beside the other and alone."""

    paths: str
    control: str
    job: str
    together: Result
    alone: Result

    def step_ns(self, result: Result) -> float:
        """Time of an iteration."""
        return next(float(row["step_ns"]) for row in result.rows("jobs") if row["job"] == self.job)

    @property
    def slowdown(self) -> float:
        """Time beside the other over that alone."""
        return self.step_ns(self.together) / self.step_ns(self.alone)

    @property
    def pauses(self) -> int:
        """Pause frames of the run with both."""
        return sum(row["pauses_sent"] for row in self.together.rows("ports"))

    def lost(self, result: Result) -> int:
        """Picoseconds of queueing and pauses on the critical path."""
        path = critical_path(result, self.job)
        return 0 if path is None else path.parts.get("queueing", 0) + path.parts.get("pause", 0)

    @property
    def grown(self) -> float:
        """Growth of queueing and pauses on the critical path, as a share of the time that the job loses."""
        ends = [
            path.length_ps for one in (self.together, self.alone) if (path := critical_path(one, self.job))
        ]
        return (self.lost(self.together) - self.lost(self.alone)) / (ends[0] - ends[1])


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
        context.outcome("N-1", measured=told(hashed), passed=worst.slowdown >= 1.2, pictures=[cover]),
        context.outcome("N-2", measured=told(adaptive), passed=most(adaptive) <= 1.1),
        context.outcome(
            "N-3",
            measured=f"{pauses} pause frames; alone {min(costs):.2f} to {max(costs):.2f} times as long",
            passed=not pauses and min(costs) > 1,
        ),
        context.outcome("N-4", measured=f"{worst.job}: {worst.grown:.1%}", passed=worst.grown >= 0.9),
    ]


def pair(base: Scenario, paths: str, control: str) -> list[Point]:
    """Both jobs, together and each alone."""
    whole = arranged(base, paths, control)
    together = whole.run()
    found = []
    for entry in whole.to_dict()["jobs"]:
        one = whole
        for key in TRAFFIC:
            one = one.with_value(key, [entry] if key == "jobs" else None)
        found.append(Point(paths, control, entry["name"], together, one.run()))
    return found


def most(points: list[Point]) -> float:
    """The largest slowdown."""
    return max(one.slowdown for one in points)


def told(points: list[Point]) -> str:
    """Slowdowns in words."""
    return ", ".join(f"{one.job} {one.slowdown:.3f}" for one in points)


def table(context: Context, points: list[Point]) -> None:
    """Slowdowns of all."""
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
    context.save_table("slowdowns", "Time of an iteration, alone and beside the other job", columns, rows)
