"""Reads the files that are imported."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import InputError

from .piece import Document

MOST_BYTES = 1 << 30
"""The largest file that is read; a trace of ten million transfers fits."""


def document(path: Path, *, rate: str | None = None, length: str | None = None) -> Document:
    """A file as text; rate and length are those of links of which it says none.

    Raises
    ------
    InputError
        If it cannot be read, is too large, or is no UTF-8.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: is larger than {MOST_BYTES >> 20} MiB")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; expected text"
        ) from error
    if not text.strip():
        raise InputError(f"{path}: is empty")
    return Document(str(path), text, rate, length)
