"""Arbitration tables: what `fill` promises is counted in the table that it returns."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.errors import InputError
from penstock.qos.arbitration import SIZES, Need, distances, fill, longest_turn, need

TABLE_2 = {
    "NC": Need(16, 4),
    "VO": Need(16, 4),
    "VI": Need(12, 6),
    "CL": Need(12, 6),
    "EE": Need(5, 16),
    "BE": Need(2, 32),
    "BK": Need(1, 64),
}
"""Martinez 2006, Table 2."""


@pytest.mark.parametrize("size", SIZES)
def test_the_table_of_martinez_in_every_size(size: int) -> None:
    if size == 32:
        halves = {"EE": Need(2, 16), "BE": Need(1), "BK": Need(1)}
        needs = {key: Need(own.entries // 2, own.distance) for key, own in TABLE_2.items()} | halves
    else:
        needs = {key: Need(own.entries * size // 64, own.distance) for key, own in TABLE_2.items()}
    table = fill(size, needs)
    assert Counter(table) >= Counter({key: own.entries for key, own in needs.items()})
    assert len(table) == size
    found = distances(table)
    assert all(found[key] <= (own.distance or size) for key, own in needs.items()), found


def test_distances_are_counted_around_the_end() -> None:
    assert distances(["a", "b", "a", "a"]) == {"a": 2, "b": 4}


def test_spare_entries_go_to_the_class_that_may_wait_longest() -> None:
    table = fill(32, {"a": Need(8, 4), "b": Need(2)})
    assert Counter(table) == {"a": 8, "b": 24}


def test_a_share_and_a_distance_take_the_larger_number() -> None:
    assert need(64, 0.1875) == Need(12)
    assert need(64, 0.01, 4) == Need(16, 4)
    assert need(64, 0.1876) == Need(13)


def test_the_longest_turn_of_martinez() -> None:
    # 67 credits of 64 B at 2 Gb/s are 17.152 us.
    assert longest_turn(4, 2e9) == pytest.approx(4 * 17.152e-6)


@pytest.mark.parametrize(
    ("size", "needs", "expected"),
    [
        (63, {"a": Need(63)}, "expected 32, 64"),
        (64, {}, "at least one class"),
        (64, {"a": Need(0)}, "at least 1"),
        (64, {"a": Need(9, 0)}, "at most 0 apart"),
        (64, {"VO": Need(15, 4)}, "needs 1 more of it"),
        (64, {"a": Need(40), "b": Need(30)}, "6 too many"),
        # Every second entry is taken: a distance of 3 is one of 2, for which 11 are too few.
        (32, {"a": Need(16, 2), "b": Need(11, 3), "c": Need(1)}, "'b' is at most 3 apart .* with 1 more"),
    ],
)
def test_what_cannot_be_filled_is_reported(size: int, needs: dict[str, Need], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        fill(size, needs, steps=20_000)


@pytest.mark.parametrize(
    ("share", "distance", "expected"), [(0, None, "share"), (1.5, None, "share"), (0.5, 0, "distance")]
)
def test_a_need_outside_of_its_range(share: float, distance: int | None, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        need(64, share, distance)
