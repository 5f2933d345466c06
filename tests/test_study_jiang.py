"""The study of FECN measures what its criteria ask; a quick run judges what draws no random numbers alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.studies import reproduce


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> reproduce.StudyResult:
    [study] = reproduce.find("jiang-2007/fecn")
    return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "out", quick=True)


def test_a_quick_run_leaves_the_verdict_to_the_seeds(quick: reproduce.StudyResult) -> None:
    assert {one.id for one in quick.outcomes if one.decided} == {"J11"}
    assert quick.passed


def test_every_bound_has_a_figure(quick: reproduce.StudyResult) -> None:
    for outcome in quick.outcomes:
        bounds = quick.study.experiment(outcome.id).bounds
        assert [found.bound for found in outcome.judgement.findings] == list(bounds)


def test_clear_figures_are_on_their_side_with_any_seed(quick: reproduce.StudyResult) -> None:
    """Figures that are far from their bounds: fairness, and the victim of PAUSE."""
    found = {one.bound.figure: one for of in quick.outcomes for one in of.judgement.findings}
    for name in ("near_apart", "large_jain", "victim_pause", "victim_fecn", "hot_apart", "tags_off"):
        assert found[name].holds == len(found[name].values), name
    assert found["none_jain"].holds == 0


def test_every_picture_is_there(quick: reproduce.StudyResult) -> None:
    for outcome in quick.outcomes:
        for picture in outcome.pictures:
            assert Path(quick.directory / picture).stat().st_size > 10_000
