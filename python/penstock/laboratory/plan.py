"""Plan of a sweep: a scenario, varied keys, derived keys, and measures."""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import library
from penstock.errors import ArgumentError, InputError, ScenarioError
from penstock.running import engine_errors, source_of
from penstock.scenario import Scenario

from .expression import Expression, Surroundings
from .measures import DEFAULT_MEASURES, Measure
from .precision import FIRST_RUNS, Precision
from .quantity import Quantity, number, text_of, value_of
from .values import Span, Values, given_of, read

if TYPE_CHECKING:
    from penstock.running import Runnable

SEED = "simulation.seed"
MODES = ("grid", "zip", "latin")
MOST_POINTS = 1_000_000
LATIN_SEED = 1
MOST_TOLD = 5
"""Maximum number of points whose errors are listed."""


@dataclass(frozen=True)
class Point:
    """One setting of the varied keys, which runs once per seed.

    Attributes
    ----------
    number : int
        Number in the order of the sweep, from 0.
    values : dict
        Values of varied and derived keys, as in a scenario.
    """

    number: int
    values: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run of a sweep.

    Attributes
    ----------
    point : Point
        Point of the run.
    seed : int or None
        ``None``: the seed of the scenario.
    source : Source
        Scenario of the point; shared by all its runs.
    """

    point: Point
    seed: int | None
    source: library.Source

    def text(self) -> str:
        """Scenario with the seed of the run, as TOML."""
        if self.seed is None:
            return self.source.text
        return Scenario.from_toml(self.source.text).with_value(SEED, self.seed).to_toml()


@dataclass(frozen=True)
class Plan:
    """A validated sweep.

    Parameters
    ----------
    scenario : Scenario, str or path
        Scenario, file, or name of a scenario in the package.
    vary : mapping
        Keys of the scenario, named as in `Scenario.with_value`, with their values: a list, or text such as
        ``"20 KiB:200 KiB:10"`` (`penstock.laboratory.values`). ``simulation.seed`` is special: every point
        runs with the same seeds, so that differences between points are due to the keys.
    derive : mapping, optional
        Keys computed from other keys by expressions: ``{"flow_control.pfc.xon": "xoff / 2"}``. A name is the
        last part of a key in `vary`, or a full key of the scenario.
    measure : mapping, optional
        Named expressions over the tables of a result, such as
        ``{"p99": "max(flows.latency_p99_ns)"}``. Default: `DEFAULT_MEASURES`.
    mode : str
        "grid" (default): all combinations; "zip": the first values of all keys, then the second, ...;
        "latin": a Latin hypercube of `points` points.
    points : int, optional
        Number of points of a Latin hypercube, 1 to 1000000.
    until : str, optional
        Adds seeds to each point until a measure has this precision: ``"latency_p99_ns 5 % at 95 %"``. Starts
        with the seeds in `vary`, at least two. Default: ten seeds, starting with that of the scenario.

    Raises
    ------
    ArgumentError
        If keys, values or expressions are invalid.
    InputError
        If the scenario does not exist.
    """

    scenario: Runnable
    vary: Mapping[str, Any]
    derive: Mapping[str, str] = field(default_factory=dict)
    measure: Mapping[str, str] = field(default_factory=lambda: DEFAULT_MEASURES)
    mode: str = "grid"
    points: int | None = None
    until: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ArgumentError(f"mode is {self.mode!r}; {library.suggestion(self.mode, MODES)}")
        if (self.mode == "latin") != (self.points is not None):
            raise ArgumentError('points and mode "latin": expected both or neither')
        if self.points is not None and not 1 <= self.points <= MOST_POINTS:
            raise ArgumentError(f"points is {self.points}; expected a whole number from 1 to {MOST_POINTS}")
        if not self.vary and self.until is None:
            raise ArgumentError("no key varies; expected at least one, such as simulation.seed=1..5")
        for key in self.derive:
            if key in self.vary:
                raise ArgumentError(f"{key} varies and is also set by an expression; expected one of them")
        _ = self.values, self.measures, self._derived, self.base, self.precision  # evaluated for their errors
        if self.until is not None and len(self.seeds) < 2:
            raise ArgumentError("until with one seed; expected at least two seeds, or none")

    @functools.cached_property
    def base(self) -> Scenario:
        """Base scenario."""
        if isinstance(self.scenario, Scenario):
            return self.scenario
        source = source_of(self.scenario)
        return Scenario.from_toml(source.text, file=source.file)

    @functools.cached_property
    def values(self) -> dict[str, Values]:
        """Values of each key except the seed."""
        return {key: read(key, given) for key, given in self.vary.items() if key != SEED}

    @functools.cached_property
    def seeds(self) -> list[int | None]:
        """Seeds of each point."""
        if SEED not in self.vary:
            if self.precision is None:
                return [None]
            first = int(self._effective["simulation"]["seed"])
            return list(range(first, first + FIRST_RUNS))
        found = read(SEED, self.vary[SEED])
        if isinstance(found, Span) or not all(type(seed) is int and 0 <= seed < 1 << 64 for seed in found):
            raise ArgumentError(
                f"{SEED} is {self.vary[SEED]}; expected whole numbers from 0 to 2^64 - 1, such as 1..20"
            )
        return list(dict.fromkeys(found))

    @functools.cached_property
    def measures(self) -> list[Measure]:
        """Measures in order."""
        found = [Measure(name, text) for name, text in self.measure.items()]
        for measure in found:
            measure.check()
        return found

    @functools.cached_property
    def precision(self) -> Precision | None:
        """Precision that `until` requires."""
        names = [measure.name for measure in self.measures]
        return None if self.until is None else Precision.read(self.until, names)

    @functools.cached_property
    def _derived(self) -> dict[str, Expression]:
        return {key: Expression(text, key) for key, text in self.derive.items()}

    @functools.cached_property
    def settings(self) -> list[Point]:
        """All points."""
        found = [self.point(index, chosen) for index, chosen in enumerate(self._combinations())]
        if len(found) * len(self.seeds) > MOST_POINTS:
            raise ArgumentError(f"the sweep has more than {MOST_POINTS:,} runs")
        return found

    def point(self, index: int, chosen: Mapping[str, Any]) -> Point:
        """Returns a point with the given values of varied keys, and the derived keys."""
        values = dict(chosen)
        for key, expression in self._derived.items():
            values[key] = expression.value(_OfPoint(self, values))
        return Point(index, values)

    def runs(self) -> Iterator[Run]:
        """All runs: each point with each seed."""
        for point in self.settings:
            yield from self.runs_of(point)

    def runs_of(self, point: Point, seeds: Sequence[int | None] | None = None) -> Iterator[Run]:
        """Yields the runs of one point with these seeds, by default the seeds of the plan."""
        scenario = self.base
        for key, value in point.values.items():
            scenario = scenario.with_value(key, value)
        source = scenario.source()
        for seed in self.seeds if seeds is None else seeds:
            yield Run(point, seed, source)

    def check(self, most: int = 1) -> None:
        """Validates the scenarios of the first points until one is valid.

        Parameters
        ----------
        most : int
            Maximum number of points to validate. Default 1.

        Raises
        ------
        ScenarioError
            If none of them is valid; contains the error of the first one.
        """
        from penstock import _core

        wrong: ScenarioError | None = None
        for point in self.settings[:most]:
            first = next(self.runs_of(point))
            try:
                with engine_errors():
                    _core.check(first.source.text, first.source.file, allow_files=first.source.allow_files)
                return
            except ScenarioError as error:
                wrong = wrong or self._at_first_point(error, point)
        if wrong is not None:
            raise wrong from None

    def _at_first_point(self, error: ScenarioError, point: Point) -> ScenarioError:
        """Rewrites the error of a point in terms of the plan.

        The scenario of a point is not in a file, so line numbers would be misleading. Errors in the base file
        keep their position.
        """
        if not point.values:
            return error
        report = json.loads(error.diagnostics)
        try:
            self.base.check()
        except ScenarioError as own:
            before = [one["message"] for one in json.loads(own.diagnostics)]
            if report and report[0]["message"] in before:
                return own
        values = ", ".join(f"{key} = {value}" for key, value in point.values.items())
        what = "; ".join(f"{one['message']}: {one['help']}".rstrip(": ") for one in report[:MOST_TOLD])
        wrong_point = ScenarioError(f"error: {what}\nin the first point of the sweep, with {values}")
        wrong_point.diagnostics = json.dumps([{**one, "line": 0, "column": 0} for one in report])
        return wrong_point

    def _combinations(self) -> Iterator[dict[str, Any]]:
        spans = [key for key, values in self.values.items() if isinstance(values, Span)]
        if self.mode == "latin":
            yield from self._latin()
            return
        if spans:
            raise ArgumentError(
                f"{spans[0]}: {self.vary[spans[0]]} is a continuous range; expected a number of values "
                "(FROM:TO:NUMBER), or a Latin hypercube"
            )
        lists = {key: values for key, values in self.values.items() if isinstance(values, list)}
        if self.mode == "zip":
            lengths = {key: len(values) for key, values in lists.items()}
            if len(set(lengths.values())) > 1:
                text = ", ".join(f"{key} has {length}" for key, length in lengths.items())
                raise ArgumentError(f'keys of mode "zip" need the same number of values; {text}')
            rows: Iterator[tuple[Any, ...]] = zip(*lists.values(), strict=True) if lists else iter([()])
        else:
            rows = itertools.product(*lists.values())
        for row in itertools.islice(rows, MOST_POINTS + 1):
            yield dict(zip(lists, row, strict=True))

    def _latin(self) -> Iterator[dict[str, Any]]:
        """Yields points that have one value in each of N equal parts of each key's range."""
        from scipy.stats import qmc

        if not self.values:
            raise ArgumentError("a Latin hypercube needs a key besides the seed")
        drawn = qmc.LatinHypercube(d=len(self.values), rng=LATIN_SEED).random(self.points or 1)
        for row in drawn.tolist():
            yield self.at(row)

    def at(self, shares: Sequence[float]) -> dict[str, Any]:
        """Returns the values at these fractions (0 to 1) of the range of each key."""
        return {
            key: values.at(share)
            if isinstance(values, Span)
            else values[min(int(share * len(values)), len(values) - 1)]
            for (key, values), share in zip(self.values.items(), shares, strict=True)
        }

    def named(self, values: Mapping[str, Any], name: str) -> Any:
        """Returns the value of a key for an expression: by its last part if it varies, or by its full name.

        Raises
        ------
        ArgumentError
            If there is no such key, or the last part is ambiguous.
        """
        if name in values:
            return value_of(values[name])
        short = [key for key in values if key.rpartition(".")[2] == name]
        if len(short) == 1:
            return value_of(values[short[0]])
        if short:
            raise ArgumentError(f"{name} is ambiguous ({' and '.join(short)}); expected a full name")
        table: Any = self._effective
        for step in name.split("."):
            if not isinstance(table, Mapping) or step not in table:
                known = [key.rpartition(".")[2] for key in values]
                raise ArgumentError(f"no key {name}; {library.suggestion(name, known)}")
            table = table[step]
        return value_of(table)

    @functools.cached_property
    def _effective(self) -> dict[str, Any]:
        """Scenario with all defaults."""
        from penstock import _core

        source = self.base.source()
        with engine_errors():
            effective: dict[str, Any] = json.loads(
                _core.effective_json(source.text, source.file, allow_files=source.allow_files)
            )
        return effective

    def to_dict(self) -> dict[str, Any]:
        """Returns the sweep as the table ``[sweep]`` of a file, without the scenario."""
        return {
            "mode": {"latin": self.points} if self.mode == "latin" else self.mode,
            "vary": {key: given_of(given) for key, given in self.vary.items()},
            "set": dict(self.derive),
            "measure": dict(self.measure),
            **({} if self.until is None else {"until": self.until}),
        }


def from_scenario(read: Scenario, file: Path) -> Plan | None:
    """Returns the sweep in a file that was parsed as a scenario; ``None`` if it has no ``[sweep]``.

    Raises
    ------
    InputError
        If ``[sweep]`` is invalid.
    """
    top = read.to_dict()
    if SWEEP not in top:
        return None
    table = top.pop(SWEEP)
    if top:
        raise InputError(
            f"{file}: {', '.join(top)} next to [sweep]; move them to the scenario that [sweep] names"
        )
    if not isinstance(table, dict):
        kind = "a list of tables" if isinstance(table, list) else repr(table)
        raise InputError(f"{file}: sweep is {kind}; expected one table [sweep]")
    _check_table(table, file)
    mode: Any = table.get("mode", "grid")
    points: int | None = None
    if isinstance(mode, dict):
        if set(mode) != {"latin"} or type(mode["latin"]) is not int:
            raise InputError(f"{file}: mode of [sweep] is {mode}; expected {{ latin = NUMBER }}")
        mode, points = "latin", mode["latin"]
    beside = file.parent / table["scenario"]
    is_beside = os.path.exists(beside)  # noqa: PTH110 - no error if a name is too long
    base = Scenario.from_file(beside if is_beside else table["scenario"])
    if SWEEP in base.to_dict():
        whose = "this file" if is_beside and beside.resolve() == file.resolve() else beside
        raise InputError(f"{file}: scenario of [sweep] is {whose}, which is a sweep; expected a scenario")
    try:
        return Plan(
            base,
            table.get("vary", {}),
            table.get("set", {}),
            table.get("measure") or DEFAULT_MEASURES,
            mode,
            points,
            table.get("until"),
        )
    except ArgumentError as error:
        raise InputError(f"{file}: {error}") from None


def _check_table(table: Mapping[str, Any], file: Path) -> None:
    """Rejects unknown keys of ``[sweep]``, and values of wrong types."""
    for key in table:
        if key not in FILE_KEYS:
            raise InputError(f"{file}: [sweep] has no key {key}; {library.suggestion(key, FILE_KEYS)}")
    for key, kind in FILE_KEYS.items():
        if key in table and not isinstance(table[key], kind):
            raise InputError(f"{file}: {key} of [sweep] is {table[key]!r}; expected {_EXPECTED[kind]}")
    for key in ("set", "measure"):
        for name, text in table.get(key, {}).items():
            if not isinstance(text, str):
                raise InputError(
                    f"{file}: {key}.{name} of [sweep] is {text!r}; expected an expression as text"
                )
    if "scenario" not in table:
        raise InputError(f'{file}: [sweep] has no scenario; expected scenario = "FILE or NAME"')


SWEEP = "sweep"
FILE_KEYS: dict[str, Any] = {
    "scenario": str,
    "mode": str | dict,
    "vary": dict,
    "set": dict,
    "measure": dict,
    "until": str,
}
_EXPECTED: dict[Any, str] = {
    str: "text",
    str | dict: '"grid", "zip" or { latin = NUMBER }',
    dict: "a table",
}


class _OfPoint(Surroundings):
    """Names in expressions for keys: keys of a point. Numbers and quantities are exact."""

    def __init__(self, plan: Plan, values: Mapping[str, Any]) -> None:
        self.functions = FUNCTIONS
        self._plan = plan
        self._values = values

    def name(self, name: str) -> Any:
        """Returns the value of a key."""
        return self._plan.named(self._values, name)

    def text(self, text: str) -> Any:
        """Converts text to a quantity if it is one."""
        return value_of(text)

    def number(self, value: int | float) -> Any:
        """Returns the exact value of a number."""
        return number(value)

    def operand(self, value: Any) -> Any:
        """Checks that a value is a finite number or a quantity."""
        if not isinstance(value, Quantity):
            number(super().operand(value))
        return value

    def compared(self, one: Any, other: Any, *, ordered: bool) -> None:
        """Checks that both values have the same dimension."""
        super().compared(one, other, ordered=ordered)
        if isinstance(one, Quantity) or isinstance(other, Quantity):
            _ = one - other  # raises an error for different dimensions

    def outcome(self, value: Any) -> Any:
        """Converts the value to the form used in scenarios."""
        return text_of(value)


def _least(first: Any, *others: Any) -> Any:
    return min((first, *others))


def _largest(first: Any, *others: Any) -> Any:
    return max((first, *others))


def _round(value: Any) -> Any:
    return value.rounded() if isinstance(value, Quantity) else round(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {"min": _least, "max": _largest, "round": _round}
"""Functions of expressions for keys."""
