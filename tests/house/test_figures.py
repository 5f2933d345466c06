"""Figures that stand in two places of the docs, or in the docs and the code, are the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock import conformance

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    """A page of the docs, on one line."""
    return " ".join((ROOT / "docs" / name).read_text("utf-8").split())


def figures(text: str, pattern: str) -> tuple[float, ...]:
    """The groups of a pattern that a text has exactly once, as numbers."""
    found = re.findall(pattern, text)
    assert len(found) == 1, f"{pattern}: {len(found)} times; expected once"
    groups = found[0] if isinstance(found[0], tuple) else (found[0],)
    return tuple(float(group.replace(",", "")) for group in groups)


def test_memory_of_a_connection() -> None:
    tcp, performance = page("tcp.md"), page("performance.md")
    assert figures(tcp, r"idle connection takes ([\d.]+) kB .{,40} an active one ([\d.]+) kB") == figures(
        performance, r"connection over TCP takes ([\d.]+) kB while it is idle and ([\d.]+) kB once"
    )


def test_memory_of_open_connections() -> None:
    (together,) = figures(page("tcp.md"), r"hundred thousand at the same time take ([\d.]+) GB")
    row = r"\| open at the same time \| ([\d,]+) \| [\d,]+ \| [\d.]+ \| (\d+) \|"
    count, peak_mb = figures(page("performance.md"), row)
    assert (count, together) == (100_000, round(peak_mb / 1_000, 1))


def test_conformance_cases_of_the_page() -> None:
    families = [case.id[:2] for case in conformance.cases()]
    wire = page("wire.md")
    assert figures(wire, r"`penstock conform` runs (\d+) test cases") == (len(families),)
    assert figures(wire, r"the (\d+) cases that are not about DCBX") == (
        len(families) - families.count("DX"),
    )


@pytest.mark.parametrize("place", ["page of mechanisms", "source of credit"])
def test_virtual_channels(place: str) -> None:
    channels = figures(
        (ROOT / "crates/frame/src/lib.rs").read_text("utf-8"), r"const CHANNELS: usize = (\d+);"
    )
    mechanisms = page("reference/mechanisms.md")
    assert figures(mechanisms, r"Martinez 2006 §2 \((\d+) channels of three kinds") == channels == (20,)
    text = mechanisms
    if place == "source of credit":
        # `penstock explain credit` prints these lines.
        text = " ".join(
            (ROOT / "crates/flow_control/src/credit.rs").read_text("utf-8").replace("//!", "").split()
        )
    assert figures(text, r'with `channels = "all"` there are (\d+), and flows select theirs') == channels
    assert '"all" for all twenty channels' in page("reference/scenario/flow_control.md")
