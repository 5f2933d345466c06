"""Section 1.2 of Hagen 2012: interference between four classes in one queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from penstock.plots.style import DROP_COLOR, PAUSE_COLOR, QUIET_COLOR, style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

CLASSES = range(8)
OFFER_GBPS = 8.0
HALF = 0.5
"""Share of the offered load below which the picture shows a class as throttled."""
TWO, EIGHT = "two queues", "eight queues"
DRAWN = 1

Rates = Mapping[int, Sequence[float]]
"""Rates of all classes in Gb/s, by the class with the slow receiver."""


def run(context: Context) -> list[Outcome]:
    """Both experiments."""
    two = context.scenario("queues")
    eight = two.with_value("switch.queues", "per_priority")

    def measure(seed: int) -> Mapping[str, Rates]:
        return {
            name: {slow: rates(scenario, slow, seed) for slow in CLASSES}
            for name, scenario in ((TWO, two), (EIGHT, eight))
        }

    runs = context.over_seeds(measure, "H1-2", "H1-2-eight")
    table(context, runs[0])
    cover = context.save_figure(
        picture({name: of[DRAWN] for name, of in runs[0].items()}), "queues", cover=True
    )
    figures = [shares(found) for found in runs]
    return [context.judge("H1-2", figures, pictures=[cover]), context.judge("H1-2-eight", figures)]


def shares(found: Mapping[str, Rates]) -> dict[str, float]:
    """Figures of one seed, as shares of what a class offers."""
    beside, apart = together(found[TWO])
    least = min(rate for slow, of in found[EIGHT].items() for own, rate in enumerate(of) if own != slow)
    return {
        "beside": max(beside) / OFFER_GBPS,
        "apart": min(apart) / OFFER_GBPS,
        "eight": least / OFFER_GBPS,
    }


def rates(scenario: Scenario, slow: int, seed: int) -> list[float]:
    """Rate of each class while one class has a slow receiver."""
    [receive] = scenario.to_dict()["hosts"].values()
    result = scenario.with_value("hosts", {f"r{slow}": receive}).run(seed=seed)
    got = {row["flow"]: row["throughput_bps"] / 1e9 for row in result.rows("flows")}
    return [got[f"class-{own}"] for own in CLASSES]


def together(found: Rates) -> tuple[list[float], list[float]]:
    """Rates of the other classes in the queue of the slow class, and of the classes in the other queue."""
    pairs = [(slow, own, rate) for slow, of in found.items() for own, rate in enumerate(of) if own != slow]
    beside = [rate for slow, own, rate in pairs if slow // 4 == own // 4]
    return beside, [rate for slow, own, rate in pairs if slow // 4 != own // 4]


def table(context: Context, found: Mapping[str, Rates]) -> None:
    """Table of all classes, for each slow one."""
    context.save_table(
        "classes",
        "Throughput of each class (Gb/s)",
        ("queues per port", "slow receiver", *(f"class {own}" for own in CLASSES)),
        [
            (name, f"class {slow}", *(f"{rate:.2f}" for rate in of))
            for name, runs in found.items()
            for slow, of in runs.items()
        ],
        note="The offered load of each class is 8 Gb/s; seed 1.",
    )


def picture(found: Mapping[str, Sequence[float]]) -> Figure:
    """A panel per number of queues, a bar per class."""
    with style():
        figure = Figure(figsize=(8.4, 3.2), layout="constrained")
        panels = figure.subplots(1, len(found), sharey=True)
        for panel, (name, of) in zip(panels, found.items(), strict=True):
            colors = [
                DROP_COLOR if own == DRAWN else PAUSE_COLOR if rate < HALF * OFFER_GBPS else QUIET_COLOR
                for own, rate in enumerate(of)
            ]
            panel.bar(list(CLASSES), list(of), color=colors)
            panel.set_title(name)
            panel.set_xticks(list(CLASSES))
            panel.set_xlabel("traffic class")
        panels[0].set_ylabel("throughput (Gb/s); offered: 8")
        figure.suptitle(f"The receiver of class {DRAWN} is slow (red); orange classes are throttled with it")
    return figure
