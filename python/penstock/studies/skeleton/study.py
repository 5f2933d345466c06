"""Measures and draws the experiments of study.toml. Import files beside it with `from . import name`."""

from __future__ import annotations

from penstock import plots
from penstock.result import Result
from penstock.studies.reproduce import Context, Outcome


def run(context: Context) -> list[Outcome]:
    """The outcome of each experiment of study.toml.

    Parameters
    ----------
    context : Context
        Reads scenarios beside this file, runs them, and stores figures and tables.
    """
    context.say("a steady flow and a greedy one")
    scenario = context.scenario("scenario")
    runs = context.over_seeds(lambda seed: scenario.run(seed=seed), "E-1", "E-2")
    figures = [measure(result) for result in runs]
    picture = context.save_figure(plots.timeline(runs[0]), "timeline", cover=True)
    context.save_table(
        "shares",
        "What the steady flow got of what it offered",
        ["seed", "share"],
        [[str(result.seed), f"{of['share']:.4f}"] for result, of in zip(runs, figures, strict=True)],
    )
    return [context.judge("E-1", figures, pictures=[picture]), context.judge("E-2", figures)]


def measure(result: Result) -> dict[str, float]:
    """Figures of one run, by the names in study.toml."""
    [steady] = [row for row in result.rows("flows") if row["flow"] == "steady"]
    return {
        "share": steady["throughput_bps"] / steady["offered_bps"],
        "lost": sum(row["frames"] for row in result.rows("drops")),
    }
