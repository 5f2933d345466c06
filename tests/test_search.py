"""Searches: known optima, what is required, and that a search goes on where it was."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock as ps
from conftest import SMALL, TWO_GREEDY, Command
from penstock.cli import main
from penstock.errors import ArgumentError
from penstock.laboratory.engines import Engine
from penstock.laboratory.search import Goal, Trial, search

LINK = (
    """
[simulation]
duration = "60 us"

[probes]
bin = "off"

[topology.star]
hosts = 3
rate = "100 Gb/s"
length = "300 m"
phy = "none"

[flow_control.pfc]
xoff = "20 KiB"
xon = "10 KiB"
"""
    + TWO_GREEDY
)
HEADROOM = "flow_control.pfc.headroom"


def found(plan: ps.Plan, goal: Goal, out: Path, trials: int) -> list[Trial]:
    with ThreadPoolExecutor(2) as pool:
        return search(plan, goal, out, trials=trials, executor=Engine(pool, 2))


def test_a_key_that_is_not_there_is_reported_before_any_trial(tmp_path: Path) -> None:
    plan = ps.Plan(
        ps.Scenario.from_toml(LINK), {"switch.buffer.qeue": "20 KiB:40 KiB"}, mode="latin", points=1
    )
    with pytest.raises(ps.ScenarioError, match="unknown key `qeue`"):
        found(plan, Goal("minimize", "sum(flows.frames_dropped)", []), tmp_path / "s", 3)
    assert not (tmp_path / "s").exists()


def test_the_least_headroom_of_a_link_is_found_within_one_percent(tmp_path: Path) -> None:
    """IEEE 802.1Qbb Annex O without interface delays: 2 M + P + 2 C + H bit times, a frame less a byte."""
    frame, pause, cable, response = (1522 + 20) * 8, 84 * 8, 150_000, 394 * 512
    least = (2 * frame + pause + 2 * cable + response) // 8 + 1521
    plan = ps.Plan(ps.Scenario.from_toml(LINK), {HEADROOM: "20 KiB:400 KiB"}, mode="latin", points=1)
    goal = Goal("minimize", f"scenario.{HEADROOM}", ["sum(flows.frames_dropped) == 0"])
    best = found(plan, goal, tmp_path / "s", 48)[0]
    assert best.is_feasible
    assert best.objective is not None
    assert least <= best.objective <= 1.01 * least


def test_the_best_of_all_combinations_is_found(tmp_path: Path) -> None:
    """Sixteen points, run one by one beside the search: some lose frames, some are too slow."""
    base = ps.Scenario.from_toml(SMALL)
    xoffs, queues = (20, 30, 40, 50), (30, 60, 90, 120)
    keys = {
        "flow_control.pfc.xoff": ", ".join(f"{xoff} frames" for xoff in xoffs),
        "switch.buffer.queue": ", ".join(f"{queue} frames" for queue in queues),
    }
    plan = ps.Plan(base, keys, mode="latin", points=1)
    goal = Goal(
        "minimize",
        "2 * scenario.switch.buffer.queue - scenario.flow_control.pfc.xoff",
        ["max(flows.latency_p99_ns) < 75000"],
    )
    tried = found(plan, goal, tmp_path / "s", 48)
    values, refused = [], 0
    for xoff, queue in itertools.product(xoffs, queues):
        one = base.with_value("flow_control.pfc.xoff", f"{xoff} frames")
        try:
            flows = one.with_value("switch.buffer.queue", f"{queue} frames").run().rows("flows")
        except ps.SimulationError:
            refused += 1
            continue
        if max(row["latency_p99_ns"] for row in flows) < 75_000:
            values.append(2 * queue - xoff)
    assert refused > 0
    assert len(values) < 16 - refused
    assert tried[0].is_feasible
    assert tried[0].objective == min(values)


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    base = ps.Scenario.from_toml(SMALL)
    plan = ps.Plan(base, {"flow_control.pfc.xoff": "15 frames:60 frames"}, mode="latin", points=1)
    goal = Goal("minimize", "max(flows.latency_p99_ns)")
    first = {trial.number: trial for trial in found(plan, goal, tmp_path / "s", 6)}
    again = {trial.number: trial for trial in found(plan, goal, tmp_path / "s", 10)}
    assert len(first) == 6
    assert len(again) == 10
    assert {number: again[number] for number in first} == first


def test_points_that_are_worse_in_their_first_part_are_given_up(tmp_path: Path) -> None:
    base = ps.Scenario.from_toml(SMALL)
    plan = ps.Plan(base, {"flow_control.pfc.xoff": "15 frames:60 frames"}, mode="latin", points=1)
    goal = Goal("minimize", "max(flows.latency_p99_ns)")
    with ThreadPoolExecutor(1) as pool:
        tried = search(plan, goal, tmp_path / "s", trials=16, first_part=0.5, executor=Engine(pool, 1))
        again = search(plan, goal, tmp_path / "s", trials=16, first_part=0.5, executor=Engine(pool, 1))
    assert tried == again  # all of it is in the database
    given_up = [trial for trial in tried if trial.given_up]
    assert given_up
    assert tried[0].is_feasible
    assert tried[0].objective is not None
    for trial in given_up:
        assert (trial.objective, trial.is_feasible) == (None, False)
        earlier = sorted(
            one.first_part
            for one in tried
            if one.is_feasible and one.number < trial.number and one.first_part
        )
        assert len(earlier) >= 5
        assert trial.first_part is not None
        assert trial.first_part > earlier[len(earlier) // 2]
        whole = base.with_value("flow_control.pfc.xoff", trial.values["flow_control.pfc.xoff"]).run()
        assert max(row["latency_p99_ns"] for row in whole.rows("flows")) >= tried[0].objective
    # The first part is the beginning of the whole: half of 200 us.
    first = base.with_value("simulation.duration", "100 us")
    first = first.with_value("flow_control.pfc.xoff", tried[0].values["flow_control.pfc.xoff"])
    assert max(row["latency_p99_ns"] for row in first.run().rows("flows")) == tried[0].first_part


def test_points_that_fail_in_their_first_part_never_run_to_their_end(tmp_path: Path) -> None:
    key = "switch.buffer.queue"
    base = ps.Scenario.from_toml(SMALL).with_value("flow_control.pfc.xoff", "50 frames")
    plan = ps.Plan(base, {key: "30 frames:120 frames"}, mode="latin", points=1)
    with ThreadPoolExecutor(1) as pool:
        goal = Goal("minimize", f"scenario.{key}")
        tried = search(plan, goal, tmp_path / "s", trials=12, first_part=0.5, executor=Engine(pool, 1))
    assert tried[0].is_feasible
    durations: dict[str, list[str]] = {}
    for file in (tmp_path / "s/runs").glob("*.json"):
        scenario = tomllib.loads(json.loads(file.read_bytes().partition(b"\n")[2])["scenario"])
        durations.setdefault(scenario["switch"]["buffer"]["queue"], []).append(
            scenario["simulation"]["duration"]
        )
    failed = [trial for trial in tried if trial.given_up and trial.first_part is None]
    assert failed
    assert all(durations[trial.values[key]] == ["100 us"] for trial in failed)
    assert sorted(durations[tried[0].values[key]]) == ["100 us", "200 us"]


@pytest.mark.parametrize(
    ("share", "vary", "message"),
    [
        (0.0, "flow_control.pfc.xoff", "the first part is 0.0"),
        (1.0, "flow_control.pfc.xoff", "the first part is 1.0"),
        (0.5, "simulation.duration", "simulation.duration varies"),
        (0.1, "flow_control.pfc.xoff", "the first part of 0.1 cannot be run"),
    ],
)
def test_first_parts_that_cannot_be(share: float, vary: str, message: str, tmp_path: Path) -> None:
    base = ps.Scenario.from_toml(SMALL).with_value("simulation.warmup", "50 us")
    values = "100 us, 200 us" if vary == "simulation.duration" else "20 frames:40 frames"
    plan = ps.Plan(base, {vary: values}, mode="latin", points=1)
    with pytest.raises(ArgumentError, match=message):
        search(plan, Goal("minimize", "run.events"), tmp_path / "s", trials=2, first_part=share)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected --minimize or --maximize, and not both"),
        (
            ("--minimize", "run.events", "--maximize", "run.events"),
            "expected --minimize or --maximize, and not both",
        ),
        (("--minimize", "run.events"), "no key varies"),
        (("--minimize", "run.events", "--vary", "simulation.seed=1..2"), "no key varies"),
        (("--minimize", "run.evnts", "--vary", "flow_control.pfc.xoff=20 frames:30 frames"), "events"),
        (
            ("--minimize", "flows.jitter_ns", "--vary", "flow_control.pfc.xoff=20 frames, 30 frames"),
            "one value per row",
        ),
        (("--minimize", "run.events", "--require", "run.events", "--vary", "a=1"), "not a comparison"),
        (("--minimize", "run.events", "--vary", "a=1", "--trials", "0"), "trials is 0"),
    ],
)
def test_wrong_words(words: tuple[str, ...], message: str, refusal: Callable[..., str]) -> None:
    assert message in refusal("optimise", *words)


def test_the_command_names_the_best(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small.parent)
    words = ["--vary", "flow_control.pfc.xoff=15 frames:60 frames", "--minimize", "max(flows.latency_p99_ns)"]
    assert main(["optimise", "small.toml", *words, "--trials", "4", "--workers", "1", "--out", "s"]) == 0
    assert "4 trials" in capsys.readouterr().out
    assert "[sweep.vary]" in Path("s/sweep.toml").read_text("utf-8")
    assert "xoff" in Path("s/best.toml").read_text("utf-8")


def test_goals_that_cannot_be() -> None:
    for more in (("fewest", "run.events"), ("minimize", "run.events +")):
        with pytest.raises(ArgumentError):
            Goal(*more).measures and ps.Plan("first-light", {"a": 1}, measure=Goal(*more).measures)


def test_what_is_missed_and_by_how_much(penstock: Command, tmp_path: Path) -> None:
    """Requirements and objectives take names of measures and amounts with units."""
    words = ("optimise", "incast", "--vary", "flow_control.pfc.xoff=20 KiB:32 KiB", "--trials", "2")
    missed = penstock(*words, "--minimize", "queue_max_bytes", "--require", "latency_p99_ns <= '100 us'")
    assert missed.returncode == 1
    by = re.search(r"latency_p99_ns <= '100 us': missed by (\d+(?:\.\d+)?) us", missed.stdout)
    assert by is not None and 10 < float(by[1]) < 1_000
    assert " KiB" in missed.stdout and "none of 2 trials meets every requirement" in missed.stderr
    met = penstock(
        *words, "--minimize", "queue_max_bytes", "--require", "latency_p99_ns <= '1 s'", "--out", "out/met"
    )
    assert met.returncode == 0, met.stderr
    assert re.search(r"flow_control\.pfc\.xoff = 24 KiB -> \d+ B", met.stdout)
    named = penstock(*words, "--maximize", "throughput_bps", "--out", "out/json", "--json")
    requested = penstock(*words, "--maximize", "sum(flows.throughput_bps)", "--out", "out/same", "--json")
    assert [one["objective"] for one in json.loads(named.stdout)["trials"]] == [
        one["objective"] for one in json.loads(requested.stdout)["trials"]
    ]
