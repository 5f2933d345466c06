"""Animation of the fabric over time, as on the report page: GIF, WebP or video."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.analysis.film import film
from penstock.analysis.tiers import STEPS, Direction, Tier, tiers
from penstock.errors import InputError
from penstock.measurements import of_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from penstock.measurements import Measurements

FORMATS = {".gif": "pillow", ".webp": "pillow", ".mp4": "ffmpeg", ".webm": "ffmpeg"}
"""Matplotlib writer for each file suffix."""
MAX_SECONDS = 120.0
_FULL = 9
"""Highest level of a film."""
_MIDDLES = np.array([0.0, *((low + high) / 2 for low, high in zip(STEPS, [*STEPS[1:], 1.0], strict=True))])
"""Utilisation at the middle of each level."""
_DPI = 130


@of_result
def record(
    result: Measurements,
    path: Path,
    *,
    seconds: float = 12.0,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Writes a recording of the whole run.

    Parameters
    ----------
    path : Path
        ``.gif``, ``.webp``, or ``.mp4`` and ``.webm``, which need ffmpeg.
    seconds : float, default 12.0
        Length of the recording, above 0, at most 120.
    progress : callable, optional
        Called with the number of written frames and the total.

    Returns
    -------
    int
        Number of frames.

    Raises
    ------
    InputError
        If the suffix is unsupported, ffmpeg is missing, or the run has no time series of ports.
    """
    from matplotlib import animation

    from .fabric import FabricPicture

    name = FORMATS.get(path.suffix.lower())
    if name is None:
        raise InputError(f"--record {path}: expected a file that ends in {', '.join(FORMATS)}")
    if not 0.0 < seconds <= MAX_SECONDS:
        raise InputError(f"--seconds is {seconds:g}; expected a number above 0 and at most {MAX_SECONDS:g}")
    if not animation.writers.is_available(name):
        raise InputError(
            f"--record {path}: ffmpeg is not installed; install it, or write {path.with_suffix('.gif')}"
        )
    played = film(result)
    if played is None:
        raise InputError(
            f'{path}: the run has no time series of ports over at least twelve bins; record what = "port", '
            "and run it again"
        )
    frames = len(played["used"])
    picture = FabricPicture(result, tiers(result))
    picture.legend(queues=True)
    writer = animation.writers[name](fps=max(1, round(frames / seconds)))
    path.parent.mkdir(parents=True, exist_ok=True)
    with writer.saving(picture.figure, str(path), _DPI):
        for nth in range(frames):
            queued = _levels(played["queued"][nth]) / _FULL
            picture.draw(_tiers_of(result, played, nth), queued=queued, when=_time(played, nth))
            writer.grab_frame()
            if progress is not None:
                progress(nth + 1, frames)
    return frames


def _time(played: dict[str, Any], nth: int) -> str:
    """Simulated time at the end of an interval, in a common unit."""
    from .style import time_scale

    scale = time_scale(played["stretch_ns"] * len(played["used"]))
    return f"{played['stretch_ns'] * (nth + 1) / scale.size:,.2f} {scale.unit}"


def _tiers_of(result: Measurements, played: dict[str, Any], nth: int) -> list[Tier]:
    """Tiers of the fabric with the activity of their ports in one interval."""
    used, paused = (_levels(played[name][nth]) for name in ("used", "paused"))

    def then(one: Direction) -> Direction:
        known = one.rows >= 0
        step = np.where(known, used[one.rows], -1)
        return replace(
            one,
            utilisation=np.where(step < 0, np.nan, _MIDDLES[step]),
            paused=np.where(known, paused[one.rows], 0) / _FULL,
            drops=np.zeros(len(one.rows), dtype=np.int64),
        )

    return [replace(tier, up=then(tier.up), down=then(tier.down)) for tier in tiers(result)]


def _levels(letters: str) -> NDArray[np.int64]:
    """Level of each port; -1 if unknown."""
    found = np.frombuffer(letters.encode("ascii"), dtype=np.uint8).astype(np.int64) - ord("0")
    return np.where(found < 0, -1, found)
