"""Loading a large scenario ends within a second of Ctrl-C and SIGTERM."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import command_line, cpu_s, has_worked
from penstock import running

DOORS = Path(__file__).with_name("doors")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
SOON_S = 1.0


def ended(words: list[str], number: signal.Signals, after_s: float, cwd: Path) -> tuple[int, str, float]:
    """Exit code and message of a process that gets a signal, and the CPU time that it takes to end."""
    process = subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    has_worked(process, after_s)
    others, used = resource.getrusage(resource.RUSAGE_CHILDREN), cpu_s(process)
    process.send_signal(number)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process.returncode, err, now.ru_utime + now.ru_stime - others.ru_utime - others.ru_stime - used


@pytest.mark.parametrize("number", CODES, ids=str)
@pytest.mark.parametrize(
    "words", [("check", "b_ring.toml"), ("check", "b_ntree.toml"), ("run", "b_ring.toml", "--no-report")]
)
def test_loading_ends_soon(number: signal.Signals, words: tuple[str, ...], tmp_path: Path) -> None:
    command, name, *rest = words
    code, err, took = ended(command_line(command, DOORS / name, *rest), number, 2.0, tmp_path)
    assert code == CODES[number]
    assert "Traceback" not in err
    assert took < SOON_S
    assert not (tmp_path / "out").exists()


def test_loading_from_python_ends_soon(tmp_path: Path) -> None:
    script = f"import penstock as ps\ntry:\n    ps.check({str(DOORS / 'b_ring.toml')!r})\n"
    script += "except KeyboardInterrupt:\n    print('stopped')\n"
    words = [sys.executable, "-c", script]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    has_worked(process, 2.0)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == ("stopped\n", 0)


def test_a_scenario_that_is_loaded_calls_for_progress() -> None:
    """A run whose callback returns false while it is loaded never begins."""
    calls = 0

    def stop(_: running.Progress) -> bool:
        nonlocal calls
        calls += 1
        return False

    with pytest.raises(KeyboardInterrupt):
        running.run(DOORS / "b_ring.toml", progress=stop)
    assert calls == 1
