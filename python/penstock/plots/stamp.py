"""Metadata of a picture: the fingerprint of its run, or of all runs of a study.

It is stored as a text chunk of the PNG. Tests use it to find outdated pictures.
"""

from __future__ import annotations

from pathlib import Path

KEY = "Penstock-Fingerprint"


def stamp(file: Path, fingerprint: str) -> None:
    """Writes the fingerprint to a PNG.

    Also reduces the image to 256 colors, which saves two thirds of the size. Images with fewer colors keep
    them.

    Parameters
    ----------
    file : Path
        Picture file.
    fingerprint : str
        Fingerprint of the run, or a digest of several.

    Raises
    ------
    OSError
        If the file is not a picture, or cannot be written.
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
    """Returns the fingerprint stored in a PNG; ``None`` if there is none.

    Raises
    ------
    OSError
        If the file is not a picture.
    """
    from PIL.Image import open as open_image

    with open_image(file) as picture:
        found = picture.info.get(KEY)
    return found if isinstance(found, str) else None
