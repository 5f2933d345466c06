"""Loading a large scenario ends within a second of Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import command_line
from penstock import running

DOORS = Path(__file__).with_name("doors")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
SOON_S = 1.0


def ended(words: list[str], number: signal.Signals, after_s: float, cwd: Path) -> tuple[int, str, float]:
    """Exit code and message of a process that gets a signal, and the time that it takes to end."""
    process = subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(after_s)
    assert process.poll() is None, "the scenario is loaded too soon to test"
    began = time.monotonic()
    process.send_signal(number)
    try:
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, err, time.monotonic() - began


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
    time.sleep(2.0)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert (out, process.returncode) == ("stopped\n", 0)
    assert time.monotonic() - began < 3 * SOON_S  # with the end of the interpreter


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
