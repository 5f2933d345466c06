"""The figures of one choice of the slides' open parameters, for all experiments at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context

from .measure import (
    CORE,
    HOT,
    active,
    allowed,
    jain,
    longest,
    lost,
    mean,
    pauses,
    port,
    rates,
    together,
)
from .study import FIRST_RATES, NO_FECN, REPORTED, SINK, connection, reaches

Values = Mapping[str, Any]
FRAME_BYTES = 1500
SOURCES = {"symmetric": 20, "tcp": 20, "victim": 20, "large": 100, "bursty": 100}
"""N0 of each topology; that of the hot spot is open."""


def measure(context: Context, values: Values) -> dict[str, float]:
    """Measures all figures that `search.toml` names."""

    def made(file: str, first: int | None = None) -> Scenario:
        return changed(context.scenario(file), file, values, first)

    return {
        **tcp(made("tcp"), values),
        **symmetric(made("symmetric")),
        **large(made("large").run()),
        **victim(made("victim"), values),
        **bursty(made("bursty"), values),
        **hot_spots(made("hot-spot"), values),
        **sensitivity(made),
    }


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


def tcp(scenario: Scenario, values: Values) -> dict[str, float]:
    """J1."""
    for flow in scenario.to_dict()["flows"]:
        for key in ("recovery", "min_timeout", "send_jitter"):
            scenario = scenario.with_value(f"flows.{flow['name']}.source.tcp.{key}", values[key])
        start = values["min_timeout"]
        scenario = scenario.with_value(f"flows.{flow['name']}.source.tcp.initial_timeout", start)
    for nth in range(6):
        scenario = scenario.with_value(f"topology.explicit.links.{nth}.delay", values["tcp_delay"])
    scenario = scenario.with_value("simulation.duration", "1 s")
    without = scenario
    for key, value in NO_FECN.items():
        without = without.with_value(key, value)
    found: dict[str, float] = {}
    worst = 0.0
    for name, run in (("none", without.run()), ("FECN", scenario.run())):
        flows = {row["flow"]: row["throughput_bps"] / 1e9 for row in run.rows("flows")}
        bulk = [flows[f"ST{host}-{n}"] for host in range(1, 5) for n in range(1, 11)]
        figures = (*connection(run, "SR1"), *connection(run, "SR2"), sum(bulk) / 4)
        off = [abs(ours / theirs - 1) for ours, theirs in zip(figures, REPORTED[name], strict=True)]
        worst = max(worst, *off)
        labels = ("sr1", "sr1_us", "sr2", "sr2_us", "st")
        found |= {f"{name}_{label}": value for label, value in zip(labels, figures, strict=True)}
        found |= {f"{name}_jain": jain(bulk), f"{name}_lost": lost(run)}
    return {**found, "tcp_off": worst}


def symmetric(scenario: Scenario) -> dict[str, float]:
    """J2 and J3."""
    near = scenario.run()
    far = scenario.with_value("topology.star.delay", "75 us").with_value("switch.latency", "50 us").run()
    found: dict[str, float] = {}
    for name, result in (("near", near), ("far", far)):
        flows = rates(result)
        before = [mean(series, 20, 80) for series in flows.values()]
        late = [mean(series, 90, 100) for series in together(flows, "stays").values()]
        found |= {
            f"{name}_apart": max(before) / min(before) - 1,
            f"{name}_late": max(abs(rate / 5 - 1) for rate in late),
            f"{name}_longest": longest(result, SINK),
            f"{name}_used": mean(port(result, SINK), 20, 80) / 10,
            f"{name}_lost": lost(result),
            f"{name}_ms": arrives(flows),
        }
    found["far_to_near"] = (found["far_ms"] - 5) / (found["near_ms"] - 5)
    return found


def arrives(flows: Mapping[str, Any]) -> float:
    """Time in ms at which the last source reaches 95 % of its share; NaN if one never does."""
    try:
        return reaches(flows)
    except IndexError:
        return math.nan


def large(result: Result) -> dict[str, float]:
    """J4."""
    return {
        "large_jain": jain([mean(series, 18, 22) for series in rates(result).values()]),
        "large_used": mean(port(result, CORE), 15, 100) / 10,
        "large_lost": lost(result),
    }


def victim(scenario: Scenario, values: Values) -> dict[str, float]:
    """J5."""
    pause = thresholds(values)
    scenario = scenario.with_value("flow_control.pause.xoff", pause[0])
    scenario = scenario.with_value("flow_control.pause.xon", pause[1])
    alone = scenario
    for key, value in NO_FECN.items():
        alone = alone.with_value(key, value)

    def share(result: Result) -> float:
        row = next(row for row in result.rows("flows") if row["flow"] == "S1")
        return float(row["throughput_bps"] / 9e9)

    return {"victim_pause": 1 - share(alone.run()), "victim_fecn": 1 - share(scenario.run())}


def bursty(scenario: Scenario, values: Values) -> dict[str, float]:
    """J6."""
    period = {"pareto": {"mean": "10 ms", "shape": values["shape"]}}
    source = {"on_off": {"peak": values["peak"], "on": period, "off": period}}
    result = scenario.with_value("flows.f.source", source).run()
    flows = rates(result)
    indices = [jain(of) for begin in range(30, 197, 3) if (of := active(flows, begin, begin + 3))]
    return {
        "bursty_jain": sum(indices) / len(indices),
        "bursty_used": mean(port(result, CORE), 20, 200) / 10,
        "bursty_lost": lost(result),
        "bursty_longest": longest(result, CORE),
    }


def thresholds(values: Values) -> tuple[str, str]:
    """XOFF and XON."""
    xoff = values["xoff"]
    return f"{xoff} frames", f"{max(1, round(values['xon'] * xoff))} frames"


def hot_spots(scenario: Scenario, values: Values) -> dict[str, float]:
    """J7, and J8, whose thresholds are given in the slides."""
    for key, threshold in zip(("xoff", "xon"), thresholds(values), strict=True):
        near = scenario = scenario.with_value(f"flow_control.pause.{key}", threshold)
    far = near.with_value("topology.star.delay", "100 us").with_value("switch.latency", "50 us")
    far = far.with_value("flow_control.pause.xoff", "90 frames").with_value(
        "flow_control.pause.xon", "8 frames"
    )
    found: dict[str, float] = {}
    for name, result in (("hot", near.run()), ("hot_far", far.run())):
        nine = [row["flow"] for row in result.rows("flows") if row["destination"] == "h0"]
        each = [mean(rates(result)[flow], 30, 90) for flow in nine]
        aim = 8 * 0.9444 * 1520 / 1500 + 1 / 9
        times, lasted = pauses(result)
        found |= {
            f"{name}_apart": max(abs(value * 9 - 1) for value in each),
            f"{name}_free": abs(mean(port(result, "h2.0->sw"), 30, 90) / aim - 1),
            f"{name}_lost": lost(result),
            f"{name}_pauses": times,
            f"{name}_paused_ms": lasted,
            f"{name}_longest": longest(result, HOT),
        }
    return found


def sensitivity(made: Any) -> dict[str, float]:
    """J9."""
    times = {}
    for first in FIRST_RATES:
        scenario = made("symmetric", first).with_value("simulation.duration", "40 ms")
        scenario = scenario.with_value("flows.stops.stop", None).with_value("probes.bin", "100 us")
        for flow in ("stays", "stops"):
            scenario = scenario.with_value(f"flows.{flow}.source", {"constant": {"rate": "5 Gb/s"}})
        times[first] = arrives(allowed(scenario.run())) - 5
    return {"doubling": (times[100] - times[20]) / math.log2(5)}
