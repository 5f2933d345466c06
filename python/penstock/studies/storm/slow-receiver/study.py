"""Effect of the pauses of a slow receiver on a leaf-spine fabric, with and without a watchdog."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from penstock import plots
from penstock.analysis import forensics
from penstock.plots.style import INK, Label, label_right, style
from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome

RECEIVER = "h0"
STOPS_NS, STARTS_NS = 1e6, 4e6
WINDOW_NS = (2e6, 4e6)
"""Measurement window; the buffer of the slow receiver is full before it begins."""
DETECTION_NS = 200_000.0
COLORS = {"healthy": "#0072B2", "slow receiver": "#D55E00", "slow receiver, watchdog": "#009E73"}


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    files = {"healthy": "healthy", "slow receiver": "sick", "slow receiver, watchdog": "watchdog"}
    context.say("healthy, with a slow receiver, and with a watchdog")
    runs = {name: context.scenario(file).run() for name, file in files.items()}
    over_time = context.save_figure(picture(runs), "victims", cover=True)
    tree = context.save_figure(plots.congestion(runs["slow receiver"]), "tree")
    table(context, runs)
    return [
        healthy(context, runs["healthy"]),
        spread(context, runs["slow receiver"], [over_time, tree]),
        confined(context, runs["slow receiver, watchdog"]),
    ]


def shares(result: Result) -> dict[str, float]:
    """Throughput of each flow to other hosts in the window, as a share of its offered load."""
    series = result.all_series("flow_throughput_bps")
    found = {}
    for row in result.rows("flows"):
        if row["destination"] != RECEIVER:
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
    return context.judge(
        "S-1",
        {"share_min": got[worst], "slow_receiver_trees": len(slow)},
        measured=f"smallest share of the offered load {got[worst]:.2%} ({worst}); {len(slow)} trees with a "
        "slow receiver",
    )


def spread(context: Context, result: Result, pictures: list[str]) -> Outcome:
    """S-2."""
    got = shares(result)
    hurt = [flow for flow, share in got.items() if share < 0.5]
    tree = forensics.trees(result)[0]
    at_receiver = forensics.port_of(tree.root).endswith(f"->{RECEIVER}") and tree.why == "slow_receiver"
    hosts = {edge.port.partition(".")[0] for edge in tree.edges if edge.port.startswith("h")}
    leaves = {leaf(host) for host in hosts}
    return context.judge(
        "S-2",
        {
            "hurt_share": len(hurt) / len(got),
            "rooted_elsewhere": not at_receiver,
            "leaves_wrong": len(leaves ^ {1, 2, 3}),
        },
        measured=f"{len(hurt)} of {len(got)} flows to other hosts get less than half of their offered load, "
        f"smallest share {min(got.values()):.1%}; "
        f"root {tree.root} ({tree.why}), {len(hosts)} hosts below {len(leaves)} leaves paused",
        note=" ".join(line.strip() for line in forensics.why(result, hurt[0])[:2]) if hurt else "",
        pictures=pictures,
    )


def confined(context: Context, result: Result) -> Outcome:
    """S-3."""
    got = shares(result)
    storms = [row for row in result.rows("storms") if row["port"].endswith(f"->{RECEIVER}")]
    delays = [row["detected_ns"] - row["began_ns"] for row in storms]
    over = max((row["over_ns"] or np.inf for row in storms), default=np.inf)
    drops = result.rows("drops")
    to_receiver = {row["flow"] for row in result.rows("flows") if row["destination"] == RECEIVER}
    by_watchdog = sum(row["frames"] for row in drops if row["cause"] == "watchdog")
    lost = sum(row["frames"] for row in drops)
    return context.judge(
        "S-3",
        {
            "storms": len(storms),
            "detection_error_ns": max((abs(delay - DETECTION_NS) for delay in delays), default=0),
            "share_min": min(got.values()),
            "lost_by_watchdog": by_watchdog,
            "lost_otherwise": lost - by_watchdog,
            "lost_elsewhere": sum(row["frames"] for row in drops if row["flow"] not in to_receiver),
            "over_ms": (over - STARTS_NS) / 1e6,
        },
        also=f"{len(result.rows('storms')) - len(storms)} storms at other ports",
    )


def table(context: Context, runs: Mapping[str, Result]) -> None:
    """Table of the throughput of flows to other hosts."""
    columns = {name: shares(result) for name, result in runs.items()}
    flows = sorted(columns["slow receiver"], key=lambda flow: columns["slow receiver"][flow])
    context.save_table(
        "victims",
        "Throughput of flows to other hosts as a share of their offered load, 2 to 4 ms",
        ("flow", *runs),
        [(flow, *(f"{column[flow]:.1%}" for column in columns.values())) for flow in flows],
        note="Sorted by the share with a slow receiver. No destination is oversubscribed.",
    )


def picture(runs: Mapping[str, Result]) -> Figure:
    """Throughput to all hosts but the slow receiver, over time."""
    with style():
        figure = Figure(figsize=(7.2, 3.4))
        axes = figure.subplots()
        axes.set_title(f"Throughput to all other hosts while {RECEIVER} receives nothing for 3 ms")
        labels = []
        for name, result in runs.items():
            series = result.all_series("flow_throughput_bps")
            flows = [row["flow"] for row in result.rows("flows") if row["destination"] != RECEIVER]
            total = sum(series[flow][1] for flow in flows) / 1e9
            time = series[flows[0]][0] / 1e6
            axes.plot(time, total, color=COLORS[name], drawstyle="steps-post")
            inside = (time >= 2) & (time < 4)
            labels.append(Label(float(total[inside].mean()), name, COLORS[name]))
        axes.axvspan(STOPS_NS / 1e6, STARTS_NS / 1e6, color=INK, alpha=0.07, linewidth=0)
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("throughput (Gb/s)")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, 6)
        label_right(axes, labels)
    return figure
