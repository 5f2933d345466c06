"""The critical path of a job: segments without gaps that sum to its time, with the cause of each part."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import cli
from penstock.analysis.critical_path import CAUSES, CriticalPath, critical_path
from penstock.analysis.rank_times import rank_times
from penstock.validation.bench import star

ALGORITHMS = {
    "all_reduce": (
        "ring",
        "halving_doubling",
        "recursive_doubling",
        "double_tree",
        "hierarchical",
        "in_network",
    ),
    "reduce_scatter": ("ring", "halving_doubling"),
    "all_gather": ("ring", "halving_doubling"),
    "all_to_all": ("shifted", "burst", "bruck"),
    "broadcast": ("binomial", "ring", "in_network"),
    "reduce": ("binomial", "in_network"),
    "barrier": ("dissemination", "in_network"),
    "send_receive": ("pipeline",),
}
STAR = '[simulation]\nduration = "100 ms"\n' + star("{hosts}", rate="100 Gb/s") + "[flow_control.pfc]\n"
SHARED = """
[simulation]
duration = "100 ms"
[topology.leaf_spine]
leaves = 2
spines = 1
hosts_per_leaf = 2
rate = "100 Gb/s"
phy = "none"
uplink_rate = "100 Gb/s"
[flow_control.pfc]
priorities = [3]
"""


def run(text: str, folder: Path | None = None) -> ps.Result:
    if folder is None:
        return ps.Scenario.from_toml(text).run()
    (folder / "job.toml").write_text(text, "utf-8")
    return ps.run(folder / "job.toml")


def checked(result: ps.Result, job: str = "job", iteration: int | None = None) -> CriticalPath:
    found = critical_path(result, job, iteration)
    assert found is not None
    segments = found.segments
    assert (segments[0].begin_ps, segments[-1].end_ps) == (found.begin_ps, found.end_ps)
    assert all(before.end_ps == after.begin_ps for before, after in pairwise(segments))
    for one in segments:
        assert sum(one.parts.values()) == one.length_ps or one.kind == "receive"
        assert all(ps > 0 for ps in one.parts.values()) and set(one.parts) <= set(CAUSES)
    assert sum(found.parts.values()) == found.length_ps
    return found


def of_job(result: ps.Result, job: str = "job") -> dict[str, Any]:
    return next(row for row in result.rows("jobs") if row["job"] == job)


@pytest.mark.parametrize("over", ["rdma = {}", "tcp = {}", "uet = {}"])
@pytest.mark.parametrize("collective", ALGORITHMS)
def test_it_is_as_long_as_the_job(collective: str, over: str) -> None:
    size = "" if collective == "barrier" else 'bytes = "200 kB", '

    def pieces(algorithm: str) -> str:
        if collective == "barrier":
            return ""
        return 'segment = "100 kB", ' if algorithm == "in_network" else "chunks = 2, "

    entries = [
        f'[[jobs]]\nname = "{algorithm}"\nranks = "all"\niterations = 2\nstart = "{3 + 500 * nth} us"\n'
        f'compute = "7 us"\noverhead = "300 ns"\noverhead_per_byte = "3 ps"\nover = {{ {over} }}\n'
        f'workload = {{ collective = "{collective}", algorithm = "{algorithm}", {size}{pieces(algorithm)}'
        + ("group = 2 }" if algorithm == "hierarchical" else "}").replace(", }", " }")
        for nth, algorithm in enumerate(ALGORITHMS[collective])
    ]
    text = STAR.format(hosts=6) + "\n".join(entries).replace(", }", " }")
    result = run(text)
    for algorithm in ALGORITHMS[collective]:
        job = of_job(result, algorithm)
        assert job["finished"] == job["recorded"] == 2
        found = checked(result, algorithm)
        assert found.length_ps == round((job["end_ns"] - job["start_ns"]) * 1e3)
        # Every iteration computes on the path, and all that is handed over costs its time.
        assert found.parts["computation"] >= 7_000_000 and found.parts["host_cost"] > 0
        assert found.parts["transmission"] > 0
        for iteration in range(2):
            own = checked(result, algorithm, iteration)
            assert own.begin_ps >= found.begin_ps and own.end_ps <= found.end_ps


def test_what_is_not_congested_is_transmission() -> None:
    text = STAR.format(hosts=4) + (
        '[[jobs]]\nname = "job"\nranks = "all"\nworkload = { collective = "all_reduce", bytes = "4 MB" }\n'
        'over = { rdma = { control = "none" } }\nframe = "4200 B"\n'
    )
    found = checked(run(text))
    assert found.parts["transmission"] >= 0.99 * found.length_ps
    assert [one.kind for one in found.segments if one.kind == "message"] == ["message"] * 6


def two_rings(control: str) -> str:
    job = (
        '[[jobs]]\nname = "{}"\nranks = ["h{}", "h{}"]\npriority = 3\n'
        'workload = {{ collective = "all_reduce", bytes = "2 MB" }}\n'
    )
    over = f"over = {{ rdma = {{ control = {control} }} }}\n"
    return SHARED + job.format("one", 0, 2) + over + job.format("two", 1, 3) + over


def test_neighbours_on_a_link_are_queues_and_pauses() -> None:
    found = checked(run(two_rings('"none"')), "one")
    lost = found.length_ps - found.parts["transmission"]
    # Two jobs share a link: each takes twice as long.
    assert lost == pytest.approx(found.parts["transmission"], rel=0.05)
    assert found.parts["pause"] > 0.5 * lost
    assert found.parts["pause"] + found.parts["queueing"] >= 0.99 * lost


def test_a_control_is_named() -> None:
    text = two_rings('"dcqcn"')
    marks = (
        "[[switch.queue_managers]]\nclasses = [3]\n"
        'red = { min = "20 kB", max = "60 kB", max_probability = 0.2, action = "mark_only" }\n'
    )
    found = checked(run(text.replace("[[jobs]]", marks + "[[jobs]]", 1)), "one")
    assert found.parts.get("control", 0) > 0.1 * found.length_ps


def test_a_loss_is_retransmission() -> None:
    text = STAR.format(hosts=2) + (
        '[[faults]]\nlink = ["h1", "sw"]\nat = "20 us"\nduration = "150 us"\ndown = true\n'
        '[[jobs]]\nname = "job"\nranks = "all"\nworkload = { collective = "send_receive", bytes = "1 MB" }\n'
        'over = { rdma = { control = "none", timeout = "100 us" } }\n'
    )
    found = checked(run(text))
    assert found.parts["retransmission"] > 0.3 * found.length_ps


def sent(keys: str, over: str, *, bytes_sent: str = "1 MB") -> CriticalPath:
    """The path of a message between two hosts; what is measured."""
    found = checked(
        run(
            STAR.format(hosts=2).replace("[flow_control.pfc]\n", 'delay = "3 us"\n')
            + keys
            + '[[jobs]]\nname = "job"\nranks = "all"\n'
            + f'workload = {{ collective = "send_receive", bytes = "{bytes_sent}" }}\nover = {{ {over} }}\n'
        )
    )
    assert found.is_measured
    return found


DOWN = '[[faults]]\nlink = ["h1", "sw"]\nat = "20 us"\nduration = "150 us"\ndown = true\n'


@pytest.mark.parametrize(
    ("over", "share"),
    [
        ('tcp = { min_timeout = "100 us", initial_timeout = "100 us" }', 0.3),
        ('uet = { control = "none", timeout = "100 us", loss_inference = false }', 0.3),
        ('uet = { timeout = "100 us" }', 0.3),
    ],
)
def test_a_loss_over_tcp_and_uet_is_retransmission(over: str, share: float) -> None:
    found = sent(DOWN, over)
    assert found.parts["retransmission"] > share * found.length_ps


def test_windows_over_tcp_are_named() -> None:
    # The window grows from two segments on, by one a round trip.
    keys = 'initial_threshold = "2 frames", ack_every = 1'
    small = sent("", f'tcp = {{ initial_window = "2 frames", {keys} }}')
    assert small.parts["control"] > 0.5 * small.length_ps and "receiver" not in small.parts
    wide = sent("", 'tcp = { initial_window = "1000 frames", ack_every = 1 }')
    assert set(wide.parts) <= {"transmission", "acknowledgement", "queueing"}


def test_a_receive_window_is_named() -> None:
    wide = 'initial_window = "2000 frames", ack_every = 1'
    result = incast(f'tcp = {{ {wide}, receive_window = "20 kB" }}')
    found = checked(result)
    assert found.parts["receiver"] > 0.5 * found.length_ps and "control" not in found.parts
    # A window that a message alone would wait for as well is part of its transmission.
    alone = sent("", f'tcp = {{ {wide}, receive_window = "2 frames" }}')
    assert set(alone.parts) == {"transmission", "acknowledgement"}


def test_pauses_at_the_nic_are_named_over_tcp_and_uet() -> None:
    for over in ('tcp = { initial_window = "2000 frames" }', 'uet = { control = "none" }'):
        found = checked(run(two_rings('"none"').replace('rdma = { control = "none" }', over)), "one")
        assert found.is_measured and found.parts["pause"] > 0.1 * found.length_ps


def incast(over: str, threads: int = 1) -> ps.Result:
    """Seven ranks send nearly all that they have to one at once."""
    text = STAR.format(hosts=8).replace("[flow_control.pfc]\n", "") + (
        "[[switch.queue_managers]]\n"
        'red = { min = "60 kB", max = "200 kB", max_probability = 1.0, action = "mark_only" }\n'
        '[[jobs]]\nname = "job"\nranks = "all"\n'
        f'workload = {{ collective = "all_to_all", algorithm = "burst", skew = 10, bytes = "2 MB" }}\n'
        f"over = {{ {over} }}\n"
    )
    return ps.Scenario.from_toml(text).run(threads=threads)


@pytest.mark.parametrize(
    "over",
    ["uet = {}", 'uet = { control = "rccc" }', "mrc = {}", 'tcp = { controller = "dctcp", ecn = "dctcp" }'],
)
def test_a_control_is_named_under_an_incast(over: str) -> None:
    found = checked(incast(over))
    assert found.is_measured and found.parts["control"] > 0.2 * found.length_ps


def test_frames_without_a_transport_measure_nothing() -> None:
    found = checked(incast("frames = {}"))
    assert not found.is_measured and set(found.parts) <= {"transmission", "queueing", "acknowledgement"}


@pytest.mark.parametrize("over", ["uet = {}", "tcp = {}"])
def test_times_over_tcp_and_uet_do_not_depend_on_threads(over: str) -> None:
    one, *others = (incast(over, threads).table("rank_steps") for threads in (1, 2, 3))
    assert all(one.equals(other) for other in others)


def goal(*ranks: str) -> str:
    blocks = "".join(f"rank {number} {{\n{text}\n}}\n" for number, text in enumerate(ranks))
    return f"num_ranks {len(ranks)}\n{blocks}"


def scheduled(folder: Path, *ranks: str) -> ps.Result:
    (folder / "job.goal").write_text(goal(*ranks), "utf-8")
    job = '[[jobs]]\nname = "job"\nranks = "all"\nworkload = { goal = "job.goal" }\n'
    return run(STAR.format(hosts=len(ranks)) + job, folder)


def test_a_straggler_is_what_it_computes_beyond_the_median(tmp_path: Path) -> None:
    slow, usual = 90_000, 20_000
    ranks = [
        f"a: calc {slow if rank == 2 else usual}\n"
        + "\n".join(f"s{to}: send 8b to {to}\ns{to} requires a" for to in range(4) if to != rank)
        + "\n"
        + "\n".join(f"r{of}: recv 8b from {of}" for of in range(4) if of != rank)
        for rank in range(4)
    ]
    found = checked(scheduled(tmp_path, *ranks))
    assert found.parts["computation"] == usual * 1000
    assert found.parts["straggler"] == (slow - usual) * 1000
    assert found.segments[0].rank == 2


def test_a_schedule_has_its_computation(tmp_path: Path) -> None:
    """Two processors that compute together count once, a gap does not count."""
    result = scheduled(
        tmp_path,
        "a: calc 30000\nb: calc 20000 cpu 1\nc: send 1000b to 1\nc requires a\nd: calc 10000 cpu 1\n"
        "d requires c",
        "r: recv 1000b from 0\na: calc 5000\na requires r",
    )
    job = of_job(result)
    # Rank 0 computes 30 us, then 10 us beside the message; rank 1 computes 5 us.
    assert job["compute_ns"] == pytest.approx((40_000 + 5_000) / 2)
    assert job["exposed_ns"] == pytest.approx(job["step_ns"] - job["compute_ns"], rel=0.2)
    first, second = rank_times(result, "job")
    assert (first.computation, second.computation) == (40_000_000, 5_000_000)
    # Rank 1 has nothing to do until rank 0 has computed, and has ended when rank 0 computes again.
    (receive,) = (row for row in result.rows("rank_steps") if row["kind"] == "receive")
    arrives = round(receive["end_ns"] * 1e3)
    assert second.bubble == 30_000_000 + second.total - (arrives + 5_000_000)
    assert second.exposed == arrives - 30_000_000
    assert first.bubble == 0
    assert checked(result).parts["computation"] >= 30_000_000


def test_operations_that_wait_for_a_processor_follow_each_other(tmp_path: Path) -> None:
    result = scheduled(tmp_path, "a: calc 1000\nb: calc 2000\nc: calc 4000 cpu 1", "")
    found = checked(result)
    assert found.length_ps == 4_000_000
    result = scheduled(tmp_path, "a: calc 1000\nb: calc 2000\nc: calc 2500 cpu 1", "")
    found = checked(result)
    assert [one.length_ps for one in found.segments] == [1_000_000, 2_000_000]


def test_why_names_the_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(two_rings('"none"')).save(tmp_path / "out", report=False)
    assert cli.main(["why", "one", str(tmp_path / "out")]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "The critical path" in output and "pauses" in output and "delay" in output
    assert cli.main(["why", "one#0", str(tmp_path / "out"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    parts = answer["critical_path"]["parts_ns"]
    assert sum(parts.values()) == pytest.approx(
        answer["critical_path"]["end_ns"] - answer["critical_path"]["begin_ns"], rel=1e-12
    )
    assert cli.main(["why", "one#5", str(tmp_path / "out")]) == 2
    assert "one#5: iteration not recorded; expected 0 to 0" in capsys.readouterr().err


@pytest.mark.parametrize(("rows", "recorded"), [(0, 0), (11, 0), (12, 1), (35, 2), (36, 3)])
def test_as_many_iterations_are_recorded_as_fit(rows: int, recorded: int) -> None:
    """Three ranks send and receive twice in each iteration of a reduce-scatter: 12 steps."""
    result = run(
        STAR.format(hosts=3)
        + f'[[jobs]]\nname = "job"\nranks = "all"\niterations = 3\ntimeline_rows = {rows}\n'
        'workload = { collective = "reduce_scatter", bytes = "30 kB" }\n'
    )
    assert of_job(result)["recorded"] == recorded
    assert result.table("rank_steps").num_rows == 12 * recorded
    found = critical_path(result, "job")
    assert (found is None) == (recorded == 0)


def test_it_is_the_same_on_any_number_of_threads() -> None:
    scenario = ps.Scenario.from_toml(two_rings('"none"'))
    one, two = (scenario.run(threads=threads) for threads in (1, 2))
    assert one.table("rank_steps").equals(two.table("rank_steps"))
