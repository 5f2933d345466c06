"""Our canvas: letters as Agg has them, and pictures cut to what they fill."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from PIL import Image

from penstock import plots
from penstock.plots.canvas import Canvas, Renderer

LETTERS = st.text(
    st.characters(
        min_codepoint=32, max_codepoint=0x24F, exclude_characters="$", exclude_categories=["Cc", "Cf"]
    ),
    max_size=30,
)


@given(LETTERS, st.floats(4.0, 20.0), st.sampled_from(["normal", "bold"]))
def test_texts_are_as_large_as_agg_has_them(text: str, size: float, weight: str) -> None:
    with mpl.rc_context({"text.hinting": "none", "font.sans-serif": ["DejaVu Sans"]}):
        font = FontProperties(size=size, weight=weight)
        wanted = RendererAgg(10, 10, 200).get_text_width_height_descent(text, font, False)
        found = Renderer(10, 10, 200).get_text_width_height_descent(text, font, False)
    # Agg joins some letters ("fi"), and sets some marks apart.
    assert found[0] == pytest.approx(wanted[0], rel=0.02, abs=1.5)
    if text.strip():
        assert found[1:] == pytest.approx(wanted[1:], abs=1.5)


@pytest.mark.parametrize("text", ["edge5.0.5->agg5.1", "372×   50 %", "µs", "$x^2$", "漢"])
@pytest.mark.parametrize("angle", [0, 30, 90])
def test_texts_look_as_agg_draws_them(text: str, angle: int) -> None:
    def drawn(kind: type[RendererAgg]) -> np.ndarray:
        figure = Figure(figsize=(2, 2), dpi=200)
        canvas = Canvas(figure)
        canvas.renderer = kind(400, 400, 200)  # type: ignore[assignment]
        canvas._size = (400.0, 400.0, 200.0)
        figure.text(0.2, 0.3, text, fontsize=9, rotation=angle, color="#0072B2")
        canvas.draw()
        return canvas.dots().astype(float)

    with mpl.rc_context({"text.hinting": "none"}), np.errstate(all="raise"):
        wanted, found = drawn(RendererAgg), drawn(Renderer)
    inked = (wanted < 255).any(axis=2) | (found < 255).any(axis=2)
    assert inked.sum() > 50
    assert np.abs(wanted - found)[inked].mean() < 30, "of 255: letters begin between dots"
    assert np.abs(wanted.mean() - found.mean()) < 0.25


def _framed(figure: Figure, tmp_path: Path) -> np.ndarray:
    (path,) = plots.save(figure, tmp_path, "x", svg=False)
    return np.asarray(Image.open(path).convert("L")) < 250


def _axes(figure: Figure) -> Axes:
    return figure.add_axes((0.3, 0.3, 0.4, 0.4))


@pytest.mark.parametrize("where", [(-0.5, 0.5), (1.5, 0.5), (0.5, 1.4), (0.5, -0.4)])
def test_what_stands_out_is_in_the_picture(where: tuple[float, float], tmp_path: Path) -> None:
    figure = Figure(figsize=(3, 3))
    axes = _axes(figure)
    axes.set_axis_off()
    axes.annotate("far " * 12, where, xycoords="axes fraction", ha="center", annotation_clip=False)
    inked = _framed(figure, tmp_path)
    alone = Figure(figsize=(12, 3))
    alone.text(0.5, 0.5, "far " * 12, ha="center")
    assert inked.sum() == pytest.approx(_framed(alone, tmp_path).sum(), rel=0.05), "all of it"
    assert not any((inked[0].any(), inked[-1].any(), inked[:, 0].any(), inked[:, -1].any())), "and a margin"


def test_a_shape_beyond_what_was_expected_is_not_cut_off(tmp_path: Path) -> None:
    figure = Figure(figsize=(3, 3))
    axes = _axes(figure)
    axes.set_axis_off()
    axes.plot([-4.0, 5.0], [0.5, 0.5], clip_on=False, color="black", transform=axes.transAxes)
    inked = _framed(figure, tmp_path)
    across = inked.any(axis=0)
    dpi = 200
    assert across.sum() == pytest.approx(9 * 0.4 * 3 * dpi, rel=0.02)
    assert not across[0] and not across[-1]


def test_the_canvas_of_a_figure_is_left_to_it(tmp_path: Path) -> None:
    figure = Figure(figsize=(2, 2), layout="constrained")
    figure.subplots()
    before, engine = figure.canvas, figure.get_layout_engine()
    plots.save(figure, tmp_path, "x")
    assert figure.canvas is before and figure.get_layout_engine() is engine
