"""Congestion spreading over two tiers: victim flows and their throughput."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from matplotlib.figure import Figure

from penstock import plots
from penstock.analysis import forensics
from penstock.plots.style import style
from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome

FULL = "->h12"
SENDERS = (2, 4, 6, 8)
HOSTS = ("h0", "h1", "h2", "h3", "h4", "h5", "h8", "h9")
"""Senders of the incast; h6 and h7 send the flows across."""
GROUPS = {"incast": "#D55E00", "across": "#0072B2", "beside": "#009E73", "back": "#56B4E9"}


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    context.say("six senders, in one priority and in two")
    together, apart = context.scenario("together").run(), context.scenario("apart").run()
    cover = context.save_figure(
        picture({"one priority": together, "two priorities": apart}), "who", cover=True
    )
    tree = context.save_figure(plots.congestion(together), "tree")
    context.say("two to eight senders")
    seeds = range(1, 6 if context.quick else 21)
    by_senders = {count: [senders(context, count, seed) for seed in seeds] for count in SENDERS}
    table(context, together, apart)
    own = served(apart, "across")
    return [
        full(context, together, [cover, tree]),
        victims(context, together),
        bystanders(context, together),
        by_number(context, by_senders),
        context.judge("V-5", {"share_min": min(own.values())}, measured=listed(own)),
    ]


def senders(context: Context, count: int, seed: int) -> Result:
    """A run with this number of senders."""
    return context.scenario("together").with_value("flows.incast.from", HOSTS[:count]).run(seed=seed)


def served(result: Result, group: str) -> dict[str, float]:
    """Throughput of each flow of a group as a share of its offered load."""
    rate = 2e9
    rows = result.rows("flows")
    return {row["flow"]: row["throughput_bps"] / rate for row in rows if row["flow"].startswith(group)}


def full(context: Context, result: Result, pictures: list[str]) -> Outcome:
    """V-1."""
    used = next(row["utilisation"] for row in result.rows("ports") if row["port"].endswith(FULL))
    lost = sum(row["frames"] for row in result.rows("drops"))
    tree = forensics.trees(result)[0]
    culprits = [part.flow for part in tree.culprits if part.share > 0]
    return context.judge(
        "V-1",
        {
            "used": used,
            "lost": lost,
            "rooted_elsewhere": not forensics.port_of(tree.root).endswith(FULL),
            "culprits": len(culprits),
            "culprits_other": sum(not flow.startswith("incast") for flow in culprits),
        },
        measured=f"busy {used:.2%}, {lost} frames lost; root {tree.root}, {len(tree.edges)} edges, "
        f"{len(culprits)} culprits",
        pictures=pictures,
    )


def listed(got: Mapping[str, float]) -> str:
    """Share of the offered load by flow, as text."""
    return ", ".join(f"{flow} gets {share:.2%}" for flow, share in got.items())


def victims(context: Context, result: Result) -> Outcome:
    """V-2."""
    got = served(result, "across")
    named = {part.flow for part in forensics.trees(result)[0].victims}
    return context.judge(
        "V-2",
        {"share_max": max(got.values()), "not_named": len(set(got) - named)},
        measured=f"{listed(got)}; victims in the tree: {', '.join(sorted(named)) or 'none'}",
        note=" ".join(line.strip() for line in forensics.why(result, next(iter(got)))[:2]),
    )


def bystanders(context: Context, result: Result) -> Outcome:
    """V-3."""
    got = {**served(result, "beside"), **served(result, "back")}
    named = {part.flow for tree in forensics.trees(result) for part in tree.victims}
    figures = {"share_min": min(got.values()), "named": len(named & set(got))}
    return context.judge("V-3", figures, measured=listed(got))


def by_number(context: Context, by_senders: Mapping[int, list[Result]]) -> Outcome:
    """V-4."""
    shares = {}
    for count, results in by_senders.items():
        each = [share for result in results for share in served(result, "across").values()]
        shares[count] = sum(each) / len(each)
    values = list(shares.values())
    context.save_table(
        "senders",
        "Mean throughput of the flows across, by number of senders",
        ("senders to h12", "share of the offered load", "seeds"),
        [(str(count), f"{share:.1%}", str(len(by_senders[count]))) for count, share in shares.items()],
        note="The seed determines the uplink of each flow.",
    )
    return context.judge(
        "V-4",
        {
            "rise_max": max(later - earlier for earlier, later in pairwise(values)),
            "fall": values[0] - values[-1],
        },
        measured=", ".join(f"{count} senders: {share:.1%}" for count, share in shares.items()),
    )


def table(context: Context, together: Result, apart: Result) -> None:
    """Table of all flows, and the ports at which they were paused longest."""
    held = {part.flow: part for tree in reversed(forensics.trees(together)) for part in tree.parts}
    other = {row["flow"]: row["throughput_bps"] for row in apart.rows("flows")}
    rows = []
    for row in together.rows("flows"):
        part = held.get(row["flow"])
        stopped = (
            f"{part.paused_at} for {part.paused_ns / 4e6:.0%} of the time"
            if part and part.paused_ns
            else "none"
        )
        throughput = f"{row['throughput_bps'] / 1e9:.2f}"
        rows.append((row["flow"], throughput, stopped, f"{other[row['flow']] / 1e9:.2f}"))
    context.save_table(
        "flows",
        "Throughput by flow",
        ("flow", "one priority (Gb/s)", "paused longest at", "two priorities (Gb/s)"),
        rows,
        note="Flows across, beside and back offer 2 Gb/s each.",
    )


def picture(runs: Mapping[str, Result]) -> Figure:
    """Throughput of every flow, in one priority and in two."""
    with style():
        figure = Figure(figsize=(7.2, 3.6))
        panels = figure.subplots(1, len(runs), sharey=True)
        for axes, (name, result) in zip(panels, runs.items(), strict=True):
            rows = result.rows("flows")
            for index, row in enumerate(rows):
                group = row["flow"].partition("[")[0]
                axes.barh(-index, row["throughput_bps"] / 1e9, color=GROUPS[group], height=0.7)
                if group != "incast":
                    axes.plot([2.0, 2.0], [-index - 0.42, -index + 0.42], color="#333333", linewidth=1.2)
            axes.set_yticks([-index for index in range(len(rows))], [row["flow"] for row in rows])
            axes.set_title(name, fontsize=9)
            axes.set_xlabel("throughput (Gb/s)")
        figure.suptitle(
            "Six hosts fill one port: flows across, to an idle host, lose throughput (line: offered)",
            fontsize=10,
        )
    return figure
