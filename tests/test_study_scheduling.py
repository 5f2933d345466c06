"""The studies of schedulers keep what they promise; what is known not to be met is not."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from penstock import _core
from penstock.studies import reproduce

NAMES = ("scheduling/latency-fairness", "scheduling/accounting", "scheduling/drr-awc", "ets/conformance")


@pytest.mark.parametrize("name", NAMES)
def test_studies_pass(name: str, tmp_path: Path) -> None:
    [study] = reproduce.find(name)
    result = reproduce.reproduce(study, tmp_path / "out", quick=True)
    known = {one.id for one in study.experiments if one.not_met}
    assert {outcome.id for outcome in result.outcomes if not outcome.passed} == known


def test_every_scheduler_is_in_the_comparison(tmp_path: Path) -> None:
    [study] = reproduce.find("scheduling/latency-fairness")
    reproduce.reproduce(study, tmp_path / "out", quick=True)
    with (tmp_path / "out" / "schedulers.csv").open(encoding="utf-8") as file:
        compared = {row["scheduler"].split()[0] for row in csv.DictReader(file)}
    costs = json.loads((study.folder / "cost.json").read_text("utf-8"))["costs"]
    names = {page["name"] for page in json.loads(_core.mechanisms()) if page["kind"] == "scheduler"}
    assert names == compared == set(costs)
