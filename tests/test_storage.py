"""A result directory is complete or not there: full disks, killed processes, changed files."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import arrow, storage
from penstock.errors import InputError, ResultError
from penstock.result import Result


def hidden(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]


def test_a_saved_result_is_the_same(made_up: Result, tmp_path: Path) -> None:
    made_up.save(tmp_path / "out", report=False)
    loaded = Result.load(tmp_path / "out")
    assert loaded.run == made_up.run
    assert loaded.topology == made_up.topology
    assert loaded.description == made_up.description
    assert loaded.scenario_toml == made_up.scenario_toml
    assert set(loaded.table_names) == set(made_up.table_names)
    for name in made_up.table_names:
        # NaN is not equal to itself, so the comparison goes through plain values.
        assert loaded.rows(name) == made_up.rows(name)
        assert loaded.table(name).schema == made_up.table(name).schema
    assert hidden(tmp_path) == []


def test_a_second_save_replaces_the_first(made_up: Result, tmp_path: Path) -> None:
    made_up.save(tmp_path / "out", report=False)
    made_up.run["seed"] = 8
    made_up.save(tmp_path / "out", report=False)
    assert Result.load(tmp_path / "out").seed == 8
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_not_a_result_is_not_replaced(made_up: Result, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years of work")
    with pytest.raises(InputError, match="not replaced"):
        made_up.save(tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter1.tex"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="not a directory"):
        made_up.save(tmp_path / "file")
    with pytest.raises(InputError, match="Not a directory"):
        made_up.save(tmp_path / "file" / "below")


def test_a_manifest_of_others_and_files_of_others_are_left_alone(made_up: Result, tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "manifest.json").write_text('{"name": "My app"}')
    with pytest.raises(InputError, match="not a Penstock result"):
        made_up.save(app)
    made_up.save(tmp_path / "out", report=False)
    (tmp_path / "out" / "notes.md").write_text("mine")
    with pytest.raises(InputError, match=r"contains notes\.md"):
        made_up.save(tmp_path / "out")
    assert (tmp_path / "out" / "notes.md").read_text() == "mine"


def test_a_symbolic_link_is_not_replaced(made_up: Result, tmp_path: Path) -> None:
    made_up.save(tmp_path / "out", report=False)
    for target in ("out", "nowhere"):
        link = tmp_path / f"to-{target}"
        link.symlink_to(target)
        with pytest.raises(InputError, match="symbolic link"):
            made_up.save(link)
    assert hidden(tmp_path) == []


def test_an_empty_directory_may_be_used(made_up: Result, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    made_up.save(tmp_path / "out", report=False)
    assert Result.load(tmp_path / "out").complete


@pytest.mark.parametrize("tables_written", [0, 1, 3])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_leaves_nothing(
    made_up: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables_written: int, earlier: bool
) -> None:
    target = tmp_path / "out"
    if earlier:
        made_up.save(target, report=False)
    left = tables_written
    real = arrow.write_parquet

    def write_parquet(table: pa.Table, path: Path) -> None:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left -= 1
        real(table, path)

    monkeypatch.setattr(arrow, "write_parquet", write_parquet)
    made_up.run["seed"] = 99
    with pytest.raises(OSError, match="No space left"):
        made_up.save(target, report=False)
    assert hidden(tmp_path) == []
    assert target.exists() == earlier
    if earlier:
        assert Result.load(target).seed == 7


def test_a_full_disk_while_syncing_leaves_nothing(
    made_up: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        made_up.save(tmp_path / "out", report=False)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
    """Kills a writer again and again, at any point; every directory that is there loads or is refused."""
    writer = textwrap.dedent("""
        import sys
        from pathlib import Path
        from penstock import storage
        print("begun", flush=True)
        while True:
            with storage.complete_directory(Path(sys.argv[1])) as partial:
                for k in range(20):
                    (partial / f"{k}.bin").write_bytes(bytes(20_000))
    """)
    for attempt in range(8):
        target = tmp_path / f"out{attempt}"
        process = subprocess.Popen([sys.executable, "-c", writer, str(target)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if target.exists():
            assert len(storage.verify(target)) == 20
    for rest in tmp_path.glob(".*.partial"):
        if (
            rest / storage.MANIFEST
        ).exists():  # killed between the manifest and the rename: whole, but hidden
            continue
        with pytest.raises(ResultError, match="not a complete result"):
            Result.load(rest)


def test_load_says_what_is_missing(made_up: Result, tmp_path: Path) -> None:
    out = made_up.save(tmp_path / "out", report=False)
    (out / "flows.parquet").unlink()
    with pytest.raises(ResultError, match=r"flows\.parquet is missing"):
        Result.load(out)
    made_up.save(out, report=False)
    with (out / "ports.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ResultError, match=r"ports\.parquet has \d+ bytes instead of \d+"):
        Result.load(out)
    made_up.save(out, report=False)
    changed = (out / "run.json").read_text().replace('"seed": 7', '"seed": 8')
    (out / "run.json").write_text(changed)
    with pytest.raises(ResultError, match=r"run\.json was changed"):
        Result.load(out)
    (out / storage.MANIFEST).unlink()
    with pytest.raises(ResultError, match=r"manifest\.json is missing"):
        Result.load(out)
    with pytest.raises(ResultError, match="no such"):
        Result.load(tmp_path / "nowhere")


@pytest.mark.parametrize("manifest", ["", "{", "[]", "{}", '{"schema": "x/9", "files": []}', '{"schema": 1}'])
def test_a_damaged_manifest_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / storage.MANIFEST).write_text(manifest)
    with pytest.raises(ResultError):
        storage.verify(tmp_path)


def test_a_complete_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with storage.complete_directory(tmp_path / "out") as partial:
        (partial / "notes.txt").write_text("hello")
    with pytest.raises(ResultError, match="not the result of a run"):
        Result.load(tmp_path / "out")


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
KEYS = st.text() | st.integers() | st.booleans() | st.none()


@given(
    st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
)
def test_json_is_that_of_the_library(tmp_path_factory: pytest.TempPathFactory, document: object) -> None:
    path = tmp_path_factory.mktemp("json") / "x.json"
    storage.write_json(path, document)
    assert json.loads(path.read_text("utf-8")) == json.loads(json.dumps(document))


def test_json_has_a_line_for_each_row(tmp_path: Path) -> None:
    storage.write_json(tmp_path / "x.json", {"rows": [{"a": 1, "b": [2, 3]}, {"a": {"c": 4}}], "empty": []})
    rows = ["{", ' "rows": [', '  {"a": 1, "b": [2, 3]},', '  {"a": {"c": 4}}', " ],", ' "empty": []', "}"]
    assert (tmp_path / "x.json").read_text("utf-8").splitlines() == rows


def test_json_has_no_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        storage.write_json(tmp_path / "x.json", {"value": float("nan")})
    storage.write_json(tmp_path / "x.json", {"value": None})
    assert json.loads((tmp_path / "x.json").read_text()) == {"value": None}
