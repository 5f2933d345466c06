"""The exchange benchmark of MPI, with and without PFC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, pstdev

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

SMALL = (0, 64, 1_024, 2_048)
LARGE = (16_384, 65_536, 131_072, 262_144, 524_288, 1_048_576, 4_194_304)
JUMP = 262_144
"""Bytes from which on the source sees long and uneven times without PFC."""
TRIED = 8, 2_048
"""KiB of buffer with which messages of so many bytes lose frames without PFC."""
SEEDS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Steps:
    """Mean microseconds of a step, one for each seed."""

    us: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over all seeds."""
        return mean(self.us)

    @property
    def variation(self) -> float:
        """Standard deviation over mean."""
        return pstdev(self.us) / self.mean


Times = Mapping[int, tuple[Steps, Steps]]
"""By size: without PFC, and with."""


def measure(base: Scenario, lossy: Scenario) -> Times:
    """Steps of all sizes."""
    return {size: (steps(lossy, size), steps(base, size)) for size in (*SMALL, *LARGE)}


def steps(base: Scenario, size: int) -> Steps:
    """Some steps of messages of so many bytes."""
    count = max(5, min(200, LARGE[-1] // max(size, 1)))
    for key, value in (("message", f"{size} B"), ("steps", count)):
        base = base.with_value(f"flows.ring.source.mpi_exchange.{key}", value)
    base = base.with_value("simulation.duration", "20 s")
    runs = [base.run(seed=seed).rows("connections") for seed in SEEDS]
    return Steps(tuple(mean(row["exchange_mean_ns"] for row in rows) / 1e3 for rows in runs))


def with_little(lossy: Scenario) -> Steps:
    """Steps of short messages without PFC, where adapters keep next to nothing."""
    buffer, size = TRIED
    return steps(lossy.with_value("host.receive.buffer", f"{buffer} KiB"), size)


def judge(context: Context, times: Times, little: Steps) -> list[Outcome]:
    """H5-6 and H5-7."""
    save(context, times)
    pictures = [context.save_figure(picture(times), "mpi")]
    on = {size: with_pfc for size, (_, with_pfc) in times.items()}
    slower = [size for size in LARGE if size >= JUMP and times[size][0].mean >= 3 * on[size].mean]
    uneven = max(one.variation for one in on.values())
    sizes = [size for size in LARGE if size >= JUMP]
    fluctuates = [size for size in SMALL if times[size][0].variation >= 2 * on[size].variation > 0]
    small_off, small_on = (max(times[size][way].variation for size in SMALL) for way in (0, 1))
    grows = [on[size].mean for size in times]
    off_ms, on_ms = (times[LARGE[-1]][way].mean / 1e3 for way in (0, 1))
    return [
        context.outcome(
            "H5-6",
            measured=f"with PFC it varies by at most {uneven:.1%}; without, {len(slower)} of {len(sizes)} "
            f"sizes from 256 KiB on take at least three times as long, 4 MiB {off_ms:.0f} ms "
            f"beside {on_ms:.0f} ms",
            passed=uneven <= 0.1 and grows == sorted(grows) and 2 * len(slower) >= len(sizes),
            pictures=pictures,
        ),
        context.outcome(
            "H5-7",
            measured=f"they vary by at most {small_off:.2%} without PFC and {small_on:.2%} with it; with "
            f"{TRIED[0]} KiB of buffer {TRIED[1]:,} B by {little.variation:.0%}, at "
            f"{little.mean / 1e3:.0f} ms a step",
            passed=2 * len(fluctuates) >= len(SMALL),
        ),
    ]


def save(context: Context, times: Times) -> None:
    """The table of all sizes."""
    rows = [
        (f"{size:,}", *(text for way in both for text in (f"{way.mean:.1f}", f"{way.variation:.1%}")))
        for size, both in times.items()
    ]
    context.save_table(
        "mpi",
        "Time of a step of MPI by the size of messages",
        ("bytes", "off (us)", "varies by", "PFC (us)", "varies by"),
        rows,
        note=f"Means of {len(SEEDS)} seeds; standard deviation over mean.",
    )


def picture(times: Times) -> Figure:
    """Time of a step by the size of messages."""
    with style():
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for way, (label, color) in enumerate((("without PFC", "#E69F00"), ("with PFC", "#0072B2"))):
            sizes = [max(size, 1) for size in times]
            axes.plot(
                sizes, [both[way].mean for both in times.values()], marker="o", label=label, color=color
            )
            low, high = ([choose(both[way].us) for both in times.values()] for choose in (min, max))
            axes.fill_between(sizes, low, high, color=color, alpha=0.2, linewidth=0)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("bytes of a message (0 at the left edge)")
        axes.set_ylabel("time of a step (us)")
        axes.legend(frameon=False)
    return figure
