"""A host that receives nothing: effect of its pauses on a leaf-spine, and protection by a watchdog."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from penstock import plots
from penstock.analysis import forensics
from penstock.plots.style import INK, Label, label_right, style
from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome

SICK = "h0"
STOPS_NS, STARTS_NS = 1e6, 4e6
WINDOW_NS = (2e6, 4e6)
"""Measurement window, long after the NIC of the sick host has filled."""
DETECTION_NS = 200_000.0
COLORS = {"all well": "#0072B2", "sick host": "#D55E00", "sick host, watchdog": "#009E73"}


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    files = {"all well": "healthy", "sick host": "sick", "sick host, watchdog": "watchdog"}
    context.say("the fabric in health, with a sick host, and with a watchdog")
    runs = {name: context.scenario(file).run() for name, file in files.items()}
    over_time = context.save_figure(picture(runs), "victims", cover=True)
    tree = context.save_figure(plots.congestion(runs["sick host"]), "tree")
    table(context, runs)
    return [
        healthy(context, runs["all well"]),
        spread(context, runs["sick host"], [over_time, tree]),
        confined(context, runs["sick host, watchdog"]),
    ]


def shares(result: Result) -> dict[str, float]:
    """Share of its offered load that each flow to other hosts got in the window."""
    series = result.all_series("flow_throughput_bps")
    found = {}
    for row in result.rows("flows"):
        if row["destination"] != SICK:
            times, values = series[row["flow"]]
            inside = (times >= WINDOW_NS[0]) & (times < WINDOW_NS[1])
            found[row["flow"]] = float(values[inside].mean()) / row["offered_bps"]
    return found


def leaf(host: str) -> int:
    """Number of the leaf above a host."""
    return int(host[1:]) // 4


def healthy(context: Context, result: Result) -> Outcome:
    """S-1."""
    got = {row["flow"]: row["throughput_bps"] / row["offered_bps"] for row in result.rows("flows")}
    worst = min(got, key=lambda flow: got[flow])
    slow = [tree for tree in forensics.trees(result) if tree.why == "slow_receiver"]
    return context.outcome(
        "S-1",
        measured=f"worst served: {worst} with {got[worst]:.2%} of its offer; {len(slow)} trees with a "
        f"slow receiver",
        passed=got[worst] >= 0.99 and not slow,
    )


def spread(context: Context, result: Result, pictures: list[str]) -> Outcome:
    """S-2."""
    got = shares(result)
    hurt = [flow for flow, share in got.items() if share < 0.5]
    tree = forensics.trees(result)[0]
    hosts = {edge.port.partition(".")[0] for edge in tree.edges if edge.port.startswith("h")}
    leaves = {leaf(host) for host in hosts}
    return context.outcome(
        "S-2",
        measured=f"{len(hurt)} of {len(got)} flows to other hosts get less than half, "
        f"{min(got.values()):.1%} the worst; "
        f"root {tree.root} ({tree.why}), {len(hosts)} hosts below {len(leaves)} leaves paused",
        passed=2 * len(hurt) >= len(got)
        and forensics.port_of(tree.root).endswith(f"->{SICK}")
        and tree.why == "slow_receiver"
        and leaves == {1, 2, 3},
        note=" ".join(line.strip() for line in forensics.why(result, hurt[0])[:2]) if hurt else "",
        pictures=pictures,
    )


def confined(context: Context, result: Result) -> Outcome:
    """S-3."""
    got = shares(result)
    worst = min(got, key=lambda flow: got[flow])
    storms = [row for row in result.rows("storms") if row["port"].endswith(f"->{SICK}")]
    others = len(result.rows("storms")) - len(storms)
    exact = all(abs(row["detected_ns"] - row["began_ns"] - DETECTION_NS) < 1e-3 for row in storms)
    over = max((row["over_ns"] or np.inf for row in storms), default=np.inf)
    drops = result.rows("drops")
    to_sick = {row["flow"] for row in result.rows("flows") if row["destination"] == SICK}
    lost = sum(row["frames"] for row in drops)
    return context.outcome(
        "S-3",
        measured=f"{len(storms)} storm at the port to {SICK}, {others} elsewhere; detected "
        f"{(storms[0]['detected_ns'] - storms[0]['began_ns']) / 1e3 if storms else 0:.6g} us after the "
        f"queue was stuck, "
        f"over at {over / 1e6:.4g} ms; worst served of the others: {worst} with {got[worst]:.2%}; "
        f"{lost:,} frames lost, "
        f"all to {SICK}: {'yes' if {row['flow'] for row in drops} <= to_sick else 'no'}",
        passed=len(storms) >= 1
        and exact
        and got[worst] >= 0.99
        and {row["flow"] for row in drops} <= to_sick
        and {row["cause"] for row in drops} == {"watchdog"}
        and over <= STARTS_NS + 1e6,
    )


def table(context: Context, runs: Mapping[str, Result]) -> None:
    """Table of the flows to other hosts."""
    columns = {name: shares(result) for name, result in runs.items()}
    flows = sorted(columns["sick host"], key=lambda flow: columns["sick host"][flow])
    context.save_table(
        "victims",
        "What flows to other hosts get of their offer, 2 to 4 ms",
        ("flow", *runs),
        [(flow, *(f"{column[flow]:.1%}" for column in columns.values())) for flow in flows],
        note="Sorted by what they lose while h0 is sick. All of them have idle destinations.",
    )


def picture(runs: Mapping[str, Result]) -> Figure:
    """Throughput to all hosts but the sick one, over time."""
    with style():
        figure = Figure(figsize=(7.2, 3.4))
        axes = figure.subplots()
        axes.set_title(f"{SICK} takes in nothing for 3 ms: what flows to all other hosts get")
        labels = []
        for name, result in runs.items():
            series = result.all_series("flow_throughput_bps")
            flows = [row["flow"] for row in result.rows("flows") if row["destination"] != SICK]
            total = sum(series[flow][1] for flow in flows) / 1e9
            time = series[flows[0]][0] / 1e6
            axes.plot(time, total, color=COLORS[name], drawstyle="steps-post")
            inside = (time >= 2) & (time < 4)
            labels.append(Label(float(total[inside].mean()), name, COLORS[name]))
        axes.axvspan(STOPS_NS / 1e6, STARTS_NS / 1e6, color=INK, alpha=0.07, linewidth=0)
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("delivered (Gb/s)")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, 6)
        label_right(axes, labels)
    return figure
