"""The study of FECN keeps what it promises; what is known not to be met is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.studies import reproduce


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> reproduce.StudyResult:
    [study] = reproduce.find("jiang-2007/fecn")
    return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "out", quick=True)


def test_the_study_passes(quick: reproduce.StudyResult) -> None:
    known = {one.id for one in quick.study.experiments if one.not_met}
    assert {outcome.id for outcome in quick.outcomes if not outcome.passed} == known


def test_every_picture_is_there(quick: reproduce.StudyResult) -> None:
    for outcome in quick.outcomes:
        for picture in outcome.pictures:
            assert Path(quick.directory / picture).stat().st_size > 10_000
