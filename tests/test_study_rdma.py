"""The studies of RDMA in their short form: all is compared, and nothing fails that is not known to.

Some criteria that longer runs do not meet are met by few messages. What the whole studies come to is in
docs/studies.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from penstock.scenario import Scenario
from penstock.studies import reproduce

ROWS = {"irn-2018/evaluation": 6, "timely-ecn-or-delay/analysis": 6 + 4 + 3 + 2 + 4, "uec/matrices": 11 * 3}
PAGES = [*ROWS, "hpcc-2019/evaluation"]
"""Those that have no short form which tells anything are held against their pages."""
OUTCOMES = Path(__file__).parents[1] / "docs" / "studies" / "outcomes.json"


@pytest.fixture(scope="module", params=ROWS)
def quick(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> reproduce.StudyResult:
    [study] = reproduce.find(request.param)
    return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "out", quick=True)


def test_a_short_form_passes(quick: reproduce.StudyResult) -> None:
    known = {one.id for one in quick.study.experiments if one.not_met}
    failed = {outcome.id for outcome in quick.outcomes if outcome.decided and not outcome.passed}
    assert failed <= known
    assert all(outcome.measured != "not measured" for outcome in quick.outcomes)


def test_everything_is_compared_and_drawn(quick: reproduce.StudyResult) -> None:
    table = quick.tables[0]
    assert len(table.rows) == len(set(table.rows)) == ROWS[quick.study.name]
    [picture] = {picture for outcome in quick.outcomes for picture in outcome.pictures}
    assert Path(quick.directory / picture).stat().st_size > 10_000


@pytest.mark.parametrize("name", PAGES)
def test_the_page_has_what_is_known(name: str) -> None:
    """What the whole study does not meet is what its description says."""
    [study] = reproduce.find(name)
    kept = json.loads(OUTCOMES.read_text("utf-8"))[name]["experiments"]
    assert [one["id"] for one in kept] == [one.id for one in study.experiments]
    assert {one["id"] for one in kept if not one["passed"]} == {
        one.id for one in study.experiments if one.not_met
    }


def test_the_fabric_of_hpcc_is_that_of_its_authors() -> None:
    """320 hosts and 480 links; each switch has one way down to each host of its pod, or of all."""
    [study] = reproduce.find("hpcc-2019/evaluation")
    fabric = Scenario.from_file(study.folder / "fabric.toml")
    topology = fabric.with_value("simulation.duration", "1 us").run().topology
    rates = Counter((link["rate_bps"], link["delay_ns"]) for link in topology["links"])
    assert rates == {(100e9, 1000): 320, (400e9, 1000): 160}
    below: dict[str, list[str]] = {}
    for link in topology["links"]:
        below.setdefault(link["b"], []).append(link["a"])

    def hosts(node: str) -> list[str]:
        return [node] if node.startswith("h") else [host for one in below[node] for host in hosts(one)]

    everyone = {f"h{nth}" for nth in range(320)}
    reached = Counter(len(hosts(node)) for node in below)
    assert reached == {16: 20, 64: 20, 320: 16}
    assert all(len(set(hosts(node))) == len(hosts(node)) for node in below)
    assert all(set(hosts(f"core{nth}")) == everyone for nth in range(16))
