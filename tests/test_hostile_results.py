"""Results with modified files: each is read, or rejected by name, without a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import storage
from penstock.cli import main
from penstock.errors import ResultError
from penstock.result import Result

WRONG: list[Any] = [
    None,
    [],
    {},
    "",
    "x",
    "\x1b[31m",
    -1,
    0,
    10**30,
    1e308,
    -0.5,
    True,
    [None],
    {"x": 1},
    math.nan,
]
COUNTERS = Path(__file__).with_name("doors") / "ethtool.txt"
COMMANDS: list[Callable[[str], list[str]]] = [
    lambda place: ["fair", place],
    lambda place: ["steady", place],
    lambda place: ["why", "a", place],
    lambda place: ["compare", place, place],
    lambda place: ["tables", place, "--format", "openmetrics"],
    lambda place: ["counters", place, str(COUNTERS), "--port", "h0"],
    lambda place: ["capture", place, "--out", f"{place}.pcapng"],
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = ps.Scenario(duration="60 us").topology.star(hosts=3, rate="10 Gb/s", length="1 m", phy="none")
    scenario = scenario.flow_control.pfc(accounting="ingress", xoff="4 frames", xon="2 frames")
    scenario = scenario.flow("a", from_="h0", to="h2", source="greedy")
    scenario = scenario.flow("b", from_="h1", to="h2", source="greedy").probes(bin="1 us")
    return scenario.run().save(tmp_path_factory.mktemp("whole") / "result", report=False)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here has to be on the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    place = tmp_path / "copy"
    place.mkdir()
    for file in whole.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    return place


def seal(place: Path) -> None:
    """Updates the checksums of a directory, as a careful attacker would."""
    (place / storage.MANIFEST).unlink(missing_ok=True)
    storage.seal(place)


def all_commands(place: Path) -> set[int]:
    """The codes of all commands that read a result; none of them may end otherwise."""
    seal(place)
    codes = set()
    for words in COMMANDS:
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = main(words(str(place)))
        assert code in (0, 1, 2), words(str(place))
        assert "\x1b" not in text.getvalue() or words("")[0] == "tables"
        codes.add(code)
    return codes


def test_what_is_whole_is_read(copy: Path) -> None:
    assert all_commands(copy) == {0, 2}  # no frames were logged


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document of JSON, of lists the first two."""
    yield way
    if isinstance(value, dict):
        for key, below in list(value.items())[:20]:
            yield from places(below, (*way, key))
    if isinstance(value, list):
        for number, below in enumerate(value[:2]):
            yield from places(below, (*way, number))


def changed(document: Any, way: tuple[Any, ...], wrong: Any) -> Any:
    if not way:
        return wrong
    key, *rest = way
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[key] = changed(document[key], tuple(rest), wrong)
    return copy


@pytest.mark.parametrize("name", ["run", "topology"])
def test_documents_with_another_value_somewhere(name: str, copy: Path) -> None:
    file = copy / f"{name}.json"
    document = json.loads(file.read_text())
    for way in places(document):
        for wrong in WRONG:
            file.write_text(json.dumps(changed(document, way, wrong)))
            seal(copy)
            with contextlib.suppress(ResultError):
                result = Result.load(copy)
                repr(result), result.name, result.seed, result.complete


@pytest.mark.parametrize(
    "file", ["run.json", "topology.json", "description.json", "scenario.toml", "flows.parquet"]
)
@pytest.mark.parametrize(
    "text", [b"", b"\xff\xfe", b"[" * 100_000, b"{}", b"[]", b"1" * 5_000, b'{"a": NaN}', b"\0"]
)
def test_files_that_are_something_else(file: str, text: bytes, copy: Path) -> None:
    (copy / file).write_bytes(text)
    assert 2 in all_commands(copy)


def tables(copy: Path) -> list[Path]:
    return sorted(copy.glob("*.parquet"))


READ = (
    "flows",
    "ports",
    "queues",
    "paths",
    "demands",
    "pauses",
    "series",
    "congestion",
    "watermarks",
    "drops",
)


@pytest.mark.parametrize("name", READ)
def test_tables_with_a_column_of_another_type(name: str, copy: Path) -> None:
    file = copy / f"{name}.parquet"
    table = pq.read_table(file)
    for number, field in enumerate(table.schema):
        words = (
            pa.array(["x"] * table.num_rows) if field.type != pa.string() else pa.array([1] * table.num_rows)
        )
        pq.write_table(table.set_column(number, field.name, words), file)
        seal(copy)
        with pytest.raises(ResultError, match=rf"{name}.parquet: column {field.name}"):
            Result.load(copy).table(name)


VALUES = (None, "nobody\x1b[31m", "", 0, 2**64 - 1, math.nan, math.inf, -math.inf, -1.0)


def misfits(whole: Path) -> list[tuple[str, str, object]]:
    """Table, column and the value that all its rows get."""
    found = []
    for name in READ:
        for field in pq.read_schema(whole / f"{name}.parquet"):
            for value in VALUES:
                with contextlib.suppress(pa.ArrowException, TypeError, OverflowError):
                    pa.array([value], field.type)
                    found.append((name, field.name, value))
    return found


def try_misfits(copy: Path, chosen: list[tuple[str, str, object]]) -> None:
    for name, column, value in chosen:
        file = copy / f"{name}.parquet"
        kept = file.read_bytes()
        table = pq.read_table(file)
        number = table.column_names.index(column)
        wrong = pa.array([value] * table.num_rows, table.schema.field(number).type)
        pq.write_table(table.set_column(number, column, wrong), file)
        all_commands(copy)
        file.write_bytes(kept)


@pytest.mark.parametrize("seed", range(3))
def test_tables_whose_values_do_not_fit(seed: int, whole: Path, copy: Path) -> None:
    """Names that nobody has, numbers beyond all measure, nothing at all."""
    try_misfits(copy, random.Random(seed).sample(misfits(whole), 12))


@pytest.mark.slow
def test_all_tables_whose_values_do_not_fit(whole: Path, copy: Path) -> None:
    try_misfits(copy, misfits(whole))


@pytest.mark.parametrize("name", READ)
def test_tables_of_other_lengths(name: str, copy: Path) -> None:
    file = copy / f"{name}.parquet"
    table = pq.read_table(file)
    for other in (table.slice(0, 0), pa.concat_tables([table, table])):
        pq.write_table(other, file)
        all_commands(copy)


def test_tables_that_are_missing(copy: Path) -> None:
    for file in tables(copy):
        kept = file.read_bytes()
        file.unlink()
        all_commands(copy)
        file.write_bytes(kept)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/hostname", "a/../../secret", "\0", "x" * 5_000, "pictures"]
)
def test_manifests_that_lead_elsewhere(name: str, copy: Path) -> None:
    seal(copy)
    (copy.parent / "secret").write_text("")
    manifest = json.loads((copy / storage.MANIFEST).read_text())
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    manifest["files"].append({"name": name, "bytes": 0, "sha256": empty})
    (copy / storage.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ResultError):
        Result.load(copy)


def test_files_that_lead_elsewhere_or_do_not_end(copy: Path) -> None:
    (copy / "run.json").rename(copy.parent / "run.json")
    (copy / "run.json").symlink_to(copy.parent / "run.json")
    seal(copy)
    with pytest.raises(ResultError, match=r"run\.json is a symbolic link"):
        Result.load(copy)
    (copy / "run.json").unlink()
    os.mkfifo(copy / "run.json")
    with pytest.raises(ResultError, match=r"run\.json is missing"):
        Result.load(copy)


@pytest.mark.parametrize(
    "wrong", [*WRONG, {}, {"seeds": []}, {"seeds": None}, {"seeds": ["x"]}, {"seeds": [9]}], ids=repr
)
def test_replications_that_are_none(wrong: Any, copy: Path) -> None:
    (copy / "replications.json").write_text(json.dumps(wrong))
    assert 2 in all_commands(copy)
