"""Interrupted work goes on where it stopped, and to the same end."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import LONG, SMALL, command_line
from penstock import _core, running
from penstock.errors import InputError
from penstock.library import Source
from penstock.result import Result
from penstock.running import cache
from penstock.running.replications import Replications, replicate_source
from penstock.studies import reproduce

SOURCE = Source(SMALL, "small.toml")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int | None]]:
    """The seeds with which the engine was asked to run."""
    requested: list[int | None] = []
    run = _core.run

    def counted(*arguments: Any, **options: Any) -> Any:
        if arguments[1] != "smallest.toml":  # the schema of tables, which a cached run is compared with
            requested.append(options["overridden"][0])
        return run(*arguments, **options)

    monkeypatch.setattr(_core, "run", counted)
    return requested


def test_a_kept_run_is_the_run(tmp_path: Path, engine: list[int | None]) -> None:
    with cache.keeping(tmp_path / "runs"):
        first = running.run_source(SOURCE, seed=7)
    with cache.keeping(tmp_path / "runs") as runs:
        again = running.run_source(SOURCE, seed=7)
    assert (engine, runs.found) == ([7], 1)
    assert again.run == first.run
    assert again.topology == first.topology
    assert again.description == first.description
    assert again.scenario_toml == first.scenario_toml
    assert again.table_names == first.table_names
    for name in first.table_names:
        assert again.table(name).schema == first.table(name).schema
        assert str(again.rows(name)) == str(first.rows(name))  # as text: NaN is not itself
    runs.clear()
    assert not (tmp_path / "runs").exists()


def test_whatever_a_run_depends_on_makes_another(
    tmp_path: Path, engine: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = tmp_path / "sizes.csv"
    text = SMALL.replace('name = "steady"', 'name = "steady"\nframe = { empirical = "sizes.csv" }')
    file = str(tmp_path / "small.toml")

    def run(text: str = text, seed: int | None = None) -> int:
        before = len(engine)
        with cache.keeping(tmp_path / "runs"):
            running.run_source(Source(text, file), seed=seed)
        return len(engine) - before

    sizes.write_text("bytes,weight\n100,1\n", "utf-8")
    assert [run(), run()] == [1, 0]
    assert [run(seed=1), run(seed=2), run(seed=2)] == [0, 1, 0]  # 1 is the seed of the scenario
    assert [run(text.replace("200 us", "201 us")), run("# a comment\n" + text)] == [1, 0]
    sizes.write_text("bytes,weight\n101,1\n", "utf-8")
    assert [run(), run()] == [1, 0]
    monkeypatch.setattr(cache, "engine", lambda: "another")
    assert [run(), run()] == [1, 0]


def test_a_damaged_file_counts_as_not_there(tmp_path: Path, engine: list[int | None]) -> None:
    with cache.keeping(tmp_path):
        running.run_source(SOURCE)
    [file] = tmp_path.glob("*.run")
    whole = file.read_bytes()
    damages = [b"", b"nonsense", whole[:-1], whole[: len(whole) // 2], whole + b"x"]
    # Single bits, those of the zip's directory at the end among them: that has no checksum of its own.
    for place in (0, 40, len(whole) // 2, *range(len(whole) - 2000, len(whole), 199)):
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        damages.append(bytes(flipped))
    for count, damage in enumerate(damages, 1):
        file.write_bytes(damage)
        with cache.keeping(tmp_path):
            assert running.run_source(SOURCE).complete
        assert len(engine) == 1 + count
        assert cache.RunCache(tmp_path).found == 1


def test_clearing_leaves_the_files_of_others(tmp_path: Path) -> None:
    directory = tmp_path / ".k.runs"
    directory.mkdir()
    (directory / "notes.txt").write_text("precious")
    with cache.keeping(directory) as runs:
        running.run_source(SOURCE)
    runs.clear()
    assert [path.name for path in directory.iterdir()] == ["notes.txt"]


def test_replications_that_were_not_begun_are_missed() -> None:
    result = running.run_source(SOURCE)
    assert Replications([result]).complete
    cut = Replications([result], wanted=2)
    assert not cut.complete
    assert (cut.summary()["replications"], cut.summary()["wanted"]) == (1, 2)
    assert len(replicate_source(SOURCE, 50, workers=1, progress=lambda _: False).results) < 50


def test_what_was_cut_short_is_not_kept(tmp_path: Path) -> None:
    text = SMALL.replace("200 us", "3 s")
    with cache.keeping(tmp_path):
        result = running.run_source(Source(text, "small.toml"), progress=lambda _: False)
    assert not result.complete
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_kept_outside(tmp_path: Path, engine: list[int | None]) -> None:
    with pytest.raises(InputError), cache.keeping(tmp_path):
        raise InputError("whatever ends the block")
    assert cache.in_use() is None
    running.run_source(SOURCE)
    running.run_source(SOURCE)
    assert len(engine) == 2
    assert list(tmp_path.iterdir()) == []


def test_replications_go_on(tmp_path: Path, engine: list[int | None]) -> None:
    whole = replicate_source(SOURCE, 5, workers=1)
    engine.clear()
    with cache.keeping(tmp_path):
        replicate_source(SOURCE, 3)
        received: list[float] = []
        again = replicate_source(SOURCE, 5, progress=lambda message: received.append(message.simulated_s))
    assert sorted(engine, key=str) == [1, 2, 3, 4, 5]
    assert max(received) == pytest.approx(5 * 200e-6)
    assert again.summary() == whole.summary()


def test_an_interrupted_study_goes_on(tmp_path: Path, engine: list[int | None]) -> None:
    folder = tmp_path / "paper" / "part"
    folder.mkdir(parents=True)
    (folder / "small.toml").write_text(SMALL, "utf-8")
    (folder / "study.toml").write_text(
        'title = "T"\nsource = "S"\n[[experiments]]\nid = "E"\ncriterion = "c"\nreported = "r"\n'
        'bounds = [{ figure = "runs", at_least = 4 }]\ndeterministic = true\n',
        "utf-8",
    )
    (folder / "study.py").write_text(
        "def run(context):\n"
        "    seen = []\n"
        "    for seed in range(4):\n"
        "        seen.append(context.scenario('small').run(seed=seed).fingerprint)\n"
        "        context.say(str(seed))\n"
        "    return [context.judge('E', {'runs': len(seen)}, measured=' '.join(seen))]\n",
        "utf-8",
    )
    study, out = reproduce.Study.load(folder), tmp_path / "out" / "part"
    entries: list[str] = []

    def stop_at_two(text: str) -> None:
        entries.append(text)
        if text == "2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce.reproduce(study, out, say=stop_at_two)
    assert "repeat the command to resume" in entries[-1]
    assert not out.exists()
    entries.clear()
    result = reproduce.reproduce(study, out, say=entries.append)
    assert "3 finished runs" in entries[0]
    assert engine == [0, 1, 2, 3]
    assert [path.name for path in out.parent.iterdir()] == ["part"]
    fresh = reproduce.reproduce(study, tmp_path / "fresh")
    assert repr(result.outcomes) == repr(fresh.outcomes), "NaN included"


def test_interrupted_replications_go_on(tmp_path: Path) -> None:
    text = LONG.replace("3000 s", "500 ms")
    (tmp_path / "some.toml").write_text(text, "utf-8")
    words = command_line("run", "some.toml", "--replications", "6", "--no-report")
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    finished = tmp_path / "out" / ".some.runs"
    while process.poll() is None and not list(finished.glob("*.run")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "repeat the command to resume" in err
    there = len(list(finished.glob("*.run")))
    assert 1 <= there < 6
    assert not Result.load(next((tmp_path / "out" / "some").glob("seed-*"))).run["warnings"]
    again = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    assert f"{there} finished run" in again.stderr
    assert not finished.exists()
    report = json.loads((tmp_path / "out" / "some" / "replications.json").read_text("utf-8"))
    assert report["complete"] is True
    assert report["fingerprints"] == replicate_source(Source(text, "some.toml"), 6).summary()["fingerprints"]


def test_a_clock_before_1980_keeps_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Archives cannot say such a time; those of kept results say none."""
    monkeypatch.setattr("time.time", lambda: 1_000.0)
    monkeypatch.setattr("time.localtime", lambda *_: (1970, 1, 1, 0, 16, 40, 3, 1, 0))
    result = running.run("first-light", seed=3)
    file = tmp_path / "kept"
    cache._write(result, file)
    found = cache._read(file)
    assert found is not None and found.fingerprint == result.fingerprint
