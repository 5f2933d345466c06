"""Service classes: importance is kept in however few channels."""

from __future__ import annotations

import pytest

from penstock.errors import InputError
from penstock.qos.arbitration import Need, distances, fill
from penstock.qos.service_classes import SERVICE_CLASSES, channels, merge


@pytest.mark.parametrize("count", range(1, 9))
def test_who_is_more_important_is_never_below(count: int) -> None:
    channel_of = channels(count)
    ordered = [channel_of[own.priority] for own in SERVICE_CLASSES]
    assert ordered == sorted(ordered, reverse=True)
    assert sorted(set(channel_of)) == list(range(count))


def test_the_strictest_need_wins() -> None:
    needs = {
        7: Need(16, 4),
        6: Need(16, 4),
        5: Need(12, 6),
        4: Need(12, 6),
        3: Need(5),
        0: Need(2),
        1: Need(1),
    }
    three = merge(needs, channels(3))
    assert three == {2: Need(32, 4), 1: Need(24, 6), 0: Need(8)}
    found = distances(fill(64, three))
    assert found[2] <= 4 and found[1] <= 6


def test_what_is_outside_of_the_range() -> None:
    with pytest.raises(InputError, match="1 to 8"):
        channels(9)
    with pytest.raises(InputError, match="priority 8"):
        merge({8: Need(1)}, channels(2))
