"""Penstock: a simulator of lossless data-center fabrics.

Describe a fabric, its traffic and its mechanisms. A run reports the throughput and latency of each flow,
losses,
pauses with their causes, and fairness::

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
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .analysis import oracle
    from .analysis.statistics import Interval, jain, student_t_interval
    from .errors import InputError, PenstockError, ResultError, ScenarioError, SimulationError, StudyError
    from .glossary import explain
    from .laboratory.outcome import Outcome
    from .laboratory.plan import Plan
    from .laboratory.preview import Preview, preview
    from .laboratory.sweep import sweep
    from .library import allow_files
    from .result import Result
    from .running import Guarantee, check, guarantees, run
    from .running.many import run_many
    from .running.session import Event, Session
    from .scenario import Scenario, traffic
    from .scenario.traffic import *  # noqa: F403

    __all__: list[str] = [
        "Event",
        "Guarantee",
        "InputError",
        "Interval",
        "Outcome",
        "PenstockError",
        "Plan",
        "Preview",
        "Result",
        "ResultError",
        "Scenario",
        "ScenarioError",
        "Session",
        "SimulationError",
        "StudyError",
        "allow_files",
        "check",
        "explain",
        "guarantees",
        "jain",
        "oracle",
        "preview",
        "run",
        "run_many",
        "student_t_interval",
        "sweep",
    ]
    __all__ += traffic.__all__

_HOME = {
    "Event": "running.session",
    "Guarantee": "running",
    "InputError": "errors",
    "Interval": "analysis.statistics",
    "Outcome": "laboratory.outcome",
    "PenstockError": "errors",
    "Plan": "laboratory.plan",
    "Preview": "laboratory.preview",
    "Result": "result",
    "ResultError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Session": "running.session",
    "SimulationError": "errors",
    "StudyError": "errors",
    "allow_files": "library",
    "check": "running",
    "explain": "glossary",
    "guarantees": "running",
    "jain": "analysis.statistics",
    "oracle": "analysis",
    "preview": "laboratory.preview",
    "run": "running",
    "run_many": "running.many",
    "student_t_interval": "analysis.statistics",
    "sweep": "laboratory.sweep",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("._core", __name__).engine_version()
    if name == "__all__":
        return [*_HOME, *_traffic().__all__]
    if name in _HOME:
        home = f"{__name__}.{_HOME[name]}"
        return import_module(f"{home}.{name}") if name == "oracle" else getattr(import_module(home), name)
    if not name.startswith("_"):
        # Modules of the package are not scenario values; importing the keys is slow.
        if find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        if name in _traffic().__all__:
            return getattr(_traffic(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_HOME, *_traffic().__all__, "__version__"])


def _traffic() -> ModuleType:
    """Module with the values of flow keys, generated from the scenario schema."""
    return import_module(f"{__name__}.scenario.traffic")
