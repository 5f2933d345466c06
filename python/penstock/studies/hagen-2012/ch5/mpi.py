"""The exchange benchmark of MPI, with and without PFC."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median, pstdev

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

ALL = (0, *(1 << power for power in range(23)))
"""The 24 sizes of the benchmark: 0 to 4,194,304 bytes."""
QUICK = (0, 1_024, 262_144, 524_288, 1_048_576)
SHORT, JUMP = 4_096, 131_072
"""Figure 5-7 covers sizes below the first; above the second, times without PFC are long and vary."""
VOLUME, MOST_STEPS = 40 << 20, 1_000
"""The benchmark repeats a size until 40 MiB have been transferred, at most a thousand times."""
DRAMATIC = 2.0
"""Time without PFC relative to PFC that counts as a dramatic jump."""
TRIED = 8, 2_048
"""KiB of buffer, and message size in bytes, at which frames are lost without PFC."""
SEEDS = tuple(range(1, 11))


@dataclass(frozen=True)
class Steps:
    """Mean microseconds of a step, one per seed."""

    us: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over all seeds."""
        return mean(self.us)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return pstdev(self.us) / self.mean


Times = Mapping[int, tuple[Steps, Steps]]
"""Steps without and with PFC, by message size."""


def measure(context: Context, base: Scenario, lossy: Scenario) -> Times:
    """Steps of all sizes."""
    found, seeds = {}, tuple(context.seeds("H5-6-jump"))
    for size in QUICK if context.quick else ALL:
        found[size] = steps(lossy, size, seeds), steps(base, size, seeds)
        context.say(f"{size:,} B")
    return found


def steps(base: Scenario, size: int, seeds: Sequence[int] = SEEDS) -> Steps:
    """Runs as many steps with messages of this size as the benchmark does."""
    count = min(MOST_STEPS, VOLUME // max(size, 1))
    for key, value in (("message", f"{size} B"), ("steps", count)):
        base = base.with_value(f"flows.ring.source.mpi_exchange.{key}", value)

    def one(seed: int) -> float:
        rows = base.run(seed=seed).rows("connections")
        return float(mean(row["exchange_mean_ns"] for row in rows)) / 1e3

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return Steps(tuple(threads.map(one, seeds)))


def with_little(lossy: Scenario) -> Steps:
    """Steps of short messages without PFC and with very small adapter buffers."""
    buffer, size = TRIED
    short = lossy.with_value("host.receive.buffer", f"{buffer} KiB")
    return steps(short.with_value("simulation.duration", "20 s"), size, SEEDS[:4])


def judge(context: Context, times: Times, little: Steps) -> list[Outcome]:
    """H5-6 and H5-7, one outcome per sentence of the source."""
    save(context, times)
    drawn = [context.save_figure(picture(times), "figure-5-6")]
    off, on = ({size: both[way] for size, both in times.items()} for way in (0, 1))
    large = [size for size in times if size > JUMP]
    short = [size for size in times if size < SHORT]
    ratios = {size: off[size].mean / on[size].mean for size in times}
    text = ", ".join(f"{size:,} B {ratios[size]:.2f}" for size in times if size >= JUMP // 2)
    steady = {
        "variation": max(on[size].variation for size in large),
        "growth": min(on[size].mean / on[before].mean for before, size in pairwise(large)),
    }
    fluctuating = [off[size].variation >= 2 * on[size].variation > 0 for size in short]
    small_off, small_on = (max(of[size].variation for size in short) for of in (off, on))
    return [
        context.judge("H5-6", steady, pictures=drawn),
        context.judge(
            "H5-6-jump",
            [jumps(times, nth) for nth in range(len(off[large[0]].us))],
            also=f"ratio of the time of a step without PFC to that with PFC: {text}",
        ),
        context.judge(
            "H5-6-inconsistent",
            {"variation": median(off[size].variation for size in large)},
            also=", ".join(f"{size:,} B {off[size].variation:.0%}" for size in large),
        ),
        context.judge(
            "H5-7",
            {"fluctuating": mean(fluctuating)},
            also=f"variation at most {small_off:.2%} without PFC and {small_on:.2%} with PFC; with a buffer "
            f"of {TRIED[0]} KiB {TRIED[1]:,} B vary by {little.variation:.0%}, at {little.mean / 1e3:.0f} ms "
            "per step",
            pictures=[context.save_figure(picture(times, below=SHORT), "figure-5-7")],
        ),
    ]


def jumps(times: Times, nth: int) -> dict[str, float]:
    """Figures of one seed: share of sizes that take twice as long without PFC, and difference of ratios."""
    ratios = {size: off.us[nth] / on.us[nth] for size, (off, on) in times.items()}
    large = [ratio for size, ratio in ratios.items() if size > JUMP]
    short = [ratio for size, ratio in ratios.items() if size < JUMP // 2]
    return {
        "twice": sum(ratio >= DRAMATIC for ratio in large) / len(large),
        "apart": min(large) - max(short),
    }


def save(context: Context, times: Times) -> None:
    """Table of all sizes."""
    rows = [
        (f"{size:,}", *(text for way in both for text in (f"{way.mean:.1f}", f"{way.variation:.1%}")))
        for size, both in times.items()
    ]
    context.save_table(
        "mpi",
        "Time of an MPI step by message size",
        ("bytes", "off (us)", "variation", "PFC (us)", "variation"),
        rows,
        note=f"Means of {len(next(iter(times.values()))[0].us)} seeds; variation: standard deviation over "
        "mean.",
    )


def picture(times: Times, below: int | None = None) -> Figure:
    """Time of a step by message size (Figure 5-6), or for short messages only (Figure 5-7)."""
    times = {size: both for size, both in times.items() if below is None or size < below}
    with style():
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for way, (label, color) in enumerate((("without PFC", "#E69F00"), ("with PFC", "#0072B2"))):
            sizes = [size or 0.5 for size in times]
            axes.plot(
                sizes, [both[way].mean for both in times.values()], marker="o", label=label, color=color
            )
            low, high = ([choose(both[way].us) for both in times.values()] for choose in (min, max))
            axes.fill_between(sizes, low, high, color=color, alpha=0.2, linewidth=0)
        axes.set_xscale("log", base=2)
        if below is None:
            axes.set_yscale("log")
        axes.set_xlabel("message size (B; 0 at the left edge)")
        axes.set_ylabel("time of a step (us)")
        axes.legend(frameon=False)
    return figure
