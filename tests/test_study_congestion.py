"""The studies of congestion controls meet their criteria, except those that are known not to be met."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.studies import reproduce

ROWS = {
    "congestion/compare": 12 * 6,
    "congestion/path-rates": 2 * 4 * 6,
    "congestion/stability": 9 + 3 * 8,
    "congestion/together": 12 * 7,
    "controls/compare": 13 * 6,
    "dcqcn-2015/evaluation": 2,
    "hagen-2012/ch1": 2 * 8,
    "hagen-2012/ch3": 3,
    "hagen-2012/feedback": 2 * 4,
    "hagen-2012/interoperability": 2 * 6,
}


@pytest.fixture(scope="module", params=ROWS)
def quick(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> reproduce.StudyResult:
    [study] = reproduce.find(request.param)
    return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "out", quick=True)


def test_the_study_passes(quick: reproduce.StudyResult) -> None:
    known = {one.id for one in quick.study.experiments if one.not_met}
    failed = {outcome.id for outcome in quick.outcomes if outcome.decided and not outcome.passed}
    assert failed <= known, "a quick run does not decide what is judged over ten seeds"


def test_everything_is_compared(quick: reproduce.StudyResult) -> None:
    table = quick.tables[0]
    assert len(table.rows) == len(set(table.rows)) == ROWS[quick.study.name]


def test_the_picture_is_there(quick: reproduce.StudyResult) -> None:
    [picture] = {picture for outcome in quick.outcomes for picture in outcome.pictures}
    assert Path(quick.directory / picture).stat().st_size > 10_000
