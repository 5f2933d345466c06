"""The study of quality of service keeps what it promises, and reads turns of a table as the paper does."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

from penstock.studies import reproduce


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> reproduce.StudyResult:
    [study] = reproduce.find("martinez-2006/qos")
    return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "out", quick=True)


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    [study] = reproduce.find("martinez-2006/qos")
    reproduce._module(study)
    return importlib.import_module("penstock_study_martinez_2006_qos.measure")


def test_the_study_passes(quick: reproduce.StudyResult) -> None:
    """A quick run decides nothing over seeds; its figures are within the bounds all the same."""
    known = {one.id for one in quick.study.experiments if one.not_met}
    assert {outcome.id for outcome in quick.outcomes if not outcome.judgement.within} <= known


def test_every_picture_is_there(quick: reproduce.StudyResult) -> None:
    for outcome in quick.outcomes:
        for picture in outcome.pictures:
            assert Path(quick.directory / picture).stat().st_size > 10_000


def frames(*turns: tuple[int, int, int]) -> list[tuple[int, int]]:
    """Frames of turns, each as class, credits of a frame, and how many."""
    return [(key, 64 * size) for key, size, count in turns for _ in range(count)]


def test_turns_of_a_table_by_hand(measure: ModuleType) -> None:
    """Frames of 20, 34 and 5 credits: the first leave 14, 8, 2, 16, 10, 4, the last 4, 3, 2, 1, 0."""
    rounds = frames(
        (0, 20, 1), (1, 34, 1), (2, 5, 6), (0, 20, 2), (1, 34, 1), (2, 5, 7),
        (0, 20, 2), (1, 34, 1), (2, 5, 7), (0, 20, 1), (1, 34, 1), (2, 5, 7),
        (0, 20, 2), (1, 34, 1), (2, 5, 7), (0, 20, 2), (1, 34, 1), (2, 5, 6),
    )  # fmt: skip
    found = measure.turns(rounds, (0, 1, 2))
    assert (found.turns, found.longest, found.broken, found.wrong) == (16, 40, 0, 0)


def test_turns_that_break_the_rules_are_seen(measure: ModuleType) -> None:
    """One frame of 5 credits too few, three of 20 at once, and an entry that is passed over."""
    whole = ((0, 20, 2), (1, 34, 1), (2, 5, 7))
    early = frames(*whole, (0, 20, 2), (1, 34, 1), (2, 5, 5), *whole)
    late = frames(*whole, (0, 20, 4), (1, 34, 1), (2, 5, 7), *whole)
    skipped = frames(*whole, (0, 20, 2), (2, 5, 7), *whole)
    assert measure.turns(early, (0, 1, 2)).broken > 0
    assert measure.turns(late, (0, 1, 2)).broken > 0
    assert measure.turns(skipped, (0, 1, 2)).wrong > 0


def test_connections_count_alike(measure: ModuleType) -> None:
    """The mean over connections of their means, those without a frame left out, and the longest of all."""
    flows = ["VO-1[h0]", "VO-2[h1]", "VO-2[h1]", "CL-1[h0]"]
    table = pa.table(
        {
            "flow": flows,
            "frames_delivered": [1, 9, 0, 2],
            "latency_mean_ns": [10.0, 30.0, 0.0, 7.0],
            "latency_max_ns": [10.0, 90.0, 0.0, 8.0],
        }
    )
    assert measure.by_source(table) == {"VO": (20.0, 90.0), "CL": (7.0, 8.0)}
