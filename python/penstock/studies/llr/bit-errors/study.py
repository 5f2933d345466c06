"""Bit errors on links: their cost to transports, with and without link-level retry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from penstock.plots.style import Label, label_right, style
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

RATES = (0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6)
QUICK_RATES = (0.0, 1e-8, 1e-7)
TRANSPORTS: dict[str, tuple[dict[str, Any], str]] = {
    "go-back-N": (
        {"rdma": {"control": "none", "recovery": "go_back_n", "timeout": "500 us"}},
        "#D55E00",
    ),
    "selective": (
        {"rdma": {"control": "none", "recovery": "selective", "window": "bdp", "timeout": "500 us"}},
        "#0072B2",
    ),
    "UET": ({"uet": {"control": "nscc"}}, "#009E73"),
}
FRAME_BYTES, OVERHEAD_BYTES, LINK_BPS = 4178, 20, 100e9
DELAY_S = 150e-9
ORDERED_SET_BYTES = 8
FAULT = '\n[[faults]]\nlink = "all"\nbit_error_rate = {}\n'
RETRY = '\n[link]\nllr = "on"\n'


@dataclass(frozen=True)
class Run:
    """Completion times, losses and replays of one run."""

    tail_ms: float
    last_ms: float
    lost: int
    replayed: int

    @classmethod
    def of(cls, result: Result) -> Run:
        """Reads a result; messages that do not finish take infinite time."""
        rows = result.rows("transfers")
        times = [math.inf if row["completion_ns"] is None else row["completion_ns"] / 1e6 for row in rows]
        ends = [row["start_ns"] / 1e6 + time for row, time in zip(rows, times, strict=True)]
        return cls(
            tail_ms=float(np.quantile(times, 0.999, method="higher")),
            last_ms=max(ends),
            lost=sum(row["frames"] for row in result.rows("drops")),
            replayed=sum(row["replayed_frames"] for row in result.rows("link_retries")),
        )


Runs = dict[tuple[str, bool, float], Run]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    fabric = context.scenario("fabric")
    rates = QUICK_RATES if context.quick else RATES
    runs: Runs = {}
    for name, (over, _) in TRANSPORTS.items():
        context.say(name)
        for retry in (False, True):
            for rate in rates:
                runs[name, retry, rate] = Run.of(with_errors(fabric, over, retry, rate).run())
    picture = context.save_figure(tails(runs, rates), "tail", cover=True)
    table(context, runs, rates)
    context.say("one full link")
    return [
        loss(context, runs),
        tail(context, runs, picture),
        last(context, runs, rates),
        link(context),
    ]


def with_errors(fabric: Scenario, over: dict[str, Any], retry: bool, rate: float) -> Scenario:
    """The fabric with this transport, with or without link-level retry, and with bit errors on all links."""
    text = fabric.with_value("transfers.messages.over", over).to_toml()
    text += RETRY if retry else ""
    return Scenario.from_toml(text + (FAULT.format(rate) if rate else ""))


def loss(context: Context, runs: Runs) -> Outcome:
    """R-1."""
    with_retry = sum(one.lost for (_, retry, _), one in runs.items() if retry)
    without = min(one.lost for (_, retry, rate), one in runs.items() if not retry and rate >= 1e-8)
    return context.judge("R-1", {"lost": with_retry, "lost_without_min": without})


def tail(context: Context, runs: Runs, picture: str) -> Outcome:
    """R-2."""
    longer = {
        (name, retry): runs[name, retry, 1e-7].tail_ms / runs[name, retry, 0.0].tail_ms
        for name in TRANSPORTS
        for retry in (False, True)
    }
    text = ", ".join(f"{name} {longer[name, False]:.2f} and {longer[name, True]:.3f}" for name in TRANSPORTS)
    return context.judge(
        "R-2",
        {
            "tail_growth_max": max(longer[name, True] for name in TRANSPORTS) - 1,
            "go_back_n_tail_growth": longer["go-back-N", False] - 1,
        },
        measured=f"relative to no errors, without and with LLR: {text}",
        pictures=[picture],
    )


def last(context: Context, runs: Runs, rates: tuple[float, ...]) -> Outcome:
    """R-3."""
    growth = {}
    for name in TRANSPORTS:
        latest = max(runs[name, True, rate].last_ms for rate in rates if rate <= 1e-7)
        growth[name.lower().replace("-", "_")] = latest / runs[name, True, 0.0].last_ms - 1
    return context.judge("R-3", growth)


def sent_until_nack() -> float:
    """Frames sent from the damaged frame, inclusive, until its NACK arrives."""
    frame_s = 8 * (FRAME_BYTES + OVERHEAD_BYTES) / LINK_BPS
    nack_s = frame_s + 2 * DELAY_S + 8 * ORDERED_SET_BYTES / LINK_BPS
    return float(math.ceil(nack_s / frame_s))


def link(context: Context) -> Outcome:
    """R-4."""
    base = context.scenario("link").to_toml()
    frames = sent_until_nack()
    found, worst = [], 0.0
    for rate in (1e-7, 1e-6, 1e-5):
        result = Scenario.from_toml(
            base + f'\n[[faults]]\nlink = ["left", "right"]\nbit_error_rate = {rate}\n'
        ).run()
        row = next(row for row in result.rows("link_retries") if row["port"].startswith("left."))
        damaged = -math.expm1(8 * FRAME_BYTES * math.log1p(-rate))
        expected = frames * damaged / (1 - damaged)
        measured = row["replayed_frames"] / row["frames"]
        worst = max(worst, abs(measured / expected - 1))
        found.append(f"{rate:g}: {measured:.5f} ({expected:.5f})")
    return context.judge(
        "R-4",
        {"deviation_max": worst},
        measured=f"replays per frame (closed form), N = {frames:g}: {'; '.join(found)}",
    )


def table(context: Context, runs: Runs, rates: tuple[float, ...]) -> None:
    """Table of completion times, losses and replays."""
    rows = []
    for name in TRANSPORTS:
        for retry in (False, True):
            for rate in rates:
                one = runs[name, retry, rate]
                rows.append(
                    (
                        name,
                        "LLR" if retry else "none",
                        f"{rate:g}",
                        f"{one.tail_ms:.3f}",
                        f"{one.last_ms:.3f}",
                        f"{one.lost:,}",
                        f"{one.replayed:,}",
                    )
                )
    context.save_table(
        "runs",
        "Completion times, losses and replays by bit error rate",
        ("transport", "link", "bit error rate", "99.9 % (ms)", "last (ms)", "frames lost", "frames replayed"),
        rows,
        note="99.9 %: percentile of the completion time. Last: time at which the last message finishes.",
    )


def tails(runs: Runs, rates: tuple[float, ...]) -> Figure:
    """99.9th percentile of the completion time by bit error rate."""
    with style():
        figure = Figure(figsize=(7.0, 3.4))
        axes = figure.subplots()
        axes.set_title("99.9th percentile of the completion time")
        drawn = [rate for rate in rates if rate > 0]
        labels = []
        for name, (_, color) in TRANSPORTS.items():
            for retry, line in ((False, "-"), (True, "--")):
                values = [runs[name, retry, rate].tail_ms for rate in drawn]
                axes.plot(drawn, values, color=color, linestyle=line, marker="o", markersize=3)
                labels.append(Label(values[-1], f"{name}, LLR" if retry else name, color))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_yticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
        axes.yaxis.set_minor_formatter("")
        axes.set_xlabel("bit error rate of each link")
        axes.set_ylabel("completion time (ms)")
        label_right(axes, labels)
    return figure
