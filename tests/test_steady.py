"""Warm-up and batch means, against processes whose steady state is known."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from conftest import Command, json_of
from penstock.analysis.steady import batch_means, mser5, steady
from penstock.errors import ArgumentError

RUNS = 400


def autoregressive(rng: np.random.Generator, length: int, *, phi: float, start: float) -> np.ndarray:
    """AR(1) about 10: x' = 10 + phi (x - 10) + e."""
    noise = rng.standard_normal(length)
    found = np.empty(length)
    now = start
    for at in range(length):
        now = 10 + phi * (now - 10) + noise[at]
        found[at] = now
    return found


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_batch_means_cover_the_mean_as_often_as_they_say(phi: float) -> None:
    """Batches of 500 values are hardly correlated, so that 95 % are 95 %, within 3.3 standard errors."""
    rng = np.random.default_rng(7)
    spread = 1 / np.sqrt(1 - phi**2)
    covered = 0
    for _ in range(RUNS):
        series = autoregressive(rng, 10_000, phi=phi, start=10 + spread * rng.standard_normal())
        interval, _ = batch_means(series)
        covered += interval.low <= 10 <= interval.high
    assert abs(covered / RUNS - 0.95) < 3.3 * np.sqrt(0.95 * 0.05 / RUNS)


def test_short_batches_say_that_they_are_correlated() -> None:
    rng = np.random.default_rng(1)
    long = [batch_means(autoregressive(rng, 20_000, phi=0.9, start=10))[1] for _ in range(50)]
    short = [batch_means(autoregressive(rng, 200, phi=0.98, start=10))[1] for _ in range(50)]
    assert abs(np.mean(long)) < 0.15
    assert np.mean(short) > 0.4


@pytest.mark.parametrize("start", [10.0, 60.0])
def test_mser_leaves_out_the_warm_up_and_no_more(start: float) -> None:
    """From 60 the bias 50 · 0.9^n falls below a tenth of the noise after about 60 values."""
    rng = np.random.default_rng(3)
    cuts = [mser5(autoregressive(rng, 2_000, phi=0.9, start=start)) for _ in range(100)]
    median = float(np.median(cuts))
    assert (20 <= median <= 80) if start > 10 else median <= 20
    assert max(cuts) <= 1_000


def test_mser_by_its_definition() -> None:
    """Against the formula written out, for every truncation."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        series = np.concatenate([rng.normal(30, 1, 17), rng.normal(1e6, 3, 203)])
        means = [float(np.mean(series[5 * k : 5 * k + 5])) for k in range(44)]
        score = [
            sum((y - np.mean(means[d:])) ** 2 for y in means[d:]) / len(means[d:]) ** 2 for d in range(23)
        ]
        assert mser5(series) == 5 * int(np.argmin(score))


def test_a_ramp_has_no_steady_state() -> None:
    assert not steady(np.arange(1_000.0)).is_settled
    assert steady(np.random.default_rng(1).standard_normal(1_000)).is_settled


@pytest.mark.parametrize("values", [[1.0] * 39, [1.0] * 40 + [float("nan")], []])
def test_too_few_values(values: list[float]) -> None:
    with pytest.raises(ArgumentError, match="at least 40"):
        steady(values)


def test_batches_need_values() -> None:
    with pytest.raises(ArgumentError, match="in 20 batches"):
        batch_means([1.0] * 19)


MD1 = """
[simulation]
duration = "40 ms"

[probes]
bin = "20 us"

[topology.star]
hosts = 2
rate = "10 Gb/s"
phy = "none"

[[flows]]
name = "poisson"
from = "h0"
to = "h1"
frame = "1000 B"
source = { poisson = { rate = "6 Gb/s" } }
"""


def test_batch_means_cover_the_wait_of_md1() -> None:
    """Lindley's recursion from an empty queue; the mean wait of M/D/1 is rho / (2 (1 - rho)) services."""
    rng = np.random.default_rng(11)
    rho, runs, covered = 0.6, 200, 0
    for _ in range(runs):
        gaps = rng.exponential(1 / rho, 20_000)
        wait, waits = 0.0, []
        for gap in gaps.tolist():
            waits.append(wait)
            wait = max(0.0, wait + 1.0 - gap)
        interval = steady(waits).interval
        covered += interval.low <= rho / (2 * (1 - rho)) <= interval.high
    assert abs(covered / runs - 0.95) < 3.3 * np.sqrt(0.95 * 0.05 / runs)


def test_the_mean_of_a_series_is_that_of_the_table() -> None:
    result = ps.Scenario.from_toml(MD1).run()
    (row,) = result.rows("flows")
    _, arrived = result.series("flow_throughput_bps", "poisson")
    found = steady(arrived)
    assert found.is_settled
    assert abs(found.interval.mean - row["throughput_bps"]) < 0.02 * row["throughput_bps"]
    assert found.interval.low < 6e9 < found.interval.high


def test_the_command_names_a_warm_up(penstock: Command, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "md1.toml").write_text(MD1, "utf-8")
    penstock("run", "md1.toml", "--no-report", timeout=300)
    document = json_of(penstock("steady", "out/md1", "--json"))
    assert document["schema"] == "penstock-steady/1"
    (one,) = [row for row in document["series"] if row["entity"] == "poisson"]
    assert one["is_settled"]
    assert one["warmup_ns"] < 20e6
    bad = penstock("steady", "out/md1", "--metric", "queue_byte")
    assert bad.returncode == 2
    assert "did you mean queue_bytes" in bad.stderr
