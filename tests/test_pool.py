"""Processes that end before their work does."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from penstock.laboratory.execute import each
from penstock.running.pool import cancel, processes

ENDS = """
import time
from penstock.laboratory.execute import each

if __name__ == "__main__":
    for number, _ in each(time.sleep, [0.01 * n for n in range(40)], executor=None, workers=2):
        if number > 0.03:
            raise SystemExit("enough")
"""


@pytest.mark.parametrize("attempt", range(3))
def test_whoever_stops_early_gets_no_message_of_another_thread(attempt: int) -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr.strip()) == (1, "enough"), attempt


def test_an_error_ends_the_processes_at_once() -> None:
    begun = time.monotonic()
    with pytest.raises(KeyError), processes(2) as pool:
        for _ in range(4):
            pool.submit(time.sleep, 60)
        raise KeyError
    assert time.monotonic() - begun < 30


def test_a_foreign_executor_keeps_what_it_has_begun_and_no_more() -> None:
    with ThreadPoolExecutor(1) as pool:
        futures: list[Future[None]] = [pool.submit(time.sleep, 0.2) for _ in range(3)]
        cancel(pool, futures)
    assert [future.cancelled() for future in futures] == [False, True, True]
    with ThreadPoolExecutor(1) as pool:
        answers = each(abs, [-1, -2], executor=pool)
        assert next(answers)[1] in (1, 2)
        answers.close()
