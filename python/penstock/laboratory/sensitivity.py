"""Sensitivity analysis: effect of each key on each measure, over the full ranges of all keys.

"morris" (M. D. Morris, Technometrics 33, 1991) starts at random points and changes one key at a time by two
thirds of its range. The mean absolute change is the effect of a key on a measure (Campolongo, Cariboni and
Saltelli, 2007). The spread of the changes shows whether the effect depends on other keys. It needs N (K + 1)
points for K keys. "sobol" (I. M. Sobol', 2001, with the estimators of Saltelli et al., 2010) divides the
variance of a measure into the share of a key alone, and the share of a key including interactions. It needs N
(K + 2) points, with N in the hundreds.

Uses SALib with fixed seeds, so results are reproducible.
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import arrow
from penstock.errors import ArgumentError, InputError
from penstock.library import suggestion
from penstock.plots.style import save
from penstock.plots.sweeps import Bar, Effects, effects
from penstock.running.pool import processes

from .engines import Engine
from .outcome import replace_file, unit_of
from .plan import MOST_POINTS, Plan
from .store import Finished
from .sweep import SweepCallback, ensure_sweep, run_points, write_plan

METHODS = ("morris", "sobol")
LEVELS = 4
"""Number of levels of a key in Morris's method; a step is two thirds of the range."""
SEED = 1
LEAST = {"morris": 2, "sobol": 4}
_NAMES = {"mu_star": "effect", "sigma": "spread", "S1": "alone", "ST": "with others"}
_INTERVALS = {"mu_star": "mu_star_conf", "S1": "S1_conf", "ST": "ST_conf"}


@dataclass(frozen=True)
class Effect:
    """Effect of a key on a measure.

    Attributes
    ----------
    measure, key : str
        Name of the measure, and key of the scenario.
    index : str
        Morris: "effect" and "spread", in the unit of the measure, over the full range of the key. Sobol:
        "alone" and "with others", shares of the variance.
    value, half_width : float
        Index and half-width of its 95 % interval; NaN for "spread".
    """

    measure: str
    key: str
    index: str
    value: float
    half_width: float


def sensitivity(
    plan: Plan,
    out: str | PathLike[str],
    *,
    method: str = "morris",
    number: int = 10,
    executor: Engine | None = None,
    progress: SweepCallback | None = None,
) -> list[Effect]:
    """Computes the effect of each key of a plan on each measure. Reuses finished runs in `out`.

    Parameters
    ----------
    plan : Plan
        Plan of mode "latin": its keys, seeds and measures. Each measure must be a single number per run; it
        is averaged over the seeds.
    out : path
        New directory, or the directory of an earlier call. Receives ``sensitivity.parquet`` and a picture.
    method : str
        "morris" (default) or "sobol".
    number : int
        Number of trajectories (Morris), at least 2 and usually 10; or number of base samples (Sobol), a power
        of two and at least 4. Default 10.
    executor : Engine, optional
        Executes the runs. Default: processes of this machine.
    progress : callable, optional
        Called with a `SweepProgress` as runs end.

    Returns
    -------
    list of Effect
        By measure, in descending order of effect.

    Raises
    ------
    ScenarioError
        If the base scenario is invalid.
    InputError
        If SALib is missing, `out` contains something else, or a run failed (all points are required).
    """
    keys = _checked(plan, method, number)
    shares = _sampled(method, keys, number)
    if len(shares) * len(plan.seeds) > MOST_POINTS:
        raise ArgumentError(
            f"{len(shares):,} points with {len(plan.seeds)} seeds; at most {MOST_POINTS:,} runs"
        )
    directory = Path(out).absolute()
    plan.base.check()
    plan.check()  # checked before the first run, since all points are required
    ensure_sweep(directory)
    write_plan(plan, directory)
    points = [plan.point(index, plan.at(row)) for index, row in enumerate(shares.tolist())]
    engine = executor or Engine()
    with contextlib.ExitStack() as stack:
        if engine.executor is None:
            workers = engine.workers or os.cpu_count() or 1
            engine = Engine(stack.enter_context(processes(workers)), workers)
        finished = run_points(plan, points, directory, engine, progress)
    found = [
        effect
        for measure in plan.measures
        for effect in _analysed(method, keys, shares, measure.name, _means(finished, measure.text, directory))
    ]
    replace_file(directory / "sensitivity.parquet", lambda path: pq.write_table(_table(found), path))
    save(effects(_panels(found)), directory / "pictures", "sensitivity")
    return found


def _checked(plan: Plan, method: str, number: int) -> list[str]:
    """Returns the keys; rejects plans and options that do not allow an analysis."""
    if method not in METHODS:
        raise ArgumentError(f"method is {method!r}; {suggestion(method, METHODS)}")
    if plan.mode != "latin":
        raise ArgumentError('a sensitivity analysis needs a plan of mode "latin"')
    if not plan.values:
        raise ArgumentError("no key varies; expected at least one besides the seed")
    if not LEAST[method] <= number <= MOST_POINTS:
        raise ArgumentError(f"number is {number}; expected a whole number of at least {LEAST[method]}")
    if method == "sobol" and number & (number - 1):
        raise ArgumentError(f"number is {number}; expected a power of two for Sobol, such as 64")
    return list(plan.values)


def _problem(keys: list[str]) -> dict[str, Any]:
    return {"num_vars": len(keys), "names": keys, "bounds": [[0.0, 1.0]] * len(keys)}


def _sampled(method: str, keys: list[str], number: int) -> np.ndarray[Any, Any]:
    """Sample with one row per point: fraction of the range of each key."""
    try:
        from SALib.sample import morris, sobol
    except ImportError:
        raise InputError('sensitivity needs SALib: pip install "penstock[search]"') from None
    if method == "morris":
        drawn = morris.sample(_problem(keys), number, num_levels=LEVELS, seed=SEED)
    else:
        drawn = sobol.sample(_problem(keys), number, calc_second_order=False, seed=SEED)
    return np.asarray(drawn, dtype=float)


def _means(finished: list[Finished], text: str, directory: Path) -> np.ndarray[Any, Any]:
    """Mean of the measure at each point, in order."""
    values: dict[int, list[float]] = {}
    for one in finished:
        if one.record.error:
            note = ", ".join(f"{key} = {value}" for key, value in one.run.point.values.items())
            raise InputError(
                f"the run with {note} failed: {one.record.error.strip()}\n"
                f"all points are required: narrow the ranges. {directory / 'failed'} has the scenario"
            )
        value = one.value(text)
        if math.isnan(value):
            raise InputError(f'"{text}" is not known in run {one.record.run}; expected a number in each run')
        values.setdefault(one.run.point.number, []).append(value)
    return np.array([math.fsum(values[point]) / len(values[point]) for point in sorted(values)])


def _analysed(
    method: str, keys: list[str], shares: np.ndarray[Any, Any], measure: str, values: np.ndarray[Any, Any]
) -> list[Effect]:
    from SALib.analyze import morris, sobol

    if np.ptp(values) == 0.0:  # no effect; shares of a zero variance are undefined
        names = ("effect", "spread") if method == "morris" else ("alone", "with others")
        return [Effect(measure, key, name, 0.0, 0.0) for key in keys for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SALib warns of intervals that are too wide
        if method == "morris":
            reported = morris.analyze(_problem(keys), shares, values, num_levels=LEVELS, seed=SEED)
        else:
            reported = sobol.analyze(_problem(keys), values, calc_second_order=False, seed=SEED)
    indices = [index for index in _NAMES if index in reported]
    order = np.argsort(-np.asarray(reported[indices[-1] if method == "sobol" else "mu_star"]), kind="stable")
    return [
        Effect(measure, keys[at], _NAMES[index], *_index(reported, index, at))
        for at in order
        for index in indices
    ]


def _index(indices: Mapping[str, Any], index: str, at: int) -> tuple[float, float]:
    interval = _INTERVALS.get(index)
    return float(indices[index][at]), math.nan if interval is None else float(indices[interval][at])


def _table(found: list[Effect]) -> pa.Table:
    rows = [vars(effect) | {"unit": unit(effect)} for effect in found]
    kinds = {"value": pa.float64(), "half_width": pa.float64()}
    return arrow.table(
        {key: arrow.array([row[key] for row in rows], kinds.get(key, pa.string())) for key in rows[0]}
        if rows
        else {}
    )


def unit(effect: Effect) -> str:
    """Unit of an index: that of the measure for Morris; empty for shares of a variance."""
    return unit_of(effect.measure) if effect.index in ("effect", "spread") else ""


def _panels(found: list[Effect]) -> list[Effects]:
    panels: dict[str, Effects] = {}
    for effect in found:
        panel = panels.setdefault(effect.measure, Effects(effect.measure, unit(effect), []))
        panel.bars.append(Bar(effect.key, effect.index, effect.value, effect.half_width))
    return list(panels.values())
