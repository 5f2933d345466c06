"""Every name that a picture shows is in it: as text in SVG, and within the dots of PNG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

import penstock as ps
from penstock.cli import main
from penstock.laboratory.outcome import Outcome
from penstock.plots import fabric, save, style, timeline
from penstock.plots.sweeps import Axis, Line, Panel, lines

ODD = ["$x$ and $y$", "_led", "[red]", "a & <b>", "a_{b}", "50 %", "\\alpha", "x" * 60]


def texts(svg: Path) -> str:
    """Texts in an SVG."""
    return " | ".join("".join(one.itertext()) for one in ET.parse(svg).iter() if one.tag.endswith("text"))


def test_lines_over_two_keys_have_a_legend(tmp_path: Path) -> None:
    """It was cut off: the legend is below all panels, outside of the figure."""
    drawn = [Line(name, [1.0, 2.0], [1.0, 2.0], [0.1, 0.1]) for name in ODD]
    figure = lines([Panel("p99_ns", "ns", drawn)], Axis("key"))
    png, svg = save(figure, tmp_path, "lines")
    output = texts(svg)
    for name in ODD:
        assert name in output
    whole(figure, png)


def test_long_words_along_an_axis_are_whole(tmp_path: Path) -> None:
    """Ticks have their places only when they are drawn, here far below the figure."""
    words = ["w" * 60, "x y " * 15]
    figure = lines(
        [Panel("p99_ns", "ns", [Line("flow", [0.0, 1.0], [1.0, 2.0], [0.1, 0.1])])], Axis("key", words=words)
    )
    whole(figure, save(figure, tmp_path, "words")[0])


def test_long_words_and_names_do_not_meet(tmp_path: Path) -> None:
    """Turned words reached into the legend below them."""
    long = "swift: base_target 10 us, hop_delay 1 us, fs_range 50 us"
    drawn = [Line(f"control {name}", [0.0, 1.0], [1.0, 2.0], [0.1, 0.1]) for name in ("dcqcn", long)]
    figure = lines([Panel("p99_ns", "ns", drawn)], Axis("control", words=["dcqcn", long]))
    whole(figure, save(figure, tmp_path, "apart")[0])
    with style():
        figure.draw_without_rendering()
        legend = figure.legends[0].get_window_extent()
        assert not any(
            label.get_window_extent().overlaps(legend) for label in figure.axes[0].get_xticklabels()
        )


def whole(figure: Figure, png: Path) -> None:
    """Each text that is drawn has ink of its own in the picture."""
    with Image.open(png) as picture:
        dpi = picture.info["dpi"][0]
        saved = np.asarray(picture.convert("L"))
    with style():
        figure.set_dpi(dpi)  # with other dots an inch, legends are elsewhere
        figure.draw_without_rendering()
        box = figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
        shown = [text for text in shown_texts(figure) if text.get_text().strip()]
        extents = [text.get_window_extent().transformed(figure.dpi_scale_trans.inverted()) for text in shown]
    for text, extent in zip(shown, extents, strict=True):
        assert box.x0 - 0.01 <= extent.x0 and extent.x1 <= box.x1 + 0.01, text
        assert box.y0 - 0.01 <= extent.y0 and extent.y1 <= box.y1 + 0.01, text
        top, bottom = ((box.y1 - y) * dpi for y in (extent.y1, extent.y0))
        left, right = ((x - box.x0) * dpi for x in (extent.x0, extent.x1))
        there = saved[max(0, int(top) - 4) : int(bottom) + 4, max(0, int(left) - 4) : int(right) + 4]
        assert there.size and there.min() < 250, f"no ink where {text.get_text()!r} should be"


def shown_texts(figure: Figure) -> list[Text]:
    """All texts that a figure which has been drawn shows; axes keep ticks that are out of view."""
    kept: set[Text] = set()
    out_of_view: set[Text] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                seen = axes.axison and low <= tick.get_loc() <= high
                (kept if seen else out_of_view).update((tick.label1, tick.label2))
    return [one for one in figure.findobj(Text) if one not in out_of_view and one.get_visible()]


@pytest.mark.parametrize("name", ODD)
def test_flows_of_any_name_are_in_the_pictures_of_a_run(name: str, tmp_path: Path) -> None:
    scenario = ps.Scenario(duration="50 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m", phy="none")
    if "\\" in name or "{" in name:
        pytest.skip("no name of a flow")
    result = scenario.flow(name, from_="h0", to="h1", source="greedy").probes(bin="1 us").run()
    for draw in (timeline, fabric):
        figure = draw(result)
        png, svg = save(figure, tmp_path, draw.__name__)
        whole(figure, png)
        if draw is timeline:
            assert name in texts(svg)


SCENARIO = """
simulation.duration = "30 us"
topology.star = { hosts = 3, rate = "10 Gb/s", phy = "none" }
[[flows]]
name = "first"
from = "h0"
to = "h2"
source = "greedy"
[[flows]]
name = "second"
from = "h1"
to = "h2"
source = "greedy"
"""


def swept(tmp_path: Path, values: dict[str, list[str]], measure: dict[str, str]) -> Outcome:
    (tmp_path / "s.toml").write_text(SCENARIO, "utf-8")
    plan = ps.Plan(str(tmp_path / "s.toml"), values, {}, measure)
    return ps.sweep(plan, tmp_path / "out", executor=ThreadPoolExecutor(1))


WORDS = {"flows.first.source": ["greedy", "{ constant = { rate = '1 Gb/s' } }"]}
FRAMES = {"flows.first.frame": ["64 B", "1500 B"]}


@pytest.mark.parametrize(
    ("values", "measure", "expected"),
    [
        (FRAMES, "flows.latency_p99_ns", ["first", "second", "frame"]),
        (
            {"switch.queues": ["shared", "per_priority"]},
            "max(flows.latency_p99_ns)",
            ["shared", "per_priority"],
        ),
        (
            {"switch.queues": ["shared", "per_priority"]},
            "flows.latency_p99_ns",
            ["shared", "first", "second"],
        ),
        (
            {**FRAMES, "flows.second.frame": ["64 B", "1500 B"]},
            "max(flows.latency_p99_ns)",
            ["first.frame", "second.frame 64 B", "second.frame 1500 B"],
        ),
        (
            {**FRAMES, "switch.queues": ["shared", "per_priority"]},
            "flows.latency_p99_ns",
            ["first, queues shared", "second, queues per_priority"],
        ),
    ],
)
def test_sweeps_name_all_that_they_show(
    values: dict[str, list[str]],
    measure: str,
    expected: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = swept(tmp_path, values, {"p99_ns": measure})
    svg = outcome.directory / "pictures" / "lines.svg"
    output = texts(svg)
    for name in expected:
        assert name in output, output
    if len(values) == 2:
        heats = list((outcome.directory / "pictures").glob("heat-*.svg"))
        assert len(heats) == (2 if measure.startswith("flows.") else 1)
        text = " ".join(map(texts, heats))
        assert all(value in text for key in values if "queues" in key for value in values[key])
    vary = [word for key, own in values.items() for word in ("--vary", f"{key}={', '.join(own)}")]
    command = ["sweep", str(tmp_path / "s.toml"), *vary, "--measure", f"p99_ns={measure}", "--grid"]
    assert main([*command, "--out", str(tmp_path / "again")]) == 0
    printed = capsys.readouterr().out
    for name in ("first", "second") if measure.startswith("flows.") else ():
        assert len(re.findall(rf"\b{name}\b +\S+ \S?s", printed)) >= 2, printed
