"""Criteria over seeds: verdicts by intervals, quick runs that decide nothing, calibrations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import library
from penstock.analysis.statistics import clopper_pearson_interval, student_t_interval
from penstock.cli import main
from penstock.errors import ArgumentError, StudyError
from penstock.scenario import Scenario
from penstock.studies import judging, reproduce
from penstock.studies.description import QUICK_SEEDS, SEEDS, Bound, Experiment, Study

T_9 = 2.2621571628
"""Two-sided 95 % quantile of Student's t with nine degrees of freedom (tables)."""
SPREAD = tuple(range(-5, 0)) + tuple(range(1, 6))
"""Ten values with mean 0 and sample variance 110/9."""
HALF = T_9 * math.sqrt(110 / 9 / 10)
"""Half-width of the interval of their mean, by hand."""
TOML = """
title = "Figures of ten seeds"
source = "Nobody 1999, chapter 2"

[[experiments]]
id = "S1"
reported = "high"
criterion = "at least 10"
bounds = [{ figure = "high", at_least = 10 }]

[[experiments]]
id = "S2"
reported = "none lost"
criterion = "no frame is lost"
bounds = [{ figure = "lost", at_most = 0, every = true }]

[[experiments]]
id = "S3"
reported = "100 us"
criterion = "99 to 101 us"
kind = "calibration"
deterministic = true
bounds = [{ figure = "fixed", at_least = 99, at_most = 101, what = "constant time", shown = "{:.0f} us" }]

[[experiments]]
id = "S4"
reported = "all of it"
criterion = "a long run"
requires = "full"
revised = "The criterion was 'a run' until the first result."
bounds = [{ figure = "high", at_least = 10 }]

[[departures]]
what = "nothing is simulated"
"""
CODE = """
SPREAD = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)


def measure(seed):
    return {"high": AIM + SPREAD[seed - 1], "lost": 0 if seed > LOSING else 7}


def run(context):
    figures = context.over_seeds(measure, "S1", "S2")
    found = [context.judge(one, figures) for one in ("S1", "S2")]
    found.append(context.judge("S3", [{"fixed": 100}]))
    if context.measures("S4"):
        found.append(context.judge("S4", figures))
    return found
"""


def requested(**bounds: Any) -> Bound:
    return Bound("x", **bounds)


def test_the_interval_is_that_of_the_table() -> None:
    found = judging.finding(requested(at_least=0), [20 + value for value in SPREAD])
    assert (found.mean, found.low, found.high) == pytest.approx((20, 20 - HALF, 20 + HALF))


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ({"at_least": 20 - 1.01 * HALF}, "met"),
        ({"at_least": 20 - 0.99 * HALF}, "not decided"),
        ({"at_least": 20 + 0.99 * HALF}, "not decided"),
        ({"at_least": 20 + 1.01 * HALF}, "not met"),
        ({"at_most": 20 + 1.01 * HALF}, "met"),
        ({"at_most": 20}, "not decided"),
        ({"at_most": 20 - 1.01 * HALF}, "not met"),
        ({"at_least": 20 - 1.01 * HALF, "at_most": 20 + 1.01 * HALF}, "met"),
        ({"at_least": 19, "at_most": 21}, "not decided"),
        ({"at_least": 0, "at_most": 10}, "not met"),
        ({"above": 20 - 1.01 * HALF, "below": 20 + 1.01 * HALF}, "met"),
        ({"above": 20}, "not decided"),
        ({"below": 20 - 1.01 * HALF}, "not met"),
    ],
)
def test_inside_outside_straddling(bounds: dict[str, float], verdict: str) -> None:
    assert judging.finding(requested(**bounds), [20 + value for value in SPREAD]).verdict == verdict


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20),
    least=st.floats(-1e6, 1e6),
    width=st.floats(0, 1e6),
)
def test_no_verdict_contradicts_the_interval(values: list[float], least: float, width: float) -> None:
    over = student_t_interval(values)
    found = judging.finding(requested(at_least=least, at_most=least + width), values)
    inside = least <= over.low and over.high <= least + width
    outside = over.high < least or least + width < over.low
    assert (found.verdict == "met") == inside
    assert (found.verdict == "not met") == outside


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [(10, "met"), (9, "not decided"), (7, "not decided"), (6, "not met"), (0, "not met")],
)
def test_a_bound_on_every_run(holds: int, verdict: str) -> None:
    lost = [0] * holds + [3] * (10 - holds)
    assert judging.finding(requested(at_most=0, every=True), lost).verdict == verdict


def test_an_event_that_did_not_occur_has_no_mean() -> None:
    found = judging.finding(requested(at_most=5), [1.0] * 9 + [math.inf])
    assert (found.verdict, found.holds) == ("not decided", 9)
    assert found.to_dict()["mean"] is None
    assert judging.finding(requested(at_most=5), [math.nan] * 10).verdict == "not met"


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (("met", "met"), "met"),
        (("met", "not decided"), "not decided"),
        (("not decided", "not met"), "not met"),
    ],
)
def test_a_criterion_needs_all_its_bounds(verdicts: tuple[str, ...], whole: str) -> None:
    assert judging.together(verdicts) == whole


@pytest.mark.parametrize("trials", [1, 6, 10, 40])
def test_shares_of_all_and_none_have_closed_forms(trials: int) -> None:
    end = 0.025 ** (1 / trials)
    assert clopper_pearson_interval(trials, trials) == pytest.approx((end, 1))
    assert clopper_pearson_interval(0, trials) == pytest.approx((0, 1 - end))


def test_the_ends_of_a_share_are_where_the_tails_are_one_in_forty() -> None:
    low, high = clopper_pearson_interval(7, 10)

    def at_least(count: int, share: float) -> float:
        return sum(math.comb(10, k) * share**k * (1 - share) ** (10 - k) for k in range(count, 11))

    assert at_least(7, low) == pytest.approx(0.025)
    assert 1 - at_least(8, high) == pytest.approx(0.025)
    for wrong in ((11, 10), (-1, 10), (0, 0)):
        with pytest.raises(ArgumentError):
            clopper_pearson_interval(*wrong)
    with pytest.raises(ArgumentError):
        clopper_pearson_interval(1, 2, 1.0)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "studies" / "nobody-1999" / "seeds"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(TOML)
    (folder / "fingerprints.json").write_text("{}")
    monkeypatch.setattr(library, "STUDIES", tmp_path / "studies")
    monkeypatch.chdir(tmp_path)
    return folder


def verdicts(study: Path, aim: float, losing: int, *, quick: bool = False) -> reproduce.StudyResult:
    (study / "study.py").write_text(f"AIM, LOSING = {aim}, {losing}\n{CODE}")
    [found] = reproduce.find(None)
    return reproduce.reproduce(found, Path("out"), quick=quick)


@pytest.mark.parametrize(
    ("aim", "losing", "expected"),
    [
        (20, 0, ["reproduced", "reproduced", "calibrated", "reproduced"]),
        (11, 1, ["not decided", "not decided", "calibrated", "not decided"]),
        (1, 6, ["not reproduced", "not reproduced", "calibrated", "not reproduced"]),
    ],
)
def test_verdicts_of_a_study(study: Path, aim: float, losing: int, expected: list[str]) -> None:
    result = verdicts(study, aim, losing)
    assert [result.verdict(outcome) for outcome in result.outcomes] == expected
    assert result.passed == ("not reproduced" not in expected)


def test_a_quick_run_says_on_which_side_its_figures_are(study: Path) -> None:
    """For a first look, as `penstock demo` prints it."""
    assert [one.judgement.within for one in verdicts(study, 20, 0, quick=True).outcomes[:3]] == [True] * 3
    assert [one.judgement.within for one in verdicts(study, 1, 1, quick=True).outcomes[:2]] == [False] * 2


def test_a_quick_run_turns_no_verdict(study: Path) -> None:
    for aim in (1, 20):
        result = verdicts(study, aim, 10, quick=True)
        assert [result.verdict(one) for one in result.outcomes] == [
            *2 * ["not decided"],
            "calibrated",
            "not decided",
        ]
        why = [result.why(one) for one in result.outcomes]
        seeds = f"{QUICK_SEEDS} seeds; judged over {SEEDS}"
        assert why == [seeds, seeds, "", "needs the full study"]
        assert result.passed


def test_pages_and_answers_have_seeds_mean_and_interval(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "study.py").write_text(f"AIM, LOSING = 20, 1\n{CODE}")
    Path("pages").mkdir()
    assert main(["reproduce", "--all", "--json", "--document", "pages"]) == 0
    answer = json.loads(capsys.readouterr().out)
    schema = Path(reproduce.__file__).parents[1] / "schemas" / "reproduce.schema.json"
    jsonschema.validate(answer, json.loads(schema.read_text()))
    first, second, third, fourth = answer["experiments"]
    [figure] = first["figures"]
    assert (first["seeds"], figure["mean"]) == (10, 20)
    assert (figure["low"], figure["high"]) == pytest.approx((20 - HALF, 20 + HALF))
    assert (second["verdict"], second["why"]) == ("not decided", "lost 0 to 7, at most 0 on 9 of 10 seeds")
    assert (third["seeds"], third["deterministic"]) == (0, True)
    assert fourth["revised"].startswith("The criterion was")
    page = Path("pages/nobody-1999-seeds.md").read_text("utf-8")
    assert f"10 seeds: high 20 ({20 - HALF:.4g} to {20 + HALF:.4g})" in page
    assert "2 of 3 claims of the source are reproduced" in page, "the calibration is not counted"
    assert "### Changed after a result was known\n\n- **S4**: The criterion was" in page
    index = Path("pages/index.md").read_text("utf-8")
    assert "Of 3 claims of the sources, 2 are reproduced and 0 are not; 1 is not decided." in index


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"bounds": [{"figure": "x"}]}, "no bound"),
        ({"bounds": [{"figure": "x", "at_least": 1, "above": 1}]}, "at_least and above"),
        ({"bounds": [{"figure": "x", "at_least": 1}], "seeds": -1}, "at least 1"),
        ({"bounds": [{"figure": "x", "at_least": 1}], "seeds": 10, "deterministic": True}, "draw random"),
        ({"seeds": 10}, "no bounds"),
        ({"bounds": [{"figure": "x", "at_last": 1}]}, "unknown key 'at_last'; did you mean at_least"),
        ({"bounds": [{"figure": "x", "at_least": "1"}]}, "at_least is '1'; expected a number"),
        ({"bounds": [{"at_least": 1}]}, "the key 'figure' is missing"),
        ({"bounds": 3}, "bounds is 3; expected a list of tables"),
        ({"bounds": [{"figure": "x", "at_least": 2, "at_most": 1}]}, "no value lies between 2 and 1"),
        ({"bounds": [{"figure": "x", "at_least": 1, "shown": "{:q}"}]}, "expected a format"),
        ({"bound": []}, "unknown key 'bound'; did you mean bounds"),
        ({"bounds": [{"figure": "x", "at_least": 1}], "seeds": "a"}, "seeds is 'a'; expected a whole number"),
        ({"bounds": [{"figure": "x", "at_least": 1}], "deterministic": 1}, "expected true or false"),
        ({"requires": "fool"}, "expected 'full'"),
    ],
)
def test_a_wrong_entry_is_an_error(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Experiment.of({"id": "S", "criterion": "c", "reported": "r", **entry})


@pytest.mark.parametrize(("value", "holds"), [(0.99, True), (1, False), (1.01, False), (math.nan, False)])
def test_an_excluded_bound(value: float, holds: bool) -> None:
    assert requested(below=1).holds(value) == holds
    assert requested(above=-1).holds(-value) == holds
    assert judging.finding(requested(below=1), [value]).verdict == ("met" if holds else "not met")


def test_figures_that_are_missing_are_an_error(study: Path) -> None:
    found = Study.load(study)
    context = reproduce.Context(found, study)
    with pytest.raises(StudyError, match=r"S1: no figure 'high'; the study measures low"):
        context.judge("S1", [{"low": 1}] * 10)
    with pytest.raises(StudyError, match="figures of 3 seeds; expected 10"):
        context.judge("S1", [{"high": 1}] * 3)


STORED = Path(__file__).parents[1] / "docs" / "studies" / "outcomes.json"


def test_stored_verdicts_follow_from_stored_figures() -> None:
    seen = 0
    for study in json.loads(STORED.read_text("utf-8")).values():
        for row in study["experiments"]:
            if not (figures := row.get("figures")):
                continue
            seen += 1
            whole = judging.together([rule(one) for one in figures])
            assert row["passed"] == (whole == "met"), row["id"]
            assert (row["verdict"] == "not decided") == (whole == "not decided"), row["id"]
            assert row["seeds"] == 0 or {one["seeds"] for one in figures} == {row["seeds"]}
            assert not (row["seeds"] and row["deterministic"])
    assert seen >= 10


def rule(one: dict[str, Any]) -> str:
    """The verdict on a stored figure, by the rule that the page states."""
    if one["rule"] == "every" or one["mean"] is None or one["seeds"] == 1:
        if one["holds"] == one["seeds"]:
            return "met"
        return "not met" if one["share"][1] < 0.9 or one["seeds"] == 1 else "not decided"
    low, high = (_outside(one, one[end]) for end in ("low", "high"))
    if low == high == 0:
        return "met"
    return "not met" if high < 0 or low > 0 else "not decided"


def _outside(one: dict[str, Any], value: float) -> int:
    """-1 below the bounds of a stored figure, 1 above them, 0 within them."""
    at_least, at_most, above, below = (one.get(key) for key in ("at_least", "at_most", "above", "below"))
    if (at_least is not None and value < at_least) or (above is not None and value <= above):
        return -1
    return int((at_most is not None and value > at_most) or (below is not None and value >= below))


DRAWS_NOTHING = [
    ("collectives/algebra", "star"),
    ("collectives/rails", "rails"),
    ("hagen-2012/ch5", "storage"),
    ("hagen-2012/ch6", "awc"),
    ("hagen-2012/ch6", "three-streams"),
    ("hagen-2012/ch6", "two-streams"),
    ("hagen-2012/ch7", "longest-pause"),
    ("hagen-2012/interoperability", "fabric"),
    ("hagen-2012/interoperability", "screening"),
    ("jiang-2007/fecn", "buffer"),
    ("scheduling/accounting", "pair"),
    ("scheduling/drr-awc", "mixes"),
    ("sonic/shipped", "incast"),
    ("storage/parameters", "pair"),
]
"""Scenarios of criteria that are marked as deterministic."""


@pytest.mark.parametrize(("name", "file"), DRAWS_NOTHING)
def test_what_is_deterministic_draws_nothing(name: str, file: str) -> None:
    """Two seeds give the same trajectory."""
    [study] = reproduce.find(name)
    assert any(one.deterministic for one in study.experiments)
    scenario = Scenario.from_file(study.folder / f"{file}.toml").with_value("simulation.warmup", "0 s")
    short = scenario.with_value("simulation.duration", "3 ms")
    assert short.run(seed=1).fingerprint == short.run(seed=2).fingerprint
