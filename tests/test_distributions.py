"""Distributions and chosen lists from Python: curves by hand, the picture, errors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock.errors import ScenarioError, UnknownNameError
from penstock.plots import occupancies, save

QUEUE = "sw.0->h0/3"


def _incast() -> ps.Scenario:
    scenario = ps.Scenario(duration="200 us").topology.star(
        hosts=4, rate="10 Gb/s", length="10 m", phy="none"
    )
    return scenario.flow_control.pfc(priorities=[3]).flow(
        "incast", from_=["h1", "h2", "h3"], to="h0", priority=3, source="greedy"
    )


@pytest.fixture(scope="module")
def report() -> ps.Result:
    return (
        _incast()
        .probe("occupancy", which=["sw*"])
        .probe("latency", which="incast[h1]")
        .probe("frames", which="sw.0->h0", max_rows=1000)
        .probe("pauses", which="the 2 longest")
        .run()
    )


def test_curves_rise_to_one(report: ps.Result) -> None:
    for what, of in (("occupancy_bytes", QUEUE), ("occupancy_frames", "sw"), ("latency_ns", "incast[h1]")):
        values, shares = report.cdf(what, of)
        assert (np.diff(values) > 0).all()
        assert (np.diff(shares) > 0).all()
        assert shares[-1] == pytest.approx(1.0)


def test_the_mean_of_a_distribution_is_that_of_the_queue(report: ps.Result) -> None:
    table = report.table("occupancies")
    own = table.filter(pc.and_(pc.equal(table["entity"], QUEUE), pc.equal(table["unit"], "B")))
    weights = own["time_ns"].to_numpy()
    assert weights.sum() == pytest.approx(200e3)
    low = (own["from"].to_numpy() * weights).sum() / weights.sum()
    high = ((own["to"].to_numpy() - 1) * weights).sum() / weights.sum()
    (queue,) = (row for row in report.rows("queues") if f"{row['port']}/{row['class']}" == QUEUE)
    assert 0 < low <= queue["queue_bytes_mean"] <= high


def _in_system(load: float, frames: int) -> float:
    """M/D/1: how likely so many frames wait or are on the link (Gross and Harris 1998, section 5.1.5)."""
    if frames < 2:
        return (1 - load) * (math.exp(load) - 1 if frames else 1)
    total = math.exp(frames * load)
    for k in range(1, frames):
        rest = frames - k
        term = (k * load) ** rest / math.factorial(rest) + (k * load) ** (rest - 1) / math.factorial(rest - 1)
        total += (-1) ** rest * math.exp(k * load) * term
    return (1 - load) * total


@pytest.mark.parametrize(("load", "apart"), [(0.5, 0.01), (0.8, 0.03)])
def test_poisson_arrivals_wait_as_m_d_1_has_it(load: float, apart: float) -> None:
    result = (
        ps.Scenario(duration="201 ms", warmup="1 ms")
        .topology.star(hosts=1, rate="10 Gb/s", length="2 m", phy="none")
        .flow(
            "poisson",
            from_="sw",
            to="h0",
            frame="980 B",
            rate_counts="wire",
            source=ps.poisson(rate=f"{load * 10} Gb/s"),
        )
        .probe("occupancy", which="sw.0->h0/0")
        .run(seed=1)
    )
    levels, shares = result.cdf("occupancy_frames", "sw.0->h0/0")
    # 250,000 services, alike for some 1 / (1 - sqrt(load))^2 of them: `apart` is three standard deviations.
    for waiting in range(3):
        expected = sum(_in_system(load, frames) for frames in range(waiting + 2))
        assert float(shares[levels <= waiting][-1]) == pytest.approx(expected, abs=apart)


def test_lists_are_what_was_chosen(report: ps.Result) -> None:
    frames = report.rows("frames")
    assert {row["port"] for row in frames} == {"sw.0->h0"}
    sent = [row["time_ps"] for row in frames if row["event"] == "sent" and row["kind"] == "raw"]
    assert (np.diff(sent) > 0).all()
    (port,) = (row for row in report.rows("ports") if row["port"] == "sw.0->h0")
    assert len(sent) == port["frames_sent"]
    assert len(report.rows("pauses")) == 2
    assert {row["flow"] for row in report.rows("latencies")} == {"incast[h1]"}


def test_the_picture_is_drawn(report: ps.Result, tmp_path: Path) -> None:
    for path in save(occupancies(report), tmp_path, "occupancies"):
        assert path.stat().st_size > 1000
    report.save(tmp_path / "saved", pictures=True)
    assert (tmp_path / "saved" / "pictures" / "occupancies.png").exists()
    # As pandas has it, what is not a number is equal to itself.
    loaded = ps.Result.load(tmp_path / "saved").table("frames")
    assert loaded.to_pandas().equals(report.table("frames").to_pandas())


def test_completion_times_count_those_that_are_not_complete() -> None:
    scenario = ps.Scenario(duration="1 ms").topology.star(hosts=3, rate="10 Gb/s", length="10 m", phy="none")
    result = scenario.transfers(
        "t", from_="h1", to="h0", sizes="20 kB", arrivals={"poisson": {"load": 0.9}}
    ).run(seed=3)
    values, shares = result.cdf("completion_ns", "t")
    rows = result.rows("transfers")
    complete = [row["completion_ns"] for row in rows if row["completion_ns"] is not None]
    assert values.tolist() == sorted(complete)
    assert len(shares) == len(complete)
    assert not len(shares) or shares[-1] == len(complete) / len(rows)


@pytest.mark.parametrize(
    ("what", "of", "message"),
    [
        ("latency", "incast[h1]", "latency_ns"),
        ("latency_ns", "incast[h2]", "incast"),
        ("occupancy_bytes", "sw.0->h0", "sw.0->h0"),
        ("completion_ns", "t", "is empty"),
    ],
)
def test_what_is_not_there_is_named(what: str, of: str, message: str) -> None:
    result = _incast().probe("latency", which="incast[h1]").probe("occupancy", which=QUEUE).run()
    with pytest.raises(UnknownNameError, match=message.replace("[", r"\[")):
        result.cdf(what, of)


def test_wrong_keys_are_named() -> None:
    with pytest.raises(ScenarioError, match="no one_in"):
        _incast().probe("pauses", one_in=3).run()
