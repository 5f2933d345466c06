"""Searches of what a source leaves open: which choices are tried, what is nearest, and that work resumes."""

from __future__ import annotations

import itertools
import json
import math
import textwrap
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import main
from penstock.errors import InputError, StudyError
from penstock.studies import document, reproduce, search
from penstock.studies.description import Bound

SEARCH = """
seeds = 2
hypercube = 12
further = {further}
experiments = ["A", "B"]
conclusion = "Nothing helps b."

[[parameters]]
name = "x"
what = "the first"
values = [0, 1, 2, 3]
default = 0

[[parameters]]
name = "y"
what = "the second"
values = [1.0, 10.0, 100.0]
default = 1.0

[[parameters]]
name = "z"
what = "never varied"
values = ["as it is"]
default = "as it is"

[[beside]]
name = "without z"
set = {{ z = "gone" }}

[scales]
b = 10
"""
CODE = """
from pathlib import Path
from penstock.errors import SimulationError

def measure(context, values, seed):
    log = Path({log!r})
    log.write_text(log.read_text() + "x" if log.exists() else "x")
    if values["x"] == 3:
        raise SimulationError("a lossless class lost a frame")
    away = 0 if values["z"] == "gone" else 1 + (values["x"] - 2) ** 2
    return {{"a": values["x"] + 2 * values["y"] + seed - 1.5, "b": away - (seed == 2)}}
"""
STUDY = """
title = "A search"
source = "nobody"

[[experiments]]
id = "A"
reported = "23"
criterion = "20 to 30"
bounds = [{ figure = "a", at_least = 20, at_most = 30, what = "x and y", shown = "{:.0f} us" }]

[[experiments]]
id = "B"
reported = "0"
criterion = "none"
bounds = [{ figure = "b", at_most = 0, every = true, what = "out of reach" }]
"""


def study_in(folder: Path, *, further: int = 20, text: str = SEARCH) -> reproduce.Study:
    place = folder / "nobody-2001" / "part"
    place.mkdir(parents=True, exist_ok=True)
    (place / "study.toml").write_text(STUDY)
    (place / "study.py").write_text("def run(context):\n    return []\n")
    (place / "fingerprints.json").write_text("{}")
    (place / "search.toml").write_text(text.format(further=further))
    (place / "search.py").write_text(textwrap.dedent(CODE.format(log=str(folder / "log"))))
    return reproduce.Study.load(place)


def measured(values: dict[str, Any]) -> dict[str, list[float]]:
    a, b = values["x"] + 2 * values["y"], 1 + (values["x"] - 2) ** 2
    return {"a": [a - 0.5, a + 0.5], "b": [b, b - 1]}


def test_the_best_and_the_nearest_are_those_of_all_choices(tmp_path: Path) -> None:
    """There are twelve choices: 33 draws find each, and what is best can be told by hand."""
    found = search.search(study_in(tmp_path), tmp_path / "out")
    tried = {(choice.values["x"], choice.values["y"]) for choice in found.choices}
    assert tried == set(itertools.product(range(4), (1.0, 10.0, 100.0)))
    assert (found.best.values["x"], found.best.values["y"]) == (2, 10.0)  # 22, and the nearest to 0 of b
    assert found.met(found.best) == ["A"]
    out_of_reach = found.search.criteria[1]
    assert found.nearest(out_of_reach).values["x"] == 2
    assert out_of_reach.miss(found.nearest(out_of_reach).figures) == pytest.approx(0.1)
    assert found.met(found.beside[0]) == ["B"]
    for choice in found.choices:
        if choice.values["x"] == 3:
            assert choice.error
            assert not found.met(choice)
        else:
            assert choice.figures == measured(choice.values)


def test_the_first_is_that_of_the_study_and_a_hypercube_has_each_value_as_often(tmp_path: Path) -> None:
    found = search.search(study_in(tmp_path, further=0), tmp_path / "out")
    first, *cube = found.choices
    assert first.values == found.search.defaults
    for name, times in (("x", 3), ("y", 4)):
        parameter = next(one for one in found.search.parameters if one.name == name)
        counts = [sum(one.values[name] == value for one in cube) for value in parameter.values]
        assert counts == [times] * len(parameter.values)


def test_a_search_resumes_and_repeats_itself(tmp_path: Path) -> None:
    """What was tried is not run again, with more choices too; a fresh search makes the same ones."""
    study = study_in(tmp_path, further=0)
    search.search(study, tmp_path / "out")
    before = len((tmp_path / "log").read_text())
    again = search.search(study, tmp_path / "out")
    assert len((tmp_path / "log").read_text()) == before
    longer = search.search(study_in(tmp_path), tmp_path / "out")
    assert longer.choices[: len(again.choices)] == again.choices
    search.search(study, tmp_path / "other")
    one, other = ((tmp_path / place / "search.json").read_bytes() for place in ("out", "other"))
    assert one == other


def test_other_code_is_another_search(tmp_path: Path) -> None:
    study = study_in(tmp_path, further=0)
    search.search(study, tmp_path / "out")
    kept = len(list((tmp_path / "out").iterdir()))
    code = study.folder / "search.py"
    code.write_text(code.read_text() + "# changed\n")
    search.search(study, tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) > kept


def test_misses_are_by_the_bound_or_the_scale() -> None:
    requested = search.Criterion("A", Bound("a", at_least=20, at_most=30))
    assert [requested.miss({"a": [value - 1, value + 1]}) for value in (10, 20, 30, 45)] == [0.5, 0, 0, 0.5]
    assert requested.miss({}) == requested.miss({"a": [25, math.nan]}) == math.inf
    assert search.Criterion("A", Bound("a", at_most=0), scale=100).miss({"a": [50]}) == 0.5


def test_a_bound_on_each_seed_is_missed_by_the_worst_of_them() -> None:
    requested = search.Criterion("A", Bound("a", at_most=10, every=True))
    assert requested.value({"a": [1, 20, 5]}) == 20
    assert requested.miss({"a": [1, 20, 5]}) == 1
    assert requested.miss({"a": [1, 10, 5]}) == 0
    assert requested.miss({"a": [1, math.nan, 5]}) == math.inf


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("default = 0\n", "default = 7\n", "the default 7 is not among its values"),
        ('"A", "B"', '"A", "C"', "no experiment 'C'"),
        ("b = 10", "c = 10", "scales: no figure 'c'"),
        ("seeds = 2", "seeds = 1", "seeds is 1; expected a whole number, at least 2"),
        ('z = "gone"', 'zz = "gone"', "no parameter 'zz'"),
        ("hypercube = 12", "hypercubes = 12", "the key 'hypercube' is missing"),
        ("conclusion =", "conclusions =", "unknown keys: conclusions"),
    ],
)
def test_what_is_wrong_is_reported(tmp_path: Path, old: str, new: str, message: str) -> None:
    study = study_in(tmp_path, text=SEARCH.replace(old, new))
    with pytest.raises(StudyError, match=message):
        search.search(study, tmp_path / "out")


def test_a_figure_that_the_search_does_not_measure_is_named(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    code = study.folder / "search.py"
    code.write_text(code.read_text().replace('"b":', '"c":'))
    with pytest.raises(StudyError, match="measures no b"):
        search.search(study, tmp_path / "out")


def test_a_study_without_a_search_says_so(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    (study.folder / "search.toml").unlink()
    with pytest.raises(InputError, match=r"has no search\.toml"):
        search.search(study, tmp_path / "out")


def test_the_page_is_the_same_in_either_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A search of a page that is there, and a page that is written when there was a search."""
    study_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    main(["reproduce", "./nobody-2001", "--document", "docs"])
    page = tmp_path / "docs" / "nobody-2001-part.md"
    before = page.read_text()
    assert main(["reproduce", "./nobody-2001", "--search", "--json", "--document", "docs"]) == 0
    [reported] = json.loads(capsys.readouterr().out.partition("{\n")[2].join(("{\n", "")))["searches"]
    assert len(reported["choices"]) == 33
    searched = page.read_text()
    assert "| B | out of reach | at most 0 on each | 5 | **1** (" in searched
    assert "Nothing helps b." in searched
    assert "### Questions beside" in searched
    main(["reproduce", "./nobody-2001", "--search", "--document", "docs"])
    assert page.read_text() == searched
    main(["reproduce", "./nobody-2001", "--document", "docs"])
    assert page.read_text() == searched
    assert searched.replace(document.SEARCHED, "").startswith(before.rstrip()[:40])


def test_a_search_of_another_version_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a study that has run for long is written all the same."""
    study_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "docs" / "nobody-2001-part" / "search.json"
    kept.parent.mkdir(parents=True)
    kept.write_text('{"study": "nobody-2001/part", "choices": [{"figures": {"a": 1.0}}], "beside": []}')
    main(["reproduce", "./nobody-2001", "--document", "docs"])
    assert document.SEARCHED not in (tmp_path / "docs" / "nobody-2001-part.md").read_text()


def test_pages_have_the_searches_of_the_studies() -> None:
    docs = Path(__file__).parents[1] / "docs" / "studies"
    seen = 0
    for study in reproduce.find(None):
        if not (study.folder / search.DESCRIPTION).is_file():
            continue
        stem = study.name.replace("/", "-")
        found = search.from_json(study, json.loads((docs / stem / search.FOUND).read_text("utf-8")))
        assert found is not None, f"{study.name}: search.json is of another version"
        assert document.section(found) in (docs / f"{stem}.md").read_text("utf-8")
        assert found.choices[0].values == found.search.defaults
        seen += 1
    assert seen == 3
