"""The figures of one choice of the slides' open parameters, for all experiments at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.scenario import Scenario
from penstock.studies.reproduce import Context

from . import figures
from .figures import FIRST_RATES, Figures, arrives
from .measure import allowed
from .study import LONG_LOOP, LONGER_LOOP, NO_FECN, REPORTED

Values = Mapping[str, Any]
FRAME_BYTES = 1500
SOURCES = {"symmetric": 20, "tcp": 20, "victim": 20, "large": 100, "bursty": 100}
"""N0 of each topology; that of the hot spot is open."""


def measure(context: Context, values: Values, seed: int) -> Figures:
    """Measures all figures that `search.toml` names."""

    def made(file: str, first: int | None = None) -> Scenario:
        return changed(context.scenario(file).with_value("simulation.seed", seed), file, values, first)

    near, (hot, far) = made("symmetric"), hot_spots(made("hot-spot"), values)
    alone, beside = victim(made("victim"), values)
    return {
        **tcp(made("tcp"), values),
        **figures.symmetric(near.run(), altered(near, LONG_LOOP).run()),
        **figures.large(made("large").run()),
        **figures.victim(alone.run(), beside.run()),
        **figures.bursty(bursty(made("bursty"), values).run()),
        **figures.hot(hot.run(), "hot"),
        **figures.hot(far.run(), "hot_far"),
        **sensitivity(made),
    }


def altered(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """The scenario with changed keys."""
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario


def changed(scenario: Scenario, file: str, values: Values, first: int | None = None) -> Scenario:
    """A scenario of the study with these values: the same in all scenarios, as in the slides, except N0."""
    expected = first or (values["hot_sources"] if file == "hot-spot" else SOURCES[file])
    point = {
        "expected_sources": expected,
        "set_point": f"{values['set_point'] * FRAME_BYTES} B",
        "severe": f"{values['set_point'] * values['severe'] * FRAME_BYTES} B",
        "max_increase_share": values["max_increase"],
        "idle": values["idle"],
        "phase": values["phase"],
        "stamp_at": values["stamp_at"],
    }
    limiter = {"initial_share": min(1, values["initial"] / expected), "forget_after": values["forget_after"]}
    per = {"per": "destination"} if file == "tcp" else {}
    scenario = scenario.with_value("switch.queue_managers", [{"fecn": point}])
    scenario = scenario.with_value("host.rate_limiters", {**per, "fecn": limiter})
    if file not in ("hot-spot", "victim"):
        scenario = scenario.with_value("switch.buffer.queue", f"{values['buffer']} frames")
    return scenario


def tcp(scenario: Scenario, values: Values) -> Figures:
    """J1, with the largest deviation from the reported figures."""
    for flow in scenario.to_dict()["flows"]:
        for key in ("recovery", "min_timeout", "send_jitter"):
            scenario = scenario.with_value(f"flows.{flow['name']}.source.tcp.{key}", values[key])
        start = values["min_timeout"]
        scenario = scenario.with_value(f"flows.{flow['name']}.source.tcp.initial_timeout", start)
    for nth in range(6):
        scenario = scenario.with_value(f"topology.explicit.links.{nth}.delay", values["tcp_delay"])
    scenario = scenario.with_value("simulation.duration", "1 s")
    found = figures.tcp(altered(scenario, NO_FECN).run(), scenario.run())
    off = [
        abs(found[f"{name}_{label}"] / theirs - 1)
        for name, reported in REPORTED.items()
        for label, theirs in zip(figures.LABELS, reported, strict=True)
    ]
    return {**found, "tcp_off": max(off)}


def victim(scenario: Scenario, values: Values) -> tuple[Scenario, Scenario]:
    """J5, with PAUSE alone and with FECN."""
    pause = thresholds(values)
    scenario = scenario.with_value("flow_control.pause.xoff", pause[0])
    scenario = scenario.with_value("flow_control.pause.xon", pause[1])
    return altered(scenario, NO_FECN), scenario


def bursty(scenario: Scenario, values: Values) -> Scenario:
    """J6."""
    period = {"pareto": {"mean": "10 ms", "shape": values["shape"]}}
    source = {"on_off": {"peak": values["peak"], "on": period, "off": period}}
    return scenario.with_value("flows.f.source", source)


def thresholds(values: Values) -> tuple[str, str]:
    """XOFF and XON."""
    xoff = values["xoff"]
    return f"{xoff} frames", f"{max(1, round(values['xon'] * xoff))} frames"


def hot_spots(scenario: Scenario, values: Values) -> tuple[Scenario, Scenario]:
    """J7, and J8, whose thresholds are given in the slides."""
    for key, threshold in zip(("xoff", "xon"), thresholds(values), strict=True):
        scenario = scenario.with_value(f"flow_control.pause.{key}", threshold)
    pause = {"flow_control.pause.xoff": "90 frames", "flow_control.pause.xon": "8 frames"}
    return scenario, altered(scenario, LONGER_LOOP | pause)


def sensitivity(made: Any) -> Figures:
    """J9."""
    times = {}
    for first in FIRST_RATES:
        scenario = made("symmetric", first).with_value("simulation.duration", "40 ms")
        scenario = scenario.with_value("flows.stops.stop", None).with_value("probes.bin", "100 us")
        for flow in ("stays", "stops"):
            scenario = scenario.with_value(f"flows.{flow}.source", {"constant": {"rate": "5 Gb/s"}})
        times[first] = arrives(allowed(scenario.run())) - 5
    return figures.slope(times)
