"""Wrong bits on links: what they cost transports, and what link-level retry makes of them."""

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
    """One run of the fabric."""

    tail_ms: float
    last_ms: float
    lost: int
    replayed: int

    @classmethod
    def of(cls, result: Result) -> Run:
        """The slowest message in a thousand, the last one, and what links lost and repeated."""
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
    messages = [loss(context, runs, rates), tail(context, runs, picture), job(context, runs, rates)]
    return [*messages, closed(context)]


def with_errors(fabric: Scenario, over: dict[str, Any], retry: bool, rate: float) -> Scenario:
    """The fabric with another transport, with link-level retry or not, and wrong bits on all links."""
    text = fabric.with_value("transfers.messages.over", over).to_toml()
    text += RETRY if retry else ""
    return Scenario.from_toml(text + (FAULT.format(rate) if rate else ""))


def loss(context: Context, runs: Runs, rates: tuple[float, ...]) -> Outcome:
    """R-1."""
    lost = {key: one.lost for key, one in runs.items()}
    with_retry = sum(count for (_, retry, _), count in lost.items() if retry)
    worst = [rate for rate in rates if rate >= 1e-8]
    without = {name: [lost[name, False, rate] for rate in worst] for name in TRANSPORTS}
    text = "; ".join(f"{name} {', '.join(map(str, counts))}" for name, counts in without.items())
    return context.outcome(
        "R-1",
        measured=f"with LLR {with_retry}; without, at {', '.join(f'{rate:g}' for rate in worst)}: {text}",
        passed=with_retry == 0 and all(min(counts) > 0 for counts in without.values()),
    )


def tail(context: Context, runs: Runs, picture: str) -> Outcome:
    """R-2."""
    longer = {
        (name, retry): runs[name, retry, 1e-7].tail_ms / runs[name, retry, 0.0].tail_ms
        for name in TRANSPORTS
        for retry in (False, True)
    }
    text = ", ".join(f"{name} {longer[name, False]:.2f} and {longer[name, True]:.3f}" for name in TRANSPORTS)
    return context.outcome(
        "R-2",
        measured=f"times as long as without errors, without LLR and with it: {text}",
        passed=all(longer[name, True] <= 1.05 for name in TRANSPORTS) and longer["go-back-N", False] >= 1.10,
        pictures=[picture],
    )


def job(context: Context, runs: Runs, rates: tuple[float, ...]) -> Outcome:
    """R-3."""
    longer = {
        name: max(
            runs[name, True, rate].last_ms / runs[name, True, 0.0].last_ms for rate in rates if rate <= 1e-7
        )
        for name in TRANSPORTS
    }
    text = ", ".join(f"{name} {100 * (value - 1):.2f} %" for name, value in longer.items())
    return context.outcome(
        "R-3", measured=f"longer by at most: {text}", passed=all(value <= 1.02 for value in longer.values())
    )


def sent_until_nack() -> float:
    """Frames that are sent from the damaged one, which counts, until its NACK has come."""
    frame_s = 8 * (FRAME_BYTES + OVERHEAD_BYTES) / LINK_BPS
    nack_s = frame_s + 2 * DELAY_S + 8 * ORDERED_SET_BYTES / LINK_BPS
    return float(math.ceil(nack_s / frame_s))


def closed(context: Context) -> Outcome:
    """R-4."""
    link = context.scenario("link")
    frames = sent_until_nack()
    found, worst = [], 0.0
    for rate in (1e-7, 1e-6, 1e-5):
        result = Scenario.from_toml(
            link.to_toml() + f'\n[[faults]]\nlink = ["left", "right"]\nbit_error_rate = {rate}\n'
        ).run()
        row = next(row for row in result.rows("link_retries") if row["port"].startswith("left."))
        damaged = -math.expm1(8 * FRAME_BYTES * math.log1p(-rate))
        expected = frames * damaged / (1 - damaged)
        measured = row["replayed_frames"] / row["frames"]
        worst = max(worst, abs(measured / expected - 1))
        found.append(f"{rate:g}: {measured:.5f} of {expected:.5f}")
    return context.outcome(
        "R-4",
        measured=f"repetitions a frame, N = {frames:g}: {'; '.join(found)}",
        passed=worst <= 0.10,
    )


def table(context: Context, runs: Runs, rates: tuple[float, ...]) -> None:
    """The figures of all runs."""
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
        "Messages under wrong bits",
        ("transport", "link", "bit error rate", "99.9 % (ms)", "last (ms)", "frames lost", "frames repeated"),
        rows,
        note="The time of the slowest message in a thousand, and when the last of all was done.",
    )


def tails(runs: Runs, rates: tuple[float, ...]) -> Figure:
    """The tail against the rate of wrong bits."""
    with style():
        figure = Figure(figsize=(7.0, 3.4))
        axes = figure.subplots()
        axes.set_title("The slowest message in a thousand")
        drawn = [rate for rate in rates if rate > 0]
        labels = []
        for name, (_, color) in TRANSPORTS.items():
            for retry, line in ((False, "-"), (True, "--")):
                values = [runs[name, retry, rate].tail_ms for rate in drawn]
                axes.plot(drawn, values, color=color, linestyle=line, marker="o", markersize=3)
                labels.append(Label(values[-1], f"{name}, LLR" if retry else name, color))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("bit error rate of every link")
        axes.set_ylabel("99.9 % (ms)")
        label_right(axes, labels)
    return figure
