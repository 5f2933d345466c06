"""The timeline of the ranks of a job: page, picture, and the trace for Perfetto."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL.Image import open as open_image

import penstock as ps
from penstock import cli
from penstock.analysis.rank_bars import bars_of
from penstock.analysis.rank_steps import NEVER, RECEIVE, SEND, steps_of, union_length
from penstock.analysis.rank_times import rank_times
from penstock.report import perfetto, ranks

TEXT = """
[simulation]
duration = "100 ms"
[topology.star]
hosts = {hosts}
rate = "100 Gb/s"
phy = "none"
[flow_control.pfc]
[[jobs]]
name = "job"
ranks = "all"
workload = {{ collective = "{collective}"{more} }}
{keys}
"""


def run(collective: str, more: str, keys: str = "", hosts: int = 4) -> ps.Result:
    text = TEXT.format(hosts=hosts, collective=collective, more=more, keys=keys)
    return ps.Scenario.from_toml(text).run()


@pytest.fixture(scope="module")
def burst() -> ps.Result:
    """Sends that overlap at each rank, with costs and pauses."""
    keys = 'compute = "5 us"\noverhead = "500 ns"\niterations = 2\npriority = 3'
    return run("all_to_all", ', algorithm = "burst", bytes = "400 kB", skew = 1.5', keys)


@pytest.fixture(scope="module")
def large() -> ps.Result:
    return run("barrier", "", 'compute = "2 us"', hosts=1_024)


def trace_of(path: Path) -> dict[str, Any]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def checked(trace: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The events of a trace by phase, if they keep the rules of the Trace Event Format."""
    by_phase: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["name"], str)
        by_phase[event["ph"]].append(event)
    assert set(by_phase) <= {"M", "X", "s", "f", "C"}
    named = {event["pid"] for event in by_phase["M"] if event["name"] == "process_name"}
    tracks = {(event["pid"], event["tid"]) for event in by_phase["M"] if event["name"] == "thread_name"}
    slices: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in by_phase["X"]:
        assert event["pid"] in named and (event["pid"], event["tid"]) in tracks
        assert event["ts"] >= 0 and event["dur"] >= 0
        slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for own in slices.values():
        ordered = sorted(own)
        assert all(after[0] >= before[1] - 1e-9 for before, after in pairwise(ordered))
    starts, ends = ({event["id"]: event for event in by_phase[phase]} for phase in "sf")
    assert starts.keys() == ends.keys() and len(starts) == len(by_phase["s"]) == len(by_phase["f"])
    for number, start in starts.items():
        end = ends[number]
        assert (start["cat"], start["name"]) == (end["cat"], end["name"]) and start["ts"] <= end["ts"]
        assert end["bp"] == "e"
        for event in (start, end):  # an arrow is bound to the slice around it
            own = slices[event["pid"], event["tid"]]
            assert any(begin - 1e-9 <= event["ts"] <= stop + 1e-9 for begin, stop in own)
    for event in by_phase["C"]:
        assert all(isinstance(value, int) and value >= 0 for value in event["args"].values())
    return by_phase


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_keeps_the_rules_of_its_format(burst: ps.Result, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    written = perfetto.write(burst, path)
    trace = trace_of(path)
    assert len(trace["traceEvents"]) == written
    found = checked(trace)
    steps = steps_of(burst, "job")
    assert steps is not None
    names = [event["args"]["name"] for event in found["M"] if event["name"] == "process_name"]
    assert names == [f"job rank {rank} (h{rank})" for rank in range(4)]
    assert len(found["X"]) == len(steps)
    assert len(found["s"]) == (steps.kind == SEND).sum() == 2 * 4 * 3
    # Times are those of the table, in microseconds.
    for kind in ("compute", "send", "send_cost"):
        own = sorted((event["pid"], event["ts"]) for event in found["X"] if event["cat"] == kind)
        table = [row for row in burst.rows("rank_steps") if row["kind"] == kind]
        expected = sorted((row["rank"] + 1, row["begin_ns"] / 1e3) for row in table)
        assert np.allclose(own, expected, rtol=0, atol=1e-6)
    tracks = {event["args"]["name"] for event in found["M"] if event["name"] == "thread_name"}
    assert tracks >= {"compute", "send", "send 2", "send 3", "receive"}
    assert found["C"], "three ranks send to one: pauses reach the hosts"


def test_a_trace_has_all_jobs_or_one(tmp_path: Path) -> None:
    job = (
        '[[jobs]]\nname = "{0}"\nranks = ["h{1}", "h{2}"]\n'
        'workload = {{ collective = "all_reduce", bytes = "10 kB" }}\n'
    )
    text = TEXT.partition("[[jobs]]")[0].format(hosts=4) + job.format("a", 0, 1) + job.format("b", 2, 3)
    result = ps.Scenario.from_toml(text).run()
    for only, processes in ((None, 4), ("b", 2)):
        perfetto.write(result, tmp_path / "t.json", only)
        found = checked(trace_of(tmp_path / "t.json"))
        assert len({event["pid"] for event in found["X"]}) == processes
    with pytest.raises(ps.InputError, match="no steps of ranks"):
        perfetto.write(result, tmp_path / "t.json", "c")


def content_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(
        r'<script type="application/json" id="penstock-ranks">(.*?)</script>', page, re.DOTALL
    )
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_page_has_every_bar(burst: ps.Result, tmp_path: Path) -> None:
    ranks.write(burst, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    for output in ("Critical path", "bus bandwidth", "bubble", "straggler", "Timeline by rank", "Traffic"):
        assert output in page
    content = content_of(page)
    steps = steps_of(burst, "job")
    assert steps is not None
    begin = np.frombuffer(base64.b64decode(content["steps"]["begin"]), "<u4")
    first = np.frombuffer(base64.b64decode(content["steps"]["first"]), "<u4")
    drawn = (steps.end < NEVER) & ~((steps.kind == RECEIVE) & (steps.end <= steps.requested))
    assert len(begin) == drawn.sum() == first[-1]
    assert len(first) == 5 and (np.diff(first) > 0).all()
    traffic = content["traffic"]
    assert sum(traffic["bytes"]) == sum(row["bytes"] for row in burst.rows("messages"))
    assert [round(end - begin) for begin, end in content["iterations"]] == [
        pytest.approx((row["end_ns"] - row["start_ns"] + 5_000) / content["unit_ns"], rel=1e-3)
        for row in burst.rows("collectives")
    ]


def test_a_thousand_ranks_are_some_megabytes(large: ps.Result, tmp_path: Path) -> None:
    ranks.write(large, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert len(page) < 2_000_000
    # Canvases: no element of the page for a rank or a step.
    assert page.count("<") < 2_500 and page.count("<canvas") == 2
    assert len(content_of(page)["hosts"]) == 1_024
    perfetto.write(large, tmp_path / "t.json.gz")
    assert (tmp_path / "t.json.gz").stat().st_size < 3_000_000
    found = checked(trace_of(tmp_path / "t.json.gz"))
    assert len(found["s"]) == 1_024 * 10
    assert len([event for event in found["M"] if event["name"] == "process_name"]) == 1_024


def test_bars_that_nearly_touch_are_joined(large: ps.Result) -> None:
    steps = steps_of(large, "job")
    assert steps is not None
    whole, few = bars_of(steps), bars_of(steps, most=6_000)
    assert len(few.rank) <= 6_000 < len(whole.rank)
    assert few.joined == len(whole.rank) - len(few.rank)
    assert few.size.sum() == whole.size.sum()
    for layer in (0, 2):
        for rank in (0, 511, 1_023):
            one, other = ((bars.rank == rank) & (bars.layer == layer) for bars in (few, whole))
            assert few.begin[one].min() == whole.begin[other].min()
            assert few.end[one].max() == whole.end[other].max()
            covered = [
                union_length(bars.begin[at], bars.end[at]) for bars, at in ((few, one), (whole, other))
            ]
            assert covered[0] >= covered[1]


def test_times_of_a_rank_add_up(burst: ps.Result) -> None:
    for iteration in (0, 1):
        found = rank_times(burst, "job", iteration)
        assert len(found) == 4
        for one in found:
            assert one.computation + one.exposed + one.bubble == one.total
            assert one.computation == 5_000_000 and one.exposed > 0 and one.bubble >= 0
    assert rank_times(burst, "job", 2) == []


def test_the_command_writes_each_form(
    burst: ps.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    burst.save(tmp_path / "out", report=False)
    for arguments, name in (
        ((), "out.timeline.html"),
        (("--format", "perfetto"), "out.trace.json.gz"),
        (("--format", "png"), "out.timeline.png"),
        (("-o", str(tmp_path / "mine.png")), "mine.png"),
        (("job", "-o", str(tmp_path / "mine.json")), "mine.json"),
    ):
        assert cli.main(["timeline", str(tmp_path / "out"), *arguments]) == 0
        assert name in capsys.readouterr().out.replace("\n", "")
        assert (tmp_path / name).stat().st_size > 1_000
    with open_image(tmp_path / "mine.png") as picture:
        assert picture.width > 1_000
    for arguments, message in (
        (("-o", str(tmp_path / "mine.pdf")), "expected .html, .json, .json.gz or .png"),
        (("-o", str(tmp_path / "out" / "t.html")), "expected a file outside the result"),
        (("jobs",), "no job 'jobs' in this result"),
    ):
        assert cli.main(["timeline", str(tmp_path / "out"), *arguments]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


def test_without_jobs_there_is_nothing_to_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "first-light", "--out", str(tmp_path / "out"), "--no-report"]) == 0
    assert cli.main(["timeline", str(tmp_path / "out")]) == 2
    assert "a result without jobs" in capsys.readouterr().err


def test_the_page_of_a_job_that_hangs_says_why(tmp_path: Path) -> None:
    (tmp_path / "job.goal").write_text(
        "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\nrank 1 {\nrecv 8b from 0 tag 2\n}\n", "utf-8"
    )
    text = TEXT.partition("workload")[0].format(hosts=2) + 'workload = { goal = "job.goal" }\n'
    (tmp_path / "job.toml").write_text(text, "utf-8")
    result = ps.run(tmp_path / "job.toml")
    ranks.write(result, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Unfinished" in page and "with tag 2 from rank 0" in page
    perfetto.write(result, tmp_path / "t.json")
    assert len(checked(trace_of(tmp_path / "t.json"))["X"]) == 1
