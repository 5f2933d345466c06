"""Wrong command lines: one message with what is accepted, exit code 2, never a traceback."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

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
    "validate",
    "reproduce",
    "compare",
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
        said = capsys.readouterr()
        assert code in (0, 1, 2), words
        assert code == 0 or said.err.startswith(("penstock: ", "error: ", "warning: ")), (words, said.err)
        assert "Traceback" not in said.err
        failed += code == 2
    assert failed > 30


KINDS: dict[str, tuple[list[str], list[str]]] = {
    "new": (["--like"], ["first-light", "small.toml", "result", "frst-light"]),
    "sweep": (
        ["--vary", "--set", "--measure", "--zip", "--latin", "--until", "--workers", "--on"],
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
    "steady": (["--metric"], ["queue_bytes", "queue_byts", "flow_throughput_bps"]),
    "capture": (["--out", "--port"], ["result", "sw.0->h0", "x.pcapng"]),
    "decode": ([], ["result/flows.parquet", "small.toml"]),
    "dissector": (["--out"], []),
    "export": (["--form", "--of", "--interface"], ["dcb", "mlnx_qos", "hosts", "switches", "eth0", "; rm"]),
}
"""Of commands with many options: these, and values that are nearly right."""


@pytest.mark.parametrize("command", KINDS)
def test_any_options_end_in_a_message(command: str, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(command)
    options, values = KINDS[command]
    first = {"new": "fresh.toml", "steady": "result", "capture": "result", "decode": "small.toml"}
    for _ in range(40):
        words = [command] if command == "dissector" else [command, first.get(command, "small.toml")]
        for _ in range(draw.randrange(1, 4)):
            words += [draw.choice([*options, *WORDS]), draw.choice([*values, *WORDS])]
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        (work / "fresh.toml").unlink(missing_ok=True)
        assert code in (0, 1, 2), words
        assert code == 0 or said.err.startswith(("penstock: ", "error: ", "warning: ")), (words, said.err)
        assert "Traceback" not in said.err


WRONG = [
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
    (["why", "stedy", "--run", "result"], "no port, node or flow 'stedy'"),
    (["compare", "result", "nowhere"], "no such result directory"),
    (["headroom", "--rate", "10"], 'did you mean "10 Gb/s"?'),
    (["headroom", "--rate", "1e4 Mb/s"], 'did you mean "10000 Mb/s"?'),
    (["headroom", "--rate", "10 Gb/s", "--delay", "1 us", "--length", "2 m"], "give one of them"),
    (["explain", ""], "no entry for ''"),
    (["explain", "xof"], "did you mean xoff"),
    (["new", "no/where.toml"], "there is no directory no"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_what_is_accepted_is_said(
    words: list[str], said: str, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(words) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
def test_a_pipe_is_a_scenario_if_somebody_writes(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert main(["check", "pipe"]) == 2
    assert "a pipe into which nobody writes" in capsys.readouterr().err
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
    asked = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    for words in (
        ["run", "small.toml", "--ascii", "--no-report"],
        ["--ascii", "explain", "dynamic_threshold"],
    ):
        done = subprocess.run(command_line(*words), capture_output=True, env=asked, check=False)
        assert done.returncode == 0 and done.stdout.isascii(), done.stderr
    assert sys.getdefaultencoding() == "utf-8"
