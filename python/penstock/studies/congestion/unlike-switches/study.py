"""Congestion control at only some switches of a fabric, and two methods of path rate control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

Figures = dict[str, float]
Keys = Mapping[str, Any]
OFFERED_BPS = 5e9
"""Offered load of the victim."""
FEEDBACK, MESSAGES = "feedback", "messages"
FECN: Keys = {"fecn": {"expected_sources": 4}}
"""FECN congestion point."""
WRITES: Keys = {"prc": {}}
"""Congestion point of path rate control that writes levels into messages of receivers (method 4)."""
SENDS: Keys = {"prc": {"messages": True}}
"""Congestion point that writes levels and also sends messages to sources (method 2)."""


@dataclass(frozen=True)
class Case:
    """Congestion points of the switches, and rate limiters of the senders.

    Attributes
    ----------
    points : mapping
        Congestion point by switch; none for a switch without an entry.
    limiter : mapping
        Rate limiter of the hosts; empty for none.
    others : mapping
        Rate limiter of h3 and h4 if different; else empty.
    pause : bool
        True if switches send PAUSE. Without PAUSE a queue is limited to 96 KiB.
    """

    points: Mapping[str, Keys]
    limiter: Keys
    others: Keys
    pause: bool = True

    def of(self, base: Scenario) -> Scenario:
        """The scenario of the case."""
        if not self.pause:
            base = base.with_value("flow_control", None).with_value("switch.buffer", {"queue": "96 KiB"})
        for switch, point in self.points.items():
            base = base.with_value(f"switches.{switch}.queue_managers", [dict(point)])
        if self.limiter:
            base = base.with_value("host.rate_limiters", {"per": "flow", **self.limiter})
        for host in ("h3", "h4") if self.others else ():
            base = base.with_value(f"hosts.{host}.rate_limiters", {"per": "flow", **self.others})
        return base


def fecn(switches: str, *, pause: bool = True) -> Case:
    """FECN at some switches, and at all hosts if at any switch."""
    return Case(dict.fromkeys(switches, FECN), {"fecn": {}} if switches else {}, {}, pause)


def l2ci(bottleneck: Keys, method: str, other: str = "") -> Case:
    """Path rate control with a congestion point at switch b and one or two methods of senders."""
    points = {"a": WRITES, **({"b": bottleneck} if bottleneck else {})}
    return Case(points, {"prc": {"method": method}}, {"prc": {"method": other}} if other else {})


CASES: Mapping[str, Case] = {
    "FECN at a and b": fecn("ab"),
    "FECN at b": fecn("b"),
    "FECN at a": fecn("a"),
    "no FECN": fecn(""),
    "FECN at b, no PAUSE": fecn("b", pause=False),
    "FECN at a, no PAUSE": fecn("a", pause=False),
    "method 4, b writes": l2ci(WRITES, FEEDBACK),
    "method 4, nothing at b": l2ci({}, FEEDBACK),
    "method 2, b sends": l2ci(SENDS, MESSAGES),
    "method 2, b writes": l2ci(WRITES, MESSAGES),
    "methods 4 and 2, b writes and sends": l2ci(SENDS, FEEDBACK, MESSAGES),
    "methods 4 and 2, b writes": l2ci(WRITES, FEEDBACK, MESSAGES),
}


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    base = context.scenario("fabric")
    ids = [one.id for one in context.study.experiments]
    scenarios = {name: case.of(base) for name, case in CASES.items()}

    def measure(seed: int) -> dict[str, Figures]:
        return {name: figures(scenario.run(seed=seed)) for name, scenario in scenarios.items()}

    runs = context.over_seeds(measure, *ids)
    means = {name: {key: fmean(of[name][key] for of in runs) for key in runs[0][name]} for name in CASES}
    cover = context.save_figure(picture(means), "unlike-switches", cover=True)
    context.save_table(
        "cases",
        "All cases",
        ("case", "h1, h2 (Gb/s)", "h3, h4 (Gb/s)", "victim (% of offered)", "lost", "paused (ms)"),
        [
            (
                name,
                f"{of['first'] / 1e9:.2f}",
                f"{of['last'] / 1e9:.2f}",
                f"{100 * of['victim']:.0f}",
                f"{of['lost']:,.0f}",
                f"{of['paused_ms']:.0f}",
            )
            for name, of in means.items()
        ],
        note=f"Means of {len(runs)} seeds. h1, h2 and h3, h4: mean of both. Paused: all ports, in 40 ms.",
    )
    measured = [claims(of) for of in runs]
    return [context.judge(one, measured, pictures=[cover] if one == ids[0] else []) for one in ids]


def figures(result: Result) -> Figures:
    """Throughput of senders and victim, loss and paused time of one run."""
    got = {row["flow"]: row["throughput_bps"] for row in result.rows("flows")}
    senders = [got[f"sender[h{host}]"] for host in range(1, 5)]
    return {
        "first": fmean(senders[:2]),
        "last": fmean(senders[2:]),
        "victim": got["victim"] / OFFERED_BPS,
        "lost": sum(row["frames"] for row in result.rows("drops")),
        "paused_ms": sum(row["paused_s"] for row in result.rows("ports")) * 1e3,
    }


def claims(of: Mapping[str, Figures]) -> Figures:
    """Figures of the criteria."""
    both, writes = of["methods 4 and 2, b writes and sends"], of["methods 4 and 2, b writes"]
    return {
        "victim_fecn_b": of["FECN at b"]["victim"],
        "paused_fecn_b_ms": of["FECN at b"]["paused_ms"],
        "victim_fecn_a": of["FECN at a"]["victim"],
        "victim_no_fecn": of["no FECN"]["victim"],
        "lost_fecn_a": of["FECN at a, no PAUSE"]["lost"],
        "lost_fecn_b": of["FECN at b, no PAUSE"]["lost"],
        "victim_b_writes": of["method 4, b writes"]["victim"],
        "victim_b_sends": of["method 2, b sends"]["victim"],
        "victim_nothing_at_b": of["method 4, nothing at b"]["victim"],
        "victim_other_method": of["method 2, b writes"]["victim"],
        "victim_both": both["victim"],
        "method_2_to_4": both["last"] / both["first"],
        "method_4_share": writes["first"] / (writes["first"] + writes["last"]),
        "victim_mixed": writes["victim"],
    }


def picture(means: Mapping[str, Figures]) -> Figure:
    """Throughput of senders and victim in each case."""
    with style():
        figure = Figure(figsize=(9.6, 6.0), layout="constrained")
        axes = figure.subplots()
        places = range(len(means))
        bars = (
            ("h1 and h2, each", "first", 1e9),
            ("h3 and h4, each", "last", 1e9),
            ("victim", "victim", 0.2),
        )
        for index, (label, key, unit) in enumerate(bars):
            heights = [of[key] / unit for of in means.values()]
            axes.barh([place + (index - 1) * 0.27 for place in places], heights, 0.27, label=label)
        axes.set_yticks(list(places), list(means))
        axes.invert_yaxis()
        axes.set_xlabel("throughput (Gb/s); fair share 2.5 Gb/s, victim offers 5 Gb/s")
        axes.axvline(2.5, color="black", linewidth=0.8, linestyle=":")
        figure.legend(loc="outside lower center", ncols=3)
        figure.suptitle("Congestion control at the congested switch protects the victim")
    return figure
