"""``penstock`` as a process: what it prints where, what it leaves behind, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import penstock as ps
from conftest import LONG, Command, command_line, has_worked, json_of, long_run
from penstock import _core, glossary, library
from penstock.cli import compare, console, demo, main
from penstock.result import Result, rows, summary
from penstock.studies import judging
from penstock.studies import reproduce as studies
from penstock.units import duration

SCHEMAS = Path(__import__("penstock").__file__).parent / "schemas"


def schema(name: str) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    return loaded


def test_run_leaves_a_complete_result(penstock: Command, small: Path, tmp_path: Path) -> None:
    process = penstock("run", small, "--out", "result", "--pictures")
    assert process.returncode == 0, process.stderr
    assert "steady" in process.stdout
    assert "fingerprint" in process.stdout
    result = Result.load(tmp_path / "result")
    assert result.complete
    assert result.name == "small"
    for name in ("report.html", "pictures/timeline.png", "pictures/fabric.png"):
        assert (tmp_path / "result" / name).stat().st_size > 1_000, name
    assert {"flows", "classes", "ports", "queues", "pauses", "drops", "series", "summary"} <= set(
        result.table_names
    )
    again = penstock("check", tmp_path / "result" / "scenario.toml")
    assert again.returncode == 0, again.stderr


def test_run_by_name_writes_below_out(penstock: Command, tmp_path: Path) -> None:
    assert penstock("run", "first-light", "--no-report").returncode == 0
    result = Result.load(tmp_path / "out" / "first-light")
    assert "aggressor" in result.table("flows")["flow"].to_pylist()
    assert not (tmp_path / "out" / "first-light" / "report.html").exists()


def test_json_is_one_object_that_keeps_its_schema(penstock: Command, small: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    answer = json_of(penstock("run", small, "--json", "--seed", "7"))
    jsonschema.validate(answer, schema("run"))
    assert answer["seed"] == 7
    assert [flow["name"] for flow in answer["flows"]] == ["steady", "greedy"]
    assert answer["frame_hops"] > 100
    assert sorted(tmp_path.iterdir()) == before, "--json without --out writes nothing"


def test_the_same_seed_gives_the_same_run(penstock: Command, small: Path) -> None:
    prints = [json_of(penstock("run", small, "--json", "--seed", seed))["fingerprint"] for seed in "112"]
    assert prints[0] == prints[1]
    assert prints[0] != prints[2]


def test_replications(penstock: Command, small: Path, tmp_path: Path) -> None:
    answer = json_of(
        penstock(
            "run", small, "--json", "--replications", "4", "--seed", "10", "--out", "reps", "--no-report"
        )
    )
    jsonschema.validate(answer, schema("run"))
    replications = answer["replications"]
    assert replications["seeds"] == [10, 11, 12, 13]
    assert len(set(replications["fingerprints"])) == 4
    assert answer["fingerprint"] == replications["fingerprints"][0]
    by_name = {(entry["flow"], entry["metric"]): entry for entry in replications["intervals"]}
    throughput = by_name["steady", "throughput_bps"]
    assert throughput["half_width"] > 0
    single = [
        Result.load(tmp_path / "reps" / f"seed-{k}").rows("flows")[0]["throughput_bps"] for k in range(10, 14)
    ]
    assert throughput["mean"] == pytest.approx(sum(single) / 4)
    shown = penstock("run", small, "--replications", "2", "--no-report")
    assert "±" in shown.stdout


def test_an_interrupt_ends_cleanly_with_what_was_measured(tmp_path: Path) -> None:
    process = long_run(tmp_path, "--json", "--out", "cut", "--no-report")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    answer = json.loads(out)
    jsonschema.validate(answer, schema("run"))
    assert answer["complete"] is False
    assert 0 < answer["simulated_s"] < answer["duration_s"]
    result = Result.load(tmp_path / "cut")
    assert not result.complete
    assert json.loads((tmp_path / "cut" / "run.json").read_text())["complete"] is False


def test_interrupted_replications_keep_what_was_measured(tmp_path: Path) -> None:
    process = long_run(tmp_path, "--json", "--replications", "5")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    answer = json.loads(out)
    assert answer["complete"] is False
    assert 1 <= answer["replications"]["replications"] <= 5


def test_a_killed_run_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG, "utf-8")
    process = subprocess.Popen(command_line("run", "long.toml", "--out", "cut"), cwd=tmp_path)
    has_worked(process, 0.8)
    process.kill()
    process.wait()
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]


def test_a_full_disk_is_an_error_and_leaves_nothing(penstock: Command, small: Path, tmp_path: Path) -> None:
    code = (
        "import errno, os\nfrom penstock import arrow\n"
        "def full(*a, **k): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "arrow.write_parquet = full\n"
        "from penstock.cli import main\n"
        f"raise SystemExit(main(['run', {str(small)!r}, '--out', 'full']))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 1
    assert "No space left on device" in process.stderr
    assert "Traceback" not in process.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_new_writes_a_scenario_that_runs_and_never_overwrites(penstock: Command, tmp_path: Path) -> None:
    assert penstock("new").returncode == 0
    assert penstock("check", "scenario.toml").returncode == 0
    (tmp_path / "scenario.toml").write_text("mine")
    process = penstock("new", "scenario.toml")
    assert process.returncode == 2
    assert "scenario.toml: exists" in process.stderr
    assert (tmp_path / "scenario.toml").read_text() == "mine"
    assert penstock("new", "mine.toml", "--like", "first-light").returncode == 0
    assert (tmp_path / "mine.toml").read_text("utf-8") == library.read("first-light").text
    assert penstock("new", "other.toml", "--like", "no-such-scenario").returncode == 2
    assert not (tmp_path / "other.toml").exists()
    assert penstock("new", "no/such/place.toml").returncode == 2


def test_check_prints_the_effective_scenario(penstock: Command, small: Path, tmp_path: Path) -> None:
    process = penstock("check", small, "--effective")
    assert process.returncode == 0
    (tmp_path / "effective.toml").write_text(process.stdout)
    again = penstock("check", "effective.toml", "--effective")
    assert again.stdout == process.stdout, "the effective scenario is its own effective scenario"


def test_list(penstock: Command) -> None:
    assert "first-light" in penstock("list").stdout
    answer = json_of(penstock("list", "--json"))
    assert "first-light" in [entry["name"] for entry in answer["scenarios"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pfc", "802.1Qbb"),
        ("flows", "throughput_bps"),
        ("latency_p99_ns", "flows.latency_p99_ns"),
        ("simulation.duration", "scenario key"),
        ("xoff", "flow_control.pfc.xoff"),
        ("topology.star.rate", "scenario key"),
        ("fair-bandwidth", "fair"),
        ("switch.scheduler.ets", 'Default: "0 B".'),
        ("faults", "Required with `restart`."),
        ("headroom_needed", "above XOFF"),
        ("cisco_rule_bytes", "Cisco"),
        ("bit_error", "drops.cause"),
    ],
)
def test_explain(penstock: Command, name: str, expected: str) -> None:
    process = penstock("explain", name)
    assert process.returncode == 0, process.stderr
    assert expected in process.stdout


def test_explain_says_the_same_once(penstock: Command) -> None:
    output = penstock("explain", "xoff").stdout
    assert output.count("High watermark: at or above it, XOFF is sent.") == 1
    assert "Also in 12 more places, such as host.flow_control.pause.xoff." in output
    assert "default: computed" not in output


def test_all_that_headroom_prints_is_explained(penstock: Command) -> None:
    answer = json_of(penstock("headroom", "--rate", "10 Gb/s", "--cell", "96 B", "--json"))
    given = {"schema", "terms", "rate", "cable_delay", "mtu", "phy"}
    assert all(glossary.find(name) for name in answer.keys() - given)


def test_explain_names_what_is_near(penstock: Command) -> None:
    process = penstock("explain", "latency_p9_ns")
    assert process.returncode == 2
    assert "did you mean" in process.stderr
    assert "latency_p99_ns" in process.stderr


def test_explain_without_a_name_is_an_index(penstock: Command) -> None:
    """All mechanisms, tables and concepts, none of the columns and parameters."""
    shown = " ".join(penstock("explain").stdout.split())
    for kind, known in glossary.index().items():
        assert kind in shown
        assert ", ".join(known) in shown
    assert {"dctcp", "congestion_flows", "ecmp", "flow_control"} <= set(" ".join(shown.split(",")).split())
    assert "latency_p99_ns" not in shown


def test_explain_searches_names_and_texts(penstock: Command) -> None:
    found = penstock("explain", "--search", "echoed").stdout
    assert "connections.marks_echoed" in found
    both = penstock("explain", "--search", "fast recovery").stdout
    assert "recovery_cycles" in both
    assert "flow_throughput" not in both
    missed = penstock("explain", "--search", "nothing-like-this")
    assert (missed.returncode, missed.stdout) == (2, "")
    assert "for a list of names: penstock explain" in missed.stderr
    assert "expected only one of them" in penstock("explain", "pfc", "--search", "pfc").stderr
    assert "faults.after" in penstock("explain", "routing").stderr


def test_words_of_the_field_are_explained() -> None:
    words = [
        "ecmp",
        "spray",
        "roce",
        "RoCEv2",
        "cnp",
        "irn",
        "marking",
        "islip",
        "Kmin",
        "Kmax",
        "WRED",
        "HOL",
        "victim",
        "deadlock",
        "BDP",
        "incast",
        "all-reduce",
    ]
    phrases = [
        "HOL blocking",
        "pause storm",
        "PFC watchdog",
        "ECMP polarisation",
        "offered load",
        "in flight",
    ]
    for word in (*words, *phrases):
        [topic] = ps.explain(word).topics
        assert topic.kind == "concept"
    concepts = tomllib.loads(Path(glossary.__file__).with_name("concepts.toml").read_text("utf-8"))
    for name, entry in concepts.items():
        assert all(glossary.find(other) for other in entry["see"]), name
    modelled = {topic.name for topic in glossary.topics() if topic.kind.startswith("mechanism")}
    assert ("not modelled yet" in repr(ps.explain("dcqcn"))) == ("dcqcn" not in modelled)


def test_explain_in_python() -> None:
    shown = ps.explain("xoff")
    assert "High watermark" in repr(shown)
    assert "<h4>" in shown._repr_html_()
    assert "&lt;" in glossary.Explanation((glossary.Topic("a<b", "table", ["x"]),))._repr_html_()
    with pytest.raises(ps.InputError, match="did you mean xoff"):
        ps.explain("xof")
    with pytest.raises(ps.InputError, match="expected a name"):
        ps.explain()


def test_headroom_of_the_standard(penstock: Command) -> None:
    """10 Gb/s over 300 m of fibre with 1522-byte frames: 102,448 bit times with interfaces of 8,192."""
    link = ("headroom", "--rate", "10 Gb/s", "--length", "300 m")
    answer = json_of(penstock(*link, "--interface-delay", "819.2 ns", "--json"))
    assert answer["total_bytes"] == 12_806
    shown = penstock(*link, "--interface-delay", "819.2 ns")
    assert "12,806" in shown.stdout


def test_headroom_in_cells(penstock: Command) -> None:
    """Cells of 144 B: a frame of 64 B takes 2.25 times its length."""
    link = ("headroom", "--rate", "100 Gb/s", "--length", "40 m", "--json")
    plain, cells = json_of(penstock(*link)), json_of(penstock(*link, "--cell", "144 B"))
    assert "cell_occupancy" not in plain
    assert cells["cell_occupancy"] == 2.25
    assert cells["headroom_memory_bytes"] == -(-cells["headroom_bytes"] * 9 // 4)
    assert cells["sonic_model_bytes"] == 92_160


def test_headroom_of_a_phy(penstock: Command) -> None:
    """The sum over the sublayers; by default the usual PHY of the rate."""
    link = ("headroom", "--rate", "10 Gb/s", "--length", "300 m")
    answer = json_of(penstock(*link, "--phy", "10gbase-r", "--json"))
    assert [row["bit_times"] for row in answer["sublayers"]] == [8_192, 3_584, 512]
    assert answer["total_bit_times"] == 102_448 + 2 * (12_288 - 8_192)
    assert json_of(penstock(*link, "--json")) == answer
    slowest = json_of(penstock(*link, "--phy", "slowest", "--json"))
    assert (slowest["phy"], slowest["response_quanta"]) == ("10GBASE-T", 74)
    without = json_of(penstock(*link, "--phy", "none", "--json"))
    assert (without["phy"], without["sublayers"]) == ("none", [])
    assert without["headroom_bytes"] == slowest["headroom_bytes"] - (2 * 33_792 + (74 - 60) * 512) // 8
    shown = penstock(*link, "--phy", "slowest")
    assert "25,600" in shown.stdout
    assert "One interface, 10GBASE-T" in shown.stdout
    for phy, part in (("10GBASE-KR", "10GBASE-SR"), ("25GBASE-R", "not of 10 Gb/s")):
        process = penstock(*link, "--phy", phy)
        assert process.returncode == 2
        assert part in process.stderr


def test_compare(penstock: Command, small: Path) -> None:
    assert penstock("run", small, "--out", "a", "--no-report").returncode == 0
    assert penstock("run", small, "--out", "b", "--no-report", "--seed", "2").returncode == 0
    same = json_of(penstock("compare", "a", "a", "--json"))
    assert same["same_trajectory"] is True
    assert same["flows"] == same["ports"] == same["scenario_diff"] == []
    other = json_of(penstock("compare", "a", "b", "--json"))
    assert other["same_trajectory"] is False
    assert "steady" in {row["name"] for row in other["flows"]}
    assert any("seed" in line for line in other["scenario_diff"])
    shown = penstock("compare", "a", "b")
    assert shown.returncode == 0
    assert "trajectories differ" in shown.stdout
    assert "%" in shown.stdout


def test_differences_too_small_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    """Two equal numbers beside a change would be read as an error."""
    ends = [("seen", 1e9, 2e9), ("unseen", 1e9, 1e9 + 1)]
    rows = [
        {"name": name, "metric": "throughput_bps", "first": one, "second": other, "values": [one, other]}
        for name, one, other in ends
    ]
    compare._show(console.console(), "Flows that differ", rows, compare.FLOWS, ("first", "second"))
    output = capsys.readouterr().out
    assert "\nseen " in output and "+100.0 %" in output and "unseen" not in output
    assert output.endswith("1 measure differs by less than the printed precision: see --json\n")


def test_a_title_is_not_broken_at_the_width_of_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    table = console.Table("A title that is longer than the rows below it", "a", "b", numeric=0)
    table.add_row("1", "2")
    console.console().print(table)
    assert capsys.readouterr().out.startswith("A title that is longer than the rows below it\na   b\n")


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "small.toml", "--seed", "x"],
        ["run", "small.toml", "--seed", "-1"],
        ["run", "small.toml", "--seed", str(2**64)],
        ["run", "small.toml", "--replications", "0"],
        ["run", "small.toml", "--threads", "0"],
        ["run", "small.toml", "--jsno"],
        ["run", "small.toml", "extra"],
        ["run", "nowhere.toml"],
        ["run", "."],
        ["run", "small.toml", "--out", "small.toml"],
        ["run", "small.toml", "--threads", "65"],
        ["check", "small.toml", "--estimate", "--threads", "65"],
        ["run", "small.toml", "--seed", "18446744073709551615", "--replications", "2"],
        ["run", "small.toml", "--out", "/proc/nowhere/out"],
        ["rnu", "small.toml"],
        ["check"],
        ["check", "first-ligth"],
        ["explain", "nothing-like-this"],
        ["headroom"],
        ["headroom", "--rate", "10 Gb/s", "--cell", "0 B"],
        ["headroom", "--rate", "10 Gb/s", "--cell", "64"],
        ["headroom", "--rate", "10 Gb/s", "--cell", "1 MiB"],
        ["headroom", "--rate", "10"],
        ["headroom", "--rate", "-10 Gb/s"],
        ["headroom", "--rate", "10 Gb/s", "--length", "300 furlongs"],
        ["headroom", "--rate", "10 Gb/s", "--length", "3 m", "--delay", "1 us"],
        ["headroom", "--rate", "10 Gb/s", "--phy", "10GBASE-R", "--interface-delay", "1 us"],
        ["reproduce", "nobody-1999"],
        ["compare", "here", "there"],
        ["compare", "."],
    ],
    ids=" ".join,
)
def test_bad_words_end_in_a_message(penstock: Command, small: Path, tmp_path: Path, words: list[str]) -> None:
    before = sorted(tmp_path.iterdir())
    process = penstock(*words)
    assert process.returncode == 2, process.stderr
    assert process.stdout == ""
    assert process.stderr.startswith(("penstock: ", "error: "))
    assert "Traceback" not in process.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("threads", ["1", "2", "auto"])
def test_threads_change_no_result(penstock: Command, small: Path, threads: str) -> None:
    once, again = (
        json_of(penstock("run", small, "--json", *words)) for words in ([], ["--threads", threads])
    )
    assert again["fingerprint"] == once["fingerprint"]


def test_a_panic_of_the_engine_ends_in_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class PanicException(BaseException):
        pass

    def panic(*_: object, **__: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr(_core, "examine", panic)
    assert main(["check", "first-light"]) == 1
    output = capsys.readouterr().err
    assert output.startswith("penstock: the engine has failed: index out of bounds")
    assert "Traceback" not in output


def test_help_is_an_answer(penstock: Command) -> None:
    for words in ([], ["--help"], ["run", "--help"], ["reproduce", "--help"], ["--version"]):
        process = penstock(*words)
        assert process.returncode == 0
        assert process.stdout
        assert process.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_no_traceback(small: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            command_line("run", small, "--json"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert process.returncode == 1
    assert "Traceback" not in process.stderr


def test_a_run_begins_at_once(small: Path, tmp_path: Path) -> None:
    """The first event soon after the start, in time of the processor: others may be busy."""
    code = (
        "import sys, time\n"
        "from penstock import _core\n"
        "real = _core.run\n"
        "def timed(*a, **k):\n"
        "    sys.stderr.write(f'{time.process_time()}')\n"
        "    return real(*a, **k)\n"
        "_core.run = timed\n"
        "from penstock.cli import main\n"
        f"raise SystemExit(main(['run', {str(small)!r}, '--json']))"
    )
    waits = []
    for _ in range(3):
        process = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        waits.append(float(process.stderr))
    assert min(waits) < 0.6, waits


def test_the_terminal_is_left_alone_without_one(penstock: Command, small: Path) -> None:
    process = penstock("run", small, "--json")
    assert "\x1b" not in process.stdout + process.stderr
    assert process.stderr == ""


def all_of(terminal: int) -> bytes:
    """Reads everything written to a pseudo-terminal until its other side is closed, then closes it."""
    shown = b""
    try:
        while chunk := os.read(terminal, 65536):
            shown += chunk
    except OSError:  # the other side is closed
        pass
    os.close(terminal)
    return shown


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_progress_on_a_terminal(tmp_path: Path) -> None:
    import pty

    (tmp_path / "long.toml").write_text(LONG, "utf-8")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command_line("run", "long.toml", "--json"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    with ThreadPoolExecutor() as reader:  # a terminal that nobody reads stops the process
        shown = reader.submit(all_of, ours)
        has_worked(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert b"frame-hops/s" in shown.result()


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_narrow_terminal_cuts_no_names(small: Path, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command_line("run", small, "--no-report"),
        cwd=tmp_path,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "80"},
    )
    os.close(theirs)
    shown = all_of(ours)
    assert process.wait(timeout=60) == 0
    for name in (b"steady", b"greedy", b"h1.0->sw"):
        assert name in shown
    assert "…".encode() not in shown


def test_a_second_interrupt_leaves_out_the_report_alone(tmp_path: Path) -> None:
    process = long_run(tmp_path, "--out", "cut")
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    output = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, output + err
    assert "the measurements are saved" in output
    assert "report" not in out
    assert "of 3000 s" in err
    assert not Result.load(tmp_path / "cut").complete
    assert not (tmp_path / "cut" / "report.html").exists()


def test_ports_that_lose_come_first_then_the_most_paused(penstock: Command, small: Path) -> None:
    def first(file: Path) -> str:
        lines = penstock("run", file, "--no-report").stdout.splitlines()
        [header] = [index for index, line in enumerate(lines) if line.startswith("port ")]
        return lines[header + 2].split()[0]

    assert first(small) == "h1.0->sw"  # paused
    text = small.read_text("utf-8").replace("200 frames", "10 frames")
    lossy = small.with_name("lossy.toml")
    lossy.write_text(text[: text.index("[flow_control")] + text[text.index("[[flows]]") :], "utf-8")
    assert first(lossy) == "sw.2->h2"
    assert "queue_limit" in penstock("run", lossy, "--no-report").stdout


def test_a_scenario_accepts_the_headroom_of_the_calculator(
    penstock: Command, small: Path, tmp_path: Path
) -> None:
    link = ("--rate", "10 Gb/s", "--length", "20 m", "--interface-delay", "0 s")
    answer = json_of(penstock("headroom", *link, "--json"))
    assert sum(term["bit_times"] for term in answer["terms"]) == answer["total_bit_times"]
    found = {}
    for less in (0, 1):
        file = tmp_path / f"less-{less}.toml"
        room = f'[flow_control.pfc]\nheadroom = "{answer["headroom_bytes"] - less} B"'
        text = small.read_text("utf-8").replace("[flow_control.pfc]", room)
        file.write_text(text.replace("20 frames", "30 kB").replace("10 frames", "15 kB"), "utf-8")
        found[less] = penstock("check", file)
    assert found[0].returncode == 0, found[0].stderr
    assert found[1].returncode == 2
    assert f"{answer['headroom_bytes']} B" in found[1].stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_trouble(small: Path, tmp_path: Path, closed: str) -> None:
    words = " ".join(command_line("run", small, "--out", "out", "--no-report"))
    process = subprocess.run(f"{words} {closed}", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0
    assert "Traceback" not in process.stderr
    assert Result.load(tmp_path / "out").complete


def test_a_flow_that_begins_after_the_end(penstock: Command, small: Path) -> None:
    small.write_text(small.read_text("utf-8") + 'start = "300 us"\n', "utf-8")
    answer = json_of(penstock("run", small, "--json"))
    assert answer["flows"][1]["frames_sent"] == 0
    assert penstock("fair", small).returncode == 0


def test_warnings_of_a_kind_are_one_with_its_count(penstock: Command, small: Path) -> None:
    """Two hundred flows with an odd frame are one thing to say."""
    flow = '\n[[flows]]\nname = "f{0}"\nfrom = "h0"\nto = "h2"\nframe = "{1} B"\nsource = "greedy"\n'
    text = small.read_text("utf-8") + "".join(flow.format(n, 40 + n % 2) for n in range(200))
    small.write_text(text, "utf-8")
    for words in (["check", small], ["run", small, "--json"]):
        output = penstock(*words).stderr
        assert output.count("is not standard") == 1
        assert f"at least 99 more like it, at {small}:" in output
        assert "and 96 others" in output
    few = text[: text.index('name = "f30"')].rpartition("[[flows]]")[0]
    small.write_text(few, "utf-8")
    output = penstock("check", small).stderr
    assert "   = 29 more like it" in output


def test_json_of_many_hosts_is_the_summary_row_by_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed and in memory are the same, and no more than a part of the rows is in memory."""
    made = ps.Scenario(duration="1 us").topology.star(hosts=3, rate="10 Gb/s", phy="none")
    for scenario in (made, made.flow("f", from_="all", to="h2", source="greedy")):
        result = scenario.run()
        console.print_json(summary.in_rows(result))
        assert json.loads(capsys.readouterr().out) == summary.summarise(result)
    monkeypatch.setattr(rows, "ROWS_AT_A_TIME", 2)
    whole = [len(names) for names in (result.table("ports")["port"],)]
    sizes: list[int] = []
    real = rows.cells

    def cells(column: Any, *, ascii_only: bool) -> Any:
        sizes.append(len(column))
        return real(column, ascii_only=ascii_only)

    monkeypatch.setattr(rows, "cells", cells)
    console.print_json(summary.in_rows(result))
    assert len(json.loads(capsys.readouterr().out)["ports"]) == whole[0] > 2
    assert max(sizes) == 2


def test_demo_ends_in_fifteen_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The steps come as they begin; the whole of it, steps included, fits a small terminal."""
    found = studies.find(demo.STUDY)[0]

    def quickly(study: object, directory: Path, *, quick: bool, say: Callable[[str], None]) -> object:
        assert quick
        for step in range(12):
            say(f"step {step}")
        (directory / demo.PICTURE).parent.mkdir(parents=True)
        (directory / demo.PICTURE).write_bytes(b"")
        outcomes = tuple(
            studies.Outcome(one.id, one.criterion, one.reported, "", judging.Judgement(judging.MET))
            for one in found.experiments
        )
        return studies.StudyResult(found, outcomes, directory)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(studies, "reproduce", quickly)
    monkeypatch.setattr(demo, "SAYS_EVERY_S", 0.0)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert "step 5" in err
    assert len((out + err).splitlines()) <= 15
    assert "picture  out" in out.splitlines()[-1]


def test_check_loads_a_scenario_once(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loading a large fabric takes seconds."""
    text = small.read_text("utf-8")
    loaded: list[str] = []
    real = _core.examine

    def examine(
        text: str, file: str, *, allow_files: bool = False
    ) -> tuple[str, list[str], list[str], list[str]]:
        loaded.append(file)
        return real(text, file, allow_files=allow_files)

    for name in ("check", "guarantees", "thresholds", "topology", "effective_json"):
        monkeypatch.setattr(_core, name, lambda *_, **__: pytest.fail("loaded again"))
    monkeypatch.setattr(_core, "examine", examine)
    assert main(["check", str(small)]) == 0
    assert loaded == [str(small)] and "ok" in capsys.readouterr().out
    monkeypatch.undo()
    assert _core.examine(text, str(small))[0] == _core.check(text, str(small))


def test_run_tells_loading_and_building_apart_from_the_simulation(
    penstock: Command, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "timed"
    printed = penstock("run", small, "--out", out).stdout
    run = json.loads((out / "run.json").read_text("utf-8"))
    assert run["load_s"] > 0 and 0 < run["build_s"] <= run["wall_s"]
    (line,) = [line for line in printed.splitlines() if line.startswith("simulated ")]
    assert "loading took " in line and ", building " in line
    assert duration(1e9 * (run["wall_s"] - run["build_s"])) in line
