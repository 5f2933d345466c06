"""Dependence of Table 7.1's standard deviation on parameters that the source leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.running.replications import replicate
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context

from .deviations import WIDTH_US, deviation
from .measure import Run, median

SEEDS = 10
"""Seeds per value; the effects exceed the spread between seeds, which the tables show."""
TARGETED = ("random sampling", "fair bandwidth")
INGRESS_LINKS = 3
AIMED_AT = ("switch-b", "device-a")

Change = Callable[[Scenario], Scenario]


def parameters(context: Context, scenarios: Mapping[str, Scenario]) -> None:
    """Watermarks, delay of the links and start phases, one at a time."""
    sweeps: dict[str, dict[str, Change]] = {
        "HW, with TW 11 frames below": {f"{hw} frames": _high(hw) for hw in (60, 66, 72, 78, 84)},
        "TW": {f"{tw} frames": _target(tw) for tw in (22, 33, 44, 55, 60)},
        "LW": {f"{lw} frames": _low(lw) for lw in (2, 5, 11, 22, 33)},
        "delay of ingress links": {delay: _delay(delay) for delay in ("0.5 us", "1 us", "3 us", "6.785 us")},
        "start phases": {"random": lambda scenario: scenario, "all at once": _in_phase},
    }
    rows = []
    for parameter, values in sweeps.items():
        for value, change in values.items():
            cells = []
            for mode, scenario in scenarios.items():
                if parameter == "TW" and mode not in TARGETED:
                    cells.append("")
                    continue
                cells.append(_cell(change(scenario)))
            rows.append((parameter, value, *cells))
    context.save_table(
        "sensitivity-parameters",
        "Open parameters: standard deviation of victim 1 (Gb/s)",
        ("parameter", "value", *scenarios),
        rows,
        note=f"Median (minimum to maximum) of {SEEDS} seeds, whole frames in bins of {WIDTH_US} us; lost "
        "frames, if any, are listed too.",
    )


def _cell(scenario: Scenario) -> str:
    counted = scenario.with_value("simulation.on_lossless_drop", "count")
    logged = counted.with_value("probes", [{"what": "frames", "which": ["v1.0->sw"]}])
    results = replicate(logged, SEEDS).results
    values = [deviation(result, "v1", WIDTH_US) for result in results]
    lost = max(Run(result).drops for result in results)
    text = f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
    return f"{text}, {lost} lost" if lost else text


def _high(frames: int) -> Change:
    def change(scenario: Scenario) -> Scenario:
        changed = scenario.with_value("flow_control.pfc.xoff", f"{frames} frames")
        return _target(frames - 11)(changed)

    return change


def _target(frames: int) -> Change:
    def change(scenario: Scenario) -> Scenario:
        if "target" not in scenario.to_dict()["flow_control"]["pfc"]:
            return scenario
        return scenario.with_value("flow_control.pfc.target.watermark", f"{frames} frames")

    return change


def _low(frames: int) -> Change:
    return lambda scenario: scenario.with_value("flow_control.pfc.xon", f"{frames} frames")


def _delay(delay: str) -> Change:
    def change(scenario: Scenario) -> Scenario:
        for link in range(INGRESS_LINKS):
            scenario = scenario.with_value(f"topology.explicit.links.{link}.delay", delay)
        return scenario

    return change


def _in_phase(scenario: Scenario) -> Scenario:
    for flow in range(len(scenario.to_dict()["flows"])):
        scenario = scenario.with_value(f"flows.{flow}.source.constant.random_phase", False)
    return scenario


def two_switches(context: Context, scenario: Scenario) -> None:
    """Figure 7-11 with other target watermarks and other loads of the aggressor's neighbor."""
    loads = ("0.1", "0.5", "1", "2")
    rows = []
    for watermark in (55, 44, 33):
        cells = []
        for load in loads:
            changed = _target(watermark)(scenario).with_value(
                "flows.device-b.source.constant.rate", f"{load} Gb/s"
            )
            runs = [Run(result) for result in replicate(changed, SEEDS).results]
            others = [sum(n for node, n in run.stopped().items() if node not in AIMED_AT) for run in runs]
            cells.append(f"{median(others):.0f}")
        rows.append((f"{watermark} frames", *cells))
    context.save_table(
        "sensitivity-two-switches",
        "Figure 7-11: pauses of nodes other than switch B and device A",
        ("TW", *(f"device B {load} Gb/s" for load in loads)),
        rows,
        note=f"Median of {SEEDS} seeds; zero is the behaviour in the source's figure.",
    )
