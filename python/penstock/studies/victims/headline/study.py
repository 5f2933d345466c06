"""Congestion spreading over two tiers: the affected flows, and the extent."""

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
"""Senders below leaf0; h6 and h7 send the flows across the spine."""
GROUPS = {"incast": "#D55E00", "across": "#0072B2", "beside": "#009E73", "back": "#56B4E9"}


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    context.say("six senders, in one priority and apart")
    together, apart = context.scenario("together").run(), context.scenario("apart").run()
    cover = context.save_figure(picture({"one priority": together, "apart": apart}), "who", cover=True)
    tree = context.save_figure(plots.congestion(together), "tree")
    context.say("two to eight senders")
    seeds = range(1, 6 if context.quick else 21)
    by_senders = {count: [senders(context, count, seed) for seed in seeds] for count in SENDERS}
    table(context, together, apart)
    return [
        full(context, together, [cover, tree]),
        victims(context, together),
        bystanders(context, together),
        how_much(context, by_senders),
        own_priority(context, apart),
    ]


def senders(context: Context, count: int, seed: int) -> Result:
    """The scenario with another number of senders."""
    return context.scenario("together").with_value("flows.incast.from", HOSTS[:count]).run(seed=seed)


def served(result: Result, group: str) -> dict[str, float]:
    """Share of its offered load that each flow of a group got during the measurement."""
    rate = 2e9
    rows = result.rows("flows")
    return {row["flow"]: row["throughput_bps"] / rate for row in rows if row["flow"].startswith(group)}


def full(context: Context, result: Result, pictures: list[str]) -> Outcome:
    """V-1."""
    used = next(row["utilisation"] for row in result.rows("ports") if row["port"].endswith(FULL))
    lost = sum(row["frames"] for row in result.rows("drops"))
    tree = forensics.trees(result)[0]
    culprits = [part.flow for part in tree.culprits if part.share > 0]
    return context.outcome(
        "V-1",
        measured=f"busy {used:.2%}, {lost} frames lost; root {tree.root}, {len(tree.edges)} edges, "
        f"{len(culprits)} culprits",
        passed=used >= 0.99
        and not lost
        and forensics.port_of(tree.root).endswith(FULL)
        and len(culprits) == 6
        and all(flow.startswith("incast") for flow in culprits),
        pictures=pictures,
    )


def victims(context: Context, result: Result) -> Outcome:
    """V-2."""
    got = served(result, "across")
    named = {part.flow for part in forensics.trees(result)[0].victims}
    return context.outcome(
        "V-2",
        measured=", ".join(f"{flow} gets {share:.1%}" for flow, share in got.items())
        + f"; victims in the tree: {', '.join(sorted(named)) or 'none'}",
        passed=max(got.values()) <= 0.75 and set(got) <= named,
        note=" ".join(line.strip() for line in forensics.why(result, next(iter(got)))[:2]),
    )


def bystanders(context: Context, result: Result) -> Outcome:
    """V-3."""
    got = {**served(result, "beside"), **served(result, "back")}
    named = {part.flow for tree in forensics.trees(result) for part in tree.victims}
    return context.outcome(
        "V-3",
        measured=", ".join(f"{flow} gets {share:.2%}" for flow, share in got.items()),
        passed=min(got.values()) >= 0.995 and not named & set(got),
    )


def how_much(context: Context, by_senders: Mapping[int, list[Result]]) -> Outcome:
    """V-4."""
    shares = {}
    for count, results in by_senders.items():
        each = [share for result in results for share in served(result, "across").values()]
        shares[count] = sum(each) / len(each)
    values = list(shares.values())
    rises = [later - earlier for earlier, later in pairwise(values)]
    context.save_table(
        "senders",
        "What is left for the flows across",
        ("senders to h12", "mean share of the offer", "seeds"),
        [(str(count), f"{share:.1%}", str(len(by_senders[count]))) for count, share in shares.items()],
        note="Seeds decide which uplink each flow takes.",
    )
    return context.outcome(
        "V-4",
        measured=", ".join(f"{count} senders: {share:.1%}" for count, share in shares.items()),
        passed=max(rises) <= 0.05 and values[0] - values[-1] >= 0.10,
    )


def own_priority(context: Context, result: Result) -> Outcome:
    """V-5."""
    got = served(result, "across")
    return context.outcome(
        "V-5",
        measured=", ".join(f"{flow} gets {share:.2%}" for flow, share in got.items()),
        passed=min(got.values()) >= 0.995,
    )


def table(context: Context, together: Result, apart: Result) -> None:
    """Table of all flows, and the links that limited them."""
    held = {part.flow: part for tree in reversed(forensics.trees(together)) for part in tree.parts}
    other = {row["flow"]: row["throughput_bps"] for row in apart.rows("flows")}
    rows = []
    for row in together.rows("flows"):
        part = held.get(row["flow"])
        stopped = (
            f"{part.paused_at} for {part.paused_ns / 4e6:.0%} of the time"
            if part and part.paused_ns
            else "nowhere"
        )
        throughput = f"{row['throughput_bps'] / 1e9:.2f}"
        rows.append((row["flow"], throughput, stopped, f"{other[row['flow']] / 1e9:.2f}"))
    context.save_table(
        "flows",
        "Who gets what",
        ("flow", "one priority (Gb/s)", "held back longest at", "apart (Gb/s)"),
        rows,
        note="Flows across, beside and back offer 2 Gb/s each.",
    )


def picture(runs: Mapping[str, Result]) -> Figure:
    """Throughput of every flow, in one priority and in separate ones."""
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
            "Six hosts fill one port: flows across, to an idle host, pay for it (line: offered)", fontsize=10
        )
    return figure
