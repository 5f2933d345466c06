"""Searches over all open parameters of a source at once, against all criteria of a study.

A study that has ``search.toml`` and ``search.py`` beside its ``study.toml`` can be searched. The former lists
the open parameters with their candidate values, and the experiments whose bounds are compared. The latter has
``measure(context, values, seed) -> dict[str, float]``, which returns the figures of one choice with one seed.

Each choice is run with several seeds. The bounds of the criteria are those of ``study.toml``: on the mean
over the seeds, or on each of them (``every = true``).

The first choice is that of the study. A Latin hypercube over all parameters follows, so that each value
occurs equally often. Each later choice redraws a quarter of the values of one of the best choices so far:
alternately the best over all criteria, and the nearest to a figure that no choice has met yet. The choices
depend only on the study's files and the engine.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from penstock import library, storage
from penstock.errors import InputError, ScenarioError, SimulationError, StudyError
from penstock.running import cache

from .description import Bound, keys_of
from .reproduce import Context, Study, Table, file_of

DESCRIPTION, CODE = "search.toml", "search"
FOUND = "search.json"
SCHEMA = "penstock-search/2"
SEED = 1
CHANGED = 0.25
"""Share of the parameters that a changed choice draws anew, at least one."""


Figures = dict[str, list[float]]
"""Values of each figure, one a seed."""


@dataclass(frozen=True)
class Parameter:
    """A parameter that the source leaves open.

    Attributes
    ----------
    name, what : str
        Name for `measure`, and description with unit.
    values : list
        Candidate values.
    default : object
        Value in the study, one of the candidates.
    """

    name: str
    what: str
    values: list[Any]
    default: Any

    def __post_init__(self) -> None:
        if self.default not in self.values:
            raise StudyError(f"{self.name}: the default {self.default!r} is not among its values")


@dataclass(frozen=True)
class Criterion:
    """A bound of an experiment's criterion, as the search measures it.

    Attributes
    ----------
    id : str
        The experiment.
    bound : description.Bound
        Its bound on one figure.
    scale : float
        Divisor of a miss, which makes figures comparable. Default: the bound, or 1 if that is 0.
    """

    id: str
    bound: Bound
    scale: float = 0.0

    def value(self, figures: Figures) -> float:
        """The figure of a choice: its mean over the seeds, or the worst value if each has to be within.

        NaN if it was not measured.
        """
        values = figures.get(self.bound.figure, ())
        if not values:
            return math.nan
        return max(values, key=self._miss) if self.bound.every else math.fsum(values) / len(values)

    def miss(self, figures: Figures) -> float:
        """Distance of the figure from its bounds, 0 if it is met; infinite if it was not measured."""
        return self._miss(self.value(figures))

    def _miss(self, value: float) -> float:
        if math.isnan(value):
            return math.inf
        if self.bound.holds(value):
            return 0.0
        bound = self.bound
        ends = (bound.at_least, bound.above) if bound.too_low(value) else (bound.at_most, bound.below)
        [end] = [one for one in ends if one is not None]
        return abs(value - end) / (self.scale or abs(end) or 1.0)

    def show(self, figures: Figures) -> str:
        """The figure of a choice, as text."""
        value = self.value(figures)
        return "-" if math.isnan(value) else self.bound.shown.format(value)


@dataclass(frozen=True)
class Beside:
    """A choice outside the open parameters, which answers a separate question.

    Attributes
    ----------
    name : str
        Description.
    set : dict
        Values of parameters; they need not be among the candidates.
    """

    name: str
    set: dict[str, Any]


@dataclass(frozen=True)
class Search:
    """The contents of ``search.toml``."""

    study: Study
    seeds: int
    hypercube: int
    further: int
    parameters: tuple[Parameter, ...]
    criteria: tuple[Criterion, ...]
    beside: tuple[Beside, ...] = ()
    note: str = ""
    conclusion: str = ""
    """Conclusions for the page; `note` describes the method."""

    @classmethod
    def load(cls, study: Study) -> Search:
        """Reads the search of a study.

        Raises
        ------
        InputError
            If it has none.
        StudyError
            If a key is missing, unknown or wrong.
        """
        path = study.folder / DESCRIPTION
        if not path.is_file():
            raise InputError(f"{study.name}: has no {DESCRIPTION}, so that nothing is known to be open")
        with keys_of(path, "search") as text:
            found = cls(
                study,
                text.pop("seeds"),
                text.pop("hypercube"),
                text.pop("further"),
                tuple(Parameter(**entry) for entry in text.pop("parameters")),
                _criteria(study, text.pop("experiments"), text.pop("scales", {})),
                tuple(Beside(**entry) for entry in text.pop("beside", [])),
                text.pop("note", "").strip(),
                text.pop("conclusion", "").strip(),
            )
            if found.seeds < 2:
                raise StudyError(f"seeds is {found.seeds!r}; expected a whole number, at least 2")
            names = [parameter.name for parameter in found.parameters]
            for one in found.beside:
                for name in one.set:
                    if name not in names:
                        raise StudyError(
                            f"{one.name}: no parameter {name!r}; {library.suggestion(name, names)}"
                        )
        return found

    @property
    def defaults(self) -> dict[str, Any]:
        """The choice of the study."""
        return {parameter.name: parameter.default for parameter in self.parameters}


@dataclass(frozen=True)
class Choice:
    """A value for each parameter, and the resulting figures.

    Attributes
    ----------
    number : int
        Number of the choice; 0 is that of the study.
    values : dict
        Values of the parameters.
    figures : dict
        Values of each figure, one a seed; empty if the choice could not be run.
    error : str
        Reason why it could not be run.
    name : str
        Name of a `Beside`.
    """

    number: int
    values: dict[str, Any]
    figures: Figures = field(default_factory=dict)
    error: str = ""
    name: str = ""


@dataclass(frozen=True)
class Found:
    """All choices of a search, in order of evaluation."""

    search: Search
    choices: tuple[Choice, ...]
    beside: tuple[Choice, ...] = ()

    def met(self, choice: Choice) -> list[str]:
        """The experiments whose requirements are all met by this choice."""
        missed = {criterion.id for criterion in self.search.criteria if criterion.miss(choice.figures) > 0}
        return [one for one in dict.fromkeys(one.id for one in self.search.criteria) if one not in missed]

    def rank(self, choice: Choice) -> tuple[int, float, int]:
        """Sort key, the best first: experiments met, then the sum of misses, each capped at 1."""
        missed = sum(min(1.0, one.miss(choice.figures)) for one in self.search.criteria)
        return -len(self.met(choice)), missed, choice.number

    @cached_property
    def best(self) -> Choice:
        """The best over all criteria."""
        return min(self.choices, key=self.rank)

    def nearest(self, criterion: Criterion) -> Choice:
        """The choice nearest to one required figure; ties are resolved by the overall rank."""
        return min(self.choices, key=lambda choice: (criterion.miss(choice.figures), self.rank(choice)))


def search(study: Study, directory: Path, *, say: Callable[[str], None] = lambda _: None) -> Found:
    """Searches a study, and writes ``search.json``; choices that exist already are not run again.

    Parameters
    ----------
    study : Study
        A study from `find`.
    directory : Path
        Directory for the figures of each choice, and the answer.
    say : callable, optional
        Called with progress messages.

    Raises
    ------
    InputError
        If the study has no search.
    StudyError
        If the search is invalid, or does not measure the figures that its criteria require.
    """
    described = Search.load(study)
    measure = getattr(file_of(study, CODE), "measure", None)
    if not callable(measure):
        raise StudyError(f"{study.folder / CODE}.py: has no function measure(context, values)")
    directory.mkdir(parents=True, exist_ok=True)
    context = Context(study, directory, say=say)

    def tried(number: int, values: dict[str, Any], name: str = "") -> Choice:
        file = directory / f"{_identity(study, values)}.json"
        if not file.is_file():
            partial = file.with_suffix(".partial")
            storage.write_json(partial, _measured(measure, context, values, described.seeds))
            partial.replace(file)
        known = json.loads(file.read_text("utf-8"))
        figures = _read(known["figures"])
        if not known["error"] and (absent := {one.bound.figure for one in described.criteria} - set(figures)):
            raise StudyError(f"{study.folder / CODE}.py: measures no {', '.join(sorted(absent))}")
        return Choice(number, values, figures, known["error"], name)

    beside = tuple(tried(-1, {**described.defaults, **one.set}, one.name) for one in described.beside)
    choices: list[Choice] = []
    total = 1 + described.hypercube + described.further
    for values in _proposed(described, choices):
        say(f"choice {len(choices)} of {total - 1}")
        choices.append(tried(len(choices), values))
    found = Found(described, tuple(choices), beside)
    storage.write_json(directory / FOUND, to_json(found))
    return found


def _criteria(study: Study, ids: Sequence[str], scales: Mapping[str, float]) -> tuple[Criterion, ...]:
    """The bounds of these experiments; `scales` are by figure."""
    found = tuple(
        Criterion(one, bound, scales.get(bound.figure, 0.0))
        for one in ids
        for bound in study.experiment(one).bounds
    )
    figures = [one.bound.figure for one in found]
    for figure in scales:
        if figure not in figures:
            raise StudyError(f"scales: no figure {figure!r}; {library.suggestion(figure, figures)}")
    return found


def _measured(
    measure: Callable[[Context, dict[str, Any], int], Mapping[str, float]],
    context: Context,
    values: dict[str, Any],
    seeds: int,
) -> dict[str, Any]:
    """The stored figures of a choice; empty if it cannot be run, or a figure is the mean of no values."""
    try:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            runs = list(threads.map(lambda seed: measure(context, values, seed), range(1, seeds + 1)))
    except (ScenarioError, SimulationError, ArithmeticError) as error:
        return {"values": values, "figures": {}, "error": str(error)}
    figures = {name: [float(run[name]) for run in runs] for name in runs[0]}
    return {"values": values, "figures": _plain(figures), "error": ""}


def _plain(figures: Figures) -> dict[str, list[float | None]]:
    """The figures with ``None`` for NaN and infinity, which JSON lacks."""
    return {
        name: [value if math.isfinite(value) else None for value in values]
        for name, values in figures.items()
    }


def _read(figures: Mapping[str, Sequence[float | None]]) -> Figures:
    return {
        name: [math.nan if value is None else value for value in values] for name, values in figures.items()
    }


def _identity(study: Study, values: Mapping[str, Any]) -> str:
    """A digest of the inputs of a choice's figures: its values, the engine, and the files of the study."""
    digest = hashlib.sha256(cache.engine().encode())
    digest.update(json.dumps(values, sort_keys=True).encode())
    for file in sorted(study.folder.iterdir()):
        if file.suffix == ".py" or (file.suffix == ".toml" and file.name not in (DESCRIPTION, "study.toml")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:24]


def _proposed(search: Search, made: Sequence[Choice]) -> Iterator[dict[str, Any]]:
    """The choices in turn; `made` has the figures of the previous ones."""
    from scipy.stats import qmc

    yield search.defaults
    if search.hypercube:
        drawn = qmc.LatinHypercube(d=len(search.parameters), rng=SEED).random(search.hypercube)
        for shares in drawn:
            yield {
                one.name: one.values[int(share * len(one.values))]
                for one, share in zip(search.parameters, shares, strict=True)
            }
    rng = np.random.default_rng(SEED)
    for turn in range(search.further):
        yield _changed(search, _from(Found(search, tuple(made)), turn), [one.values for one in made], rng)


def _from(found: Found, turn: int) -> dict[str, Any]:
    """The choice to change: alternately the overall best, and the nearest to an unmet figure."""
    unmet = [one for one in found.search.criteria if one.miss(found.nearest(one).figures) > 0]
    if turn % 2 == 0 or not unmet:
        return found.best.values
    return found.nearest(unmet[turn // 2 % len(unmet)]).values


def _changed(
    search: Search, values: Mapping[str, Any], known: Sequence[Mapping[str, Any]], rng: np.random.Generator
) -> dict[str, Any]:
    """A choice with a quarter of its values drawn anew, if possible one that has not been tried."""
    open_ones = [one for one in search.parameters if len(one.values) > 1]
    new = dict(values)
    for _ in range(100):
        new = dict(values)
        count = max(1, rng.binomial(len(open_ones), CHANGED))
        for nth in rng.choice(len(open_ones), size=count, replace=False):
            one = open_ones[nth]
            others = [value for value in one.values if value != values[one.name]]
            new[one.name] = others[rng.integers(len(others))]
        if new not in known:
            break
    return new


def to_json(found: Found) -> dict[str, Any]:
    """The search in the JSON form that is stored beside the study's page."""

    def plain(choice: Choice) -> dict[str, Any]:
        return {
            "number": choice.number,
            "name": choice.name,
            "values": choice.values,
            "figures": _plain(choice.figures),
            "met": found.met(choice),
            "error": choice.error,
        }

    return {
        "schema": SCHEMA,
        "study": found.search.study.name,
        "choices": [plain(choice) for choice in found.choices],
        "beside": [plain(choice) for choice in found.beside],
    }


def from_json(study: Study, text: Mapping[str, Any]) -> Found | None:
    """Reads a search from its JSON form, for the page; ``None`` if another version wrote it."""
    if text.get("schema") != SCHEMA:
        return None

    def choice(of: Mapping[str, Any]) -> Choice:
        return Choice(of["number"], of["values"], _read(of["figures"]), of["error"], of["name"])

    described = Search.load(study)
    return Found(described, tuple(map(choice, text["choices"])), tuple(map(choice, text["beside"])))


def tables(found: Found) -> list[Table]:
    """Tables of the search: by figure, the values of the named choices, and separate questions."""
    nearest = [found.nearest(criterion) for criterion in found.search.criteria]
    shown = [_by_figure(found, nearest), _by_choice(found, nearest)]
    return [*shown, _beside(found)] if found.beside else shown


def _by_figure(found: Found, nearest: Sequence[Choice]) -> Table:
    """A row for each required figure."""
    rows = []
    for criterion, near in zip(found.search.criteria, nearest, strict=True):
        ours, best, theirs = (criterion.show(one.figures) for one in (found.choices[0], near, found.best))
        reached = criterion.miss(near.figures) == 0
        nearest_text = f"{best} ({near.number})" if reached else f"**{best}** ({near.number})"
        rows.append((criterion.id, criterion.bound.name, _bounds(criterion), ours, nearest_text, theirs))
    best_of_all = f"the best ({found.best.number})"
    columns = ("", "figure", "bound", "chosen (0)", "the nearest", best_of_all)
    return Table("search", "Figure by figure", columns, tuple(rows))


def _bounds(criterion: Criterion) -> str:
    bounds = criterion.bound.text
    return f"{bounds} on each" if criterion.bound.every else bounds


def _by_choice(found: Found, nearest: Sequence[Choice]) -> Table:
    """The values of the choices that are nearest to a figure; those of the study first."""
    named = sorted({found.best.number, *(choice.number for choice in nearest)} - {0})
    shown = [found.choices[0], *(found.choices[number] for number in named)]
    rows = [
        (one.what, *(_cell(choice.values[one.name], one, choice) for choice in shown))
        for one in found.search.parameters
        if len(one.values) > 1
    ]
    rows.append(("experiments met", *(str(len(found.met(choice))) for choice in shown)))
    columns = ("parameter", *(str(choice.number) for choice in shown))
    return Table("search-choices", "The choices", columns, tuple(rows))


def _cell(value: Any, parameter: Parameter, choice: Choice) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return text if value == parameter.default or choice.number == 0 else f"**{text}**"


def _beside(found: Found) -> Table:
    """Misses of the study's own choice, for each separate question."""
    choices = [("as chosen", found.choices[0]), *((one.name, one) for one in found.beside)]
    missed = [one for one in found.search.criteria if one.miss(found.choices[0].figures) > 0]
    rows = [(name, *(criterion.show(one.figures) for criterion in missed)) for name, one in choices]
    bounds = ("bound", *map(_bounds, missed))
    columns = ("", *(f"{one.id}: {one.bound.name}" for one in missed))
    return Table("search-beside", "Questions beside", columns, (bounds, *rows))
