"""Pages that need no script, such as those of sweeps and of conformance: they look like the report."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def head(title: str) -> Iterator[str]:
    """The beginning of a page, with the one stylesheet of all of them."""
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{html.escape(title)}</title><style>{_style()}</style></head><body>"


@cache
def _style() -> str:
    return Path(__file__).with_name("pages.css").read_text("utf-8")
