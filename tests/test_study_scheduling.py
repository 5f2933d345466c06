"""The studies of schedulers keep what they promise; what is known not to be met is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import reproduce

NAMES = ("scheduling/latency-fairness", "scheduling/accounting", "scheduling/drr-awc", "ets/conformance")


@pytest.mark.parametrize("name", NAMES)
def test_studies_pass(name: str, tmp_path: Path) -> None:
    [study] = reproduce.find(name)
    result = reproduce.reproduce(study, tmp_path / "out", quick=True)
    known = {one.id for one in study.experiments if one.not_met}
    assert {outcome.id for outcome in result.outcomes if not outcome.passed} == known
