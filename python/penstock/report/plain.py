"""Static pages, such as those of sweeps and conformance tests, with the style of the report."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def head(title: str) -> Iterator[str]:
    """Start of a page, with the common stylesheet."""
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{html.escape(title)}</title><style>{_style()}</style></head><body>"


@cache
def _style() -> str:
    return Path(__file__).with_name("pages.css").read_text("utf-8")
