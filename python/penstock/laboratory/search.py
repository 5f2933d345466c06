"""Searches for values of keys that minimize or maximize an expression under constraints.

Source: J. Bergstra et al., "Algorithms for hyper-parameter optimization", NIPS 2011 (TPE), implemented by
Optuna, which stores the trials in SQLite. Trials start with a Latin hypercube. The last third refines the
best point: one key at a time moves halfway to the next tried value on either side, which is bisection for a
threshold. With `first_part` each point first runs for a share of its duration. It is abandoned if it fails
there, or if its objective is worse than the median over the first parts of points that were feasible in the
end (median stopping rule of D. Golovin et al., "Google Vizier", KDD 2017). A first part is a separate run
over the start of the same trajectory; points that continue run again from the start.
"""

from __future__ import annotations

import ast
import contextlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from penstock.analysis.verdict import together
from penstock.errors import ArgumentError, InputError, ScenarioError
from penstock.library import toml
from penstock.running.pool import processes

from .engines import Engine
from .expression import Expression
from .plan import Plan, Point
from .quantity import Quantity, text_of
from .store import Finished
from .sweep import ensure_sweep, run_points, write_plan
from .values import Span, Values

DATABASE = "search.db"
OBJECTIVE = "objective"
FIRST_SHARE, REFINING_SHARE = 0.25, 0.34
"""Shares of the trials for the Latin hypercube and for refinement."""
BROKEN = 1e12
"""Violation of every requirement by a failed run."""
MOST_REFUSED = 10
"""Number of points to try before all failures are treated as an error in the keys or values."""
MOST_TRIALS = 100_000
LEAST_MEDIAN = 5
"""Minimum number of first parts for a median."""
DURATION = "simulation.duration"
_DIRECTIONS = ("minimize", "maximize")
_OVER = {ast.LtE: 1.0, ast.Lt: 1.0, ast.GtE: -1.0, ast.Gt: -1.0}


@dataclass(frozen=True)
class Goal:
    """The objective of a search.

    Parameters
    ----------
    direction : str
        ``"minimize"`` or ``"maximize"``.
    objective : str
        Expression over result tables and ``scenario.KEY``, such as ``"scenario.switch.buffer.total"``;
        averaged over the seeds.
    require : sequence of str
        Comparisons that must hold for every seed, such as ``"max(flows.latency_p99_ns) <= 50000"``.

    Raises
    ------
    ArgumentError
        If the direction is invalid, the objective does not depend on a result, or a requirement is not a
        comparison.
    """

    direction: str
    objective: str
    require: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.direction not in _DIRECTIONS:
            raise ArgumentError(f"direction is {self.direction!r}; expected minimize or maximize")
        if not Expression(self.objective, self.direction).names:
            raise ArgumentError(
                f'{self.direction} is "{self.objective}", which no result affects; expected an expression '
                'of results, such as "max(flows.latency_p99_ns)"'
            )
        _ = self.measures

    @property
    def measures(self) -> dict[str, str]:
        """Objective, and the violation of each requirement: left side minus right side."""
        found = {OBJECTIVE: self.objective}
        for number, text in enumerate(self.require):
            left, _, right = _compared(text)
            found[f"require_{number}"] = f"({left}) - ({right})"
        return found

    def violations(self, runs: Sequence[Finished]) -> list[float]:
        """Largest violation of each requirement over the runs; at most 0 if it is met."""
        return [
            max(_violation(_compared(text)[1], one.value(measure)) for one in runs)
            for text, measure in zip(self.require, list(self.measures.values())[1:], strict=True)
        ]

    def value(self, runs: Sequence[Finished]) -> float:
        """Mean of the objective; NaN if a run failed."""
        return math.fsum(one.value(self.objective) for one in runs) / len(runs)


@dataclass(frozen=True)
class Trial:
    """A point that was evaluated.

    Attributes
    ----------
    number : int
        Number, from 0.
    values : dict
        Values of the keys, as in the scenario.
    objective : float or None
        Mean over the seeds; ``None`` if a run failed.
    is_feasible : bool
        True if no run failed and all requirements were met.
    first_part : float or None
        Objective of the first part; ``None`` if there was none, or it failed.
    given_up : bool
        True if it was abandoned after its first part.
    error : str
        Error of the first failed run; empty if none failed.
    unfinished, transfers : int
        Incomplete transfers at the end of its runs, and all transfers. Statistics exclude incomplete
        transfers.
    verdict : str
        Most severe state of its runs, such as ``"complete"``; empty if all failed before they started.
    missed : tuple of float
        Violation of each requirement in the worst run; at most 0 if it is met. Empty if a run
        failed.
    """

    number: int
    values: dict[str, Any]
    objective: float | None
    is_feasible: bool
    first_part: float | None = None
    given_up: bool = False
    error: str = ""
    unfinished: int = 0
    transfers: int = 0
    verdict: str = ""
    missed: tuple[float, ...] = ()


TrialCallback = Callable[[Trial], object]


def search(
    plan: Plan,
    goal: Goal,
    out: str | PathLike[str],
    *,
    trials: int = 100,
    first_part: float | None = None,
    executor: Engine | None = None,
    progress: TrialCallback | None = None,
) -> list[Trial]:
    """Evaluates points of a plan until there are `trials`. Resumes from the trials in `out`.

    Parameters
    ----------
    plan : Plan
        Plan of mode "latin": its keys and seeds. Its measures are ignored.
    goal : Goal
        Objective and requirements.
    out : path
        New directory, or the directory of an earlier search with the same plan and goal.
    trials : int
        Number of points, 1 to 100000. Default 100.
    first_part : float, optional
        Share of the duration, above 0 and below 1, after which poor points are abandoned. Default: all points
        run to the end.
    executor : Engine, optional
        Executes the runs. Default: processes of this machine.
    progress : callable, optional
        Called with each `Trial`.

    Returns
    -------
    list of Trial
        Best first; infeasible trials last.

    Raises
    ------
    ScenarioError
        If the base scenario, or all of the first points, are invalid.
    InputError
        If Optuna is missing, or `out` contains something else.
    """
    if not 1 <= trials <= MOST_TRIALS:
        raise ArgumentError(f"trials is {trials}; expected a whole number from 1 to {MOST_TRIALS}")
    directory = Path(out).absolute()
    plan = _measuring(plan, goal, max(1, round(trials * FIRST_SHARE)))
    plan.base.check()
    plan.check(MOST_REFUSED)  # some points may be invalid, but not all
    beginning = None if first_part is None else _shortened(plan, first_part)
    ensure_sweep(directory)
    write_plan(plan, directory)
    study = _study(goal, directory)
    engine = executor or Engine()
    with contextlib.ExitStack() as stack:
        if engine.executor is None:
            workers = engine.workers or os.cpu_count() or 1
            engine = Engine(stack.enter_context(processes(workers)), workers)
        searching = _Search(plan, goal, directory, study, engine)
        searching.beginning = beginning
        while (made := len(searching.finished)) < trials:
            at_once = min(max(1, (engine.workers or 1) // len(plan.seeds)), trials - made)
            for trial in searching.step(at_once, refine=made >= trials * (1 - REFINING_SHARE)):
                if progress is not None:
                    progress(trial)
    return sorted(searching.finished, key=lambda trial: _rank(goal, trial))


class _Search:
    """A search in progress."""

    def __init__(self, plan: Plan, goal: Goal, directory: Path, study: Any, engine: Engine) -> None:
        self._plan = plan
        self._goal = goal
        self._directory = directory
        self._study = study
        self._engine = engine
        self._drawn = 0
        self.beginning: Plan | None = None
        """Plan with a shorter duration, if there are first parts."""
        self.finished: list[Trial] = [found for found in map(_recalled, study.trials) if found is not None]

    def step(self, number: int, *, refine: bool) -> list[Trial]:
        """Draws points, runs them, and reports their values to the optimizer."""
        drawn: list[tuple[Any, Point]] = []
        for _ in range(number):
            done = len(self.finished) + len(drawn)
            if done < len(self._plan.settings):
                self._study.enqueue_trial(self._parameters(self._plan.settings[done].values))
            elif refine and (refined := self._refined()) is not None:
                self._study.enqueue_trial(refined)
            trial = self._study.ask()
            chosen = {key: suggested(trial, key, values) for key, values in self._plan.values.items()}
            drawn.append((trial, self._plan.point(trial.number, chosen)))
        made = [] if self.beginning is None else self._begin(drawn, self.beginning)
        given_up = {trial.number for trial in made}
        points = [point for _, point in drawn if point.number not in given_up]
        finished = run_points(self._plan, points, self._directory, self._engine) if points else []
        for trial, point in drawn:
            if point.number not in given_up:
                made.append(self._record(trial, point.values, _runs_of(finished, point)))
        self.finished += made
        return made

    def _begin(self, drawn: Sequence[tuple[Any, Point]], beginning: Plan) -> list[Trial]:
        """Runs first parts; returns the abandoned trials."""
        import optuna

        points = [point for _, point in drawn]
        finished = run_points(beginning, points, self._directory, self._engine)
        sign = 1 if self._goal.direction == "minimize" else -1
        known = sorted(
            sign * one.first_part for one in self.finished if one.is_feasible and one.first_part is not None
        )
        made = []
        for trial, point in drawn:
            runs = _runs_of(finished, point)
            value = self._goal.value(runs)
            error = _error_of(runs)
            failed = bool(error) or math.isnan(value)
            if not failed:
                trial.report(value, step=0)
                trial.set_user_attr("first_part", value)
            worse = len(known) >= LEAST_MEDIAN and sign * value > known[len(known) // 2]
            if failed or worse:
                trial.set_user_attr("values", point.values)
                trial.set_user_attr("error", error)
                trial.set_user_attr("objective", None)
                trial.set_user_attr("given_up", True)
                trial.set_constraint("0", BROKEN if failed else 0.0)
                self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                reported = None if failed else value
                made.append(
                    Trial(trial.number, point.values, None, False, reported, given_up=True, error=error)
                )
        return made

    def _record(self, trial: Any, values: dict[str, Any], runs: Sequence[Finished]) -> Trial:
        value, violations = self._goal.value(runs), self._goal.violations(runs)
        error = _error_of(runs)
        failed = bool(error) or math.isnan(value)
        missed = () if failed else tuple(violations)
        if failed:
            violations = [*violations, BROKEN]
        reported = Trial(
            trial.number,
            values,
            None if failed else value,
            not failed and all(one <= 0 for one in violations),
            trial.user_attrs.get("first_part"),
            error=error,
            **_account(runs),
            missed=missed,
        )
        trial.set_user_attr("missed", missed)
        for name, figure in _account(runs).items():
            trial.set_user_attr(name, figure)
        trial.set_user_attr("values", values)
        trial.set_user_attr("error", error)
        trial.set_user_attr("objective", reported.objective)
        for number, by in enumerate(violations):
            trial.set_constraint(str(number), by)
        worst = [one.objective for one in self.finished if one.objective is not None]
        bad = (max if self._goal.direction == "minimize" else min)(worst, default=0.0)
        self._study.tell(trial, bad if failed else value)
        return reported

    def _parameters(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: parameter(self._plan.values[key], values[key]) for key in self._plan.values}

    def _refined(self) -> dict[str, Any] | None:
        """Best point with one key moved halfway to the next tried value above or below."""
        best = min(self.finished, key=lambda trial: _rank(self._goal, trial))
        if not best.is_feasible:
            return None
        at = self._parameters(best.values)
        tried = [self._parameters(trial.values) for trial in self.finished]
        turns = [(key, side) for key in at for side in (-1, 1)]
        for _ in turns:
            key, side = turns[self._drawn % len(turns)]
            self._drawn += 1
            beyond = [one[key] for one in tried if (one[key] - at[key]) * side > 0]
            if not beyond:
                continue
            other = (max if side < 0 else min)(beyond)
            middle = (at[key] + other) / 2 if isinstance(at[key], float) else (at[key] + other) // 2
            if middle not in (at[key], other):
                return {**at, key: middle}
        return None


def _account(runs: Sequence[Finished]) -> dict[str, Any]:
    """Transfers of the runs of a point, and their verdict."""
    named = [(one.record.run[:16], one.verdict) for one in runs]
    known = [(name, judged) for name, judged in named if judged is not None]
    return {
        "unfinished": sum(one.unfinished for one in runs),
        "transfers": sum(int(one.record.facts.get("transfers") or 0) for one in runs),
        "verdict": together(known).state if known else "",
    }


def suggested(trial: Any, key: str, values: Values) -> Any:
    """Value that a trial suggests for a key, as in a scenario."""
    if isinstance(values, list):
        return values[trial.suggest_int(key, 0, len(values) - 1)]
    low, high = values.low, values.high
    if isinstance(low, Quantity) and isinstance(high, Quantity):
        chosen = trial.suggest_int(key, math.ceil(low.amount), math.floor(high.amount), log=values.log)
        return text_of(Quantity(Fraction(chosen), low.dimension, low.unit))
    if values.whole:
        return trial.suggest_int(key, int(low), int(high), log=values.log)  # type: ignore[arg-type]
    return trial.suggest_float(key, float(low), float(high), log=values.log)  # type: ignore[arg-type]


def parameter(values: Values, value: Any) -> Any:
    """Inverse of `suggested`: coordinate of a value."""
    if isinstance(values, list):
        return values.index(value)
    if isinstance(values, Span) and isinstance(values.low, Quantity):
        found = Quantity.read(value)
        return 0 if found is None else int(found.amount)
    return value


def _runs_of(finished: Sequence[Finished], point: Point) -> list[Finished]:
    return [one for one in finished if one.run.point.number == point.number]


def _error_of(runs: Sequence[Finished]) -> str:
    return next((one.record.error.strip() for one in runs if one.record.error), "")


def _shortened(plan: Plan, share: float) -> Plan:
    """Plan with this share of the duration."""
    if not 0 < share < 1:
        raise ArgumentError(f"the first part is {share}; expected a share above 0 and below 1")
    if DURATION in (*plan.values, *plan.derive):
        raise ArgumentError(f"{DURATION} varies, so first parts are undefined; remove one of them")
    whole = Quantity.read(toml(plan.base.check())["simulation"]["duration"])
    if whole is None:
        raise ArgumentError(f"{DURATION} is not a time")
    base = plan.base.with_value(DURATION, text_of(whole * Fraction(share).limit_denominator(10**6)))
    try:
        base.check()
    except ScenarioError as error:
        raise ArgumentError(f"the first part of {share:g} cannot be run:\n{error}") from None
    return Plan(base, plan.vary, plan.derive, plan.measure, "latin", plan.points)


def _measuring(plan: Plan, goal: Goal, first: int) -> Plan:
    if plan.mode != "latin":
        raise ArgumentError('a search needs a plan of mode "latin"')
    if not plan.values:
        raise ArgumentError("no key varies; expected at least one besides the seed")
    return Plan(plan.base, plan.vary, plan.derive, goal.measures, "latin", first)


def _study(goal: Goal, directory: Path) -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError('a search needs Optuna: pip install "penstock[search]"') from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = f"sqlite:///{directory / DATABASE}"
    name = "; ".join((goal.direction, goal.objective, *goal.require))
    sampler = optuna.samplers.TPESampler(seed=1, n_startup_trials=1)
    direction: Literal["minimize", "maximize"] = "minimize" if goal.direction == "minimize" else "maximize"
    study = optuna.create_study(
        storage=storage, sampler=sampler, direction=direction, study_name=name, load_if_exists=True
    )
    for trial in study.trials:
        if trial.state == optuna.trial.TrialState.RUNNING:  # its process was killed
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


def _recalled(trial: Any) -> Trial | None:
    """Trial from the database, if it is complete."""
    reported = trial.user_attrs
    if not trial.state.is_finished() or "objective" not in reported:
        return None
    feasible = reported["objective"] is not None and all(one <= 0 for one in trial.constraints.values())
    first_part, given_up = reported.get("first_part"), reported.get("given_up", False)
    error = reported.get("error", "")
    account = {name: reported[name] for name in ("unfinished", "transfers", "verdict") if name in reported}
    known = (trial.number, reported["values"], reported["objective"], feasible, first_part, given_up, error)
    return Trial(*known, **account, missed=tuple(reported.get("missed", ())))


def _rank(goal: Goal, trial: Trial) -> tuple[bool, float]:
    value = math.inf if trial.objective is None else trial.objective
    return not trial.is_feasible, value if goal.direction == "minimize" or value == math.inf else -value


def _compared(text: str) -> tuple[str, type[ast.cmpop], str]:
    """Left side, operator and right side of a comparison."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        node = None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or isinstance(node.ops[0], ast.NotEq):
        raise ArgumentError(
            f'"{text}" is not a comparison; expected one such as "sum(flows.frames_dropped) == 0"'
        )
    return ast.unparse(node.left), type(node.ops[0]), ast.unparse(node.comparators[0])


def _violation(how: type[ast.cmpop], difference: float) -> float:
    if math.isnan(difference):
        return BROKEN
    if how is ast.Eq:
        return abs(difference)
    over = _OVER[how] * difference
    return math.nextafter(0.0, 1.0) if over == 0 and how in (ast.Lt, ast.Gt) else over
