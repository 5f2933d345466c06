"""Why a port was paused: trees, deadlocks and storms in words and pictures, and the studies about them."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock as package
from conftest import Command, json_of
from penstock import plots, units
from penstock.analysis import forensics
from penstock.analysis.overview import overview
from penstock.errors import InputError
from penstock.plots.congestion import place
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.validation.bench import flow_text, star

STUDIES = Path(package.__file__).parent / "studies"


@pytest.fixture(scope="module")
def sick() -> Result:
    """A leaf-spine with one slow receiver."""
    return Scenario.from_file(STUDIES / "storm/slow-receiver/sick.toml").run()


@pytest.fixture(scope="module")
def stuck() -> Result:
    """A ring that deadlocks."""
    return Scenario.from_file(STUDIES / "deadlock/ring/clockwise.toml").run()


def test_every_edge_has_its_parent(sick: Result) -> None:
    trees = forensics.trees(sick)
    assert [tree.number for tree in trees] == list(range(1, len(trees) + 1))
    assert trees[0].paused_ns == max(tree.paused_ns for tree in trees)
    assert forensics.number_of_trees(sick) == len(trees)
    assert forensics.trees(sick, 1) == trees[:1]
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


def chains(number: int) -> forensics.Tree:
    """Three chains of two ports below each other, from a root of its own."""
    edges = []
    for chain in range(3):
        near, far = f"spine{chain}.0->leaf0", f"leaf{chain}.8->spine{chain}"
        edges.append(forensics.Edge(1, "leaf0.0->h0/3", "leaf0.8", near, 3, 52, 1e6, 0.0, 1e6))
        edges.append(forensics.Edge(2, f"{near}/3", "spine0.0", far, 3, 52, 1e6, 0.0, 1e6))
    return forensics.Tree(number, f"leaf0.{number}->h0/3", "oversubscribed", edges)


def test_labels_of_a_tree_do_not_touch(sick: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["penstock.plots.congestion"], "trees", lambda *_: [chains(1)])
    figure = plots.congestion(sick)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert not [one for k, one in enumerate(boxes) for other in boxes[:k] if one.overlaps(other)]


def test_a_picture_says_how_many_trees_it_leaves_out(sick: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = sys.modules["penstock.plots.congestion"]
    monkeypatch.setattr(drawing, "trees", lambda _, most: [chains(k) for k in range(1, most + 1)])
    monkeypatch.setattr(drawing, "number_of_trees", lambda _: 5)
    figure = plots.congestion(sick)
    assert len(figure.axes) == 3
    assert figure.texts[0].get_text().endswith("2 more trees not shown")


def test_why_names_the_root_and_the_way(sick: Result) -> None:
    victim = next(part.flow for part in forensics.trees(sick)[0].victims)
    text = " ".join(forensics.why(sick, victim))
    assert "(not on its path) was blocked by a slow receiver" in text
    port = " ".join(forensics.why(sick, "spine0.0->leaf0"))
    assert "was paused" in port
    assert "leaf0.0->h0 was blocked by a slow receiver" in port
    assert forensics.why(sick, "leaf0.1->h1") == ["leaf0.1->h1 was never paused."]
    with pytest.raises(InputError, match=r"no port, node or flow 'leaf0\.9'"):
        forensics.why(sick, "leaf0.9")


def test_who_had_ended_before_is_neither_held_back_nor_to_blame() -> None:
    """A flow that is over 2 ms before anything else begins has nothing to do with what comes then."""
    scenario = """
[simulation]
duration = "4 ms"
[topology.leaf_spine]
leaves = 2
spines = 1
hosts_per_leaf = 4
rate = "100 Gb/s"
phy = "none"
[flow_control.pfc]
priorities = [3]
"""
    scenario += flow_text("early", "h4", "h1", "priority = 3", 'limit = "10 kB"', 'source = "greedy"')
    late = ("priority = 3", 'start = "2 ms"', 'source = "greedy"')
    scenario += flow_text("late", '["h4", "h5", "h2"]', "h0", *late)
    result = Scenario.from_toml(scenario).run()
    found = forensics.trees(result)
    assert {part.flow for tree in found for part in tree.parts} == {"late[h4]", "late[h5]", "late[h2]"}
    for tree in found:
        assert sum(part.share for part in tree.culprits) == pytest.approx(1)
    assert forensics.why(result, "early")[1:] == [
        "  No pause delayed it.",
        *[line for line in forensics.why(result, "early") if "The busiest port" in line],
    ]
    output = forensics.why(result, "late[h2]")
    assert "(on its path) was oversubscribed by late[h2] (" in output[1]
    assert output[-1] == forensics.SHARES


BYPASS = (
    """
[simulation]
duration = "2 ms"
"""
    + star(4, rate="10 Gb/s")
    + """
[flow_control.credit]
buffer = "8 KiB"
channels = ["B0", "B0", "B0", "B0", "B0", "B0", "B0", "B7"]
[hosts.h3.receive]
rate = "1 Gb/s"
"""
    + flow_text("reads", "h0", "h3", "bypassable = true", 'source = { constant = { rate = "4 Gb/s" } }')
    + flow_text("other-reads", "h0", "h1", "bypassable = true", 'source = { constant = { rate = "2 Gb/s" } }')
    + flow_text("writes", "h0", "h1", 'source = { constant = { rate = "2 Gb/s" } }')
)


def test_what_waits_in_a_bypass_queue_is_explained() -> None:
    """Reads from a slow host fill the bypass queue of a channel: other reads wait, writes go on."""
    result = Scenario.from_toml(BYPASS).run()
    got = {row["flow"]: row["throughput_bps"] for row in result.rows("flows")}
    assert got["writes"] > 1.9e9 > 1e9 > got["other-reads"]
    output = " ".join(forensics.why(result, "other-reads"))
    # Between two writes its class waits as a whole, and while one is sent its bypass queue does.
    assert (
        "It was held back at h0.0->sw for 83 % of the time, for 20 % in a bypass queue that others passed,"
        in output
    )
    assert "because sw.3->h3 (not on its path) was blocked by a slow receiver, on the path of reads" in output
    assert "It was held back" not in " ".join(forensics.why(result, "writes"))


def test_reads_that_starve_beside_greedy_writes_are_victims() -> None:
    """Something of their class may go all the time: their bypass queue waits by itself."""
    greedy = BYPASS.replace(
        'to = "h1"\nsource = { constant = { rate = "2 Gb/s" } }', 'to = "h1"\nsource = "greedy"'
    )
    result = Scenario.from_toml(greedy).run()
    got = {row["flow"]: row["throughput_bps"] for row in result.rows("flows")}
    assert got["other-reads"] < 1.5e9 and got["writes"] > 5e9
    waits = [row for row in result.rows("pauses") if row["port"] == "h0.0->sw"]
    assert {row["reason"] for row in waits} == {"bypass_credits"}
    waited_ns = sum(row["end_ns"] - row["start_ns"] for row in waits if row["tree"] == 1)
    [tree, *_] = forensics.trees(result)
    assert [part.flow for part in tree.culprits] == ["reads"]
    assert [(part.flow, part.paused_ns) for part in tree.victims] == [
        ("other-reads", pytest.approx(waited_ns))
    ]
    share = waited_ns / 2e6
    assert share > 0.5
    assert (
        f"  It was held back in a bypass queue at h0.0->sw for {100 * share:.0f} % of the time because "
        "sw.3->h3 (not on its path) was blocked by a slow receiver, on the path of reads (100 % of "
        "the frames)." in forensics.why(result, "other-reads")
    )
    # One wait after the other, so that their sum is a part of the time.
    all_ns = sum(row["end_ns"] - row["start_ns"] for row in waits)
    assert forensics.why(result, "writes")[1:3] == [
        "  No wait for credits delayed it.",
        "  At h0.0->sw it could pass frames in the bypass queue of its class, which waited there for "
        f"{100 * all_ns / 2e6:.0f} % of the time.",
    ]
    assert "could pass" not in " ".join(forensics.why(result, "other-reads"))


def test_how_long_a_bypass_queue_held_a_flow_is_not_said_where_waits_are_chosen() -> None:
    chosen = '[[probes]]\nwhat = "pauses"\nwhich = "h0"\nmax_rows = 200\n'
    output = " ".join(forensics.why(Scenario.from_toml(BYPASS + chosen).run(), "other-reads"))
    assert "at h0.0->sw for 83 % of the time, also in a bypass queue that others passed, because" in output


def test_who_passes_the_root_but_had_no_frame_there_is_upstream() -> None:
    """Neither a culprit nor a victim; the words say that it passes."""
    tree = forensics.Tree(1, "sw.0->h0/3", "oversubscribed")
    tree.parts = [
        forensics.Part("a", "culprit", 1.0, 5.0, "h1.0->sw"),
        forensics.Part("b", "upstream", 0.0, 7.0, "h2.0->sw"),
        forensics.Part("c", "victim", 0.0, 9.0, "h2.0->sw"),
    ]
    assert [part.flow for part in tree.culprits] == ["a"]
    assert [part.flow for part in tree.victims] == ["c"]
    assert [part.passes for part in tree.parts] == [True, True, False]


def test_a_deadlock_is_reported(stuck: Result) -> None:
    [deadlock] = forensics.deadlocks(stuck)
    assert len(deadlock.queues) == 4
    assert deadlock.ended_ns is None
    assert forensics.describe(deadlock) in forensics.why(stuck, "sw2")


def test_a_flow_in_a_deadlock_is_reported(stuck: Result) -> None:
    assert (
        "  It was stuck in deadlock 1: its queue sw1.2->sw2/3 is one of 4 queues that wait for each other, "
        "from 160.726 us to the end of the run." in forensics.why(stuck, "f1")
    )


def _storm_with(text: str) -> Result:
    """A leaf-spine whose host h0 stops reading, and what else goes wrong."""
    file = Path(package.__file__).parent / "scenarios/pause-storm.toml"
    return Scenario.from_toml(file.read_text("utf-8") + text).run()


@pytest.mark.parametrize(
    ("fault", "flow", "place", "port"),
    [
        (
            '[watchdog]\ndetection_time = "200 us"\nrestoration_time = "200 us"',
            "to-sick",
            "at leaf0.0->h0, by the PFC watchdog during a pause storm (watchdog)",
            "leaf0.0->h0",
        ),
        (
            '[[faults]]\nlink = ["leaf1", "spine0"]\nat = "500 us"\ndown = true\nduration = "100 us"',
            "victim",
            "at leaf1.3->spine0, whose link was down (link_down)",
            "leaf1.3->spine0",
        ),
        (
            '[[faults]]\nswitch = "spine0"\nat = "3.6 ms"\nrestart = "100 us"',
            "victim",
            "on the link from leaf1 to spine0, because a switch at its end restarted (restart)",
            "spine0.1->leaf1",
        ),
        (
            '[[faults]]\nlink = ["leaf1", "h5"]\nbit_error_rate = 1e-6',
            "bystander",
            "on the link from leaf1 to h5, because of bit errors (bit_error)",
            "leaf1.2->h5",
        ),
        (
            '[[faults]]\nlink = ["leaf1", "h5"]\nframe_loss = 0.1\ntowards = "h5"',
            "bystander",
            "on the link from leaf1 to h5, by random loss of the link (link_loss)",
            "leaf1.2->h5",
        ),
    ],
)
def test_losses_are_reported_with_place_and_cause(fault: str, flow: str, place: str, port: str) -> None:
    """Also at the sending port of a link, although the table names the one where frames would arrive."""
    result = _storm_with(f"\n{fault}\n")
    entries = [line for line in forensics.why(result, flow) if line.endswith(f" {place}.")]
    assert len(entries) == 1
    assert entries[0].startswith("  It lost ")
    assert any(f" lost {place}: " in line for line in forensics.why(result, port))


def test_losses_of_a_flow_that_goes_another_way_since_are_reported() -> None:
    file = Path(package.__file__).parent / "scenarios/leaf-spine.toml"
    fault = '\n[[faults]]\nlink = ["leaf0", "spine0"]\nat = "500 us"\ndown = true\nreroute = true\n'
    result = Scenario.from_toml(file.read_text("utf-8") + fault).run()
    output = " ".join(forensics.why(result, "incast[h0]"))
    assert "at leaf0.4->spine0, queued for or arriving from a link that was down (link_down)." in output


def test_losses_without_flow_control_are_reported() -> None:
    file = Path(package.__file__).parent / "scenarios/pause-storm.toml"
    text = file.read_text("utf-8").replace("[flow_control.pfc]\npriorities = [3]\n", "")
    result = Scenario.from_toml(text).run()
    [flow] = [row for row in result.rows("flows") if row["flow"] == "to-sick"]
    lost = f"{flow['frames_dropped']:,} frames"
    share = f"{100 * flow['frames_dropped'] / flow['frames_sent']:.0f} % of its frames"
    output = " ".join(forensics.why(result, "to-sick"))
    assert f"It lost {lost} ({share}) in h0, whose receive buffer was full" in output
    assert (
        f"{lost} were lost in h0, whose receive buffer was full (receive_buffer): to-sick."
        in forensics.why(result, "h0")
    )


def test_a_link_that_is_full_is_reported() -> None:
    scenario = '[simulation]\nduration = "1 ms"\n' + star(3, rate="10 Gb/s")
    scenario += flow_text("f", '["h0", "h1"]', "h2", 'source = { constant = { rate = "8 Gb/s" } }')
    output = forensics.why(Scenario.from_toml(scenario).run(), "f[h0]")
    assert output[1] == "  No pause delayed it."
    assert output[2] == (
        "  The busiest port on its path, sw.2->h2, had a utilisation of 100 %, shared with one other flow."
    )
    assert output[3].endswith("frames were queued or in flight when the run ended.")


def test_a_name_of_several_flows_lists_them() -> None:
    output = forensics.why(package.run("incast"), "answer")
    assert output[0].startswith("answer has 8 senders and got 6.4 Gb/s of 6.4 Gb/s offered.")
    assert [line.split()[0] for line in output[1:6]] == [f"answer[h{n}]" for n in range(1, 6)]
    assert output[6] == "  And 3 more."


def test_what_began_before_a_host_is_reported_of_the_host(sick: Result) -> None:
    output = forensics.why(sick, "h0")
    assert any(line.startswith("leaf0.0->h0/3 was blocked by a slow receiver") for line in output)
    assert output[-1] == forensics.SHARES


def test_pictures_are_repeatable(stuck: Result, tmp_path: Path) -> None:
    first = plots.save_all(stuck, tmp_path / "a", svg=True)
    second = plots.save_all(stuck, tmp_path / "b", svg=True)
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
    ran = penstock("run", scenario, "--no-report")
    assert ran.returncode == 1
    assert "deadlocked: 4 queues wait for each other in a cycle from" in ran.stderr
    run = json.loads((tmp_path / "out/ring/run.json").read_text("utf-8"))
    assert run["complete"] is False
    assert run["ended_by"].startswith("a deadlock of 4 queues")
    assert "Deadlock 1 closed at" in penstock("why", "sw0").stdout
    requested = penstock("why", "f1", "--json")
    assert requested.returncode == 1  # that of the run, whose verdict comes first
    output = json.loads(requested.stdout)
    assert output["verdict"]["state"] == "deadlocked"
    assert output["schema"] == "penstock-why/1"
    assert output["because"][0].startswith("f1 (h1.0 to h3.0) got")
    assert penstock("why", "nobody").returncode == 2
    assert penstock("why", "f1", tmp_path).returncode == 2


def test_replications_are_named(penstock: Command, tmp_path: Path) -> None:
    """Commands that want one result name one; why without one takes the first and says so."""
    ran = penstock("run", "incast", "--replications", "2", "--seed", "9", "--out", "out/reps", "--no-report")
    assert ran.returncode == 0
    for words in (
        ["why", "h0", "out/reps"],
        ["fair", "out/reps"],
    ):
        refused = penstock(*words)
        assert refused.returncode == 2
        assert "contains replications" in refused.stderr
        assert f"such as {Path('out/reps/seed-9')}" in refused.stderr
    chosen = f"result   {Path('out/reps/seed-9')}, the newest in out (one of 2 replications)"
    assert penstock("why", "h0").stderr == f"{chosen}; for another: penstock why h0 RESULT\n"
    assert penstock("run", "incast", "--no-report").returncode == 0
    assert (
        penstock("why", "h0").stderr
        == f"result   {Path('out/incast')}, the newest in out; for another: penstock why h0 RESULT\n"
    )
    assert penstock("why", "h0", "out/incast").stderr == ""


def test_why_without_a_name(sick: Result, penstock: Command, tmp_path: Path) -> None:
    """Roots and their victims, for those who do not know whom to ask for; and who lost frames."""
    root, *victims = [line for line in overview(sick) if line.startswith(("leaf0.0->h0", "  Victim"))]
    assert "was blocked by a slow receiver" in root and victims
    sick.save(tmp_path / "out/sick")
    requested = penstock("why")
    assert requested.stdout.splitlines()[:2] == ["verdict  complete", root]
    assert requested.stderr.endswith("for another: penstock why RESULT\n")
    assert penstock("why", "out/sick").stdout == requested.stdout
    output = json_of(penstock("why", "--json"))
    assert output["about"] is None and output["because"][0] == root
    lossy = (
        Scenario(duration="1 ms")
        .topology.star(hosts=3, rate="10 Gb/s", phy="none")
        .switch(buffer={"queue": "10 frames"})
    )
    lossy = lossy.flow("both", from_="h1..h2", to="h0", source="greedy")
    none, *losers = overview(lossy.run())
    assert none == "No pause delayed any flow."
    assert losers and all(line.startswith("both[h") and " lost " in line for line in losers)


@pytest.mark.parametrize(
    ("point", "control", "measures"),
    [
        ({"qcn": {}}, {"qcn": {}}, "class"),
        ({"prc": {}}, {"per": "path", "prc": {}}, "port"),
        ({"prc": {"messages": True}}, {"per": "path", "prc": {"method": "messages"}}, "class"),
    ],
    ids=["qcn", "prc", "messages of prc"],
)
def test_congestion_points_are_named_by_what_they_measure(
    point: dict[str, Any], control: dict[str, Any], measures: str
) -> None:
    """Path rate control hears of a whole port, unless its congestion points tell of their queue."""
    scenario = (
        Scenario("5 ms")
        .topology.star(hosts=3, rate="10 Gb/s", delay="1 us", phy="none")
        .switch(queues="per_priority", queue_managers=[point])
        .host(rate_limiters=control)
        .flow("f", from_="h1", to="h0", priority=3, source="greedy")
        .flow("g", from_="h2", to="h0", priority=3, source="greedy")
    )
    result = scenario.run(seed=1)
    assert {(row["class"], row["measures"]) for row in result.rows("slowdowns")} == {(3, measures)}
    where = {"class": "(class 3)", "port": "(all classes)"}[measures]
    output = "\n".join(forensics.why(result, "f"))
    assert f"The congestion point at sw.0->h0 {where} reduced its rate" in output


def test_times_are_those_of_a_clock(penstock: Command, tmp_path: Path) -> None:
    """A storm that began 1.2 ms after the clock showed 14:03:00.9995."""
    with units.clock(dt.datetime(2026, 11, 28, 14, 3, 0, 999_500)):
        assert units.instant(1_200_000.4) == "2026-11-28 14:03:01.000700000"
    assert units.instant(1_200_000.0) == "1.2 ms"
    assert penstock("run", "dcqcn-incast", "--no-report").returncode == 0
    name = next(iter(Result.load(tmp_path / "out/dcqcn-incast").rows("transfers")))["name"]
    output = penstock("why", f"{name}#0", "--clock", "2026-11-28 14:03:00").stdout
    assert "started at 2026-11-28 14:03:00.0" in output
    wrong = penstock("why", "--clock", "noon")
    assert (wrong.returncode, "expected date and time" in wrong.stderr) == (2, True)
