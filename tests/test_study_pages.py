"""Pages of studies: they contain each experiment, and the figures of the full study."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.studies import document, reproduce

NAMES = ("hagen-2012/ch6", "hagen-2012/ch7")


def page_of(name: str) -> str:
    path = Path(__file__).parents[1] / "docs" / "studies" / f"{name.replace('/', '-')}.md"
    return path.read_text("utf-8")


@pytest.mark.skipif(
    "PENSTOCK_FULL_STUDIES" not in os.environ, reason="set PENSTOCK_FULL_STUDIES to run studies in full"
)
@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_fresh(name: str, tmp_path: Path) -> None:
    """The page has the figures that the full study measures now."""
    [study] = reproduce.find(name)
    result = reproduce.reproduce(study, tmp_path / study.folder.name)
    assert document.markdown(result) == page_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_experiment(name: str) -> None:
    """Its titles and criteria are those of study.toml."""
    page = page_of(name)
    [study] = reproduce.find(name)
    assert study.title in page
    for experiment in study.experiments:
        assert f"{experiment.id} {experiment.title}" in page
        assert experiment.criterion.replace("|", "\\|") in page
