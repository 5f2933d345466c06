"""Chapter 7 of Hagen 2012: its quick form passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.studies import reproduce

NAME = "hagen-2012/ch7"
PAGE = Path(__file__).parents[1] / "docs" / "studies" / "hagen-2012-ch7.md"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> reproduce.StudyResult:
    [study] = reproduce.find(NAME)
    return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "ch7", quick=True)


def test_what_passes_and_what_does_not(quick: reproduce.StudyResult) -> None:
    failed = {outcome.id: outcome.measured for outcome in quick.outcomes if not outcome.passed}
    assert quick.passed, failed
    decided = {outcome.id: outcome.passed for outcome in quick.outcomes if outcome.decided}
    assert {name for name, passed in decided.items() if not passed} == {"P7-6"}
    assert decided["H7-13"]
    assert not any(name.startswith(("H7", "T7")) for name in decided if name != "H7-13")
    assert "**not reproduced** | T7-1-sampling" in PAGE.read_text("utf-8")


def test_whole_frames_make_the_half_gigabit_of_the_table(quick: reproduce.StudyResult) -> None:
    """A stream of 2.5 Gb/s has two frames or three in a bin of 12 us: arithmetic, and what is measured."""
    frames = 12.0 / (1542 * 8 / 2500)
    share = frames % 1
    expected = (share * (1 - share)) ** 0.5 * 1522 * 8 / 12_000
    [table] = [table for table in quick.tables if table.name == "table-7-1"]
    row = next(row for row in table.rows if row[0] == "fair bandwidth")
    measured = float(row[table.columns.index("12 us")].split()[0])
    assert measured == pytest.approx(expected, abs=0.01) == pytest.approx(0.5, abs=0.02)


def test_figures_of_the_source(quick: reproduce.StudyResult) -> None:
    """What depends on no seed."""
    measured = {outcome.id: outcome.measured for outcome in quick.outcomes}
    assert measured["H7-13"] == "3.355392 ms"
    assert "pauses before 4 ms 0, at most 0 on 5 of 5 seeds" in measured["H7-8"]


def test_pictures(quick: reproduce.StudyResult) -> None:
    assert quick.cover == "ch7.png"
    pictures = [quick.cover, *(picture for outcome in quick.outcomes for picture in outcome.pictures)]
    assert {"figure-7-7.png", "figure-7-8.png", "figure-7-9.png", "figure-7-10.png"} <= set(pictures)
    for picture in pictures:
        assert (quick.directory / picture).stat().st_size > 10_000
        assert (quick.directory / picture).with_suffix(".svg").is_file()


def test_tables(quick: reproduce.StudyResult) -> None:
    for table in quick.tables:
        lines = (quick.directory / f"{table.name}.csv").read_text("utf-8").splitlines()
        assert len(lines) == len(table.rows) + 1
