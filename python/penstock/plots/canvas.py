"""Matplotlib's canvas with letters that are taken from their font once.

Agg shapes a text anew whenever it measures or draws it, and renders each of its letters by itself: half of
what a picture of a run takes. Here a letter is an outline that is kept, and a text is one shape of outlines.
"""

# mypy: disable-error-code="no-untyped-call"
# Of Matplotlib's types, those of its renderer are missing.

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import Kerning, LoadFlags
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from numpy.typing import NDArray

_SIZE = 100.0
"""Dots an em at which letters are taken from a font: their outlines have so many units."""
_MOST_TEXTS = 4_096
_DOTS_OF_UNIT = 64
"""Of what FreeType says in fractions of a dot."""


_Glyph = tuple[Any, Any, Any, float]
"""Its number in the font, the corners of its outline, what they are, and how far the next letter is."""


class Outline(NamedTuple):
    """A text as a shape, with its width, and how far it reaches above and below the line; in ems."""

    path: Path
    width: float
    above: float
    below: float


class Letters:
    """The letters of a font."""

    def __init__(self, file: str) -> None:
        self._font = get_font(file)
        self._glyphs: dict[str, _Glyph] = {}
        self._closer: dict[tuple[Any, Any], float] = {}
        self.outline = lru_cache(_MOST_TEXTS)(self._outline)

    def _outline(self, text: str) -> Outline | None:
        """``None`` if a letter is not in the font."""
        self._font.set_size(_SIZE, 72)
        x, before = 0.0, None
        places, vertices, codes = [], [], []
        for letter in text:
            index, own, how, advance = self._glyphs.get(letter) or self._take(letter)
            if index == 0:
                return None
            if before is not None:
                x += self._kerning(before, index)
            if len(own):
                places.append(x)
                vertices.append(own)
                codes.append(how)
            x += advance
            before = index
        if not vertices:
            return Outline(Path(np.empty((0, 2))), x / _SIZE, 0.0, 0.0)
        shape = np.concatenate(vertices)
        shape[:, 0] += np.repeat(places, [len(own) for own in vertices])
        shape /= _SIZE
        path = Path(shape, np.concatenate(codes))
        heights = shape[path.codes != Path.CLOSEPOLY, 1]  # the place of which means nothing
        return Outline(path, x / _SIZE, float(heights.max()), -float(heights.min()))

    def _take(self, letter: str) -> _Glyph:
        index = self._font.get_char_index(ord(letter))
        if index == 0:
            return index, None, None, 0.0
        glyph = self._font.load_char(ord(letter), flags=LoadFlags.NO_HINTING)
        taken: _Glyph = (index, *self._font.get_path(), glyph.linearHoriAdvance / 0x10000)
        self._glyphs[letter] = taken
        return taken

    def _kerning(self, left: Any, right: Any) -> float:
        """How much nearer to each other two letters stand than others."""
        if (left, right) not in self._closer:
            nearer = self._font.get_kerning(left, right, Kerning.UNFITTED)
            self._closer[left, right] = nearer / _DOTS_OF_UNIT
        return self._closer[left, right]


_letters = lru_cache(Letters)


class Renderer(RendererAgg):
    """Draws all but texts as Agg does; leaves formulas to it, and letters that a font lacks."""

    def draw_text(  # type: ignore[override]
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        **how: Any,
    ) -> None:
        """Draws a line of text; `y` counts from above."""
        outline = None if ismath else _letters(findfont(prop)).outline(s)
        if outline is None:
            super().draw_text(gc, x, y, s, prop, angle, ismath, **how)
            return
        dots = self.points_to_pixels(prop.get_size_in_points())
        place = Affine2D().scale(dots).rotate_deg(angle).translate(x, self.height - y)
        colour = gc.get_rgb()
        gc.set_linewidth(0.0)
        gc.set_snap(False)
        self.draw_path(gc, outline.path, place, colour)

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Dots."""
        outline = None if ismath else _letters(findfont(prop)).outline(s)
        if outline is None:
            found: tuple[float, float, float] = super().get_text_width_height_descent(s, prop, ismath)
            return found
        dots = self.points_to_pixels(prop.get_size_in_points())
        return dots * outline.width, dots * (outline.above + outline.below), dots * outline.below


class Canvas(FigureCanvasAgg):
    """A canvas that such a renderer draws on."""

    renderer: Renderer

    def get_renderer(self) -> Renderer:
        """The renderer for the size that the figure has now."""
        width, height = map(float, self.figure.bbox.size)
        size = (width, height, self.figure.dpi)
        if self._size != size:
            self.renderer = Renderer(*size)
            self._size = size
        return self.renderer

    def dots(self) -> NDArray[np.uint8]:
        """What was drawn last, by row, column and colour; not a copy."""
        return np.asarray(self.renderer.buffer_rgba())

    _size: tuple[float, float, float] | None = None
