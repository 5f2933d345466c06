"""How the standard deviation of Table 7.1 depends on what the source leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.running.replications import replicate
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context

from .measure import Run, gbps, median

SEEDS = 10
"""Per value; the effects are wider than the spread between seeds, which the tables show."""
BIN = "5 us"
WIDTHS_US = (5, 10, 20, 100)
CALIBRATION_GBPS = {
    "HW-LW": (3.35, 3.22, 2.99, 1.40),
    "random sampling, every frame": (3.30, 3.15, 2.85, 1.06),
    "random sampling": (2.36, 2.28, 2.13, 1.02),
    "fair bandwidth": (0.29, 0.22, 0.19, 0.33),
}
"""An independent frame-level model with the same parameters: median of 20 seeds for each width of bins."""
TARGETED = ("random sampling", "fair bandwidth")
INGRESS_LINKS = 3
AIMED_AT = ("switch-b", "device-a")

Change = Callable[[Scenario], Scenario]


def bins(context: Context, runs: Mapping[str, Sequence[Run]]) -> None:
    """Widths of bins, from runs that recorded the narrowest."""
    rows = []
    for mode, found in runs.items():
        cells = []
        others = CALIBRATION_GBPS.get(mode, (None,) * len(WIDTHS_US))
        for width, other in zip(WIDTHS_US, others, strict=True):
            values = [run.deviation("v1", width // WIDTHS_US[0]) for run in found]
            compared = "" if other is None else f" [{other:.2f}]"
            cells.append(f"{gbps(median(values))} ({gbps(min(values))} to {gbps(max(values))}){compared}")
        rows.append((mode, *cells))
    context.save_table(
        "sensitivity-bins",
        "Width of bins: standard deviation of victim 1 (Gb/s)",
        ("mode", *(f"{width} us" for width in WIDTHS_US)),
        rows,
        note="Median (least to most) of the seeds, and in brackets the median of an independent frame-level "
        "model with the same parameters. Its figures for fair bandwidth are what ours "
        "would be with one empty "
        "bin after the end of the run: of n bins an empty one adds 2.47 Gb/s / sqrt(n), in squares. That is "
        "inferred from the figures alone.",
    )


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
        "Open parameters: standard deviation of victim 1 (Gb/s, bins of 10 us)",
        ("parameter", "value", *scenarios),
        rows,
        note=f"Median (least to most) of {SEEDS} seeds; with the frames lost, if any.",
    )


def _cell(scenario: Scenario) -> str:
    counted = scenario.with_value("simulation.on_lossless_drop", "count").probes(bin=BIN)
    runs = [Run(result) for result in replicate(counted, SEEDS).results]
    values = [run.deviation("v1", 2) for run in runs]
    lost = max(run.drops for run in runs)
    text = f"{gbps(median(values))} ({gbps(min(values))} to {gbps(max(values))})"
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
    """Figure 7-11 with other target watermarks and other loads of the neighbour of the aggressor."""
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
        "Figure 7-11: pauses of others than switch B and device A",
        ("TW", *(f"device B {load} Gb/s" for load in loads)),
        rows,
        note=f"Median of {SEEDS} seeds; zero is the behaviour that the source draws.",
    )
