"""TOML that Python reads before the engine: refused where the engine refuses it, in a second, and told."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import _core, library
from penstock.cli import dcbx, main
from penstock.errors import InputError, ResultError, StudyError, TomlError
from penstock.interchange.formats import format_of
from penstock.interchange.join import join
from penstock.interchange.piece import Document
from penstock.laboratory import values
from penstock.result import checked
from penstock.studies.reproduce import Study

PACKAGE = Path(ps.__file__).parent
DEEP, LARGE = "nested too deeply", "integer is too large"
WRONG = {
    "a million digits": ("a = " + "9" * 1_000_000, LARGE),
    "65 bits": ("a = 18446744073709551616", LARGE),
    "hexadecimal": ("a = 0x" + "f" * 100_000, LARGE),
    "lists": ("a = " + "[" * 100_000, DEEP),
    "lists that end": ("a = " + "[" * 81 + "]" * 81, DEEP),
    "tables in a line": ("a = " + "{ a = " * 100_000, DEEP),
    "a long key": ("a." * 100_000 + "a = 1", DEEP),
    "a long key in quotes": ('"\\"" . ' * 100_000 + "a = 1", DEEP),
    "a long table": ("[" + "a." * 100_000 + "a]", DEEP),
    "a long key in a line": ("b = { c = 1, " + "'a'." * 100_000 + "a = 1 }", DEEP),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_python_cannot_read_is_reported_at_once(what: str) -> None:
    text, reported = WRONG[what]
    began = time.monotonic()
    with pytest.raises(TomlError, match=rf"it\.toml: .*{reported}"):
        library.toml(text, "it.toml")
    assert time.monotonic() - began < 5


def test_no_module_reads_toml_past_the_door() -> None:
    def reads(path: Path) -> bool:
        tree = ast.parse(path.read_text("utf-8"))
        calls = (ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
        return any(call in ("tomllib.loads", "tomllib.load") for call in calls)

    assert [path.name for path in PACKAGE.rglob("*.py") if reads(path)] == ["library.py"]


@pytest.mark.parametrize("depth", [1, 79, 80])
@pytest.mark.parametrize("how", ["{0}b = 1", "[{0}b]", "b = {{ {0}b = 1 }}"])
def test_keys_as_deep_as_the_engine_reads_them(how: str, depth: int) -> None:
    text = how.format("a." * (depth - how.count("=") // 2))
    with pytest.raises(ps.ScenarioError) as engine:
        ps.check(ps.Scenario.from_toml(text)) if not _is_refused(text) else _raise(text)
    assert ("recursion limit" in str(engine.value)) == _is_refused(text)


def _raise(text: str) -> None:
    from penstock.running import engine_errors

    with engine_errors():
        _core.check(text, "it.toml")


def _is_refused(text: str) -> bool:
    try:
        library.toml(text)
    except TomlError:
        return True
    return False


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="a1.,=[]{}\"'\\# \n-_x", max_size=60))
def test_any_text_is_a_table_or_an_error_of_ours(text: str) -> None:
    try:
        assert isinstance(library.toml(text, "it.toml"), dict)
    except TomlError as error:
        assert str(error).startswith("it.toml: ")


@pytest.mark.parametrize("what", WRONG)
def test_every_door_tells_it(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, reported = WRONG[what]
    file = tmp_path / "scenario.toml"
    file.write_text(text, "utf-8")
    for words in (
        ("sweep", str(file), "--vary", "simulation.seed=1,2"),
        ("optimise", str(file), "--vary", "a=1,2", "--minimize", "run.events"),
        ("sensitivity", str(file), "--vary", "a=1,2"),
    ):
        assert main(words) == 2, words
        assert f"scenario.toml: {'tables' if reported == DEEP else 'an'}" in (
            output := capsys.readouterr().err
        ), output
        assert reported in output
    table = Document("it.csv", "start_us,from,to,bytes\n0,h0,h1,1000\n")
    with pytest.raises(TomlError, match=reported):
        join([(table, format_of(table).read(table))], tmp_path / "o.toml", like=library.read(str(file)))
    with pytest.raises(ResultError, match=reported):
        checked.scenario(file)
    file.rename(tmp_path / "study.toml")
    with pytest.raises(StudyError, match=reported):
        Study.load(tmp_path)
    assert dcbx._uplink_of(text) is None  # the agent tells what is wrong
    assert values.read("key", "[" * 200 + "1" + "]" * 200) == ["[" * 200 + "1" + "]" * 200]


@pytest.mark.parametrize("key", ["simulation", "topology", "switch", "switch.buffer"])
def test_a_scenario_to_be_like_has_tables(key: str, tmp_path: Path) -> None:
    table = Document("it.csv", "start_us,from,to,bytes\n0,h0,h1,1000\n")
    like = library.Source(f"{key} = 3\n", "like.toml")
    with pytest.raises(InputError, match=f"like.toml: {key} is 3; expected a table"):
        join([(table, format_of(table).read(table))], tmp_path / "o.toml", like=like)
