"""Rows that the engine writes as JSON are those of Python's ``json``."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import _core

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.lists(st.tuples(st.floats(), st.integers(0, 2**64 - 1), TEXTS), max_size=8)


def as_json(value: object, *, ascii_only: bool) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    return json.dumps(value, ensure_ascii=ascii_only)


@given(rows=ROWS, ascii_only=st.booleans())
def test_rows_are_those_of_json(rows: list[tuple[float, int, str]], ascii_only: bool) -> None:
    reals = np.array([row[0] for row in rows], np.float64)
    whole = np.array([row[1] for row in rows], np.uint64)
    encoded = [row[2].encode() for row in rows]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    cells = [reals, whole, (ends, b"".join(encoded))]
    written = _core.json_rows(
        ['{"a": ', ', "b": ', ', "c": ', "}"], cells, ascii_only=ascii_only, between=",\n"
    )
    expected = []
    for row in rows:
        a, b, c = (as_json(value, ascii_only=ascii_only) for value in row)
        expected.append(f'{{"a": {a}, "b": {b}, "c": {c}}}')
    assert written == ",\n".join(expected)


@pytest.mark.parametrize("texts", [["{", "}"], ["{", ",", ",", "}"]])
def test_columns_that_do_not_fit_are_refused(texts: list[str]) -> None:
    cells = [np.zeros(2), np.zeros(3)]
    with pytest.raises(ValueError, match="columns of equal length"):
        _core.json_rows(texts, cells, ascii_only=False, between="")
