"""Wrong command lines: one message with what is accepted, exit code 2, never a traceback."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import SMALL, command_line
from penstock.cli import main

WORDS = [
    *(
        "",
        "-",
        "--",
        "-1",
        "0",
        "1.5",
        "1e3",
        "nan",
        "99999999999999999999999",
        "0x10",
        "a",
        "µ",
        "\udcff",
        "a\nb",
    ),
    *("small.toml", "nowhere.toml", "result", "result/flows.parquet", "/", "..", ".", "~", "*", "x" * 5000),
    *(
        "--seed",
        "--seed=",
        "--json",
        "--no-json",
        "--help",
        "--out",
        "--out=",
        "--threads",
        "--replications=0",
    ),
    *(
        "auto",
        "flows",
        "xoff",
        "steady",
        "sw",
        "--weight",
        "steady=2",
        "steady=",
        "=2",
        "steady=-1",
        "steady=nan",
    ),
    *(
        "--counts",
        "wire",
        "--rate",
        "10 Gb/s",
        "10",
        "--length",
        "--phy",
        "--effective",
        "--estimate",
        "--quick",
    ),
]
COMMANDS = [
    "run",
    "check",
    "list",
    "explain",
    "why",
    "fair",
    "headroom",
    "capture",
    "decode",
    "dissector",
    "export",
    "dcbx",
    "conform",
    "validate",
    "reproduce",
    "compare",
    "counters",
    "trace",
    "calibrate",
    "frob",
]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    assert main(["run", "small.toml", "--out", "result", "--no-report"]) == 0
    return tmp_path


@pytest.mark.parametrize("seed", range(4))
def test_any_words_end_in_a_message(seed: int, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(seed)
    failed = 0
    for _ in range(60):
        command = draw.choice(COMMANDS)
        words = [command, *(draw.choice(WORDS) for _ in range(draw.randrange(5)))]
        if command in ("validate", "reproduce"):
            words.insert(1, "nonsense")  # what it says of no name at all takes minutes
        capsys.readouterr()
        code = main(words)
        output = capsys.readouterr()
        assert code in (0, 1, 2), words
        assert code == 0 or output.err.startswith(("penstock: ", "error: ", "warning: ")), (words, output.err)
        assert "Traceback" not in output.err
        failed += code == 2
    assert failed > 30


KINDS: dict[str, tuple[list[str], list[str]]] = {
    "new": (["--like"], ["first-light", "small.toml", "result", "frst-light"]),
    "sweep": (
        ["--vary", "--set", "--measure", "--zip", "--latin", "--until", "--workers", "--executor"],
        [
            "simulation.seed=1..",
            "simulation.seed=2:1:3",
            "no.key=1",
            "x=",
            "=x",
            "x=a+",
            "x=__import__('os')",
        ],
    ),
    "sensitivity": (
        ["--vary", "--set", "--measure", "--method", "--number", "--workers", "--executor"],
        ["no.key=1:2", "flow_control.pfc.xoff=1", "x=a+", "morris", "sobol", "moris", "1", "p=max(flows.x)"],
    ),
    "optimise": (
        ["--vary", "--set", "--minimize", "--maximize", "--require", "--trials", "--workers", "--executor"],
        [
            "no.key=1:2",
            "x=",
            "max(flows.latency)",
            "max(flows.latency_p99_ns)",
            "1 <",
            "a <= b",
            "__import__('os')",
        ],
    ),
    "check": (["--estimate", "--effective", "--json", "--threads"], ["small.toml", "result", "65", "auto"]),
    "run": (
        ["--seed", "--threads", "--replications", "--out", "--ascii", "--quiet", "--no-report"],
        ["18446744073709551616", "65", "auto", "result", "2"],
    ),
    "compare": (["--json"], ["result", "small.toml", "result/run.json"]),
    "why": (["--json"], ["steady", "sw", "sw.0->h0", "h*", "result"]),
    "headroom": (
        ["--rate", "--length", "--delay", "--phy", "--frame", "--cell", "--response-time"],
        ["10 Gb/s", "10Gb/s", "1 m", "1 km", "-1 m", "10GBASE-T", "100GBASE-R RS-FEC", "9216 B", "0 B"],
    ),
    "steady": (["--metric"], ["queue_bytes", "queue_byts", "flow_throughput_bps"]),
    "capture": (["--out", "--port"], ["result", "sw.0->h0", "x.pcapng"]),
    "decode": ([], ["result/flows.parquet", "small.toml"]),
    "dissector": (["--out"], []),
    "conform": (["--against", "--case", "--out"], ["agent", "DX-03", "DX-3", "PF-01", "result"]),
    "trace": (
        [
            "--ranks",
            "--bytes",
            "--algorithm",
            "--iterations",
            "--time-unit",
            "--format",
            "--json",
            "--ctrl-deps",
        ],
        ["small.toml", "ring", "0", "us", "chakra", "result", "8"],
    ),
    "calibrate": (
        ["--collective", "--ranks", "--rate", "--latency", "--in-place", "--json"],
        ["all_reduce", "all-reduce", "2", "400 Gb/s", "2 us", "0"],
    ),
    "export": (
        ["--format", "--role", "--interface"],
        ["dcb", "mlnx_qos", "sonic", "hosts", "switches", "eth0", "; rm"],
    ),
}
"""Options of commands with many options, and values that are nearly valid."""


@pytest.mark.parametrize("command", KINDS)
def test_any_options_end_in_a_message(command: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(command)
    options, values = KINDS[command]
    first = {
        "new": "fresh.toml",
        "steady": "result",
        "capture": "result",
        "decode": "small.toml",
        "compare": "result",
        "why": "steady",
        "headroom": "--json",
        "trace": "check",
    }
    for _ in range(40):
        words = (
            [command] if command in ("dissector", "conform") else [command, first.get(command, "small.toml")]
        )
        for _ in range(draw.randrange(1, 4)):
            words += [draw.choice([*options, *WORDS]), draw.choice([*values, *WORDS])]
        capsys.readouterr()
        code = main(words)
        output = capsys.readouterr()
        (work / "fresh.toml").unlink(missing_ok=True)
        assert code in (0, 1, 2), words
        assert code == 0 or output.err.startswith(("penstock: ", "error: ", "warning: ")), (words, output.err)
        assert "Traceback" not in output.err


_ARGUMENT = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from([option for options, _ in KINDS.values() for option in options]),
    st.text(st.characters(exclude_characters="/\0"), max_size=12),
    st.integers().map(str),
    st.floats().map(str),
)
_QUICK = [command for command in (*COMMANDS, *KINDS) if command not in ("validate", "reproduce", "sweep")]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.sampled_from(_QUICK), arguments=st.lists(_ARGUMENT, max_size=6))
def test_no_arguments_end_in_a_traceback(
    work: Path, capsys: pytest.CaptureFixture[str], command: str, arguments: list[str]
) -> None:
    capsys.readouterr()
    assert main([command, *arguments]) in (0, 1, 2)
    output = capsys.readouterr()
    assert "Traceback" not in output.out + output.err
    (work / "fresh.toml").unlink(missing_ok=True)


WRONG = [
    (["trace", "convert", "small.toml"], "--out"),
    (["trace", "convert", "small.toml", "-o", "x.txt"], "x.txt: expected a name that ends in .goal"),
    (["trace", "convert", "small.toml", "-o", "x.bin"], "small.toml: is a scenario of Penstock"),
    (["trace", "convert", "smal.toml", "-o", "x.bin"], "smal.toml: is not a file; did you mean small.toml?"),
    (["trace", "check", "small.toml", "--ranks", "0"], "1 of 1 file was rejected"),
    (["trace", "train", "--layers", "x", "-o", "x.bin"], "--parameters requires an argument"),
    (["calibrate", "small.toml"], "has no rows of nccl-tests or perftest"),
    (["calibrate", "small.toml", "--ranks", "1"], "--ranks is 1; expected at least 2"),
    (["chek", "x"], 'Did you mean "check"?'),
    (["run", "small.toml", "--seed", "1.5"], "--seed is 1.5; expected a whole number"),
    (["run", "small.toml", "--seed", ""], "--seed is empty; expected a whole number"),
    (["run", "small.toml", "--seed", "18446744073709551616"], "from 0 to 18446744073709551615"),
    (["run", "small.toml", "--threads", "many"], 'expected a whole number, or "auto"'),
    (["run", "small.toml", "--out", "small.toml"], "exists and is not a directory"),
    (["run", "small.toml", "more"], "unexpected 'more'"),
    (["check", "result"], "did you mean result/scenario.toml?"),
    (["check", "/dev/zero"], "more than 16 MiB"),
    (["fair", "result", "--weight", "steady=2", "--weight", "steady=3"], "has the weight 2 already"),
    (["fair", "result", "--weight", "stedy=2"], "did you mean steady?"),
    (["fair", "result", "--weight", "steady=1e400"], "expected a number above 0"),
    (["why", "stedy", "result"], "no port, node or flow 'stedy'"),
    (["compare", "result", "nowhere"], "no such result directory"),
    (["view", "pause-storm"], "penstock run pause-storm makes one, in out/pause-storm"),
    (["headroom", "--rate", "10"], 'did you mean "10 Gb/s"?'),
    (["headroom", "--rate", "1e4 Mb/s"], 'did you mean "10000 Mb/s"?'),
    (["headroom", "--rate", "10 Gb/s", "--delay", "1 us", "--length", "2 m"], "give one of them"),
    (["dcbx", "shw"], "Available commands: run, show"),
    (["conform", "--case", "DX-3"], "did you mean DX-3"),
    (["explain", ""], "no entry for ''"),
    (["explain", "xof"], "did you mean xoff"),
    (["new", "no/where.toml"], "there is no directory no"),
    (["sensitivity", "small.toml"], "no key varies"),
    (["sensitivity", "small.toml", "--vary", "simulation.sed=1:2"], "did you mean seed?"),
    (["sensitivity", "small.toml", "--vary", "switch.latency=1 ns:2 ns", "--number", "0"], "at least 2"),
    (["sensitivity", "small.toml", "--vary", "switch.latency=1 ns:2 ns", "--method", "moris"], "morris"),
    (["optimise", "small.toml"], "expected --minimize or --maximize"),
    (
        ["optimise", "small.toml", "--minimize", "max(flows.x)", "--maximize", "max(flows.y)"],
        "and not both",
    ),
    (["optimise", "small.toml", "--minimize", "max(flows.latency_p99_ns)", "--trials", "0"], "at least 1"),
    (["optimise", "small.toml", "--minimize", "max(flows.latency_p99_ns)"], "no key varies"),
    (["optimise", "small.toml", "--least", "run.events"], "--least is now --minimize"),
    (["optimise", "small.toml", "--most=run.events"], "--most is now --maximize"),
    (["sweep", "small.toml", "--on", "processes"], "--on is now --executor"),
    (["sensitivity", "small.toml", "--on", "processes"], "--on is now --executor"),
    (["import", "small.toml", "--form", "gml"], "--form is now --format"),
    (["tables", "result", "--form", "csv"], "--form is now --format"),
    (["tables", "result", "--fomat", "csv"], "Unknown option: --fomat"),
    (["export", "small.toml", "--form", "dcb"], "--form is now --format"),
    (["export", "small.toml", "--format", "dcb", "--of", "host"], "--of is now --role"),
    (["dcbx", "run", "--interface", "x0", "--of", "host"], "--of is now --role"),
    (["why", "steady", "--run", "result"], "--run is now RESULT"),
    (["run", "small.toml", "--threads", "65"], "64"),
    (["run", "small.toml", "--threads", "0"], "1"),
    (["run", "small.toml", "--replications", "2.6"], "--replications is 2.6; expected a whole number"),
    (["why", "steady", "small.toml"], "small.toml"),
    (["steady", "result", "--metric", "queue_byts"], "queue_bytes"),
    (["capture", "small.toml", "--port", "sw.9", "--out", "x.pcapng"], "sw.9"),
    (["export", "small.toml", "--format", "dbc"], "dcb"),
]


@pytest.mark.parametrize(("words", "message"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_what_is_accepted_is_reported(
    words: list[str], message: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(words) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
def test_a_pipe_is_a_scenario_if_someone_writes(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert main(["check", "pipe"]) == 2
    assert "a pipe without a writer" in capsys.readouterr().err
    read, write = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(write, SMALL.encode()), os.close(write)))
    writer.start()
    assert main(["check", f"/dev/fd/{read}"]) == 0
    writer.join()
    os.close(read)


def test_an_output_of_ascii_alone_gets_ascii(work: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (
        ["run", "small.toml", "--replications", "2", "--no-report"],
        ["explain", "dynamic_threshold"],
    ):
        done = subprocess.run(command_line(*words), capture_output=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
    assert b"alpha" in done.stdout
    (work / "small.toml").write_text(SMALL.replace('"steady"', '"stetig-ü"'), "utf-8")
    done = subprocess.run(
        command_line("run", "small.toml", "--json"), capture_output=True, env=environment, check=False
    )
    assert b"stetig-\\u00fc" in done.stdout
    requested = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    for words in (
        ["run", "small.toml", "--ascii", "--no-report"],
        ["--ascii", "explain", "dynamic_threshold"],
    ):
        done = subprocess.run(command_line(*words), capture_output=True, env=requested, check=False)
        assert done.returncode == 0 and done.stdout.isascii(), done.stderr
    assert sys.getdefaultencoding() == "utf-8"
