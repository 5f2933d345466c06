"""Studies: criteria are data, and they alone decide."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from penstock import library
from penstock.cli import main
from penstock.errors import InputError, StudyError
from penstock.studies import reproduce

TOML = """
title = "A star that shares"
source = "Nobody 1999, chapter 1"

[[experiments]]
id = "N1"
reported = "10 Gb/s"
criterion = "at least 9.5 Gb/s"
bounds = [{ figure = "rate_gbps", at_least = 9.5, shown = "{:.1f} Gb/s" }]
deterministic = true

[[experiments]]
id = "N2"
reported = "nothing is lost"
criterion = "no frame is lost"
bounds = [{ figure = "lost", at_most = 0, shown = "{:.0f} frames" }]
deterministic = true

[[departures]]
what = "frames of 1522 B"
why = "the source does not say"
"""
CODE = """
from matplotlib.figure import Figure

from . import measure

ONLY_QUICK = True


def run(context):
    context.say("running")
    print("noise")
    assert context.quick or not ONLY_QUICK
    picture = context.save_figure(Figure(), "share")
    return [
        context.judge("N2", {"lost": 0}),
        context.judge("N1", {"rate_gbps": measure.rate()}, note="quick", pictures=[picture]),
    ]
"""
MEASURE = """
def rate():
    return 9.9
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "studies" / "nobody-1999" / "ch1"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(TOML)
    (folder / "study.py").write_text(CODE)
    (folder / "measure.py").write_text(MEASURE)
    monkeypatch.setattr(library, "STUDIES", tmp_path / "studies")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("name", ["nobody-1999/ch1", "nobody-1999", "nobody-1999/", None])
def test_find(study: Path, name: str | None) -> None:
    assert [found.name for found in reproduce.find(name)] == ["nobody-1999/ch1"]


def test_a_miss_names_what_is_near(study: Path) -> None:
    with pytest.raises(InputError, match="did you mean nobody-1999/ch1"):
        reproduce.find("nobody-1999/ch2")


@pytest.mark.parametrize(
    "name", ["deadlock/ring", "incast/fan-in", "storm/slow-receiver", "victims/headline"]
)
def test_studies_pass(name: str, tmp_path: Path) -> None:
    [study] = reproduce.find(name)
    result = reproduce.reproduce(study, tmp_path / "out", quick=True)
    assert {outcome.id: outcome.measured for outcome in result.outcomes if not outcome.passed} == {}


def test_json(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "nobody-1999/ch1", "--quick", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    schema = json.loads(
        (Path(reproduce.__file__).parents[1] / "schemas" / "reproduce.schema.json").read_text()
    )
    jsonschema.validate(answer, schema)
    assert [entry["id"] for entry in answer["experiments"]] == ["N1", "N2"], "in the order of study.toml"
    first = answer["experiments"][0]
    assert first["criterion"] == "at least 9.5 Gb/s"
    assert first["reported"] == "10 Gb/s"
    assert first["passed"] is True
    assert Path(first["pictures"][0]).is_file()
    assert answer["departures"][0]["what"] == "frames of 1522 B"
    assert json.loads(Path("out/reproduce/nobody-1999/ch1/outcomes.json").read_text()) == answer


def test_table(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--quick"]) == 0
    shown = capsys.readouterr().out
    for text in (
        "A star that shares",
        "✓",
        "9.9 Gb/s",
        "frames of 1522 B",
        "share.png",
        "2 reproduced",
    ):
        assert text in shown


ANY = CODE.replace("ONLY_QUICK = True", "ONLY_QUICK = False")
"""A study that runs as a whole, too."""


def test_all_is_one_table(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "study.toml").write_text(TOML.replace('id = "N2"', 'id = "N2"\nnot_met = "a wire was cut"'))
    (study / "study.py").write_text(ANY.replace('"lost": 0', '"lost": 9'))
    assert main(["reproduce", "--all"]) == 0
    shown = capsys.readouterr().out
    for text in ("10 Gb/s", "9.9 Gb/s", "not reproduced", "a wire was cut", "1 reproduced, 1 not reproduced"):
        assert text in shown
    assert "Departures" not in shown
    assert main(["reproduce", "--all", "--quick"]) == 0
    assert "a wire was cut" not in capsys.readouterr().out  # that is of the full run
    assert main(["reproduce", "--all", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(one["verdict"], one["why"]) for one in answer["experiments"]] == [
        ("reproduced", ""),
        ("not reproduced", "a wire was cut"),
    ]
    assert answer["verdicts"]["not reproduced"] == 1


def test_experiments_are_shown_and_judged_alone(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "study.py").write_text(ANY.replace('"lost": 0', '"lost": 9'))
    assert main(["reproduce", "nobody-1999/ch1", "N1", "--json"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)["experiments"]] == ["N1"]
    assert main(["reproduce", "nobody-1999/ch1", "N2", "--json"]) == 1
    capsys.readouterr()
    assert main(["reproduce", "nobody-1999/ch1", "N3"]) == 2
    assert "no experiment 'N3' in study.toml; known names: N1, N2" in capsys.readouterr().err


def test_a_quick_run_does_not_decide_what_needs_the_full_study(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "study.toml").write_text(TOML.replace('id = "N2"', 'id = "N2"\nrequires = "full"'))
    (study / "study.py").write_text(ANY.replace('"lost": 0', '"lost": 9'))
    assert main(["reproduce", "nobody-1999/ch1", "--quick", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one["verdict"] for one in answer["experiments"]] == ["reproduced", "not decided"]
    assert answer["verdicts"]["not decided"] == 1
    assert main(["reproduce", "nobody-1999/ch1", "--json"]) == 1


def test_all_and_a_study_is_an_error(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "nobody-1999/ch1", "--all"]) != 0
    assert "--all runs every study" in capsys.readouterr().err


def test_a_validation_is_no_reproduction(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "study.toml").write_text(TOML.replace('id = "N1"', 'id = "N1"\nkind = "formula"'))
    assert main(["reproduce", "--all", "--quick", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)["verdicts"]
    assert (counted["reproduced"], counted["agrees"]) == (1, 1)


def test_documented_studies_make_one_page(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "fingerprints.json").write_text("{}")
    pages = Path("pages")
    pages.mkdir()
    assert main(["reproduce", "--all", "--quick", "--document", str(pages)]) == 0
    page = (pages / "index.md").read_text("utf-8")
    assert "[A star that shares](nobody-1999-ch1.md) | 2 of 2 |" in page
    assert "Of 2 claims of the sources, 2 are reproduced" in page
    (study / "measure.py").write_text(MEASURE.replace("9.9", "9.4"))
    assert main(["reproduce", "nobody-1999/ch1", "--quick", "--document", str(pages)]) == 1
    assert "[A star that shares](nobody-1999-ch1.md) | **1 of 2** |" in (pages / "index.md").read_text(
        "utf-8"
    )


def test_a_failed_experiment_is_exit_code_1(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "measure.py").write_text(MEASURE.replace("9.9", "9.4"))
    assert main(["reproduce", "nobody-1999", "--quick"]) == 1
    assert "not reproduced" in capsys.readouterr().out


def test_an_experiment_that_was_not_measured_has_not_passed(study: Path) -> None:
    (study / "study.py").write_text("def run(context):\n    return []\n")
    [found] = reproduce.find(None)
    result = reproduce.reproduce(found, Path("out"))
    assert not result.passed
    assert {outcome.measured for outcome in result.outcomes} == {"not measured"}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def run(context):\n    return [context.judge('N9', {})]\n",
            "no experiment 'N9'",
        ),
        (
            "def run(context):\n    return 2 * [context.judge('N1', {'rate_gbps': 10})]\n",
            "measured twice",
        ),
        ("x = 1\n", "no function run"),
    ],
)
def test_a_study_that_does_not_keep_its_promise_is_an_error(study: Path, code: str, message: str) -> None:
    (study / "study.py").write_text(code)
    [found] = reproduce.find(None)
    with pytest.raises(StudyError, match=message):
        reproduce.reproduce(found, Path("out"))
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'title' is missing"),
        ('title = "T"\nsource = "S"', "no experiments; expected"),
        (TOML.replace("title", "tittle"), "'title' is missing"),
        (TOML.replace('id = "N2"', 'id = "N1"'), "same id"),
        (TOML.replace("criterion", "criteria"), "criteria"),
        ('authors = "x"\n' + TOML, "unknown keys: authors"),
        ("title =", "study.toml"),
        (TOML.replace('id = "N2"', 'id = "N2"\nkind = "formular"'), "did you mean formula"),
    ],
)
def test_a_wrong_description_is_an_error(study: Path, text: str, message: str) -> None:
    (study / "study.toml").write_text(text)
    with pytest.raises(StudyError, match=message):
        reproduce.Study.load(study)


@pytest.mark.parametrize("entry", library.studies(), ids=lambda entry: entry.name)
def test_every_study_is_described(entry: library.Entry) -> None:
    found = reproduce.Study.load(entry.path)
    assert found.experiments
    assert found.departures, "no study is exactly its source; say where it departs"
    assert all(experiment.reported and experiment.criterion for experiment in found.experiments)


@pytest.mark.parametrize("place", ["./mine", "mine", "mine/", "."])
def test_a_study_in_a_folder(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `new --study` writes runs by the path of its folder, whose name it has."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--study", "mine"]) == 0
    assert "penstock reproduce ./mine" in capsys.readouterr().out
    if place == ".":
        monkeypatch.chdir("mine")
    assert main(["reproduce", place, "--json", "--out", "results"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(entry["study"], entry["passed"]) for entry in answer["experiments"]] == [("mine", True)] * 2
    assert all(Path(picture).is_file() for entry in answer["experiments"] for picture in entry["pictures"])
    assert Path("results/mine/shares.csv").is_file()


def test_studies_in_folders_of_a_folder(study: Path, tmp_path: Path) -> None:
    assert [found.name for found in reproduce.find(str(study.parents[1]))] == ["studies/nobody-1999/ch1"]
    assert [found.name for found in reproduce.find(str(study))] == ["ch1"]
    (tmp_path / "nobody-1999").mkdir()  # a name of the package comes first
    assert [found.name for found in reproduce.find("nobody-1999")] == ["nobody-1999/ch1"]
    with pytest.raises(InputError, match=r"has no study\.toml"):
        reproduce.find("./nobody-1999")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["reproduce", "./nowhere"], "no such folder"),
        (["reproduce", "empty"], "has no study.toml"),
        (["new", "--study", "empty"], "empty: exists"),
        (["new", "--study", "no/where"], "there is no directory no"),
        (["new", "x.toml", "--study", "mine"], "remove FILE"),
        (["new", "--study", "mine", "--like", "first-light"], "and --like"),
    ],
)
def test_no_study_is_a_message(
    words: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    assert main(words) == 2
    assert expected in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_any_name_of_a_study_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ('a "b"', "c\\d", "e\nf"):
        assert main(["new", "--study", name]) == 0
        [found] = reproduce.find(f"./{name}")
        assert found.experiments
