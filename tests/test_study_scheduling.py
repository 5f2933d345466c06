"""The studies of schedulers keep what they promise; what is known not to be met is not."""

from __future__ import annotations

import csv
import functools
import json
from collections.abc import Callable

import pytest

from penstock import _core
from penstock.studies import reproduce

NAMES = (
    "scheduling/latency-fairness",
    "scheduling/accounting",
    "scheduling/drr-awc",
    "ets/conformance",
    "sonic/shipped",
)


Quick = Callable[[str], reproduce.StudyResult]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Quick:
    """Studies in their quick form, each run once."""

    @functools.cache
    def run(name: str) -> reproduce.StudyResult:
        [study] = reproduce.find(name)
        return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "out", quick=True)

    return run


@pytest.mark.parametrize("name", NAMES)
def test_studies_pass(name: str, quick: Quick) -> None:
    result = quick(name)
    study = result.study
    known = {one.id for one in study.experiments if one.not_met}
    assert {outcome.id for outcome in result.outcomes if not outcome.passed} == known


def test_every_scheduler_is_in_the_comparison(quick: Quick) -> None:
    result = quick("scheduling/latency-fairness")
    with (result.directory / "schedulers.csv").open(encoding="utf-8") as file:
        compared = {row["scheduler"].split()[0] for row in csv.DictReader(file)}
    costs = json.loads((result.study.folder / "cost.json").read_text("utf-8"))["costs"]
    names = {page["name"] for page in json.loads(_core.mechanisms()) if page["kind"] == "scheduler"}
    assert names == compared == set(costs)
