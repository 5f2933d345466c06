"""Penstock: a simulator of lossless data-center fabrics.

Describe a fabric, its traffic and its mechanisms; get what each flow received, how late, what was lost, who
paused whom, and how fair it was::

    import penstock as ps

    result = (
        ps.Scenario(duration="10 ms")
        .topology.star(hosts=4, rate="10 Gb/s")
        .flow("victim", from_="h0", to="h3", source=ps.constant("2.5 Gb/s"))
        .flow("aggressor", from_="h1", to="h3", source="greedy")
        .flow_control.pfc(accounting="ingress")
        .run(seed=1)
    )
    result.table("flows").to_pandas()
    result.save("out/first-light")

Names are imported on first use, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .analysis import oracle
    from .analysis.statistics import Interval, jain, student_t_interval
    from .errors import InputError, PenstockError, ResultError, ScenarioError, SimulationError, StudyError
    from .result import Result
    from .running import Guarantee, check, guarantees, run
    from .scenario import Scenario
    from .scenario.traffic import (
        arrivals_file,
        bernoulli,
        bimodal,
        constant,
        empirical,
        exponential,
        hot_spot,
        incast,
        log_normal,
        on_off,
        pareto,
        permutation,
        points,
        poisson,
        request_response,
        uniform,
        window,
    )

_HOME = {
    "Guarantee": "running",
    "InputError": "errors",
    "Interval": "analysis.statistics",
    "PenstockError": "errors",
    "Result": "result",
    "ResultError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "SimulationError": "errors",
    "StudyError": "errors",
    "arrivals_file": "scenario.traffic",
    "bernoulli": "scenario.traffic",
    "bimodal": "scenario.traffic",
    "check": "running",
    "constant": "scenario.traffic",
    "empirical": "scenario.traffic",
    "exponential": "scenario.traffic",
    "guarantees": "running",
    "hot_spot": "scenario.traffic",
    "incast": "scenario.traffic",
    "jain": "analysis.statistics",
    "log_normal": "scenario.traffic",
    "on_off": "scenario.traffic",
    "oracle": "analysis",
    "pareto": "scenario.traffic",
    "permutation": "scenario.traffic",
    "points": "scenario.traffic",
    "poisson": "scenario.traffic",
    "request_response": "scenario.traffic",
    "run": "running",
    "student_t_interval": "analysis.statistics",
    "uniform": "scenario.traffic",
    "window": "scenario.traffic",
}

__all__ = [
    "Guarantee",
    "InputError",
    "Interval",
    "PenstockError",
    "Result",
    "ResultError",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "StudyError",
    "arrivals_file",
    "bernoulli",
    "bimodal",
    "check",
    "constant",
    "empirical",
    "exponential",
    "guarantees",
    "hot_spot",
    "incast",
    "jain",
    "log_normal",
    "on_off",
    "oracle",
    "pareto",
    "permutation",
    "points",
    "poisson",
    "request_response",
    "run",
    "student_t_interval",
    "uniform",
    "window",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("._core", __name__).engine_version()
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = f"{__name__}.{_HOME[name]}"
    return import_module(f"{home}.{name}") if name == "oracle" else getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
