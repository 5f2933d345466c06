"""The pages on what was reproduced say what was measured, and what they name exists."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import Command
from penstock import conformance, validation
from penstock.cli import main
from penstock.glossary import topics
from penstock.studies import overview, reproduce
from penstock.studies.description import UNDECIDED

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "docs/studies"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_tool", ROOT / "tools/coverage.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


coverage = load()
ROWS = coverage.rows()


@cache
def stored() -> dict[str, Any]:
    return overview.read(STUDIES / overview.STORED)


@cache
def experiments() -> dict[str, set[str]]:
    return {study.name: {one.id for one in study.experiments} for study in reproduce.find(None)}


@cache
def names(kind: str) -> set[str]:
    if kind == "conform":
        return {case.id for case in conformance.cases()}
    if kind == "validate":
        return {case.name for case in validation.cases()}
    assert kind == "explain"
    return {topic.name for topic in topics()}


def exists(proof: str) -> bool:
    kind, *words = proof.split()
    if kind == "reproduce":
        study, *ids = words
        return study in experiments() and set(ids) <= experiments()[study]
    if kind == "test":
        file, _, name = words[0].partition("::")
        path = ROOT / file
        return path.is_file() and bool(re.search(rf"\b(def|fn) {name}\(", path.read_text("utf-8")))
    if kind == "penstock":
        command = words[0]
        return any((ROOT / f"python/penstock/cli/{stem}.py").is_file() for stem in (command, f"{command}_"))
    return words[0] in names(kind)


def test_every_row_is_there_once() -> None:
    assert [row.number for row in ROWS] == list(range(1, 202))
    assert {row.status for row in ROWS} <= set(coverage.STATUS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_what_shows_a_row_exists(row: Any) -> None:
    assert [proof for proof in row.proof if not exists(proof)] == []
    assert bool(row.proof) == (row.status not in ("absent", "n/a")), "a row that runs names what shows it"


def test_each_command_is_one_that_the_command_line_takes() -> None:
    """Words and options, without running anything."""
    from penstock.cli import application

    app = application()
    for command in coverage.commands(ROWS):
        words = shlex.split(command)
        assert words[0] == "penstock"
        app.parse_args(words[1:], exit_on_error=False, print_error=False)


STUDY_COMMANDS = "reproduce"


def of_studies(command: str) -> bool:
    return shlex.split(command)[1] == STUDY_COMMANDS


def test_each_command_runs(penstock: Command) -> None:
    """In the order of the page: some read what others have written."""
    wrong = []
    for command in coverage.commands(ROWS):
        if of_studies(command):
            continue
        done = penstock(*shlex.split(command)[1:])
        if done.returncode or not (done.stdout or done.stderr):
            wrong.append((command, done.returncode, done.stderr))
    assert not wrong


@pytest.mark.parametrize(
    "study",
    sorted({shlex.split(command)[2] for command in coverage.commands(ROWS) if of_studies(command)}),
)
def test_each_study_runs_for_a_look(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With all experiments that the page names of it: a study runs as a whole, whatever is asked of it."""
    named = [shlex.split(command) for command in coverage.commands(ROWS) if of_studies(command)]
    experiments = sorted({word for words in named if words[2] == study for word in words[3:]})
    monkeypatch.chdir(tmp_path)
    code = main(["reproduce", study, *experiments, "--quick", "--json"])
    output = capsys.readouterr()
    assert code in (0, 1), output.err
    answer = json.loads(output.out)
    assert {one["id"] for one in answer["experiments"]} >= set(experiments)
    assert not experiments or {one["id"] for one in answer["experiments"]} == set(experiments)
    assert {one["why"] for one in answer["choices"]} <= {""}, "reasons quote figures of the full run"


def test_a_name_that_is_wrong_is_noticed() -> None:
    for proof in (
        "conform PF-99",
        "validate headrooms",
        "reproduce hagen-2012/ch9",
        "reproduce hagen-2012/ch7 H7-99",
        "explain no_such_topic",
        "penstock reproduced",
        "test crates/scheduling/src/drr.rs::golden_vector_6",
    ):
        assert not exists(proof)


def test_a_row_that_works_is_reproduced() -> None:
    """A row cannot have the status works if an experiment did not reproduce its subject."""
    verdicts = {
        f"reproduce {name} {one['id']}": one["passed"]
        for name, study in stored().items()
        for one in study["experiments"]
    }
    named = {row.number: [verdicts[proof] for proof in row.proof if proof in verdicts] for row in ROWS}
    works = {row.number for row in ROWS if row.status == "works"}
    assert {number for number in works if not all(named[number])} == set()


def test_the_page_of_rows_is_fresh() -> None:
    assert coverage.page(ROWS) == coverage.PAGE.read_text("utf-8")


def test_the_table_of_studies_is_fresh() -> None:
    assert overview.page(stored()) == (STUDIES / overview.PAGE).read_text("utf-8")


@pytest.mark.parametrize("study", reproduce.find(None), ids=lambda study: study.name)
def test_what_is_stored_is_what_the_study_asks(study: reproduce.Study) -> None:
    """Words, criteria and kinds are those of study.toml, and what is not reproduced has a reason."""
    found = {one["id"]: one for one in stored()[study.name]["experiments"]}
    assert list(found) == [one.id for one in study.experiments]
    for experiment in study.experiments:
        row = found[experiment.id]
        output = (row["reported"], row["criterion"], row["kind"])
        assert output == (experiment.reported, experiment.criterion, experiment.kind)
        open_one = experiment.seeds and row["verdict"] == UNDECIDED and not row["passed"]
        assert open_one or row["verdict"] == experiment.verdict(row["passed"])
        assert row["passed"] or row["why"], f"{experiment.id} is not reproduced, and nobody says why"


def test_the_stored_outcomes_are_json_without_paths() -> None:
    text = json.dumps(stored())
    assert str(ROOT) not in text
