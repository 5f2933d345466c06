"""Figure 3-3 of Hagen 2012: a chain of three switches under PFC, and under PFC and QCN."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.plots.style import DROP_COLOR, INK, PAUSE_COLOR, QUIET_COLOR, Label, label_right, style
from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome

SETTLED_NS = 5e6
"""Start of the measurement."""
OFFER_BPS = 8e9
UPSTREAM = ("s1.3->s2", "s2.1->s3")
"""The links into the second and the third switch."""
FLOWS = {"a": "#D55E00", "b": "#E69F00", "victim-1": "#0072B2", "victim-2": "#56B4E9"}
PLACES = {
    "s1": (1, 1),
    "s2": (2.2, 1),
    "s3": (3.4, 1),
    "a": (0, 1.7),
    "v1": (0, 1),
    "v2": (0, 0.3),
    "w1": (2.2, 0.1),
    "b": (3.4, 1.9),
    "sink": (4.4, 1.4),
    "w2": (4.4, 0.6),
}
"""Positions as in the figure of the source; the second flow joins at the third switch."""
PFC, QCN, SHORT = "PFC", "PFC and QCN", "PFC and QCN, short cycles"
REACTIONS: Mapping[str, Mapping[str, str]] = {
    QCN: {},
    SHORT: {"time_reset": "200 us", "byte_reset": "30 kB", "active_increase": "50 Mb/s"},
}


def run(context: Context) -> list[Outcome]:
    """H3-3."""
    runs = {name: context.over_seeds(partial(one, context, name), "H3-3") for name in (PFC, QCN, SHORT)}
    table(context, runs)
    first = {name: of[0] for name, of in runs.items() if name != SHORT}
    cover = context.save_figure(picture(first), "figure-3-3", cover=True)
    return [spreading(context, runs, cover)]


def one(context: Context, name: str, seed: int) -> Result:
    """Run of the chain with PFC, and with QCN except for the name PFC."""
    scenario = context.scenario("chain")
    if name in REACTIONS:
        scenario = scenario.with_value("switch.queue_managers", [{"qcn": {}}])
        scenario = scenario.with_value("host.rate_limiters", {"qcn": dict(REACTIONS[name])})
    return scenario.run(seed=seed)


def paused_ms(result: Result) -> dict[str, float]:
    """Paused time of each port in ms."""
    return {row["port"]: float(row["paused_s"]) * 1e3 for row in result.rows("ports")}


def rate(result: Result, flow: str) -> float:
    """Mean received rate after settling, in b/s."""
    times, values = result.series("flow_throughput_bps", flow)
    return float(values[times >= SETTLED_NS].mean())


def spreading(context: Context, runs: Mapping[str, list[Result]], cover: str) -> Outcome:
    """H3-3."""
    figures = []
    for alone, reported in zip(runs[PFC], runs[QCN], strict=True):
        spread, left = (sum(paused_ms(of)[port] for port in UPSTREAM) for of in (alone, reported))
        kept, got = (
            min(rate(of, victim) / OFFER_BPS for victim in ("victim-1", "victim-2"))
            for of in (alone, reported)
        )
        figures.append(
            {
                "second_ms": paused_ms(alone)[UPSTREAM[0]],
                "left": left / spread,
                "got": got,
                "kept": kept,
            }
        )
    kept = float(np.mean([of["kept"] for of in figures]))
    return context.judge("H3-3", figures, also=f"with PFC alone {kept:.0%}", pictures=[cover])


def table(context: Context, runs: Mapping[str, list[Result]]) -> None:
    """Rates and pauses."""
    context.save_table(
        "chain",
        "Rates after 5 ms, and pause time",
        ("control", *(f"{flow} (Gb/s)" for flow in FLOWS), "s1 to s2 paused (ms)", "s2 to s3 paused (ms)"),
        [
            (
                name,
                *(f"{np.mean([rate(result, flow) for result in of]) / 1e9:.2f}" for flow in FLOWS),
                *(f"{np.mean([paused_ms(result)[port] for result in of]):.1f}" for port in UPSTREAM),
            )
            for name, of in runs.items()
        ],
        note="Run time 100 ms, means over the seeds. Short cycles: 200 us and 30 kB, 50 Mb/s per increase.",
    )


def picture(runs: Mapping[str, Result]) -> Figure:
    """A column per control: the chain as drawn in the source with its pauses, and rates over time."""
    with style():
        figure = Figure(figsize=(10.5, 6.0), layout="constrained")
        tops, bottoms = figure.subplots(2, len(runs), sharey="row", height_ratios=(1.2, 1))
        for (name, result), top, bottom in zip(runs.items(), tops, bottoms, strict=True):
            top.set_title(name)
            chain(top, result)
            labels = []
            for flow, color in FLOWS.items():
                times, values = result.series("flow_throughput_bps", flow)
                means = values[: len(values) // 5 * 5].reshape(-1, 5).mean(axis=1) / 1e9
                bottom.plot(times[: len(means) * 5 : 5] / 1e6, means, color=color, linewidth=1.1)
                labels.append(Label(float(means[-20:].mean()), flow, color))
            bottom.set_ylim(0, 10)
            bottom.set_xlim(0, 100)
            bottom.set_xlabel("time (ms)")
            label_right(bottom, labels, spacing=0.07)
        bottoms[0].set_ylabel("throughput (Gb/s)")
        figure.suptitle("Pauses in a chain of switches with congestion at the third (Figure 3-3)")
    return figure


def chain(axes: Axes, result: Result) -> None:
    """Switches, hosts and links; a wider and darker link was paused longer."""
    for port, paused in paused_ms(result).items():
        node, _, peer = port.partition("->")
        start, end = PLACES[node.split(".")[0]], PLACES[peer]
        share = paused / 100
        color = PAUSE_COLOR if share > 0 else QUIET_COLOR
        axes.plot(*zip(start, end, strict=True), color=color, linewidth=1 + 8 * share, zorder=1 + share)
        if share > 0:
            middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
            beside = (17, -3) if start[0] == end[0] else (0, 9) if start[1] == end[1] else (0, 15)
            axes.annotate(f"{share:.0%}", middle, beside, textcoords="offset points", fontsize=8, ha="center")
    for name, place in PLACES.items():
        is_switch = name in ("s1", "s2", "s3")
        axes.text(
            *place,
            name,
            ha="center",
            va="center",
            color=DROP_COLOR if name == "sink" else INK,
            bbox={"boxstyle": "round" if is_switch else "circle", "facecolor": "white", "edgecolor": INK},
            zorder=4,
        )
    counts = {row["limiter"]: row["times"] for row in _slowdowns(result)}
    text = ", ".join(f"{flow} {times}" for flow, times in counts.items()) or "none"
    axes.set_xlabel(f"rate cuts by messages from s3: {text}")
    axes.set_xlim(-0.4, 4.8)
    axes.set_ylim(-0.2, 2.3)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _slowdowns(result: Result) -> list[dict[str, object]]:
    return result.rows("slowdowns") if "slowdowns" in result.table_names else []
