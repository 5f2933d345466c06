"""Pictures of several results: what is drawn is what the tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import penstock as ps
from penstock import plots
from penstock.cli import main


@pytest.fixture(scope="module")
def results() -> dict[str, ps.Result]:
    """Two loads of the same transfers."""
    return {str(load): loaded(load) for load in (0.3, 0.8)}


def loaded(load: float) -> ps.Result:
    scenario = ps.Scenario(duration="2 ms").topology.star(hosts=5, rate="10 Gb/s", length="10 m", phy="none")
    arrivals = {"poisson": {"load": load}}
    for name, size in (("small", "20 kB"), ("large", "200 kB")):
        scenario = scenario.transfers(name=name, from_="h0..h3", to="h4", arrivals=arrivals, sizes=size)
    return scenario.run(seed=1)


def lines(figure: Figure) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The curves of the only panel, by label."""
    (axes,) = figure.axes
    return {str(one.get_label()): one.get_data() for one in axes.get_lines()}


def test_a_curve_is_the_distribution_of_its_result(results: dict[str, ps.Result]) -> None:
    drawn = lines(plots.cdf(results, of="small"))
    tails = lines(plots.cdf(results, of="small", tail=True))
    assert list(drawn) == list(tails) == list(results)
    for label, result in results.items():
        values, shares = result.cdf("slowdown", "small")
        assert np.array_equal(drawn[label][0], values) and np.array_equal(drawn[label][1], shares)
        above = 1 - shares > 0
        assert np.allclose(tails[label][1], (1 - shares)[above])
    # The higher load is slower throughout.
    medians = [np.interp(0.5, y, x) for x, y in drawn.values()]
    assert medians[1] > medians[0]


def test_slowdown_by_size_has_a_point_a_size(results: dict[str, ps.Result]) -> None:
    for label, (x, y) in lines(plots.sizes(results, percentile="mean")).items():
        table = results[label].table("transfers").to_pylist()
        means = {
            size: np.mean([row["slowdown"] for row in table if row["bytes"] == size and row["slowdown"]])
            for size in {row["bytes"] for row in table}
        }
        assert dict(zip(x, y, strict=True)) == pytest.approx(means)


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_a_picture_is_the_same_each_time(results: dict[str, ps.Result], suffix: str, tmp_path: Path) -> None:
    made = [plots.save_as(plots.cdf(results, of="large"), tmp_path / f"{n}{suffix}") for n in range(2)]
    assert made[0].read_bytes() == made[1].read_bytes() != b""


def test_the_command_draws_it(
    results: dict[str, ps.Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [str(result.save(tmp_path / name, report=False)) for name, result in results.items()]
    for drawn in (["sizes"], ["tail", "--of", "small"], ["queue_bytes"]):
        path = tmp_path / f"{drawn[0]}.svg"
        main(["compare", *places, "--picture", str(path), "--draw", *drawn])
        assert f"picture  {path}" in capsys.readouterr().out.replace("\n", "")
        assert path.stat().st_size > 1_000
    main(["compare", *places, "--picture", str(tmp_path / "a.svg")])
    assert "`of` is missing; expected one of small, large" in " ".join(capsys.readouterr().err.split())
    main(["compare", *places, "--picture", str(tmp_path / "a.doc"), "--draw", "sizes"])
    assert "expected a file that ends in .png, .pdf, .svg" in " ".join(capsys.readouterr().err.split())
