"""Rates of the links of a topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rate_back(link: Mapping[str, Any]) -> float:
    """The rate of a link of a topology from its second end to the first, in bits a second."""
    return float(link.get("reverse_rate_bps", link["rate_bps"]))


def rate_from(end: str, link: Mapping[str, Any]) -> float:
    """The rate at which an end of a link of a topology sends, in bits a second."""
    return float(link["rate_bps"]) if end == link["a"] else rate_back(link)
