"""A scenario with connections runs in pools of processes and threads, and gives what it gives alone."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock as ps

SCENARIO = Path(__file__).parent.parent / "fuzz" / "seeds" / "connections.toml"
SEEDS = range(1, 5)


def fingerprint(seed: int) -> str:
    return ps.Scenario.from_file(SCENARIO).run(seed=seed).fingerprint


@pytest.fixture(scope="module")
def alone() -> list[str]:
    return [fingerprint(seed) for seed in SEEDS]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(method: str, alone: list[str]) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(fingerprint, SEEDS)) == alone


def test_threads(alone: list[str]) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(fingerprint, SEEDS)) == alone
