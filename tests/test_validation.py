"""Validation: the quick form of all cases, theory against independent forms, and verdicts that can fail."""

from __future__ import annotations

import csv
import json
import math
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from conftest import Command, json_of
from penstock import validation
from penstock.cli import main
from penstock.errors import InputError
from penstock.validation import loops, managers, paths, registry, theory
from penstock.validation.document import write

DOCUMENT = Path(__file__).parent.parent / "docs" / "validation.md"


@pytest.fixture(scope="module")
def quick() -> list[validation.Outcome]:
    return validation.validate(validation.cases(), quick=True)


def test_every_case_agrees_with_theory(quick: list[validation.Outcome]) -> None:
    wrong = [
        f"{o.case.name}: {row.quantity}: {row.verdict}" for o in quick for row in o.rows if not row.passed
    ]
    assert not wrong, "\n".join(wrong)


def test_false_alarms_are_divided_by_enough_rows(quick: list[validation.Outcome]) -> None:
    random = [row for outcome in quick for row in outcome.rows if row.rule == "interval"]
    assert 0 < len(random) <= registry.ROWS, "raise ROWS: Bonferroni counts all random rows"


def sections(folder: Path, topic: str) -> dict[str, str]:
    """The text of each section of a topic's page, by heading."""
    _, *found = (folder / f"{topic}.md").read_text("utf-8").split("\n## ")
    return {head: text for head, _, text in (section.partition("\n") for section in found)}


def rows_of(folder: Path, outcome: validation.Outcome) -> list[dict[str, str]]:
    """The rows of a case in the table of its topic."""
    with (folder / f"{outcome.case.topic}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["case"] == outcome.case.name]


def test_the_document_has_a_page_for_each_topic(quick: list[validation.Outcome], tmp_path: Path) -> None:
    write(quick, tmp_path / "validation.md", quick=True)
    index = (tmp_path / "validation.md").read_text("utf-8")
    assert len(index.splitlines()) <= 60, "one screen"
    assert "quick form" in index
    kept = {path.name for path in (tmp_path / "validation").iterdir()}
    assert kept == {f"{topic}.{kind}" for topic in validation.TOPICS for kind in ("md", "csv")} | {
        "judging.md"
    }
    for outcome in quick:
        assert f"`{outcome.case.name}`" in index
        assert outcome.case.ends, "every section says where the model ends"
        own = sections(tmp_path / "validation", outcome.case.topic)[outcome.case.title]
        exact = sum(row.rule == "exact" for row in outcome.rows)
        assert f"**Rows.** {exact} equal" in own or not exact
        rows = rows_of(tmp_path / "validation", outcome)
        assert [row["quantity"] for row in rows] == [row.quantity for row in outcome.rows]
        assert all(row["verdict"] == "pass" for row in rows)
    assert (tmp_path / "images" / "validation.png").stat().st_size > 10_000


def test_a_page_shows_what_does_not_agree(quick: list[validation.Outcome], tmp_path: Path) -> None:
    case = quick[0].case
    wrong = (registry.exact("a", "ps", 7, 8), registry.within("b", "ps", 100, [110], 0.01, "chance"))
    write([validation.Outcome(case, wrong)], tmp_path / "v.md", quick=False)
    assert "**0 of 2 measurements agree**" in (tmp_path / "v.md").read_text("utf-8")
    assert "| 10.00 % |" in (tmp_path / "v.md").read_text("utf-8")
    page = (tmp_path / "v" / f"{case.topic}.md").read_text("utf-8")
    assert "- ✗ a: theory 7 ps, measured 8 ps; FAIL: not equal." in page
    assert "FAIL: more than 1.0% from theory" in page
    assert "Not exact: chance." in page


def test_the_kept_document_is_of_the_full_form_with_all_rows(quick: list[validation.Outcome]) -> None:
    index = DOCUMENT.read_text("utf-8")
    number = sum(len(outcome.rows) for outcome in quick)
    assert f"**{number} of {number} measurements agree**" in index
    assert "quick form.**" not in index
    for outcome in quick:
        own = sections(DOCUMENT.with_suffix(""), outcome.case.topic)[outcome.case.title]
        assert "✗" not in own
        # Some quantities name a number of periods, of which the full form has more.
        rows = rows_of(DOCUMENT.with_suffix(""), outcome)
        assert len(rows) == len(outcome.rows), "run penstock validate --write"


@pytest.mark.parametrize("case", validation.cases(), ids=lambda case: case.name)
def test_the_scenario_of_a_case_is_printed(case: registry.Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", case.name, "--scenario"]) == 0
    printed = capsys.readouterr().out
    assert printed == case.scenario.rstrip() + "\n"


def test_command_prints_json_and_knows_its_cases(penstock: Command, tmp_path: Path) -> None:
    answer = json_of(penstock("validate", "latency", "buffers", "--quick", "--json", "--write", "v.md"))
    schema = Path(validation.__file__).parent.parent / "schemas" / "validate.schema.json"
    jsonschema.validate(answer, json.loads(schema.read_text("utf-8")))
    assert answer["passed"]
    assert [case["name"] for case in answer["cases"]] == ["buffers", "latency"]
    assert {row["rule"] for row in answer["cases"][0]["rows"]} == {"interval", "exact"}
    assert {path.name for path in (tmp_path / "v").iterdir()} == {
        "buffers.csv",
        "buffers.md",
        "latency.csv",
        "latency.md",
        "judging.md",
    }
    assert penstock("validate", "--scenario").returncode == 2
    unknown = penstock("validate", "md2")
    assert (unknown.returncode, "md1" in unknown.stderr) == (2, True)
    assert penstock("validate", "latency", "--write", "nowhere/v.md").returncode == 2


def test_cases_have_names_of_their_own() -> None:
    with pytest.raises(InputError):
        validation.cases(["no such case"])
    with pytest.raises(ValueError, match="two validation cases"):
        registry.case("md1", "", compared="", formula="", sources=(), scenario="", ends=())(
            lambda _: iter(())
        )


def test_a_verdict_can_fail() -> None:
    near = [99.5, 100.2, 100.1, 99.9, 100.4, 99.8, 100.0, 99.7, 100.3, 100.1]
    assert registry.random("", "", 100, near).passed
    assert registry.random("", "", 102, near).verdict == "FAIL: theory outside the interval"
    assert registry.random(
        "", "", 100, [value**3 / 1e4 for value in near], precision=0.001
    ).verdict.startswith("FAIL: interval wider")
    assert registry.within("", "", 100, near, 0.01, "why").passed
    assert not registry.within("", "", 102, near, 0.01, "why").passed
    assert registry.exact("", "", 7, 7).passed
    assert not registry.exact("", "", 7, 7.001).passed


def test_probabilities_are_those_of_student() -> None:
    row = registry.random("", "", 0.0, [1.0, 2.0, 3.0])  # t = 2 / (1 / sqrt 3), 2 degrees of freedom
    t = 2 * math.sqrt(3)
    assert row.probability == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-9)


# Theory against other forms of itself


@pytest.mark.parametrize("load", [0.3, 0.8, 0.95])
def test_md1_below_one_service_time_is_exponential(load: float) -> None:
    wait = theory.mg1_wait(load, [(1000, 1.0)])
    for x in (0.0, 250.0, 900.0):
        assert wait(x) == pytest.approx((1 - load) * math.exp(load * x / 1000), rel=2e-4)


def test_mm1_tail_of_nearly_exponential_lengths() -> None:
    sizes = theory.exponential_sizes(700, 9216)
    assert math.fsum(share for _, share in sizes) == pytest.approx(1, abs=1e-12)
    wait = theory.mg1_wait(0.8, sizes)
    mean = theory.mean(sizes)
    for x in (500.0, 5000.0, 20000.0):
        assert 1 - wait(x) == pytest.approx(0.8 * math.exp(-0.2 * x / mean), rel=0.01)


def test_imix_percentile_against_lindley() -> None:
    rng = np.random.default_rng(7)
    sizes = theory.with_overhead(theory.IMIX, 20)
    count, load = 4_000_000, 0.7
    service = rng.choice([s for s, _ in sizes], p=[p for _, p in sizes], size=count)
    gaps = rng.exponential(theory.mean(sizes) / load, count)
    walk = np.concatenate([[0.0], np.cumsum(service[:-1] - gaps[1:])])
    waits = walk - np.minimum.accumulate(walk)
    expected = theory.quantile(theory.mg1_wait(load, sizes), 0.99, start=1000)
    assert np.quantile(waits, 0.99) == pytest.approx(expected, rel=0.02)
    assert waits.mean() == pytest.approx(theory.mg1_mean_wait(load / theory.mean(sizes), sizes), rel=0.01)


def test_percentiles_are_read_within_their_bin() -> None:
    exact = theory.quantile(lambda x: 1 - math.exp(-x / 1e6), 0.99, start=1e6)
    assert exact == pytest.approx(1e6 * math.log(100))
    assert theory.quantile_as_read(lambda x: 1 - math.exp(-x / 1e6), 0.99, start=1e6) == pytest.approx(
        exact, rel=0.01
    )


def test_one_class_of_priorities_is_mg1() -> None:
    sizes = [(1.0, 0.5), (3.0, 0.5)]
    assert theory.cobham([0.3], [sizes])[0] == pytest.approx(theory.mg1_mean_wait(0.3, sizes))
    # Kleinrock's conservation law: the load-weighted sum of waits does not depend on the order.
    one, two = [(1.0, 1.0)], [(4.0, 1.0)]
    first, second = theory.cobham([0.3, 0.1], [one, two]), theory.cobham([0.1, 0.3], [two, one])
    assert 0.3 * first[0] + 0.4 * first[1] == pytest.approx(0.4 * second[0] + 0.3 * second[1])


def test_finite_queues_agree_with_each_other() -> None:
    sizes = theory.exponential_sizes(700, 9216)
    rate = 0.9 / theory.mean(sizes)
    assert theory.mg1k_loss(rate, sizes, 6) == pytest.approx(theory.mm1k_loss(0.9, 6), rel=0.01)
    one = theory.fifo_losses([0.8], [1.0], lambda waiting, _: len(waiting) < 3)
    assert one[0] == pytest.approx(theory.mg1k_loss(0.8, [(1.0, 1.0)], 4), rel=1e-9)
    two = theory.fifo_losses([0.3, 0.2], [1.0, 2.0], lambda waiting, _: len(waiting) < 2)
    both = theory.mg1k_loss(0.5, [(1.0, 0.6), (2.0, 0.4)], 3)
    assert two == pytest.approx([both, both], rel=1e-9)
    # Erlang's loss formula: no room to wait.
    assert theory.mg1k_loss(0.5, [(1.0, 1.0)], 1) == pytest.approx(0.5 / 1.5)


def test_periodic_sources_against_drawing_phases() -> None:
    rng = np.random.default_rng(3)
    sources, period = 8, 10.0
    total, draws = 0.0, 20_000
    for phases in rng.uniform(0, period, (draws, sources)):
        free = 0.0
        order = np.sort(phases)
        for arrival in np.concatenate([order, order + period]):  # the second period is the steady one
            wait = max(free - arrival, 0.0)
            free = arrival + wait + 1
            total += wait if arrival >= period else 0.0
    assert total / (draws * sources) == pytest.approx(theory.ndd1_mean_wait(sources, period), rel=0.02)
    assert theory.ndd1_tail(1, period, 0.25) == pytest.approx(0.75 / period)


@pytest.mark.parametrize(
    ("sources", "share", "capacity"), [(10, 0.36, 4.5454), (20, 0.38, 9.09), (3, 0.2, 1.5)]
)
def test_fluid_decay_is_the_printed_one(sources: int, share: float, capacity: float) -> None:
    fluid = theory.FluidQueue.solve(sources, share, capacity)
    assert fluid.decay == pytest.approx(theory.decay_closed_form(sources, share, capacity))
    assert 0 < fluid.tail_found(0.0) < 1
    steps = np.linspace(0, 60 / fluid.decay / 3, 20_001)
    tails = np.array([fluid.tail_found(x) for x in steps])
    assert (np.diff(tails) < 0).all()
    assert np.trapezoid(tails, steps) == pytest.approx(fluid.mean_found(), rel=1e-3)


def test_latency_of_plain_cases() -> None:
    hops = [theory.Hop(10**10, 300_000), theory.Hop(10**10, 0)]
    assert theory.path_latency(1522, 20, hops, cut_through=False) == 2 * 1_233_600 + 300_000
    assert theory.path_latency(1522, 20, hops, cut_through=True) == 67_200 + 300_000 + 1_233_600
    assert theory.tandem_latencies([0, 0], 1522, 20, hops) == [2_767_200, 4_000_800]


def test_least_headroom_is_whole_frames_of_total_delay() -> None:
    # 300 m at 10 Gb/s: TotalDelay 102,448 bit times of 12,336 a frame (802.1Qbb Annex O).
    frames = theory.frames_after_xoff(1_233_600, 1_233_599, 67_200, 1_500_000 + 819_200, 3_072_000)
    assert frames == 102_448 // 12_336 == 8


@pytest.mark.parametrize(("spacing", "least", "most"), [("uniform", 1, 19), ("wait", 20, 39)])
def test_gaps_of_red_are_equally_likely(spacing: str, least: int, most: int) -> None:
    more = [*managers.survival(spacing, 0.05), 0.0]
    gaps = {n: before - after for n, (before, after) in enumerate(pairwise(more), 1)}
    for gap, probability in gaps.items():
        expected = 1 / (most - least + 1) if least <= gap <= most else 0
        assert probability == pytest.approx(expected, abs=1e-12)
    # The mean of a gap is the sum of P(gap > n).
    assert math.fsum(more) == pytest.approx((least + most) / 2)


def test_step_response_of_red_is_its_recursion() -> None:
    ramp = managers.found_waiting(12, 36)
    assert ramp[:4] == [0, 0, 1, 2], "nobody waits yet when the first two come"
    assert ramp[-12:] == [10] * 12, "the plateau"
    for level in (2.5, 5.0, 9.9):
        average, arrivals = 0.0, 0
        while average < level:
            average += managers.RED_WEIGHT * (ramp[min(arrivals, 35)] - average)
            arrivals += 1
        assert managers.arrival_above(ramp, level) == arrivals


def test_overtaken_frames_against_drawing_paths() -> None:
    rng = np.random.default_rng(5)
    delays = 2_000 * rng.choice([100, 1_100, 2_100, 3_100], size=200_000)
    for interval in (1_700_000, 5_900_000):
        arrivals = interval * np.arange(delays.size) + delays
        later = np.minimum.accumulate(arrivals[::-1])[::-1]
        share = (arrivals[:-1] > later[1:]).mean()
        assert paths.overtaken(interval) == pytest.approx(share, rel=0.03)
    assert paths.overtaken(6_100_000) == 0


def test_round_trips_by_hand() -> None:
    links = [(10_000_000_000, 100_000)] * 2
    assert loops.segments(2_500) == [1_000, 1_000, 500]
    # Two segments of 816 ns and one of 416 ns: the last waits for the others on both links.
    assert loops.path_time([1_000, 1_000, 500], links) == 3 * 816_000 + 416_000 + 2 * 100_000
    assert loops.round_trip(links) == 2 * (816_000 + 67_200) + 4 * 100_000
    # A window of two: two segments a round trip of 2,166.4 ns, each 1,832 ns on its way.
    assert loops.delivered(2, links, 2_000_000) == 1
    assert loops.delivered(2, links, 1_832_000 + 2_166_400 + 816_000 + 1) == 4
