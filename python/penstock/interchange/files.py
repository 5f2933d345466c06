"""Reads files to import."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.library import files_beside, suggestion

from .piece import Document
from .strangers import of_octets

MOST_BYTES = 1 << 30
"""Largest size of a file; a trace of ten million transfers fits."""


def document(path: Path, **attributes: Any) -> Document:
    """Reads a file as text; `attributes` are further attributes of the `Document`.

    Raises
    ------
    InputError
        If it cannot be read, is not a regular file, is too large, or is not valid UTF-8.
    """
    try:
        about = path.stat()
        # Reading a pipe or a device may block forever.
        if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
            raise InputError(f"{path}: is not a regular file but {_kind(about.st_mode)}; expected a file")
        if about.st_size > MOST_BYTES:
            raise InputError(f"{path}: is larger than {MOST_BYTES >> 20} MiB")
        data = path.read_bytes()
    except FileNotFoundError as error:
        near = suggestion(str(path), files_beside(path))
        hint = f"; {near}" if near.startswith("did") else ""
        raise InputError(f"{path}: {error.strerror}{hint}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if (what := of_octets(data)) is not None:
        raise InputError(f"{path}: is {what}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; expected text"
        ) from error
    if not text.strip():
        raise InputError(f"{path}: is empty")
    return replace(Document(str(path), text), **attributes)


def _kind(mode: int) -> str:
    kinds = {stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket", stat.S_ISCHR: "a device"}
    return next((name for is_one, name in kinds.items() if is_one(mode)), "a block device")
