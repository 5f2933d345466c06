"""What ``penstock run`` does beside its simulation: little before it, much during it, nothing twice after it.

``benches/beyond.py`` measures how long that takes; here is what it rests on.
"""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.analysis.decimate import Spans, lasting, merge_groups, merge_spans

style = importlib.import_module("penstock.plots.style")  # the package has a function of this name
EXPENSIVE = ("numpy", "pyarrow", "pandas", "matplotlib", "rich.table", "penstock.scenario", "penstock.result")
"""Modules that take longer to import than a simulation takes to start."""

PAUSED = """
[simulation]
duration = "300 us"

[topology]
leaf_spine = { leaves = 4, spines = 2, hosts_per_leaf = 16, rate = "100 Gb/s", phy = "none" }

[switch.buffer]
total = "16 MiB"

[flow_control.pfc]

[[flows]]
name = "incast"
from = "h*"
to = "h0"
source = "greedy"
"""


@pytest.fixture(scope="module")
def paused() -> ps.Result:
    return ps.Scenario.from_toml(PAUSED).run(seed=1)


def test_nothing_expensive_is_imported_before_the_engine_runs() -> None:
    program = f"""
import sys
from penstock import _core

def run(*_, **__):
    print(*(name for name in {EXPENSIVE} if name in sys.modules))
    raise _core.ScenarioError("far enough")

_core.run = run
from penstock.__main__ import main
sys.argv = ["penstock", "run", "first-light", "--no-report", "--json"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "\n", f"imported too early: {done.stdout}{done.stderr}"


def test_a_module_of_the_package_is_there_when_it_is_asked_for() -> None:
    program = "import penstock; print(penstock.scenario.Scenario.__name__, hasattr(penstock, 'scenaro'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "Scenario False\n"


def eighths(least: int, most: int) -> st.SearchStrategy[float]:
    """Numbers whose sums are exact, so that a gap is as wide for one group as for several."""
    return st.integers(8 * least, 8 * most).map(lambda number: number / 8)


SPANS = st.lists(st.tuples(st.integers(0, 3), eighths(0, 100), eighths(0, 20)), max_size=40)


@given(SPANS, eighths(1, 30))
def test_spans_of_groups_are_merged_as_those_of_each(
    found: list[tuple[int, float, float]], gap: float
) -> None:
    spans: Spans = np.array([(start, start + long) for _, start, long in found]).reshape(-1, 2)
    group = np.array([of for of, _, _ in found], dtype=np.int64)
    merged, of = merge_groups(spans, group, gap)
    for one in range(4):
        assert merged[of == one] == pytest.approx(merge_spans(spans[group == one], gap))
    assert list(of) == sorted(of)


@given(SPANS)
def test_groups_last_as_long_as_their_spans(found: list[tuple[int, float, float]]) -> None:
    spans: Spans = np.array([(start, start + long) for _, start, long in found]).reshape(-1, 2)
    group = np.array([of for of, _, _ in found], dtype=np.int64)
    rows = [np.flatnonzero(group == one) for one in np.unique(group)]
    wanted = [float(np.sum(spans[own, 1] - spans[own, 0])) for own in rows]
    assert list(lasting(spans, rows)) == pytest.approx(wanted)
