"""Published, analytic and learned DRR weights on traffic that the published fit does not cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

import penstock as ps
from penstock.plots.style import INK, style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome
from penstock.weights import Counters, Learner

PLAIN = "plain DRR"
RULES = (PLAIN, "published", "published by bytes", "analytic", "learned")
COLORS = ("#B8B8B8", "#D55E00", "#E69F00", "#56B4E9", "#0072B2")
Sizes = Sequence[str | Mapping[str, Any]]


def two(short_share: float) -> Mapping[str, Any]:
    """Frames of 68 and 1522 B in one queue."""
    return {"bimodal": {"small": "68 B", "large": "1522 B", "small_share": short_share}}


CELLS = {"cell": "256 B", "per_frame": "16 B", "accounted_length": "frame"}
FIT, JUMBO = "68, 512, 1522 B", "68, 1522, 9216 B"
CASES: dict[str, tuple[Sizes, Mapping[str, Any]]] = {
    FIT: (("68 B", "512 B", "1522 B"), {}),
    "20 % short": ((two(0.2), "512 B", "1522 B"), {}),
    "50 % short": ((two(0.5), "512 B", "1522 B"), {}),
    "80 % short": ((two(0.8), "512 B", "1522 B"), {}),
    JUMBO: (("68 B", "1522 B", "9216 B"), {}),
    "cells of 256 B": (("68 B", "300 B", "1522 B"), CELLS),
}
MIXES = ("20 % short", "50 % short", "80 % short")


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    scenario = context.scenario("mixes")
    found: dict[str, dict[str, Result]] = {}
    for name, (sizes, accounts) in CASES.items():
        context.say(name)
        found[name] = {rule: under(of_sizes(scenario, sizes), rule, accounts).run() for rule in RULES}
    context.say("changing loads")
    for period_us in (4000, 500):
        swapped = swapping(scenario, period_us)
        found[f"swap every {period_us / 1000:g} ms"] = {
            rule: under(swapped, rule, {}).run() for rule in RULES
        }
    jain = {name: {rule: index(result) for rule, result in by.items()} for name, by in found.items()}
    table(context, found)
    cover = context.save_figure(picture(jain), "fairness", cover=True)
    mixes = {name: jain[name] for name in MIXES}
    fit, jumbo, faster = jain[FIT], jain[JUMBO], jain["swap every 0.5 ms"]
    return [
        context.judge("A-1", figures(fit), measured=listed(fit), pictures=[cover]),
        context.judge(
            "A-2",
            {"learned_min": min(by["learned"] for by in mixes.values())},
            measured="; ".join(f"{name}: {listed(by, (PLAIN, 'learned'))}" for name, by in mixes.items()),
        ),
        context.judge(
            "A-3",
            {"published_gain_min": min(by["published"] - by[PLAIN] for by in mixes.values())},
            measured="; ".join(f"{name}: {listed(by, RULES[:3])}" for name, by in mixes.items()),
        ),
        context.judge("A-4", figures(jumbo), measured=listed(jumbo)),
        jumbo_published(context, jumbo, scenario),
        *(
            context.judge(key, figures(jain[name]), measured=listed(jain[name]))
            for key, name in (("A-5", "cells of 256 B"), ("A-6", "swap every 4 ms"))
        ),
        context.judge("A-7", {"learned_gain": faster["learned"] - faster[PLAIN]}, measured=listed(faster)),
        outside(context, scenario, found[FIT][PLAIN]),
    ]


def of_sizes(scenario: Scenario, sizes: Sizes) -> Scenario:
    """The scenario with other frame sizes."""
    for name, size in zip("abc", sizes, strict=True):
        scenario = scenario.with_value(f"flows.{name}.frame", size)
    return scenario


def under(scenario: Scenario, rule: str, accounts: Mapping[str, Any]) -> Scenario:
    """The scenario with weights set by this rule."""
    if rule == PLAIN:
        return scenario.with_value("switch.scheduler", {"drr": dict(accounts)})
    formula, _, bytes_ = rule.partition(" by ")
    mix = {"mix": bytes_} if bytes_ else {}
    return scenario.with_value("switch.scheduler", {"drr_awc": {"formula": formula, **mix, **accounts}})


def swapping(scenario: Scenario, period_us: int) -> Scenario:
    """Classes a and c alternate between frames of 68 and 1522 B, with a source for each size."""
    flows = []
    for flow in scenario.to_dict()["flows"]:
        if flow["name"] == "b":
            flows.append(flow)
            continue
        for size, first in (("68 B", flow["name"] == "a"), ("1522 B", flow["name"] == "c")):
            steps, on = [] if first else [{"at": "0 ms", "stop": True}], first
            for at_us in range(period_us, 20_000, period_us):
                on = not on
                steps.append({"at": f"{at_us} us", "start" if on else "stop": True})
            name = f"{flow['name']} {size}"
            flows.append({**flow, "name": name, "frame": size, "script": steps})
    return scenario.with_value("flows", flows)


def payload(result: Result) -> dict[str, float]:
    """Payload of each class in bits per second."""
    rates: dict[str, float] = {}
    for row in result.rows("flows"):
        name = row["flow"].split()[0]
        rates[name] = rates.get(name, 0.0) + row["goodput_bps"]
    return rates


def index(result: Result) -> float:
    """Jain's index of the payloads of the classes."""
    return ps.jain(list(payload(result).values()))


def figures(jain: Mapping[str, float]) -> dict[str, float]:
    """Jain's index by rule, under the names that ``study.toml`` uses."""
    return {rule.lower().replace(" ", "_"): value for rule, value in jain.items()}


def listed(jain: Mapping[str, float], rules: Sequence[str] = RULES) -> str:
    """Jain's index by rule, as text."""
    return ", ".join(f"{rule} {jain[rule]:.4f}" for rule in rules)


def jumbo_published(context: Context, jain: Mapping[str, float], scenario: Scenario) -> Outcome:
    """A-9, and Jain's index with a weight of 1 for all frames above 1024 B."""
    sized = of_sizes(scenario, CASES[JUMBO][0])
    one = index(sized.with_value("switch.scheduler", {"drr_awc": {"top_bin": "one"}}).run())
    return context.judge(
        "A-9",
        {"published_gain": jain["published"] - jain[PLAIN]},
        measured=f"{listed(jain, RULES[:2])}; with a weight of 1 above 1024 B (top_bin) {one:.4f}",
    )


def outside(context: Context, scenario: Scenario, plain: Result) -> Outcome:
    """A-8."""
    quantum = 1542.0
    learner = Learner()
    counters = [
        Counters(row["frames_delivered"], row["bytes_delivered"], quantum) for row in plain.rows("flows")
    ]
    weights = [weight or 1.0 for weight in learner.weights(counters)]
    quanta = [f"{round(quantum * 4 * weight / min(weights))} B" for weight in weights]
    jain = index(scenario.with_value("switch.scheduler", {"drr": {"quanta": quanta}}).run())
    overhead = learner.per_frame if learner.per_frame is not None else float("nan")
    ratio = " : ".join(f"{weight / weights[-1]:.3f}" for weight in weights)
    return context.judge(
        "A-8",
        {"overhead_bytes": overhead, "jain": jain},
        measured=f"{overhead:.2f} B of accounted overhead per frame; weights {ratio}; Jain {jain:.5f}",
    )


def table(context: Context, found: Mapping[str, Mapping[str, Result]]) -> None:
    """Payload of the classes and Jain's index, by case and rule."""
    rows = []
    for name, by in found.items():
        for rule, result in by.items():
            rates = payload(result)
            rows.append(
                (
                    name,
                    rule,
                    *(f"{rates[c] / 1e9:.3f}" for c in "abc"),
                    f"{ps.jain(list(rates.values())):.4f}",
                )
            )
    columns = ("case", "weights", "a (Gb/s)", "b (Gb/s)", "c (Gb/s)", "Jain")
    context.save_table("cases", "Payload of three greedy classes", columns, rows)


def picture(jain: Mapping[str, Mapping[str, float]]) -> Figure:
    """1 - Jain's index, by case and rule."""
    with style():
        figure = Figure(figsize=(8.6, 4.2))
        axes = figure.subplots()
        for row, (rule, color) in enumerate(zip(RULES, COLORS, strict=True)):
            missing = [max(1 - by[rule], 2e-7) for by in jain.values()]
            places = [at + 0.17 * (row - 2) for at in range(len(jain))]
            axes.bar(places, missing, width=0.15, color=color, label=rule, bottom=0)
        axes.axhline(1e-3, color=INK, linewidth=1, linestyle="--")
        axes.text(len(jain) - 0.48, 1e-3, "Jain\n0.999", ha="left", va="center", fontsize=8, color=INK)
        axes.set_yscale("log")
        axes.set_ylim(1e-7, 0.5)
        axes.set_xlim(-0.6, len(jain) - 0.5)
        axes.set_ylabel("unfairness: 1 - Jain's index (2e-7 if below)")
        axes.set_xticks(range(len(jain)), [name.replace(" every", "\nevery") for name in jain], fontsize=8)
        axes.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, fontsize=9)
        axes.set_title(
            "Learned weights stay fair on traffic that the published fit does not cover", fontsize=11
        )
        axes.grid(axis="x", visible=False)
    return figure
