"""Studies: published experiments as data, rerun and compared with the claims of their source.

A study is a folder, ``studies/PAPER/PART`` of the package or any other, with

- ``study.toml``: title, source, experiments (id, criterion, claim of the source) and departures;
- scenario files, as data;
- ``study.py`` with ``run(context) -> list[Outcome]``, which measures, judges and draws.

Claims and criteria are only in ``study.toml``, so code cannot move the goal posts. `description` reads it,
and `judging` compares what was measured with it.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from penstock import library, storage
from penstock.errors import InputError, StudyError
from penstock.running import cache

from . import judging
from .description import (
    FILE,
    FULL,
    QUICK_SEEDS,
    UNDECIDED,
    VERDICTS,
    Choice,
    Departure,
    Experiment,
    Study,
)
from .judging import MET, Judgement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.running.replications import Replications
    from penstock.scenario import Scenario

__all__ = [
    "UNDECIDED",
    "VERDICTS",
    "Choice",
    "Context",
    "Departure",
    "Experiment",
    "Outcome",
    "Study",
    "StudyResult",
    "Table",
    "find",
    "reproduce",
]
SCHEMA = "penstock-reproduce/1"
T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """A table that covers more than one experiment: a sensitivity, a comparison.

    Attributes
    ----------
    name : str
        File name without extension; the table is also written as ``NAME.csv``.
    title : str
        Title of the table.
    columns : tuple of str
        Headings with units.
    rows : tuple of tuple of str
        Cells as text.
    note : str
        Additional information for the reader.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """Measurement and verdict of one experiment.

    Attributes
    ----------
    id, criterion, reported : str
        Those of the experiment.
    measured : str
        The figures, with units.
    judgement : Judgement
        The verdict, and the figures over seeds that it rests on.
    note : str
        Additional information for the reader.
    pictures : tuple of str
        File names, relative to the study's output directory.
    """

    id: str
    criterion: str
    reported: str
    measured: str
    judgement: Judgement
    note: str = ""
    pictures: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if the criterion is met."""
        return self.judgement.verdict == MET

    @property
    def decided(self) -> bool:
        """True if the run measured enough to judge. If false, the experiment does not fail the study."""
        return self.judgement.verdict != UNDECIDED


@dataclass
class Context:
    """Environment of a study.

    Attributes
    ----------
    study : Study
        Description of the study.
    out : Path
        Directory for pictures and files of the study.
    quick : bool
        True for fewer replications, for a first look or a test.
    say : callable
        Reports progress to the user.
    """

    study: Study
    out: Path
    quick: bool = False
    say: Callable[[str], None] = field(default=lambda _: None)
    tables: list[Table] = field(default_factory=list)
    cover: str = ""

    def scenario(self, file: str) -> Scenario:
        """A scenario of the study's folder, such as ``"fair-bandwidth"`` or ``"fair-bandwidth.toml"``."""
        from penstock.scenario import Scenario

        path = self.study.folder / file
        return Scenario.from_file(path if path.suffix == ".toml" else path.with_name(path.name + ".toml"))

    def replicate(
        self, scenario: Scenario, *, full: int, quick: int, seed: int | None = None, confidence: float = 0.95
    ) -> Replications:
        """Runs a scenario with `full` seeds, or with `quick` of them in a quick run."""
        from penstock.running.replications import replicate

        return replicate(scenario, quick if self.quick else full, seed=seed, confidence=confidence)

    def save_figure(self, figure: Figure, name: str, *, cover: bool = False) -> str:
        """Writes a picture as PNG and SVG; returns the name of the PNG for `outcome`.

        The `cover` is the picture that summarizes the whole study.
        """
        from penstock.plots import save

        png = save(figure, self.out, name)[0].name
        if cover:
            self.cover = png
        return png

    def save_table(
        self, name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, note: str = ""
    ) -> None:
        """Stores a table for the report of the study, and writes it as ``NAME.csv``."""
        kept = Table(name, title, tuple(columns), tuple(tuple(row) for row in rows), note)
        self.tables.append(kept)
        with (self.out / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(kept.columns)
            writer.writerows(kept.rows)

    def judge(
        self,
        id: str,
        figures: Mapping[str, float] | Sequence[Mapping[str, float]],
        *,
        measured: str = "",
        also: str = "",
        note: str = "",
        pictures: Sequence[str] = (),
    ) -> Outcome:
        """The outcome of an experiment, whose bounds are in ``study.toml``.

        Criterion, claim and reason of failure come from ``study.toml``. The reason of failure quotes figures
        of the full run, so a quick run leaves it out.

        Parameters
        ----------
        id : str
            The experiment.
        figures : mapping or sequence of mapping
            Figures by name, one mapping per seed, as `over_seeds` returns them; a single mapping if the
            experiment is judged on one set of figures.
        measured : str
            The figures as text. Default: those that have bounds, by their names.
        also : str
            Further figures for the reader, without bounds.
        note : str
            Additional information for the reader.
        pictures : sequence of str
            Names of pictures.
        """
        experiment = self.study.experiment(id)
        of_seeds = [figures] if isinstance(figures, Mapping) else figures
        judgement = judging.judge(experiment, of_seeds, quick=self.quick)
        text = "; ".join(filter(None, (measured or judgement.text(), also)))
        note = note or ("" if judgement.verdict == MET or self.quick else experiment.not_met)
        return Outcome(id, experiment.criterion, experiment.reported, text, judgement, note, tuple(pictures))

    def measures(self, *ids: str) -> bool:
        """Returns false in a quick run if all of these experiments require the full study."""
        return not self.quick or any(self.study.experiment(one).requires != FULL for one in ids)

    def seeds(self, *ids: str) -> range:
        """The seeds over which these experiments are judged, from 1; fewer in a quick run."""
        wanted = max(self.study.experiment(one).seeds for one in ids)
        return range(1, 1 + (min(wanted, QUICK_SEEDS) if self.quick else wanted))

    def over_seeds(self, measure: Callable[[int], T], *ids: str) -> list[T]:
        """``measure(seed)`` for each of `seeds`, as many at a time as there are processors.

        They run on threads, which, unlike processes, share the cache of an interrupted study.
        """
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return list(threads.map(measure, self.seeds(*ids)))


@dataclass(frozen=True)
class StudyResult:
    """All outcomes of a study, and the directory of its pictures."""

    study: Study
    outcomes: tuple[Outcome, ...]
    directory: Path
    tables: tuple[Table, ...] = ()
    cover: str = ""
    quick: bool = False

    @property
    def passed(self) -> bool:
        """True if every decided experiment passed, except those that are known to fail."""
        return all(
            outcome.passed or not outcome.decided or self.study.experiment(outcome.id).not_met
            for outcome in self.outcomes
        )

    def verdict(self, outcome: Outcome) -> str:
        """Verdict on an experiment, as text."""
        return self.study.experiment(outcome.id).verdict(outcome.passed) if outcome.decided else UNDECIDED

    def not_met(self, outcome: Outcome) -> str:
        """Reason why a criterion is known not to be met; empty for a quick run, whose figures differ."""
        known = self.study.experiment(outcome.id).not_met
        return "" if outcome.passed or self.quick else known

    def why(self, outcome: Outcome) -> str:
        """Reason why a criterion is not met, or not decided."""
        if outcome.passed:
            return ""
        reasons = dict.fromkeys((outcome.judgement.why, self.not_met(outcome) or outcome.note))
        return "; ".join(filter(None, reasons))


def find(name: str | None) -> list[Study]:
    """The studies of a ``PAPER``, one ``PAPER/PART``, those in a folder, or all of the package.

    A name of the package takes precedence over a folder of that name; write ``./PAPER`` for the folder.

    Raises
    ------
    InputError
        If there is no such study, or a folder has none.
    """
    entries = library.studies()
    if name is not None and _is_folder(name, [entry.name for entry in entries]):
        return _in_folder(Path(name))
    wanted = name.strip("/") if name is not None else None
    found = [entry for entry in entries if wanted in (None, entry.name, entry.name.split("/")[0])]
    if not found:
        known = [entry.name for entry in entries]
        if wanted is None:
            raise InputError("this installation has no studies")
        raise InputError(f"no study {name!r}; {library.suggestion(wanted, known)}")
    return [Study.load(entry.path) for entry in found]


def _is_folder(name: str, known: Sequence[str]) -> bool:
    """Returns true if a name refers to a folder of the user."""
    if "\0" in name:
        return False
    plain = name.strip("/")
    is_known = plain in known or plain in {entry.split("/")[0] for entry in known}
    is_path = name.startswith((".", "/", "~")) or Path(name).is_absolute()
    return is_path or (not is_known and Path(name).is_dir())


def _in_folder(folder: Path) -> list[Study]:
    """The study in a folder, or those in the folders within it."""
    place = folder.expanduser()
    if not place.is_dir():
        raise InputError(
            f"{folder}: no such folder; penstock new --study {folder} writes a study to start from"
        )
    files = [place / FILE] if (place / FILE).is_file() else sorted(place.rglob(FILE))
    if not files:
        raise InputError(
            f"{folder}: has no {FILE}, nor have its folders; penstock new --study NAME writes one"
        )
    whole = place.resolve()
    return [
        Study.load(file.parent, "/".join((whole.name, *file.parent.resolve().relative_to(whole).parts)))
        for file in files
    ]


def reproduce(
    study: Study, directory: Path, *, quick: bool = False, say: Callable[[str], None] = lambda _: None
) -> StudyResult:
    """Runs a study and writes its pictures and ``outcomes.json``, all or nothing.

    Finished runs are kept in a hidden directory beside `directory` until the study is done, so after an
    interruption or an error the next call does not repeat them.

    Parameters
    ----------
    study : Study
        A study from `find`.
    directory : Path
        A new directory, or that of an earlier result.
    quick : bool
        Runs fewer replications. Default false.
    say : callable, optional
        Called with progress messages.

    Raises
    ------
    StudyError
        If the study measures something it does not describe.
    InputError
        If `directory` holds something that is not a result.
    """
    from .answer import to_json

    with cache.keeping(cache.beside(directory)) as runs:
        if greeting := runs.greeting():
            say(greeting)
        try:
            with storage.complete_directory(directory) as partial:
                context = Context(study, partial, quick, say)
                outcomes = _every_experiment(study, _module(study).run(context), quick)
                tables = tuple(context.tables)
                result = StudyResult(study, outcomes, directory, tables, context.cover, quick)
                storage.write_json(partial / "outcomes.json", to_json([result], study.name))
        except KeyboardInterrupt:
            say("interrupted: finished runs are saved; repeat the command to resume")
            raise
        runs.clear()
    return result


def _every_experiment(study: Study, outcomes: Sequence[Outcome], quick: bool) -> tuple[Outcome, ...]:
    """The outcomes in the order of ``study.toml``, those without one included."""
    measured: dict[str, Outcome] = {}
    for outcome in outcomes:
        experiment = study.experiment(outcome.id)
        if outcome.id in measured:
            raise StudyError(f"{study.name}: {outcome.id} was measured twice")
        measured[outcome.id] = replace(outcome, criterion=experiment.criterion, reported=experiment.reported)
    return tuple(measured.get(e.id) or _unmeasured(e, quick) for e in study.experiments)


def _unmeasured(experiment: Experiment, quick: bool) -> Outcome:
    """An experiment without an outcome has failed, unless it is one that a quick run leaves out."""
    deferred = quick and experiment.requires == FULL
    judgement = Judgement(UNDECIDED, judging.NEEDS_FULL) if deferred else Judgement(judging.NOT_MET)
    text = judgement.why or "not measured"
    return Outcome(experiment.id, experiment.criterion, experiment.reported, text, judgement)


def file_of(study: Study, name: str) -> ModuleType:
    """Imports a file beside ``study.py``, such as ``"search"``, as a module of the same package.

    Raises
    ------
    StudyError
        If there is none.
    """
    path = study.folder / f"{name}.py"
    if not path.is_file():
        raise StudyError(f"{path}: no such file")
    return importlib.import_module(f"{_module(study).__name__}.{name}")


def _module(study: Study) -> ModuleType:
    """Imports the study's code as a package, so that it can import files beside it."""
    path = study.folder / "study.py"
    name = "penstock_study_" + "".join(c if c.isalnum() else "_" for c in study.name)
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[str(study.folder)])
    if spec is None or spec.loader is None or not path.is_file():
        raise StudyError(f"{path}: no such file")
    module = importlib.util.module_from_spec(spec)
    # Another study with this name may have been imported from another folder.
    for known in [known for known in sys.modules if known.startswith(f"{name}.")]:
        del sys.modules[known]
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not callable(getattr(module, "run", None)):
        raise StudyError(f"{path}: has no function run(context)")
    return module
