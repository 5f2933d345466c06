"""Variants of FECN in the slides: tags by count, two intervals, and other controls of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from . import figures
from .figures import SINK, Figures
from .measure import CORE

EVERY = 205
"""Frames of a source per tag by count; at the fair rate of 2.5 Gb/s they take T, 1 ms."""
LONG = "5 ms"
"""The longer of two intervals."""
CONTROLS = ("hyperbolic", "linear", "additive")


def run(context: Context) -> list[Outcome]:
    """J12 to J14."""
    symmetric, large = context.scenario("symmetric"), context.scenario("large")
    late = {"flows.stops.start": "30 ms", "flows.stops.stop": None}
    by_count = {"host.rate_limiters": {"fecn": {"tag_every": EVERY}}}
    longer = {
        "switch.queue_managers": [{"fecn": {"long_interval": LONG}}],
        "host.rate_limiters": {"fecn": {"long_interval": LONG}},
    }

    def joined(seed: int) -> Figures:
        return figures.joined(at(symmetric, late, seed), at(symmetric, late | by_count, seed))

    def two_intervals(seed: int) -> Figures:
        return figures.two_intervals(at(symmetric, {}, seed), at(symmetric, longer, seed))

    def controls(seed: int) -> Figures:
        found: Figures = {}
        for name, scenario, port in (("four", symmetric, SINK), ("hundred", large, CORE)):
            [point] = scenario.to_dict()["switch"]["queue_managers"]
            for control in CONTROLS:
                changed = {"switch.queue_managers": [{"fecn": {**point["fecn"], "queue_control": control}}]}
                result = at(scenario, changed, seed)
                found[f"{control}_{name}"] = figures.swing(result, port)
            found[f"swing_{name}"] = found[f"hyperbolic_{name}"] / found[f"linear_{name}"]
        return found

    swings = context.over_seeds(controls, "J14")
    means = {name: sum(of[name] for of in swings) / len(swings) for name in swings[0]}
    context.save_table(
        "controls",
        "Standard deviation of the queue by its control",
        ("sources", *(f"{control} (packets)" for control in CONTROLS)),
        [
            (name, *(f"{means[f'{control}_{name}']:.1f}" for control in CONTROLS))
            for name in ("four", "hundred")
        ],
        note=f"From 20 to 80 ms, means of {len(swings)} seeds; k = 0.1, a choice.",
    )
    return [
        context.judge("J12", context.over_seeds(joined, "J12")),
        context.judge("J13", context.over_seeds(two_intervals, "J13")),
        context.judge("J14", swings),
    ]


def at(scenario: Scenario, changes: Mapping[str, Any], seed: int) -> Result:
    """A run with changed keys."""
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario.run(seed=seed)
