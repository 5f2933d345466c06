"""Two sets of replications, compared seed by seed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import plots
from penstock.analysis import pairs
from penstock.measurements import Measurements

SCENARIO = """
[simulation]
duration = "200 us"
[topology.leaf_spine]
leaves = 2
spines = 4
hosts_per_leaf = 4
rate = "10 Gb/s"
phy = "none"
uplink_rate = "10 Gb/s"
[[flows]]
name = "f"
from = "leaf0/*"
to = "h4"
source = { poisson = { rate = "1 Gb/s" } }
[[transfers]]
name = "t"
from = "all"
to = "all"
sizes = "3 kB"
arrivals = { poisson = { load = 0.3 } }
"""


def _run(throughput: float, latency: float | None) -> Measurements:
    columns = {"flow": ["f"], "throughput_bps": [throughput], "frames_dropped": [0]}
    table = pa.table(
        {**columns, "latency_mean_ns": [latency], "latency_p99_ns": pa.array([None], pa.float64())}
    )
    return Measurements(
        run={"name": "made up"},
        scenario_toml="",
        topology={},
        description={},
        tables={"flows": lambda: table},
    )


def test_differences_are_of_pairs() -> None:
    first = {1: _run(10.0, 1.0), 2: _run(20.0, None), 3: _run(30.0, 3.0), 9: _run(99.0, 9.0)}
    second = {3: _run(33.0, 2.0), 2: _run(22.0, 5.0), 1: _run(11.0, 1.0)}
    found = {one.metric: one for one in pairs.differences(first, second)}
    # Differences 1, 2 and 3: mean 2, deviation 1, Student's t for 2 degrees of freedom 4.303.
    change = found["throughput_bps"].change
    assert (found["throughput_bps"].first, found["throughput_bps"].second, change.mean) == (20.0, 22.0, 2.0)
    assert change.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert (change.n, found["throughput_bps"].is_certain) == (3, False)
    # Where one of a pair is not known, it is no pair.
    assert (found["latency_mean_ns"].change.n, found["latency_mean_ns"].change.mean) == (2, -0.5)
    assert "latency_p99_ns" not in found
    assert not found["frames_dropped"].is_certain


def test_a_picture_has_a_row_for_each_and_color_for_what_is_certain() -> None:
    first = {seed: _run(1e9 + seed, 1000.0 * seed) for seed in range(5)}
    second = {seed: _run(1e9 + seed + 5e6 + 1e5 * seed, 1000.0 * seed + (-1) ** seed) for seed in range(5)}
    figure = plots.differences(pairs.differences(first, second))
    throughput, latency = figure.axes
    assert throughput.get_title("left") == "Change of throughput_bps"
    assert throughput.get_xlabel() == "Mb/s"
    certain, unsure = throughput.containers
    assert certain.lines[0].get_xdata() == pytest.approx([5.2])  # 5, 5.1, ... 5.4
    (segment,) = certain.lines[2][0].get_segments()
    half = 2.776445 * math.sqrt(0.025) / math.sqrt(5)  # Student's t for 4 degrees of freedom
    assert segment[:, 0] == pytest.approx([5.2 - half, 5.2 + half])
    assert len(unsure.lines[0].get_xdata()) == 0
    certain, unsure = latency.containers
    assert len(certain.lines[0].get_xdata()) == 0
    assert unsure.lines[0].get_xdata() == pytest.approx([0.2])
    with pytest.raises(ValueError, match="expected a measure that differs"):
        plots.differences(pairs.differences(first, first))


def test_the_command_pairs_replications(penstock: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    (tmp_path / "b.toml").write_text(SCENARIO.replace('uplink_rate = "10 Gb/s"', 'uplink_rate = "40 Gb/s"'))
    for name in "ab":
        penstock("run", f"{name}.toml", "--replications", "5", "--out", name, "--no-report")
    report = json.loads(penstock("compare", "a", "b", "--json").stdout)
    assert (report["pairs"], report["first"]["seeds"]) == (5, [1, 2, 3, 4, 5])
    assert any("uplink_rate" in line for line in report["scenario_diff"])
    found = {(row["name"], row["metric"]): row for row in report["differences"]}
    # The same traffic over faster links: the same bytes, sooner, with certainty.
    latency = found["f[h0]", "latency_mean_ns"]
    assert latency["change"] + latency["half_width"] < 0 and latency["pairs"] == 5
    assert found["t", "completion_mean_ns"]["change"] < 0
    shown = penstock("compare", "a", "b", "--out", "pictures").stdout
    assert "5 pairs" in shown and "±" in shown
    assert "picture  pictures/differences.png" in shown
    assert (tmp_path / "pictures/differences.svg").exists()
    nothing = penstock("compare", "a", "a", "--out", "nothing")
    assert (
        nothing.returncode == 2 and "expected a measure that differs in at least two pairs" in nothing.stderr
    )
    same = json.loads(penstock("compare", "a", "a", "--json").stdout)
    assert all(row["change"] == 0 for row in same["differences"])
    one = penstock("run", "a.toml", "--out", "one", "--no-report")
    assert one.returncode == 0
    alone = penstock("compare", "one", "one", "--out", "x")
    assert alone.returncode == 2 and "two sets of replications" in alone.stderr
    wrong = penstock("compare", "a", "one")
    assert wrong.returncode != 0 and "expected a set of replications" in wrong.stderr
    three = penstock("compare", "a", "b", "a")
    assert three.returncode == 2 and "for more variants: penstock sweep SCENARIO --vary" in three.stderr
