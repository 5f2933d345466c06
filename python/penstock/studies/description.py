"""What ``study.toml`` says: experiments with their criteria, departures, and choices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import library
from penstock.errors import InputError, StudyError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Entry = TypeVar("Entry", bound="DataclassInstance")

FILE = "study.toml"
"""The file that makes a folder a study."""
VERDICTS = {
    "source": ("reproduced", "not reproduced"),
    "formula": ("agrees", "does not agree"),
    "own": ("holds", "does not hold"),
    "calibration": ("calibrated", "not calibrated"),
}
"""Verdicts by kind of experiment."""
UNDECIDED = "not decided"
"""Verdict on an experiment whose measurements do not suffice to judge."""
SEEDS = 10
"""Seeds over which a criterion is judged, unless it names another number."""
QUICK_SEEDS = 2
"""Seeds of a quick run, at most."""
FULL = "full"


@dataclass(frozen=True)
class Bound:
    """A bound on one figure of a criterion.

    Attributes
    ----------
    figure : str
        Name of the figure among those that the study measures.
    at_least, at_most : float or None
        Bounds that are included.
    above, below : float or None
        Bounds that are excluded. There is a lower bound, an upper one, or both.
    every : bool
        True if each run has to be within the bounds, such as "none lost". Default false: the mean over
        seeds has to be.
    what : str
        Name of the figure on pages. Default: `figure`.
    shown : str
        Format of its values. Default: four digits.
    """

    figure: str
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    every: bool = False
    what: str = ""
    shown: str = "{:,.4g}"

    def __post_init__(self) -> None:
        try:
            self.shown.format(1.0)
        except (ValueError, LookupError):
            raise StudyError(
                f"{self.figure}: shown is {self.shown!r}; expected a format like {{:.1%}}"
            ) from None
        if all(bound is None for _, bound in self._limits):
            raise StudyError(f"{self.figure}: no bound; expected at_least, at_most, above or below")
        if None not in (self.at_least, self.above) or None not in (self.at_most, self.below):
            raise StudyError(f"{self.figure}: at_least and above, or at_most and below; expected one of them")
        lower = self.above if self.at_least is None else self.at_least
        upper = self.below if self.at_most is None else self.at_most
        if lower is not None and upper is not None and lower > upper:
            raise StudyError(f"{self.figure}: no value lies between {lower:g} and {upper:g}; exchange them")

    @property
    def name(self) -> str:
        """Name of the figure on pages."""
        return self.what or self.figure

    @property
    def _limits(self) -> tuple[tuple[str, float | None], ...]:
        return (
            ("at least", self.at_least),
            ("above", self.above),
            ("at most", self.at_most),
            ("below", self.below),
        )

    @property
    def text(self) -> str:
        """The bounds as text, such as ``"at least 95%"``."""
        if self.at_least is not None and self.at_least == self.at_most:
            return self.shown.format(self.at_least)
        return ", ".join(
            f"{word} {self.shown.format(bound)}" for word, bound in self._limits if bound is not None
        )

    def too_low(self, value: float) -> bool:
        """Returns true if a value is below a lower bound, or equal to one that is excluded."""
        return (self.at_least is not None and value < self.at_least) or (
            self.above is not None and value <= self.above
        )

    def too_high(self, value: float) -> bool:
        """Returns true if a value is above an upper bound, or equal to one that is excluded."""
        return (self.at_most is not None and value > self.at_most) or (
            self.below is not None and value >= self.below
        )

    def holds(self, value: float) -> bool:
        """Returns true if a value is within the bounds; NaN never is."""
        return not (math.isnan(value) or self.too_low(value) or self.too_high(value))


@dataclass(frozen=True)
class Experiment:
    """One claim, and the criterion by which it is met.

    Attributes
    ----------
    id : str
        Unique within the study, such as ``"H7-8"``.
    criterion : str
        Measurement that is required for the experiment to pass.
    reported : str
        Claim of the source, in its words.
    kind : str
        ``"source"``: the source reports it, and it is reproduced or not. ``"formula"``: the simulator is
        compared with a formula or a computed figure, which is a validation and not a reproduction. ``"own"``:
        beyond the source. ``"calibration"``: a figure that follows from what the study takes from the source
        as input; it is not counted as reproduced. Default ``"source"``.
    reference : str
        Section, figure or table of the source.
    title : str
        Title of a few words.
    not_met : str
        Reason why the criterion is known not to be met; empty otherwise. Such an experiment is shown as
        failed but does not fail the study, so that the negative result stays on record.
    bounds : tuple of Bound
        The bounds of the criterion, all of which have to be met; at least one.
    seeds : int
        Number of seeds over which the criterion is judged. 1: it is judged on one set of figures, those of
        one run or of several that the study combines. Default: 10, or 1 if `deterministic`.
    deterministic : bool
        True if the runs of the criterion draw no random numbers, so that one is enough. Default false.
    requires : str
        ``"full"``: a quick run does not measure it.
    revised : str
        Change of the criterion, or of the scenario, that was made after a result had been seen.
    """

    id: str
    criterion: str
    reported: str
    reference: str = ""
    title: str = ""
    not_met: str = ""
    kind: str = "source"
    bounds: tuple[Bound, ...] = ()
    seeds: int = 0
    deterministic: bool = False
    requires: str = ""
    revised: str = ""

    def __post_init__(self) -> None:
        if self.kind not in VERDICTS:
            raise StudyError(
                f"{self.id}: kind {self.kind!r}; {library.suggestion(self.kind, list(VERDICTS))}"
            )
        if self.requires not in ("", FULL):
            raise StudyError(f"{self.id}: requires {self.requires!r}; expected {FULL!r}, or no such key")
        if not self.bounds:
            raise StudyError(f"{self.id}: no bounds; expected at least one")
        if self.seeds == 0:
            object.__setattr__(self, "seeds", 1 if self.deterministic else SEEDS)
        elif self.deterministic:
            raise StudyError(
                f"{self.id}: seeds are of runs that draw random numbers; these are deterministic"
            )
        elif not (isinstance(self.seeds, int) and self.seeds >= 1):
            raise StudyError(f"{self.id}: seeds is {self.seeds!r}; expected a whole number, at least 1")

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Experiment:
        """The experiment of an entry of ``study.toml``."""
        name = f"experiment {entry.get('id', '')}".rstrip()
        of_entry = _list(entry, "bounds", name)
        bounds = tuple(_made(Bound, one, f"{name}: bounds") for one in of_entry)
        return _made(cls, {**entry, "bounds": bounds}, name)

    def verdict(self, passed: bool) -> str:
        """The verdict, as text."""
        return VERDICTS[self.kind][not passed]


@dataclass(frozen=True)
class Departure:
    """A difference between the study and its source, with the reason."""

    what: str
    why: str = ""


@dataclass(frozen=True)
class Choice:
    """A parameter that the source leaves open, and the chosen value.

    Attributes
    ----------
    what, value : str
        The parameter and its value with unit.
    why : str
        Reason for the choice, and its effect on the result.
    """

    what: str
    value: str
    why: str


_KINDS: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "str": ("text", (str,)),
    "bool": ("true or false", (bool,)),
    "int": ("a whole number", (int,)),
    "float | None": ("a number", (int, float)),
}
"""Name and types of the values of a key, by its declared type."""


def _list(table: dict[str, Any], key: str, within: str) -> list[dict[str, Any]]:
    """Removes a list of tables from a table; empty without the key."""
    found = table.pop(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise StudyError(f"{within}: {key} is {found!r}; expected a list of tables")
    return found


def _made(kind: type[Entry], table: Mapping[str, Any], within: str) -> Entry:
    """Makes an entry from its table.

    Raises
    ------
    StudyError
        If a key is unknown or missing, or has a value of a wrong type.
    """
    declared = {field.name: field for field in fields(kind)}
    for key, value in table.items():
        if key not in declared:
            raise StudyError(f"{within}: unknown key {key!r}; {library.suggestion(key, list(declared))}")
        expected, types = _KINDS.get(str(declared[key].type), ("", (object,)))
        if not isinstance(value, types) or (isinstance(value, bool) and types[0] not in (bool, object)):
            raise StudyError(f"{within}: {key} is {value!r}; expected {expected}")
    for key, field in declared.items():
        if key not in table and field.default is MISSING:
            raise StudyError(f"{within}: the key {key!r} is missing")
    return kind(**table)


@contextmanager
def keys_of(path: Path, what: str) -> Iterator[dict[str, Any]]:
    """Keys of a TOML file, of which the reader removes those that it uses; none may be left at the end.

    Raises
    ------
    StudyError
        If a key is missing, unknown or wrong; the message names the file.
    """
    try:
        text = library.toml(library.text_in(path, what))
        yield text
    except (InputError, TypeError, StudyError) as error:
        raise StudyError(f"{path}: {error}") from error
    except KeyError as error:
        raise StudyError(f"{path}: the key {error} is missing") from error
    if text:
        raise StudyError(f"{path}: unknown keys: {', '.join(text)}")


@dataclass(frozen=True)
class Study:
    """A study as its ``study.toml`` describes it."""

    name: str
    folder: Path
    title: str
    source: str
    citation: str
    summary: str
    experiments: tuple[Experiment, ...]
    departures: tuple[Departure, ...]
    choices: tuple[Choice, ...] = ()

    @classmethod
    def load(cls, folder: Path, name: str | None = None) -> Study:
        """Reads ``study.toml``.

        Parameters
        ----------
        folder : Path
            The folder of the study.
        name : str, optional
            Its name. Default: the last two parts of the folder's path, ``PAPER/PART``.

        Raises
        ------
        StudyError
            If a key is missing, unknown or given twice.
        """
        path = folder / FILE
        with keys_of(path, "study") as text:
            experiments = tuple(Experiment.of(entry) for entry in _list(text, "experiments", FILE))
            departures = tuple(
                _made(Departure, entry, "departures") for entry in _list(text, "departures", FILE)
            )
            choices = tuple(_made(Choice, entry, "choices") for entry in _list(text, "choices", FILE))
            study = cls(
                name=name or "/".join(folder.parts[-2:]),
                folder=folder,
                title=text.pop("title"),
                source=text.pop("source"),
                citation=text.pop("citation", ""),
                summary=text.pop("summary", ""),
                experiments=experiments,
                departures=departures,
                choices=choices,
            )
        ids = [experiment.id for experiment in experiments]
        if not ids:
            raise StudyError(f"{path}: no experiments; expected [[experiments]]")
        if len(set(ids)) != len(ids):
            raise StudyError(f"{path}: two experiments have the same id")
        return study

    def experiment(self, id: str) -> Experiment:
        """The experiment with this id.

        Raises
        ------
        StudyError
            If there is none.
        """
        for experiment in self.experiments:
            if experiment.id == id:
                return experiment
        known = [experiment.id for experiment in self.experiments]
        raise StudyError(f"{self.name}: no experiment {id!r} in study.toml; {library.suggestion(id, known)}")
