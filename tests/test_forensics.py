"""Why a port was paused: trees, deadlocks and storms in words and pictures, and the studies about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock as package
from conftest import Command, json_of
from penstock import forensics, plots, reproduce
from penstock.errors import InputError
from penstock.plots.congestion import place
from penstock.result import Result
from penstock.scenario import Scenario

STUDIES = Path(package.__file__).parent / "studies"

NAMES = ("deadlock/ring", "storm/slow-receiver", "victims/headline")


@pytest.fixture(scope="module")
def sick() -> Result:
    """A leaf-spine with one slow receiver."""
    return Scenario.from_file(STUDIES / "storm/slow-receiver/sick.toml").run()


@pytest.fixture(scope="module")
def stuck() -> Result:
    """A ring that deadlocks."""
    return Scenario.from_file(STUDIES / "deadlock/ring/clockwise.toml").run()


@pytest.mark.parametrize("name", NAMES)
def test_studies_pass(name: str, tmp_path: Path) -> None:
    [study] = reproduce.find(name)
    result = reproduce.reproduce(study, tmp_path / "out", quick=True)
    assert {outcome.id: outcome.measured for outcome in result.outcomes if not outcome.passed} == {}


def test_every_edge_has_its_parent(sick: Result) -> None:
    trees = forensics.trees(sick)
    assert [tree.number for tree in trees] == list(range(1, len(trees) + 1))
    assert trees[0].paused_ns == max(tree.paused_ns for tree in trees)
    for tree in trees:
        for edge in tree.edges:
            parent = tree.parent(edge)
            assert (parent is None) == (edge.depth == 1)
            if parent is not None:
                assert forensics.port_of(edge.queue) == parent.port
        assert sum(part.share for part in tree.culprits) == pytest.approx(1) or not tree.culprits


def test_causes_from_before_measuring_began_count() -> None:
    """Nothing but ports to hosts is oversubscribed there; uplinks are paused when the warm-up ends."""
    result = Scenario.from_file(STUDIES / "victims/headline/together.toml").run()
    assert {tree.root for tree in forensics.trees(result)} == {"leaf1.0->h12/3", "leaf1.1->h13/3"}
    pauses = result.rows("pauses")
    assert any(row["start_ns"] == 1e6 for row in pauses), "no pause is in force when the warm-up ends"
    for row in pauses:
        cause = pauses[row["because_of"] - 1] if row["because_of"] else None
        assert cause is None or cause["tree"] == row["tree"]
        assert cause is None or cause["port"] == forensics.port_of(row["queue"])


def test_edges_are_placed_apart(sick: Result) -> None:
    for tree in forensics.trees(sick):
        placed = place(tree)
        assert len({(one.x, one.y) for one in placed}) == len(placed)
        spots = {(one.x, one.y) for one in placed}
        assert all(one.from_x == 0 or (one.from_x, one.from_y) in spots for one in placed)


def test_why_names_the_root_and_the_way(sick: Result) -> None:
    victim = next(part.flow for part in forensics.trees(sick)[0].victims)
    text = " ".join(forensics.why(sick, victim))
    assert "which it does not pass, was stopped by its slow receiver" in text
    port = " ".join(forensics.why(sick, "spine0.0->leaf0"))
    assert "was paused" in port
    assert "leaf0.0->h0 was stopped by its slow receiver" in port
    assert forensics.why(sick, "leaf0.1->h1") == ["leaf0.1->h1 was never paused."]
    with pytest.raises(InputError, match=r"no port, node or flow 'leaf0\.9'"):
        forensics.why(sick, "leaf0.9")


def test_a_deadlock_is_told(stuck: Result) -> None:
    [deadlock] = forensics.deadlocks(stuck)
    assert len(deadlock.queues) == 4
    assert deadlock.ended_ns is None
    assert forensics.describe(deadlock) in forensics.why(stuck, "sw2")


def test_pictures_are_repeatable(stuck: Result, tmp_path: Path) -> None:
    first = plots.save_all(stuck, tmp_path / "a")
    second = plots.save_all(stuck, tmp_path / "b")
    assert {"congestion.png", "congestion.svg", "deadlock.png", "deadlock.svg"} <= {
        path.name for path in first
    }
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_why_on_the_command_line(penstock: Command, tmp_path: Path) -> None:
    scenario = tmp_path / "ring.toml"
    text = (STUDIES / "deadlock/ring/clockwise.toml").read_text("utf-8")
    scenario.write_text(text.replace('on_deadlock = "count"', 'on_deadlock = "stop"'), "utf-8")
    checked = penstock("check", scenario)
    assert checked.returncode == 0
    assert "these routes can deadlock" in checked.stderr
    ran = penstock("run", scenario)
    assert ran.returncode == 1
    assert "a deadlock of 4 queues closed at" in ran.stderr
    run = json.loads((tmp_path / "out/ring/run.json").read_text("utf-8"))
    assert run["complete"] is False
    assert run["ended_by"].startswith("a deadlock of 4 queues")
    assert "Deadlock 1 closed at" in penstock("why", "sw0").stdout
    said = json_of(penstock("why", "f1", "--json"))
    assert said["schema"] == "penstock-why/1"
    assert said["because"][0].startswith("f1 (h1.0 to h3.0) got")
    assert penstock("why", "nobody").returncode == 2
    assert penstock("why", "f1", "--run", tmp_path).returncode == 2
