"""The scripts of the gallery run as they are; each ends with the numbers that its picture shows."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import penstock as ps
from penstock import plots

SCRIPTS = sorted((Path(__file__).parent.parent / "docs/gallery").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_run(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 10_000


def test_results_share_axes_and_colors() -> None:
    one = ps.run("first-light")
    figure = plots.series({"one": one, "other": one}, "flow_throughput_bps", ["victim-2", "aggressor"])
    first, second = figure.axes
    assert (first.get_xlim(), first.get_ylim()) == (second.get_xlim(), second.get_ylim())
    # Lines go on to the end of the run: the last bin is drawn, too.
    assert {float(line.get_xdata()[-1]) for line in first.lines} == {first.get_xlim()[1]}
    colors = [[line.get_color() for line in axes.lines] for axes in figure.axes]
    assert colors[0] == colors[1] and len(set(colors[0])) == 2
    alone = plots.series(one, "flow_throughput_bps", ["aggressor"])
    assert alone.axes[0].lines[0].get_color() == colors[0][1]


def test_what_is_not_there() -> None:
    one = ps.run("first-light")
    with pytest.raises(ps.InputError, match="victim-1"):
        plots.series(one, "flow_throughput_bps", ["victim-3"])
    with pytest.raises(ps.InputError, match="at least one"):
        plots.series({}, "flow_throughput_bps")
