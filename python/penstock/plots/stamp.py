"""The origin of a picture, stored in its file: the fingerprint of a run, or of all runs of a study.

A PNG has room for texts that nobody sees, by which a test tells a picture that is older than what it shows.
"""

from __future__ import annotations

from pathlib import Path

KEY = "Penstock-Fingerprint"


def stamp(file: Path, fingerprint: str) -> None:
    """Writes what a PNG was drawn of.

    Its colors become 256 at most, which takes a third of the bytes; those of one that has no more stay as
    they are.

    Parameters
    ----------
    file : Path
        The picture.
    fingerprint : str
        That of the run, or a digest of several.

    Raises
    ------
    OSError
        If it is no picture, or cannot be written.
    """
    from PIL.Image import Dither, Quantize
    from PIL.Image import open as open_image
    from PIL.PngImagePlugin import PngInfo

    texts = PngInfo()
    texts.add_text(KEY, fingerprint)
    with open_image(file) as picture:
        picture.load()
        dpi = picture.info.get("dpi", (100, 100))
        has_few = picture.mode == "P"
        few = (
            picture.copy()
            if has_few
            else picture.convert("RGB").quantize(256, method=Quantize.MEDIANCUT, dither=Dither.NONE)
        )
        few.save(file, pnginfo=texts, dpi=dpi, optimize=True)


def stamped(file: Path) -> str | None:
    """The origin that a PNG holds; ``None`` if it holds none.

    Raises
    ------
    OSError
        If it is no picture.
    """
    from PIL.Image import open as open_image

    with open_image(file) as picture:
        found = picture.info.get(KEY)
    return found if isinstance(found, str) else None
