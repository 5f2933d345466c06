"""Chapter 6 of Hagen 2012: its quick form passes, its search finds what it looks for."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from penstock.errors import StudyError
from penstock.scenario import Scenario
from penstock.studies import reproduce

NAME = "hagen-2012/ch6"
PAGE = Path(__file__).parents[1] / "docs" / "studies" / "hagen-2012-ch6.md"
GOLDEN_BPS = {"large": (4.935149e9, 4.876783e9), "small": (3.863636e9, 2.840909e9)}
"""Frames and payload of 1522 B and 68 B with equal quanta, accounted L + 20: arithmetic."""


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> reproduce.StudyResult:
    [study] = reproduce.find(NAME)
    return reproduce.reproduce(study, tmp_path_factory.mktemp("study") / "ch6", quick=True)


@pytest.fixture(scope="module")
def code(quick: reproduce.StudyResult) -> ModuleType:
    """The study's package; whoever asks has run it."""
    return reproduce._module(quick.study)


def test_what_is_reproduced_and_what_is_not(quick: reproduce.StudyResult) -> None:
    failed = {outcome.id for outcome in quick.outcomes if not outcome.passed}
    mixes = {"H6-8", "H6-8-average"}
    assert failed == {"H6-1", "H6-3-256", *mixes, "H6-10-frames", "H6-10-gain"}
    assert {outcome.id for outcome in quick.outcomes if not outcome.decided} == mixes
    assert quick.passed, "each of them says why"


def test_24_accounted_bytes_are_shown_beside_20(quick: reproduce.StudyResult) -> None:
    """Three printed figures ask for 24 B, and the text says 20."""
    measured = {outcome.id: outcome.measured for outcome in quick.outcomes}
    for name, with_20, with_24 in (
        ("H6-1", "21.7% less", "24.9%"),
        ("H6-10-frames", "0.9854", "0.9802"),
        ("H6-10-gain", "+27.", "+33.2%"),
    ):
        assert with_20 in measured[name]
        assert with_24 in measured[name]


def test_pictures_and_tables(quick: reproduce.StudyResult) -> None:
    assert quick.cover == "ch6.png"
    pictures = [quick.cover, *(picture for outcome in quick.outcomes for picture in outcome.pictures)]
    assert len(set(pictures)) == 7
    for picture in pictures:
        assert (quick.directory / picture).stat().st_size > 10_000
    for table in quick.tables:
        lines = (quick.directory / f"{table.name}.csv").read_text("utf-8").splitlines()
        assert len(lines) == len(table.rows) + 1


def test_a_finished_study_leaves_no_runs(quick: reproduce.StudyResult) -> None:
    assert [path.name for path in quick.directory.parent.iterdir()] == ["ch6"]


def test_two_streams_get_what_arithmetic_says() -> None:
    [study] = reproduce.find(NAME)
    rows = Scenario.from_file(study.folder / "two-streams.toml").run().rows("flows")
    got = {row["flow"]: (row["throughput_bps"], row["goodput_bps"]) for row in rows}
    for flow, expected in GOLDEN_BPS.items():
        assert got[flow] == pytest.approx(expected, rel=1e-3)


def test_closed_form(code: ModuleType) -> None:
    """The table of what billing asks for, recomputed by hand."""
    billing = code.tables
    wire = billing.WIRE
    assert wire.weight("payload", 68) == pytest.approx((88 / 50) / (1542 / 1504))
    assert wire.weight("frame", 68) == pytest.approx((88 / 68) / (1542 / 1522))
    assert billing.Billing("wire", 40).bytes(68) == 120
    assert billing.WIRE_AND_4.bytes(68) == 92
    assert 1 - 1 / billing.WIRE_AND_4.weight("frame", 68) == pytest.approx(0.249, abs=5e-4)
    assert billing.Billing("wire", 44).bytes(68) == 88
    assert billing.formula(68) == pytest.approx(1.732)
    assert billing.formula(146) == pytest.approx(1.108)
    assert billing.formula(147) == pytest.approx(1.0934, abs=1e-4)
    assert billing.needed_overhead("payload", 68, wire.weight("payload", 68)) == pytest.approx(20)
    mixed = wire.mixed_weight("payload", 68, 256, by_load=False)
    assert mixed == pytest.approx((88 + 276) / (50 + 238) / (1542 / 1504))


class Made:
    """A ledger whose switch has a fair weight of its own."""

    def __init__(self, fair: float) -> None:
        self.fair = fair
        self.requested = 0

    def throughputs(self, scenario: Scenario) -> dict[str, dict[str, float]]:
        self.requested += 1
        weights = scenario.to_dict()["switch"]["scheduler"]["drr"]["weights"]
        # Not linear, so that a search that computes instead of looking fails.
        ratio = ((weights[1] / weights[0]) / self.fair) ** 0.7
        return {"small": {"payload": ratio}, "large": {"payload": 1.0}}


@pytest.mark.parametrize("fair", [0.03, 0.744, 1.0, 1.716, 2.4, 30.0])
def test_bisection_finds_the_fair_weight(code: ModuleType, fair: float) -> None:
    made = Made(fair)
    found = code.fair_weight(made, Scenario.from_file(code_file("two-streams")), "payload")
    assert found.weight == pytest.approx(fair, rel=2e-3)
    assert found.runs == made.requested <= 30


def test_bisection_says_when_there_is_none(code: ModuleType) -> None:
    for fair in (1e6, 1e-6):
        with pytest.raises(StudyError, match="with any weight"):
            code.fair_weight(Made(fair), Scenario.from_file(code_file("two-streams")), "payload")


def test_a_ledger_knows_what_was_run(code: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.from_file(code_file("two-streams")).with_value("simulation.duration", "1200 us")
    ledger = code.Ledger()
    got = ledger.throughputs(scenario)
    assert got["large"]["frame"] > got["small"]["frame"] > got["small"]["payload"] > 0
    other = scenario.with_value("flows.small.frame", "128 B")
    assert ledger.throughputs(other) != got
    monkeypatch.setattr(Scenario, "run", None)
    assert ledger.throughputs(scenario) == got


def code_file(name: str) -> Path:
    [study] = reproduce.find(NAME)
    return study.folder / f"{name}.toml"
