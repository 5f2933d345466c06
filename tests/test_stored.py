"""Modified store files: each is ignored and its run repeated, or it is rejected by name."""

from __future__ import annotations

import copy
import hashlib
import inspect
import io
import json
import math
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import SMALL
from penstock import analysis, plots, report, storage
from penstock.cli import main
from penstock.errors import InputError, PenstockError, ResultError
from penstock.laboratory.measures import Measure
from penstock.laboratory.outcome import Outcome
from penstock.laboratory.store import Record, Store
from penstock.library import Source
from penstock.plots import save_all
from penstock.report import write_report
from penstock.result import Result
from penstock.running import cache, run_source
from test_hostile_results import WRONG, changed, places, seal

SOURCE = Source(SMALL, "small.toml")
ANY = st.recursive(
    st.sampled_from(WRONG) | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
RECORD = {
    "run": "abc-def",
    "scenario": SMALL,
    "facts": {
        "seed": 1,
        "fingerprint": "00ff",
        "simulated_s": 2e-4,
        "frame_hops": 12,
        "wall_s": 0.1,
    },
    "measures": {"run.events": 7.0, "flows.frames_dropped": {"steady": 0.0, "greedy": None}},
    "error": "",
}


def written(directory: Path, document: object) -> Store:
    """A store with one record, as somebody would write it who knows the format."""
    text = json.dumps(document).encode()
    (directory / "abc-def.json").write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
    return Store(directory)


def tried(record: Record | None) -> None:
    """Result of a sweep for a record."""
    if record is None:
        return
    assert isinstance(record.scenario, str)
    assert record.facts.get("seed") is None or record.facts["seed"] >= 0
    for value in record.measures.values():
        for one in value.values() if isinstance(value, dict) else [value]:
            assert one is None or math.isfinite(one)


def test_records_with_another_value_somewhere(tmp_path: Path) -> None:
    assert written(tmp_path, RECORD).find("abc-def", ()) == Record(**copy.deepcopy(RECORD))
    found = 0
    for way in places(RECORD):
        for wrong in WRONG:
            other = changed(RECORD, way, wrong)
            record = written(tmp_path, other).find("abc-def", [Measure("e", "run.events")])
            tried(record)
            found += record is not None
    assert 0 < found < 80  # values that may stand there


@given(document=st.dictionaries(st.sampled_from([*RECORD, "x"]), ANY), chosen=st.sampled_from([*RECORD]))
@settings(deadline=None)
def test_records_of_any_values(document: dict[str, Any], chosen: str, tmp_path_factory: Any) -> None:
    place = tmp_path_factory.mktemp("store")
    for one in (document, {**RECORD, chosen: document.get(chosen)}, {**RECORD, **document}):
        tried(written(place, one).find("abc-def", ()))


def test_a_sweep_runs_again_what_was_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL, "utf-8")
    words = [
        "sweep",
        "small.toml",
        "--vary",
        "simulation.seed=1,2",
        "--measure",
        "drops=sum(flows.frames_dropped)",
    ]
    assert main([*words, "--out", "out/s"]) == 0
    before = Outcome.load("out/s").table("runs")["fingerprint"].to_pylist()
    files = sorted(Path("out/s/runs").glob("*.json"))
    assert len(files) == 2
    draw = random.Random(1)
    document = json.loads(files[0].read_bytes().partition(b"\n")[2])
    for way in draw.sample([*places(document)], 8):
        text = json.dumps(changed(document, way, draw.choice(WRONG[:8]))).encode()
        files[0].write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
        assert main([*words, "--out", "out/s"]) == 0, way
    files[0].write_bytes(b"not a record")
    assert main([*words, "--out", "out/s"]) == 0
    assert Outcome.load("out/s").table("runs")["fingerprint"].to_pylist() == before


@pytest.mark.parametrize("name", ["runs", "metrics", "summary"])
@pytest.mark.parametrize("wrong", ["other", "none", "text", "description"])
def test_tables_of_a_sweep_that_are_none(name: str, wrong: str, sweep: Path, tmp_path: Path) -> None:
    for file in sweep.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    file = tmp_path / f"{name}.parquet"
    if wrong == "other":
        pq.write_table(pa.table({"x": [1]}), file)
    elif wrong == "none":
        file.unlink()
    elif wrong == "text":
        file.write_text("x")
    else:
        (tmp_path / "description.json").write_text(f'{{"{name}": []}}')
    with pytest.raises(ResultError):
        Outcome.load(tmp_path)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sweep")
    (place / "small.toml").write_text(SMALL, "utf-8")
    words = ["--vary", "simulation.seed=1,2", "--measure", "e=run.events", "--out", str(place / "s")]
    assert main(["sweep", str(place / "small.toml"), *words]) == 0
    return place / "s"


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes], str]:
    """A cached run: its file, its parts, and the fingerprint."""
    place = tmp_path_factory.mktemp("cache") / "runs"
    with cache.keeping(place):
        result = run_source(SOURCE)
    [file] = place.glob("*.run")
    with zipfile.ZipFile(io.BytesIO(file.read_bytes()[cache.HASH_BYTES :])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return file, parts, result.fingerprint


def packed(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return hashlib.sha256(out.getbuffer()).digest() + out.getvalue()


def again(file: Path, data: bytes) -> Result:
    """The run of a scenario whose cached run is changed."""
    file.write_bytes(data)
    with cache.keeping(file.parent):
        found = run_source(SOURCE)
    for name in found.table_names:
        found.table(name)
    repr(found)
    return found


def test_a_damaged_cache_runs_again(cached: tuple[Path, dict[str, bytes], str]) -> None:
    file, parts, fingerprint = cached
    whole = packed(parts)
    assert again(file, whole).fingerprint == fingerprint
    draw = random.Random(2)
    for name in [
        *draw.sample(sorted(parts), 10),
        "run.json",
        "topology.json",
        "description.json",
        "scenario.toml",
    ]:
        for wrong in (b"", b"{}", b"[]", b"\xff\xfe", b"[" * 5_000, parts[name][: len(parts[name]) // 2]):
            assert again(file, packed({**parts, name: wrong})).fingerprint == fingerprint, (name, wrong[:5])
        assert again(file, packed({one: part for one, part in parts.items() if one != name})).fingerprint
    schema = pa.schema([("flow", pa.int64())])
    other = io.BytesIO()
    with pa.ipc.new_stream(other, schema) as stream:
        stream.write_table(pa.table({"flow": [1]}))
    assert again(file, packed({**parts, "flows.arrow": other.getvalue()})).fingerprint == fingerprint
    for cut in (0, 10, 31, 32, 40, len(whole) // 2, len(whole) - 1):
        assert again(file, whole[:cut]).fingerprint == fingerprint


def test_a_cache_with_another_value_somewhere(cached: tuple[Path, dict[str, bytes], str]) -> None:
    file, parts, _ = cached
    draw = random.Random(3)
    for name in ("run.json", "topology.json", "description.json"):
        document = json.loads(parts[name])
        for way in draw.sample([*places(document)], 12):
            for wrong in draw.sample(WRONG, 4):
                text = json.dumps(changed(document, way, wrong)).encode()
                again(file, packed({**parts, name: text}))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ps.run(_file(tmp_path_factory)).save(tmp_path_factory.mktemp("whole") / "result", report=False)


def _file(factory: pytest.TempPathFactory) -> Path:
    file = factory.mktemp("scenario") / "small.toml"
    file.write_text(SMALL, "utf-8")
    return file


def test_a_result_that_does_not_fit_together_is_refused_from_python(whole: Path, tmp_path: Path) -> None:
    """Reports and pictures of a loaded result that lacks tables or columns name its directory."""
    refused = 0
    for name in ("flows", "ports", "queues", "series", "pauses", "drops", "paths"):
        for column in pq.read_schema(whole / f"{name}.parquet").names[:2]:
            place = tmp_path / f"{name}-{column}"
            place.mkdir()
            for file in whole.iterdir():
                (place / file.name).write_bytes(file.read_bytes())
            table = pq.read_table(place / f"{name}.parquet")
            pq.write_table(table.drop_columns([column]), place / f"{name}.parquet")
            seal(place)
            for use in (_page, save_all):
                try:
                    use(Result.load(place), tmp_path / "made")
                except PenstockError as error:
                    refused += 1
                    assert str(place) in str(error)
    assert refused >= 6


def _page(result: Result, place: Path) -> None:
    place.mkdir(exist_ok=True)
    write_report(result, place / "x.html")


def _functions() -> list[tuple[str, Callable[..., Any]]]:
    import importlib
    import pkgutil

    found = []
    for package in (report, plots, analysis):
        for module in pkgutil.iter_modules(package.__path__):
            if module.name == "widget":
                continue
            own = importlib.import_module(f"{package.__name__}.{module.name}")
            for name, one in inspect.getmembers(own, inspect.isfunction):
                first = next(iter(inspect.signature(one).parameters.values()), None)
                if (
                    one.__module__ == own.__name__
                    and not name.startswith("_")
                    and first is not None
                    and (first.name, str(first.annotation)) == ("result", "Measurements")
                    and not inspect.isgeneratorfunction(inspect.unwrap(one))
                    and "Iter" not in str(inspect.signature(one).return_annotation)
                ):
                    found.append((f"{own.__name__}.{name}", one))
    return found


def test_every_function_of_a_result_refuses_one_that_does_not_fit_together() -> None:
    named = _functions()
    assert len(named) > 40
    for name, one in named:
        assert hasattr(one, "__wrapped__"), f"{name} lacks @of_result"


def test_tables_are_bounded_before_they_are_read(whole: Path, tmp_path: Path) -> None:
    """Fifty million equal numbers take some kilobytes; the metadata have their number."""
    for file in whole.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    rows = pa.array([0] * 1_000_000, pa.int8())
    with pq.ParquetWriter(tmp_path / "flows.parquet", pa.schema([("flow", pa.int8())])) as writer:
        for _ in range(storage.MOST_ROWS // 1_000_000 + 1):
            writer.write_table(pa.table([rows], names=["flow"]))
    assert (tmp_path / "flows.parquet").stat().st_size < 1 << 20
    seal(tmp_path)
    with pytest.raises(ResultError, match=r"51,000,000 rows"):
        Result.load(tmp_path).table("flows")
    with pytest.raises(ValueError, match=r"expected at most 10,000,000"):
        next(iter(storage.csv_of_parquet(tmp_path / "flows.parquet")))


@given(document=ANY)
@settings(deadline=None, max_examples=200)
def test_manifests_of_any_values(document: Any, whole: Path, tmp_path_factory: Any) -> None:
    place = tmp_path_factory.mktemp("manifest")
    for text in (
        json.dumps(document),
        json.dumps({"schema": storage.MANIFEST_SCHEMA, "files": document}),
        json.dumps({"schema": storage.MANIFEST_SCHEMA, "files": [document]}),
    ):
        (place / storage.MANIFEST).write_text(text)
        try:
            storage.verify(place)
            Result.load(place)
        except (ResultError, InputError):
            pass
