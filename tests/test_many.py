"""Many runs beside each other, and what is left of runs that do not come to their end."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock as ps
from conftest import LONG, SMALL, Command, long_run
from penstock import storage
from penstock.result import Result
from penstock.running import many


def seeds(number: int) -> list[ps.Scenario]:
    small = ps.Scenario.from_toml(SMALL, file="small.toml")
    return [small.with_value("simulation.seed", seed) for seed in range(number)]


def test_processes_and_threads_give_what_single_runs_give() -> None:
    alone = [one.run().fingerprint for one in seeds(3)]
    assert len(set(alone)) == 3
    entries: list[tuple[int, int]] = []
    found = ps.run_many(seeds(3), progress=lambda done, of: entries.append((done, of)))
    assert [one.fingerprint for one in found] == alone
    assert entries == [(1, 3), (2, 3), (3, 3)]
    with ThreadPoolExecutor(2) as pool:
        assert [one.fingerprint for one in ps.run_many(seeds(3), executor=pool)] == alone
        assert pool.submit(int, "1").result() == 1
    assert ps.run_many([]) == []


def test_finished_runs_are_kept_when_another_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ps.Scenario("1 parsec")
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ps.ScenarioError) as caught:
            ps.run_many([*seeds(2), wrong], executor=pool, keep=tmp_path / "kept")
        assert caught.value.__notes__ == ["in scenario 2 of 3, scenario.toml"]
        assert len(list((tmp_path / "kept").glob("*.run"))) == 2
        ran: list[object] = []
        real = many.run_source
        monkeypatch.setattr(many, "run_source", lambda *a, **k: ran.append(a) or real(*a, **k))
        assert len(ps.run_many(seeds(3), executor=pool, keep=tmp_path / "kept")) == 3
    assert len(ran) == 1


def test_an_interrupt_ends_the_workers_and_keeps_what_is_finished(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import penstock as ps\n"
        "from conftest import LONG, SMALL\n"
        "if __name__ == '__main__':\n"
        "    scenarios = [ps.Scenario.from_toml(text) for text in (SMALL, LONG, LONG)]\n"
        "    ps.run_many(scenarios, keep='kept', progress=lambda *_: print('one', flush=True))\n",
        "utf-8",
    )
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "one\n"
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert len(list((tmp_path / "kept").glob("*.run"))) == 1
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.killpg(process.pid, 0)
            time.sleep(0.1)


def test_two_threads_run_at_the_same_time() -> None:
    """One run reports progress while another runs: the global interpreter lock is released."""
    times: dict[int, list[float]] = {0: [], 1: []}

    def run(index: int) -> None:
        def watch(_: object) -> bool:
            times[index].append(time.monotonic())
            return len(times[index]) < 5 or min(map(len, times.values())) < 3

        ps.run(ps.Scenario.from_toml(LONG), threads=1, progress=watch)

    threads = [threading.Thread(target=run, args=(index,)) for index in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert max(found[0] for found in times.values()) < min(found[-1] for found in times.values())


BROKEN = SMALL.replace('queue = "200 frames"', 'total = "22 frames"')


def test_a_run_that_is_not_lossless_has_what_was_measured() -> None:
    with pytest.raises(ps.SimulationError, match="total_limit") as caught:
        ps.run(ps.Scenario.from_toml(BROKEN))
    result = caught.value.result
    assert not result.complete
    assert 0 < result.run["simulated_s"] < result.run["duration_s"]
    assert sum(row["frames_delivered"] for row in result.rows("flows")) > 0


@pytest.mark.parametrize("more", [(), ("--replications", "2")])
def test_a_run_that_breaks_a_promise_is_saved_and_marked(
    penstock: Command, tmp_path: Path, more: tuple[str, ...]
) -> None:
    (tmp_path / "broken.toml").write_text(BROKEN, "utf-8")
    done = penstock("run", "broken.toml", "--out", "cut", "--json", *more)
    assert done.returncode == 1, done.stderr
    assert "total_limit" in done.stderr
    assert json.loads(done.stdout)["complete"] is False
    saved = next(tmp_path.glob("cut/seed-1")) if more else tmp_path / "cut"
    assert not Result.load(saved).complete


def test_a_full_disk_still_prints_what_was_measured(penstock: Command, small: Path, tmp_path: Path) -> None:
    code = (
        "import errno, os\nfrom penstock import arrow\n"
        "def full(*a, **k): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "arrow.write_parquet = full\n"
        "from penstock.cli import main\n"
        f"raise SystemExit(main(['run', {str(small)!r}, '--out', 'full']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "steady" in done.stdout
    assert "report" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "twice Ctrl-C"]
)
def test_a_signal_ends_a_run_with_what_was_measured(tmp_path: Path, number: int, code: int) -> None:
    process = long_run(tmp_path, "--out", "cut", "--no-report")
    process.send_signal(number)
    if number == signal.SIGINT:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert not Result.load(tmp_path / "cut").complete


@pytest.mark.parametrize(
    ("before", "code"), [("end_at_once_from_now_on()", -signal.SIGTERM), ("cli.main = killed", 143)]
)
def test_a_signal_at_the_end_of_a_command_is_that_signal(before: str, code: int) -> None:
    """While the process goes, and in the moment before: it ends as one that SIGTERM has ended."""
    program = f"""
import os, signal
from penstock import cli
from penstock.__main__ import end_at_once_from_now_on, main
def killed():
    os.kill(os.getpid(), signal.SIGTERM)
cli._end_by_sigterm()
{before}
killed() if cli.main is not killed else exit(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_what_killed_runs_leave_is_removed_by_the_next(made_up: Result, tmp_path: Path) -> None:
    old, fresh, other = (tmp_path / f".out.{token}.partial" for token in ("0" * 12, "1" * 12, "2" * 12))
    for directory in (old, fresh, other, tmp_path / ".else.333333333333.partial"):
        directory.mkdir()
        (directory / "run.json").write_text("{", "utf-8")
        os.utime(directory, (1e9, 1e9))
    os.utime(fresh)
    with storage._locked(other) as held:
        assert held
        made_up.save(tmp_path / "out", report=False)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [".else.333333333333.partial", fresh.name, other.name, "out"]


def test_an_earlier_result_that_was_moved_aside_returns(made_up: Result, tmp_path: Path) -> None:
    made_up.save(tmp_path / "out", report=False)
    aside = tmp_path / f".out.{'a' * 12}.replaced"
    (tmp_path / "out").rename(aside)
    os.utime(aside, (1e9, 1e9))

    def fails() -> None:
        with storage.complete_directory(tmp_path / "out"):
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        fails()
    assert Result.load(tmp_path / "out").seed == made_up.seed


def test_ctrl_c_while_the_command_is_imported_is_no_traceback() -> None:
    code = (
        "import sys, importlib.abc\n"
        "class Stop(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'cyclopts': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from penstock.__main__ import main\n"
        "raise SystemExit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "penstock: stopped\n")
