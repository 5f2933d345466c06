"""A large fabric as cells: a strip for each tier and direction, in it blocks of cells, a link each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from penstock.analysis.tiers import Direction, Tier, step

from .style import DROP_COLOR, FAINT, INK, PAUSE_COLOR, USE_COLORS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEFT = 0.95
"""Inches for the names of the strips."""
_BLOCK = 0.55
"""Inches that a block of cells is high at most."""
_CELL = 0.16
"""Inches of the largest cell."""
_STRIP_GAP, _TIER_GAP, _NAMES = 0.08, 0.16, 0.16
"""Inches between the directions of a tier, between tiers, and for the names of its switches."""
_DOTS, _FEW_DOTS = 10, 4
"""Dots of a cell's picture across and down, and of a cell too small to be seen by itself."""
_SMALL = 0.02
"""Inches of a cell that is too small for a white frame."""
_LETTER = 0.062
"""Inches of a letter of 6.5 points."""


@dataclass(frozen=True)
class Blocks:
    """Cells across and down a block, and inches of a cell."""

    columns: int
    rows: int
    wide: float
    high: float


def blocks(groups: int, largest: int, width: float) -> Blocks:
    """The largest cells with which so many blocks of so many cells fit a width in inches, in few rows."""
    pitch = width / max(groups, 1)

    def shape(columns: int) -> Blocks:
        rows = math.ceil(largest / columns)
        return Blocks(columns, rows, min(_CELL, pitch / (columns + 0.4)), min(_CELL, _BLOCK / rows))

    return max(map(shape, range(1, largest + 1)), key=lambda b: (min(b.wide, b.high), -b.rows, -b.columns))


def heights(found: list[Tier], width: float = 6.8) -> list[float]:
    """Inches of each tier."""
    return [
        2 * (b.rows * b.high) + _STRIP_GAP + _NAMES + _TIER_GAP for b in (_blocks(t, width) for t in found)
    ]


def draw_cells(axes: Axes, found: list[Tier], width: float) -> None:
    """All tiers below each other, in axes whose units become inches."""
    total = sum(heights(found, width))
    axes.set_xlim(0.0, width)
    axes.set_ylim(0.0, total)
    top = total
    for tier in found:
        shape = _blocks(tier, width)
        high = shape.rows * shape.high
        for one in (tier.up, tier.down):
            _draw_strip(axes, tier, one, shape, (_LEFT, width, top - high, top))
            name = one.name.replace("->", "→")
            axes.annotate(
                name, (0.0, top - high / 2), va="center", fontsize=7, color=INK, annotation_clip=False
            )
            top -= high + _STRIP_GAP
        _name_groups(axes, tier, shape, width, top - _NAMES / 2 + _STRIP_GAP / 2)
        top -= _NAMES + _TIER_GAP


def _blocks(tier: Tier, width: float) -> Blocks:
    largest = int(np.bincount(tier.group).max())
    return blocks(len(tier.groups), largest, width - _LEFT)


def _draw_strip(
    axes: Axes, tier: Tier, one: Direction, shape: Blocks, box: tuple[float, float, float, float]
) -> None:
    """One direction of a tier as a picture of dots, which costs the same however many cells it has."""
    left, right, bottom, top = box
    sizes = np.bincount(tier.group)
    pitch = (right - left) / len(sizes)
    used = shape.columns * shape.wide
    small = min(shape.wide, shape.high) < _SMALL
    dots, frame = (_FEW_DOTS, 0) if small else (_DOTS, 2)
    nth = np.arange(len(tier.group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = (nth // shape.columns, tier.group, nth % shape.columns)
    grid = (shape.rows, len(sizes), shape.columns)
    color = np.full((*grid, 3), 255, dtype=np.uint8)
    color[place] = _USE[step(one.utilisation)]
    paused, lost = np.zeros(grid), np.zeros(grid, dtype=bool)
    paused[place], lost[place] = np.ceil((dots - frame) * one.paused), one.drops > 0

    dotted = (grid[0], dots, grid[1], grid[2], dots)  # each cell as dots down and across
    picture = np.empty((*dotted, 3), dtype=np.uint8)
    picture[:] = color[:, None, :, :, None]
    down = np.arange(dots)[None, :, None, None]
    picture[np.broadcast_to((down >= dots - frame - paused[:, None])[..., None], dotted)] = _PAUSED
    picture[np.broadcast_to((lost[:, None] & (down < _LOST * dots))[..., None], dotted)] = _DROPPED
    if frame:
        picture[:, -frame:] = 255
        picture[..., -frame:, :] = 255
    # Dots beside each block.
    gap = 0 if small else max(1, round(dots * shape.columns * (pitch - used) / used))
    beside = picture.reshape(grid[0] * dots, grid[1], grid[2] * dots, 3)
    apart = np.pad(beside, ((0, 0), (0, 0), (0, gap), (0, 0)), constant_values=255)
    strip = apart.reshape(grid[0] * dots, -1, 3)
    axes.imshow(strip, extent=(left, right, bottom, top), aspect="auto", interpolation="antialiased")


def _name_groups(axes: Axes, tier: Tier, shape: Blocks, width: float, y: float) -> None:
    """The switches below their blocks, every second, fifth, ... where there is no room for all."""
    pitch = (width - _LEFT) / len(tier.groups)
    wide = _LETTER * (max(map(len, tier.groups)) + 1)
    every = next(n for n in _EVERY if n * pitch >= wide or n >= len(tier.groups))
    for n, name in enumerate(tier.groups):
        if n % every == 0:
            x = _LEFT + n * pitch + shape.columns * shape.wide / 2
            axes.annotate(
                name, (x, y), ha="center", va="center", fontsize=6, color=FAINT, annotation_clip=False
            )


_EVERY = [n * 10**power for power in range(7) for n in (1, 2, 5)]
_LOST = 0.3
"""The part of a cell, from above, that is red if frames were dropped."""


def _bytes(color: str) -> NDArray[np.uint8]:
    return np.round(255 * np.array(to_rgb(color))).astype(np.uint8)


_PAUSED, _DROPPED = _bytes(PAUSE_COLOR), _bytes(DROP_COLOR)
_USE = np.array([_bytes(color) for color in USE_COLORS])
