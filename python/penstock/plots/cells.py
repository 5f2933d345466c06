"""Large fabrics as cells: one strip per tier and direction, with blocks of one cell per link."""

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
"""Space for the names of the strips, in inches."""
_BLOCK = 0.55
"""Maximum height of a block, in inches."""
_CELL = 0.16
"""Maximum size of a cell, in inches."""
_STRIP_GAP, _TIER_GAP, _NAMES = 0.08, 0.16, 0.16
"""Space between directions of a tier, between tiers, and for switch names, in inches."""
_DOTS, _FEW_DOTS = 10, 4
"""Pixels per cell across and down, and of a cell that is too small to be distinguished."""
_SMALL = 0.02
"""Size below which a cell has no white border, in inches."""
_LETTER = 0.062
"""Width of a letter at 6.5 points, in inches."""


@dataclass(frozen=True)
class Blocks:
    """Cells per block across and down, and size of a cell in inches."""

    columns: int
    rows: int
    wide: float
    high: float


def blocks(groups: int, largest: int, width: float) -> Blocks:
    """Largest cells for this number of blocks and cells per block in a width in inches."""
    pitch = width / max(groups, 1)

    def shape(columns: int) -> Blocks:
        rows = math.ceil(largest / columns)
        return Blocks(columns, rows, min(_CELL, pitch / (columns + 0.4)), min(_CELL, _BLOCK / rows))

    return max(map(shape, range(1, largest + 1)), key=lambda b: (min(b.wide, b.high), -b.rows, -b.columns))


def heights(found: list[Tier], width: float = 6.8) -> list[float]:
    """Height of each tier in inches."""
    return [
        2 * (b.rows * b.high) + _STRIP_GAP + _NAMES + _TIER_GAP for b in (_blocks(t, width) for t in found)
    ]


def draw_cells(axes: Axes, found: list[Tier], width: float) -> None:
    """Draws all tiers below each other, on axes in inches."""
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
    """Draws one direction of a tier as an image, at a cost independent of the number of cells."""
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

    dotted = (grid[0], dots, grid[1], grid[2], dots)  # rows and columns of pixels per cell
    picture = np.empty((*dotted, 3), dtype=np.uint8)
    picture[:] = color[:, None, :, :, None]
    down = np.arange(dots)[None, :, None, None]
    picture[np.broadcast_to((down >= dots - frame - paused[:, None])[..., None], dotted)] = _PAUSED
    picture[np.broadcast_to((lost[:, None] & (down < _LOST * dots))[..., None], dotted)] = _DROPPED
    if frame:
        picture[:, -frame:] = 255
        picture[..., -frame:, :] = 255
    # Padding of each block.
    gap = 0 if small else max(1, round(dots * shape.columns * (pitch - used) / used))
    beside = picture.reshape(grid[0] * dots, grid[1], grid[2] * dots, 3)
    apart = np.pad(beside, ((0, 0), (0, 0), (0, gap), (0, 0)), constant_values=255)
    strip = apart.reshape(grid[0] * dots, -1, 3)
    axes.imshow(strip, extent=(left, right, bottom, top), aspect="auto", interpolation="antialiased")


def _name_groups(axes: Axes, tier: Tier, shape: Blocks, width: float, y: float) -> None:
    """Writes switch names below their blocks; only every second, fifth, ... if there is no room."""
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
"""Upper part of a cell that is red if frames were dropped."""


def _bytes(color: str) -> NDArray[np.uint8]:
    return np.round(255 * np.array(to_rgb(color))).astype(np.uint8)


_PAUSED, _DROPPED = _bytes(PAUSE_COLOR), _bytes(DROP_COLOR)
_USE = np.array([_bytes(color) for color in USE_COLORS])
