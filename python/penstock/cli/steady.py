"""``penstock steady``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from penstock.errors import ResultError
from penstock.units import duration, plain, rate, size

from . import EXIT_DONE
from .console import Table, console, print_json

if TYPE_CHECKING:
    from penstock.result import Result

ROWS_SHOWN = 30
_WRITERS = {"bps": rate, "bytes": size, "ns": duration}
CORRELATED = 0.4
"""Largest correlation of consecutive batch means that can be due to chance: two standard errors."""


def steady(
    result: Path,
    /,
    *,
    metric: str = "flow_throughput_bps",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Finds the end of the warm-up of a run, and the confidence intervals of its means.

    MSER-5 finds the warm-up. Batch means of the remaining series give the confidence interval. Set `warmup`
    of the scenario to the longest warm-up.

    Parameters
    ----------
    result
        Directory of a result.
    metric
        Series to examine, such as "queue_bytes" (`penstock explain series`).
    json
        Prints one JSON object instead of a table.
    """
    from penstock.result import Result

    rows = found(Result.load(result), metric)
    if json:
        print_json({"schema": "penstock-steady/1", "metric": metric, "series": rows})
        return EXIT_DONE
    write = _WRITERS.get(metric.rpartition("_")[2], plain)
    title = f"{metric}: warm-up (MSER-5), and mean of the rest with its 95 % interval (batch means)"
    shown = Table(title, "of", "warm-up", "mean", "±", "", numeric=1)
    for row in rows[:ROWS_SHOWN]:
        text = "" if row["is_settled"] else "not settled in the first half"
        if (row["correlation"] or 0.0) > CORRELATED:
            text = text or "batches are correlated: run longer"
        shown.add_row(
            row["entity"],
            duration(row["warmup_ns"]),
            write(row["mean"]),
            write(row["half_width"]),
            text,
        )
    console().print(shown)
    if len(rows) > ROWS_SHOWN:
        console().print(f"{len(rows) - ROWS_SHOWN} more with --json")
    longest = max((row["warmup_ns"] for row in rows if row["is_settled"]), default=None)
    if longest is not None:
        console().print(f'warmup = "{math.ceil(longest)} ns" covers the longest settled warm-up')
    return EXIT_DONE


def found(result: Result, metric: str) -> list[dict[str, Any]]:
    """One entry per series: entity, warm-up, mean, half-width, correlation of batches.

    Raises
    ------
    ResultError
        If all series are too short.
    """
    from penstock.analysis.steady import LEAST_VALUES, steady

    rows = []
    for entity, (times, values) in result.all_series(metric).items():
        if len(values) < LEAST_VALUES:
            continue
        judged = steady(values)
        rows.append(
            {
                "entity": entity,
                "warmup_ns": float(times[judged.warmup]),
                "is_settled": judged.is_settled,
                "mean": judged.interval.mean,
                "half_width": judged.interval.half_width,
                "correlation": None if math.isnan(judged.correlation) else judged.correlation,
            }
        )
    if not rows:
        raise ResultError(
            f"{metric}: no series has {LEAST_VALUES} values; extend the run, or use narrower bins"
        )
    return rows
