"""Confidence intervals against tables, fairness against its definition."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.analysis.statistics import jain, population_stddev, student_t_interval

values = st.lists(st.floats(0, 1e12, allow_nan=False), min_size=1, max_size=40)


@pytest.mark.parametrize(("n", "t"), [(5, 2.132), (10, 1.833), (20, 1.729)])
def test_t_of_the_tables(n: int, t: float) -> None:
    """90 % two-sided, as in the tables of Student's distribution."""
    sample = [float(k) for k in range(n)]
    spread = math.sqrt(sum((x - (n - 1) / 2) ** 2 for x in sample) / (n - 1))
    interval = student_t_interval(sample, 0.90)
    assert interval.mean == pytest.approx((n - 1) / 2)
    assert interval.half_width == pytest.approx(t * spread / math.sqrt(n), rel=3e-4)
    assert interval.low < interval.mean < interval.high


def test_one_value_has_no_interval() -> None:
    interval = student_t_interval([3.0])
    assert interval.mean == 3.0
    assert math.isnan(interval.half_width)


def test_unknown_values_are_left_out() -> None:
    assert student_t_interval([1.0, math.nan, 3.0]).n == 2
    assert student_t_interval([math.nan]).n == 0
    assert student_t_interval([]).n == 0


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 95.0])
def test_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        student_t_interval([1.0, 2.0], confidence)


def test_jain_of_known_shares() -> None:
    assert jain([1.0, 1.0, 1.0]) == pytest.approx(1.0)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain([0.0, 0.0]) == 1.0
    assert jain([2.0, 1.0]) == pytest.approx(9 / 10)
    with pytest.raises(ValueError, match="no values"):
        jain([])
    with pytest.raises(ValueError, match="at least 0"):
        jain([1.0, -1.0])


@given(values)
def test_jain_is_a_share_and_knows_no_unit(shares: list[float]) -> None:
    index = jain(shares)
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assert jain([share * 8 for share in shares]) == pytest.approx(index)


@given(values)
def test_a_wider_interval_is_surer(sample: list[float]) -> None:
    narrow, wide = student_t_interval(sample, 0.9), student_t_interval(sample, 0.99)
    assert len(sample) == 1 or narrow.half_width <= wide.half_width


def test_population_stddev() -> None:
    assert population_stddev([1.0, 3.0]) == pytest.approx(1.0)
    assert math.isnan(population_stddev([]))
