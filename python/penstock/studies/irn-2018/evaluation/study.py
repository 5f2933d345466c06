"""IRN and RoCE, with and without PFC: the same messages on the same fabric, and a striped request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.marks import red_marks
from penstock.studies.reproduce import Context, Outcome

CONTROLS: Mapping[str, Any] = {
    "no control": "none",
    "TIMELY": {"timely": {}},
    "DCQCN": {"dcqcn": {"preset": "paper"}},
}
MARKS = red_marks("5 kB", "200 kB", 0.01)
SELECTIVE = {"recovery": "selective"}
WINDOW = {"window": "120 kB"}
"""Bandwidth-delay product of the longest path: 40 Gb/s for 24 us."""
TIMEOUT, SOONER = {"timeout": "320 us", "retries": 255}, {"low_timeout": "100 us"}
PFC = {"pfc": {"priorities": [3], "accounting": "ingress", "xoff": "220 kB", "xon": "210 kB"}}
WAYS: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "RoCE, PFC": ({}, True),
    "IRN": ({**SELECTIVE, **WINDOW, **TIMEOUT, **SOONER}, False),
    "IRN, PFC": ({**SELECTIVE, **WINDOW}, True),
    "RoCE": (TIMEOUT, False),
}
"""Keys of queue pairs, and true if PFC is on."""
PARTS: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "IRN that goes back N": ({**WINDOW, **TIMEOUT}, False),
    "IRN without a window": ({**SELECTIVE, "window": "1 GB", **TIMEOUT, **SOONER}, False),
}
COLORS = {"RoCE, PFC": "#9aa0a6", "IRN": "#1f77b4", "IRN, PFC": "#9ecae1", "RoCE": "#d95f02"}
FIGURES = ("mean slowdown", "mean completion", "99th percentile")
REQUEST_BYTES = 150_000_000


@dataclass(frozen=True)
class Run:
    """Completion times, losses and pauses of one run."""

    figures: tuple[float, float, float]
    """Mean slowdown; mean and 99th percentile of completion time in us."""
    messages: int
    unfinished: int
    retransmitted: float
    """Share of retransmitted packets in the packets sent."""
    lost: int
    pauses: int

    @classmethod
    def of(cls, result: Result, duration_ns: float) -> Run:
        """Reads a result; the end of the run is the completion time of unfinished messages."""
        rows = list(result.rows("transfers"))
        times = np.array([row["completion_ns"] or duration_ns - row["start_ns"] for row in rows])
        slow = times / np.array([row["ideal_ns"] for row in rows])
        pairs = list(result.rows("queue_pairs"))
        again = sum(row["packets_sent_again"] for row in pairs)
        return cls(
            figures=(float(slow.mean()), float(times.mean()) / 1e3, float(np.percentile(times, 99)) / 1e3),
            messages=len(rows),
            unfinished=sum(row["completion_ns"] is None for row in rows),
            retransmitted=again / max(1, sum(row["packets_sent"] for row in pairs)),
            lost=sum(row["frames"] for row in result.rows("drops")),
            pauses=len(list(result.rows("pauses"))),
        )


Runs = Mapping[tuple[str, str], Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    stop, end = ("1500 us", 4) if context.quick else ("4 ms", 20)
    controls = list(CONTROLS)[: 1 if context.quick else None]
    runs: dict[tuple[str, str], Run] = {}
    ways = [(way, control) for control in controls for way in WAYS] + [(part, "no control") for part in PARTS]
    for way, control in ways:
        context.say(f"{way}, {control}")
        scenario = arranged(context, "fabric", way, control)
        scenario = scenario.with_value("transfers.messages.stop", stop)
        scenario = scenario.with_value("simulation.duration", f"{end} ms")
        runs[way, control] = Run.of(scenario.run(seed=1), end * 1e6)
    context.say("a striped request")
    requests = {
        (way, many): request(context, way, many)
        for many in ((30,) if context.quick else (10, 30, 50))
        for way in ("RoCE, PFC", "IRN")
    }
    context.save_table(
        "ways", "Completion times by transport and control", COLUMNS, list(rows(runs)), note=NOTE
    )
    cover = context.save_figure(picture(runs, requests), "irn", cover=True)
    return judged(context, runs, requests, [cover])


def arranged(context: Context, name: str, way: str, control: str) -> Scenario:
    """A scenario with this transport for its messages."""
    pairs, pauses = {**WAYS, **PARTS}[way]
    over = {"rdma": {"queue_pairs": "each", "control": CONTROLS[control], **pairs}}
    scenario = context.scenario(name).with_value("transfers.messages.over", over)
    if control == "DCQCN":
        scenario = scenario.with_value("switch.queue_managers", [MARKS])
    if pauses:
        scenario = scenario.with_value("switch.buffer", {"total": "unlimited"})
        scenario = scenario.with_value("flow_control", PFC)
    return scenario


def request(context: Context, way: str, many: int) -> float:
    """Time in ms at which the last of `many` senders finishes."""
    whole = REQUEST_BYTES // 10 if context.quick else REQUEST_BYTES
    scenario = arranged(context, "incast", way, "no control")
    scenario = scenario.with_value("transfers.messages.from", f"h1..h{many}")
    scenario = scenario.with_value("transfers.messages.sizes", f"{whole // many} B")
    return max(row["completion_ns"] or float("inf") for row in scenario.run(seed=1).rows("transfers")) / 1e6


COLUMNS = (
    "transport",
    "control",
    "slowdown",
    "mean (us)",
    "p99 (us)",
    "retransmitted (%)",
    "lost",
    "pauses",
    "unfinished",
)
NOTE = "Times until the last byte is delivered; for unfinished messages, until the end of the run."


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """One row per run."""
    return [
        (
            way,
            control,
            f"{one.figures[0]:.2f}",
            f"{one.figures[1]:.0f}",
            f"{one.figures[2]:.0f}",
            f"{100 * one.retransmitted:.1f}",
            f"{one.lost:,}",
            f"{one.pauses:,}",
            f"{one.unfinished} of {one.messages}",
        )
        for (way, control), one in runs.items()
    ]


def ratios(runs: Runs, of: str, to: str) -> dict[str, tuple[float, ...]]:
    """Figures of one transport divided by those of another, by control."""
    return {
        control: tuple(
            mine / theirs
            for mine, theirs in zip(runs[of, control].figures, runs[to, control].figures, strict=True)
        )
        for way, control in runs
        if way == of
    }


def listed(found: Mapping[str, tuple[float, ...]]) -> str:
    """Ratios by control, as text."""
    return "; ".join(f"{control} {', '.join(f'{one:.2f}' for one in of)}" for control, of in found.items())


def extremes(found: Mapping[str, tuple[float, ...]]) -> dict[str, float]:
    """Smallest and largest of the ratios, also as reductions."""
    least, most = np.min(list(found.values())), np.max(list(found.values()))
    return {"ratio_min": least, "ratio_max": most, "reduction_min": 1 - most, "reduction_max": 1 - least}


def judged(
    context: Context, runs: Runs, requests: Mapping[tuple[str, int], float], pictures: list[str]
) -> list[Outcome]:
    """I-1 to I-6."""
    gain = ratios(runs, "IRN", "RoCE, PFC")
    paused = ratios(runs, "IRN, PFC", "IRN")
    lossy = ratios(runs, "RoCE", "RoCE, PFC")
    means = {way: runs[way, "no control"].figures[1] for way in ("IRN", *PARTS)}
    times = {many: (requests["RoCE, PFC", many], requests["IRN", many]) for _, many in requests}
    names = f"({', '.join(FIGURES)})"
    return [
        context.judge(
            "I-1",
            extremes(gain),
            measured=f"IRN without PFC over RoCE with PFC {names}: {listed(gain)}",
            pictures=pictures,
        ),
        context.judge("I-2", extremes(gain), measured=f"the same: {listed(gain)}"),
        context.judge(
            "I-3", extremes(paused), measured=f"IRN with PFC over IRN without {names}: {listed(paused)}"
        ),
        context.judge(
            "I-4", extremes(lossy), measured=f"RoCE without PFC over RoCE with PFC {names}: {listed(lossy)}"
        ),
        context.judge(
            "I-5",
            {"ratio_min": min(means[part] for part in PARTS) / means["IRN"]},
            measured="mean completion: " + ", ".join(f"{way} {mean:.0f} us" for way, mean in means.items()),
        ),
        context.judge(
            "I-6",
            {"delay_max": max(irn / roce for roce, irn in times.values()) - 1},
            measured="; ".join(
                f"{many} senders: RoCE with PFC {roce:.2f} ms, IRN without {irn:.2f} ms"
                for many, (roce, irn) in times.items()
            ),
        ),
    ]


def picture(runs: Runs, requests: Mapping[tuple[str, int], float]) -> Figure:
    """A panel for each figure, grouped by control, and one for the striped request."""
    controls = [control for way, control in runs if way == "IRN"]
    with style():
        figure = Figure(figsize=(12, 3.8), layout="constrained")
        panels = figure.subplots(1, len(FIGURES) + 1)
        units = ("", "us", "us")
        for at, (panel, name, unit) in enumerate(zip(panels, FIGURES, units, strict=False)):
            for place, way in enumerate(WAYS):
                heights = [runs[way, control].figures[at] for control in controls]
                panel.bar(
                    np.arange(len(controls)) + 0.2 * (place - 1.5),
                    heights,
                    0.19,
                    color=COLORS[way],
                    label=way,
                )
            panel.set_xticks(range(len(controls)), controls)
            panel.set_yscale("log")
            panel.yaxis.set_major_formatter("{x:,g}")
            panel.yaxis.set_minor_formatter("{x:,g}")
            panel.set_title(name)
            panel.set_ylabel(unit)
        sizes = sorted({many for _, many in requests})
        for place, way in enumerate(("RoCE, PFC", "IRN")):
            panels[-1].bar(
                np.arange(len(sizes)) + 0.4 * place - 0.2,
                [requests[way, many] for many in sizes],
                0.38,
                color=COLORS[way],
            )
        panels[-1].set_xticks(range(len(sizes)), [str(many) for many in sizes])
        panels[-1].set_title("striped request, by senders")
        panels[-1].set_ylabel("ms")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(WAYS))
        figure.suptitle("Messages at load 0.7 over a fat tree of 54 hosts at 40 Gb/s")
    return figure
