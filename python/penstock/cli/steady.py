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
"""Correlation of successive batch means that can be due to chance: two standard errors of 20 batches."""


def steady(
    result: Path,
    /,
    *,
    metric: str = "flow_throughput_bps",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Finds where the warm-up of a run ends, and the confidence intervals of its means.

    MSER-5 finds the warm-up. Batch means of the remaining series give the confidence interval. Set "warmup"
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
    title = f"{metric}: warm-up by MSER-5, and the mean of the rest with its 95 % interval by batch means"
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
        console().print(f"and {len(rows) - ROWS_SHOWN} more; --json has all of them")
    longest = max((row["warmup_ns"] for row in rows if row["is_settled"]), default=None)
    if longest is not None:
        console().print(f'warmup = "{math.ceil(longest)} ns" leaves out the longest of them that is settled')
    return EXIT_DONE


def found(result: Result, metric: str) -> list[dict[str, Any]]:
    """One entry per series: entity, warm-up, mean, half-width, correlation of batches.

    Raises
    ------
    ResultError
        If every series is too short.
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
            f"{metric}: no series has {LEAST_VALUES} values; run longer, or choose shorter bins of the probes"
        )
    return rows
