"""Measures and draws the experiments of study.toml. Import files beside it with `from . import name`."""

from __future__ import annotations

from penstock import plots
from penstock.studies.reproduce import Context, Outcome


def run(context: Context) -> list[Outcome]:
    """The outcome of each experiment of study.toml.

    Parameters
    ----------
    context : Context
        Reads scenarios beside this file, runs them, and stores figures and tables.
    """
    context.say("a steady flow and a greedy one")
    runs = context.replicate(context.scenario("scenario"), full=10, quick=3)
    steady = [row for result in runs.results for row in result.rows("flows") if row["flow"] == "steady"]
    shares = [row["throughput_bps"] / row["offered_bps"] for row in steady]
    lost = sum(row["frames"] for result in runs.results for row in result.rows("drops"))
    picture = context.save_figure(plots.timeline(runs.results[0]), "timeline", cover=True)
    context.save_table(
        "shares",
        "What the steady flow got of what it offered",
        ["seed", "share"],
        [[str(result.seed), f"{share:.4f}"] for result, share in zip(runs.results, shares, strict=True)],
    )
    return [
        context.outcome(
            "E-1",
            measured=f"{min(shares):.2%} at least",
            passed=min(shares) >= 0.95,
            pictures=[picture],
        ),
        context.outcome("E-2", measured=f"{lost} frames", passed=lost == 0),
    ]
