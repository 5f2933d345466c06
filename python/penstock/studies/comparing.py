"""Comparison of several mechanisms on the same workloads: runs, figures in words, and dot plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from matplotlib.lines import Line2D

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from penstock.scenario import Scenario

    from .reproduce import Context

Measured = TypeVar("Measured", bound="DataclassInstance")

PATHS: Mapping[str, Any] = {"hash": "hash", "spray": "spray", "adaptive": {"adaptive": {}}}
CONTROLS: Mapping[str, Any] = {
    "PFC": {"rdma": {"control": "none"}},
    "PFC and DCQCN": {"rdma": {"control": "dcqcn"}},
    "NSCC": {"uet": {}},
}
"""Transports of jobs. Queue pairs tolerate reordering if their packets take several paths."""


def arranged(base: Scenario, paths: str, control: str) -> Scenario:
    """A scenario of jobs with these of `PATHS` and this one of `CONTROLS`."""
    over = CONTROLS[control]
    if "rdma" in over and paths != "hash":
        over = {"rdma": {**over["rdma"], "recovery": "reordering"}}
    scenario = base.with_value("switch.path_choice", PATHS[paths])
    if "uet" in over:
        scenario = scenario.with_value("flow_control", None)
    return scenario.with_value("jobs", [{**job, "over": over} for job in base.to_dict()["jobs"]])


def measure_all(
    context: Context,
    mechanisms: Iterable[str],
    workloads: Iterable[str],
    seeds: Sequence[int],
    measure: Callable[[str, str, int], Measured],
) -> dict[str, dict[str, Measured]]:
    """Measures of each mechanism on each workload, as means over the seeds.

    Parameters
    ----------
    context : Context
        Reports the progress.
    mechanisms, workloads : iterable of str
        Their names.
    seeds : sequence of int
        At least one.
    measure : callable
        Measures of a mechanism on a workload with a seed.
    """
    runs: dict[str, dict[str, Measured]] = {}
    for name in mechanisms:
        context.say(name)
        runs[name] = {
            workload: mean([measure(name, workload, seed) for seed in seeds]) for workload in workloads
        }
    return runs


def mean(runs: Sequence[Measured]) -> Measured:
    """Means over runs with several seeds; NaN stays NaN, and an infinite value makes the mean infinite."""
    names = [field.name for field in fields(runs[0])]
    return type(runs[0])(**{name: fmean(getattr(one, name) for one in runs) for name in names})


def percentile(
    transfers: Sequence[Mapping[str, Any]], at: float, *, least: int = 0, largest: float = math.inf
) -> float:
    """Percentile of the slowdowns of transfers of these sizes; NaN without any, infinite if too few end."""
    sized = [row["slowdown"] for row in transfers if least <= row["bytes"] <= largest]
    slow = [math.inf if value is None else value for value in sized]
    return float(np.percentile(slow, at, method="higher")) if slow else math.nan


def factor(value: float) -> str:
    """A slowdown as text; NaN is none, and an infinite one is of transfers that did not all end."""
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if math.isfinite(value) else "not all done"


def listed(runs: Mapping[str, Mapping[str, Measured]], workload: str, text: Callable[[Measured], str]) -> str:
    """A figure of each mechanism on a workload, as text."""
    return ", ".join(f"{name} {text(of[workload])}" for name, of in runs.items())


def draw_dots(
    panel: Axes, values: NDArray[np.float64], places: NDArray[np.int_], colors: Sequence[str], size: float
) -> NDArray[np.bool_]:
    """Draws a dot for each finite value, in the color of its row; returns which values are finite."""
    finite = np.isfinite(values)
    panel.scatter(
        values[finite],
        places[finite],
        color=[color for color, shown in zip(colors, finite, strict=True) if shown],
        s=size,
        zorder=3,
        clip_on=False,
    )
    return finite


def draw_legend(figure: Figure, colors: Mapping[str, str], title: str) -> None:
    """Draws the legend of dots: what each color means."""
    figure.legend(
        handles=[
            Line2D([], [], marker="o", linestyle="", color=color, label=label)
            for label, color in colors.items()
        ],
        loc="outside lower center",
        ncols=len(colors),
        title=title,
    )
