"""Jobs: what a run says of them, and of those that cannot end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import _core, cli
from penstock.analysis import jobs


def scenario(folder: Path, workload: str, *, hosts: int = 4, more: str = "", job: str = "") -> Path:
    file = folder / "job.toml"
    file.write_text(
        f"""
        [simulation]
        duration = "20 ms"
        [topology.star]
        hosts = {hosts}
        rate = "100 Gb/s"
        phy = "none"
        [[jobs]]
        name = "job"
        ranks = "all"
        workload = {{ {workload} }}
        over = {{ rdma = {{ control = "none" }} }}
        frame = "4200 B"
        {job}
        {more}
        """,
        "utf-8",
    )
    return file


def run(file: Path) -> ps.Result:
    return ps.run(file)


def rows(result: ps.Result, table: str) -> list[dict[str, Any]]:
    return list(result.rows(table))


def test_bandwidths_are_those_of_the_tables(tmp_path: Path) -> None:
    text = 'collective = "all_reduce", bytes = "8 MB"'
    result = run(scenario(tmp_path, text, job='iterations = 2\ncompute = "100 us"'))
    (job,) = rows(result, "jobs")
    collectives = rows(result, "collectives")
    assert [row["iteration"] for row in collectives] == [0, 1]
    mean = sum(row["time_ns"] for row in collectives) / 2
    assert job["algorithm_bps"] == pytest.approx(8e6 * 8 / mean * 1e9)
    assert job["bus_bps"] == pytest.approx(job["algorithm_bps"] * 1.5)
    assert 0.9 * job["bound_bps"] < job["bus_bps"] < job["bound_bps"]
    assert job["compute_ns"] == 100_000.0
    assert job["step_ns"] == pytest.approx(job["compute_ns"] + mean, rel=0.01)
    assert collectives[0]["bound_ns"] == pytest.approx(8e6 * 8 * 1.5 / 100e9 * 1e9)
    messages = rows(result, "messages")
    assert {(row["rank"], row["peer"]) for row in messages} == {(0, 1), (1, 2), (2, 3), (3, 0)}
    assert sum(row["bytes"] for row in messages) == job["bytes_sent"] == 2 * 2 * 3 * 8_000_000
    assert result.verdict.state == "complete" and jobs.of_run(result) is None


def test_the_summary_names_each_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scenario(tmp_path, 'collective = "all_to_all", bytes = "4 MB"')
    assert cli.main(["run", str(file), "--out", str(tmp_path / "out"), "--no-report"]) == 0
    out = capsys.readouterr().out
    assert "all_to_all shifted" in out and "1 of 1" in out and "GB/s" in out


def goal(*ranks: str) -> str:
    blocks = "".join(f"rank {number} {{\n{text}\n}}\n" for number, text in enumerate(ranks))
    return f"num_ranks {len(ranks)}\n{blocks}"


def passes(source: int, to: int) -> str:
    return f"a: recv 8b from {source}\nb: send 8b to {to}\nb requires a"


@pytest.mark.parametrize(
    ("schedule", "root", "expected"),
    [
        (goal("calc 10", passes(0, 2), passes(1, 3), "recv 8b from 2"), 1, "has ended without sending it"),
        (goal("send 8b to 1", "recv 8b from 0 tag 4", "", ""), 1, "with tag 4 from rank 0 (h0)"),
        (goal("", "recv 8b from -1", "", ""), 1, "no rank sends a matching message"),
        (
            goal(passes(3, 1), passes(0, 2), passes(1, 3), passes(2, 0)),
            None,
            "wait for each other in a cycle",
        ),
    ],
    ids=["chain", "tag", "any", "circle"],
)
def test_a_job_that_cannot_end_names_its_root(
    tmp_path: Path, schedule: str, root: int | None, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.goal").write_text(schedule, "utf-8")
    file = scenario(tmp_path, 'goal = "job.goal"')
    out = tmp_path / "out"
    assert cli.main(["run", str(file), "--out", str(out), "--no-report"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("verdict  hung: job job completed 0 of 1 iterations")
    result = ps.Result.load(out)
    assert result.run["simulated_s"] < 0.02
    (chain,) = jobs.unfinished(result)
    assert chain.is_circle == (root is None)
    if root is not None:
        assert chain.root["rank"] == root
    assert expected in " ".join(jobs.sentences(chain))
    assert cli.main(["why", "job", str(out)]) == 1
    assert expected in " ".join(capsys.readouterr().out.split())


DOWN = '[[faults]]\nlink = ["h1", "sw"]\nat = "10 us"\ndown = true'
SEND = goal("send 1000000b to 1", "recv 1000000b from 0", "", "")


@pytest.mark.parametrize(
    ("schedule", "over", "more", "state"),
    [
        (SEND, 'rdma = { timeout = "100 us", retries = 2 }', DOWN, "hung"),
        (SEND, "tcp = {}", DOWN, "hung"),
        (SEND, "tcp = {}", DOWN.replace("10 us", "19 ms"), "complete"),
        (SEND.replace("1000000b", "400000000b"), "tcp = {}", DOWN.replace("10 us", "19 ms"), "unfinished"),
        (
            SEND,
            "rdma = {}",
            '[flow_control.pfc]\npriorities = [0]\n[hosts.h1.receive]\ntime_per_frame = "10 ms"\n'
            'buffer = "256 KiB"',
            "hung",
        ),
        (
            goal("send 8b to 1\nsend 8b to 1", "recv 8b from 0\nrecv 8b from 0", "", ""),
            'rdma = { receive_queue = 1, receive_time = "1 s" }',
            "",
            "hung",
        ),
        (SEND.replace("1000000b", "400000000b"), "rdma = {}", "", "unfinished"),
        (
            goal("a: calc 1000000000\nb: send 8b to 1\nb requires a", "recv 8b from 0"),
            "rdma = {}",
            "",
            "unfinished",
        ),
    ],
    ids=["retries", "down", "down late", "cut short", "paused", "not ready", "long", "computes"],
)
def test_a_job_without_progress_hangs_and_one_that_goes_on_is_unfinished(
    tmp_path: Path, schedule: str, over: str, more: str, state: str
) -> None:
    (tmp_path / "job.goal").write_text(schedule, "utf-8")
    file = scenario(tmp_path, 'goal = "job.goal"', more=more)
    text = file.read_text("utf-8").replace('over = { rdma = { control = "none" } }', f"over = {{ {over} }}")
    file.write_text(text, "utf-8")
    result = run(file)
    assert result.verdict.state == state
    assert result.verdict.exit_code == int(state == "hung")
    (job,) = rows(result, "jobs")
    assert job["stalled_ns"] == 0 or state == "hung" or "calc" in schedule


def test_a_long_chain_is_reported_from_both_ends(tmp_path: Path) -> None:
    count = 20
    ranks = [
        "calc 1",
        *(passes(number - 1, number + 1) for number in range(1, count - 1)),
        f"recv 8b from {count - 2}",
    ]
    (tmp_path / "job.goal").write_text(goal(*ranks), "utf-8")
    result = run(scenario(tmp_path, 'goal = "job.goal"', hosts=count))
    (chain,) = jobs.unfinished(result)
    assert [row["rank"] for row in chain.waits] == list(range(count - 1, 0, -1))
    entries = list(jobs.sentences(chain))
    assert entries[0].startswith(f"Rank {count - 1} ") and entries[-1].endswith("This is the root.")
    assert any("7 more ranks of the chain" in line for line in entries)


def test_check_warns_of_a_receive_that_no_one_sends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.goal").write_text(goal("send 8b to 1", "recv 8b from 0 tag 4"), "utf-8")
    file = scenario(tmp_path, 'goal = "job.goal"', hosts=2)
    cli.main(["check", str(file)])
    output = capsys.readouterr()
    assert "rank 1 receives 1 more messages with tag 4 of rank 0" in output.out + output.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("num_ranks 9\n", "the file has 0 blocks of ranks"),
        (goal(*["calc 1"] * 9), "a schedule of 9 ranks at 4 hosts"),
        ("\x00\x01", "job.goal"),
    ],
    ids=["short", "large", "noise"],
)
def test_a_schedule_that_does_not_fit_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "job.goal").write_text(text, "utf-8")
    with pytest.raises(ps.ScenarioError, match=expected):
        ps.check(scenario(tmp_path, 'goal = "job.goal"'))


def test_the_estimate_knows_how_much_a_job_sends(tmp_path: Path) -> None:
    text = 'collective = "all_reduce", bytes = "64 MB"'
    file = scenario(tmp_path, text, hosts=8, job="iterations = 12")
    file.write_text(file.read_text("utf-8").replace('"20 ms"', '"10 s"'), "utf-8")
    guess = json.loads(_core.estimate(file.read_text("utf-8"), str(file), threads=1))
    found = run(file)
    assert found.run["simulated_s"] < 1.0
    assert guess["frame_hops"] == pytest.approx(found.run["frame_hops"], rel=1 / 3)


def test_neighbours_share_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "both.toml"
    job = 'workload = {{ collective = "all_reduce", bytes = "2 MB" }}\nranks = ["h{}", "h{}"]\nname = "{}"\n'
    jobs_of = "".join(
        "[[jobs]]\n" + job.format(first, first + 2, name) for first, name in enumerate(("one", "two"))
    )
    file.write_text(
        '[simulation]\nduration = "20 ms"\n[topology.leaf_spine]\nleaves = 2\nspines = 1\n'
        "hosts_per_leaf = 2\n"
        f'rate = "100 Gb/s"\nuplink_rate = "100 Gb/s"\nphy = "none"\n[flow_control.pfc]\n{jobs_of}',
        "utf-8",
    )
    assert cli.main(["neighbours", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["jobs"]
    assert [one["job"] for one in found] == ["one", "two"]
    for one in found:
        assert one["slowdown"] == pytest.approx(2.0, rel=0.05)
        assert one["pauses_alone"] == 0 < one["pauses_together"]
    assert cli.main(["neighbours", "first-light"]) == 2
    assert "has no jobs" in capsys.readouterr().err
