"""Inputs of `sweep` and related commands: files with [sweep], keys and values; and their output."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

import penstock as ps
from conftest import SMALL
from penstock.cli import main
from penstock.errors import ArgumentError, UnknownNameError
from penstock.laboratory import engines, values
from penstock.laboratory.plan import Plan
from penstock.laboratory.quantity import MOST_DIGITS

BASE = ps.Scenario.from_toml(SMALL, file="small.toml")
HEAD = "[sweep]\nscenario = 'small.toml'\n"
SEEDS = "vary = { 'simulation.seed' = [1, 2] }\n"


@pytest.fixture(autouse=True)
def _here(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small.parent)


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Said:
    """`Said` with what the test prints."""
    return Said(capsys)


class Said:
    """Runs ``penstock`` and returns its output."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def refused(self, *words: str) -> str:
        """The message of a command that is not carried out."""
        assert main(words) == 2
        out, err = self._capsys.readouterr()
        assert out == ""
        assert not Path("out").exists()
        return err

    def json(self, *words: str, code: int = 0) -> dict[str, object]:
        """Returns the JSON output of a command."""
        assert main([*words, "--json"]) == code
        found: dict[str, object] = json.loads(self._capsys.readouterr().out, parse_constant=_no_json)
        return found


def _no_json(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            HEAD + "set = { 'topology.star.rate' = 3 }",
            "set.topology.star.rate of [sweep] is 3; expected an expr",
        ),
        (HEAD + "measure = { x = 3 }", "measure.x of [sweep] is 3; expected an expression as text"),
        (
            HEAD + "measure = { x = ['run.events'] }",
            "measure.x of [sweep] is ['run.events']; expected an expr",
        ),
        (HEAD + "vary = { 'simulation.seed' = 'x' }", "expected whole numbers from 0"),
        ("[" + HEAD.replace("]", "]]"), "sweep is a list of tables; expected one table [sweep]"),
        ("sweep = 3", "sweep is 3; expected one table [sweep]"),
        ("[sweep\n", "sweep.toml: Expected ']'"),
        (
            HEAD + SEEDS + "[simulation]\nduration = '1 ms'\n",
            "simulation next to [sweep]; move them to the scenario",
        ),
        (HEAD.replace("small", "sweep") + SEEDS, "scenario of [sweep] is this file, which is a sweep"),
        (HEAD.replace("small", "other") + SEEDS, "scenario of [sweep] is other.toml, which is a sweep"),
        (HEAD.replace("'small.toml'", "3") + SEEDS, "scenario of [sweep] is 3; expected text"),
        (HEAD.replace("small", "s" * 5_000) + SEEDS, "no such file|cannot be opened"),
        (HEAD.replace("small", "\\u0000").replace("'", '"') + SEEDS, "expected a path"),
        (HEAD + "vary = { 'flows.name' = ['a'] }", "flows.name: the list flows"),
        (HEAD + "vary = { 'simulation.seed' = 18446744073709551616 }", "integer is too large"),
    ],
)
def test_wrong_files(text: str, expected: str, output: Said) -> None:
    Path("other.toml").write_text(HEAD + SEEDS, "utf-8")
    Path("sweep.toml").write_text(text, "utf-8")
    message = output.refused("sweep", "sweep.toml")
    assert any(one in message for one in expected.split("|")), message
    assert "no key varies" not in message


def test_a_byte_order_mark_and_single_values(output: Said) -> None:
    text = (
        HEAD + "vary = { 'simulation.seed' = 3, 'topology.star.hosts' = 4 }\nmeasure = { x = 'run.events' }\n"
    )
    for encoding in ("utf-8", "utf-8-sig"):
        Path("sweep.toml").write_text(text, encoding)
        found = output.json("sweep", "sweep.toml", "--out", "s")
        assert [(row["seed"], row["topology.star.hosts"]) for row in found["runs"]] == [(3, 4)]  # type: ignore[attr-defined]
    assert main(["sweep", "s/sweep.toml", "--out", "s"]) == 0  # it was written as it can be read


def test_a_pipe_is_read_once_and_a_device_to_its_limit(output: Said) -> None:
    vary = ("--vary", "simulation.seed=1,2")
    os.mkfifo("pipe")
    assert "a pipe without a writer" in output.refused("sweep", "pipe", *vary)
    for device in ("/dev/zero", "/dev/full"):
        assert "has more than 16 MiB" in output.refused("sweep", device, *vary)
    for text, words in ((SMALL, vary), (HEAD + SEEDS, ())):
        writer = threading.Thread(target=Path("pipe").write_text, args=(text, "utf-8"))
        writer.start()
        handle = os.open("pipe", os.O_RDONLY)  # until somebody reads, the writer waits
        try:
            assert main(["sweep", "pipe", *words, "--out", "s"]) == 0
        finally:
            os.close(handle)
            writer.join(10)


@pytest.mark.parametrize("command", ["sweep", "sensitivity", "optimise"])
@pytest.mark.parametrize("key", ["flows.name", "flows.from", "flows.9", "flows.steady.from.x", "probes.0"])
def test_keys_through_lists(command: str, key: str, output: Said) -> None:
    goal = ("--minimize", "run.events") if command == "optimise" else ()
    reported = output.refused(command, "small.toml", "--vary", f"{key}=a,b", *goal)
    assert key in reported
    if command == "sweep":
        key_and_seed = ("--vary", "simulation.seed=1,2", "--set", f"{key}=1")
        assert key in output.refused(command, "small.toml", *key_and_seed)


NINES = "9" * 5_000


@pytest.mark.parametrize(
    "text", [f"4..{NINES}", f"-{NINES}..4", f"1 Gb/s:{NINES} Gb/s:3", f"1:{NINES}:3", NINES]
)
def test_numbers_of_thousands_of_digits(text: str, output: Said) -> None:
    reported = output.refused("sweep", "small.toml", "--vary", f"topology.star.rate={text}")
    assert "topology.star.rate: " in reported
    assert f"is too large; expected at most {MOST_DIGITS} digits" in reported
    assert len(reported) < 2_000


def test_digits_that_are_no_large_number() -> None:
    assert values.read("key", f"1 us:1.{NINES} us:2") == ["1 us", "2 us"]
    assert values.read("key", f'"{NINES}"') == [NINES]


def test_json_has_no_numbers_that_are_none(output: Said) -> None:
    measures = (
        *("--measure", "each=flows.throughput_bps / flows.frames_dropped"),
        *("--measure", "all=sum(flows.throughput_bps) / sum(flows.frames_dropped)"),
    )
    for out in ("s", "s"):  # as measured, and as found again
        found = output.json("sweep", "small.toml", "--vary", "simulation.seed=1,2", *measures, "--out", out)
        rows: list[dict[str, object]] = found["summary"]  # type: ignore[assignment]
        assert {(row["metric"], row["entity"]): row["mean"] for row in rows} == {
            ("each", "steady"): None,
            ("each", "greedy"): None,
            ("all", ""): None,
        }
    Path("sweep.toml").write_text(
        HEAD + "vary = { 'topology.star.hosts' = [3, nan, inf, 2020-01-01] }", "utf-8"
    )
    points = output.json("sweep", "sweep.toml", "--out", "t", code=1)["points"]
    assert [one["values"]["topology.star.hosts"] for one in points] == [3, None, None, "2020-01-01"]  # type: ignore[attr-defined]


def test_whole_numbers_stay_whole(output: Said, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "sweep",
        "small.toml",
        "--vary",
        "topology.star.hosts=3,4",
        "--measure",
        "x=run.events",
        "--out",
        "s",
    )
    for row in output.json(*words)["runs"]:  # type: ignore[attr-defined]
        assert type(row["topology.star.hosts"]) is int
    assert main(words) == 0
    assert "4.0" not in capsys.readouterr().out
    assert Path("s/pictures/lines.png").exists()
    mixed = Plan(BASE, {"topology.star.hosts": [3, 4.5], "simulation.seed": 1})
    assert [point.values["topology.star.hosts"] for point in mixed.settings] == [3, 4.5]


def test_one_value_is_a_list_of_it() -> None:
    assert Plan(BASE, {"topology.star.hosts": 3}).to_dict()["vary"] == {"topology.star.hosts": [3]}


def test_an_entry_of_a_list_is_set_and_removed() -> None:
    two = {"first": 7, "second": 8}
    found = BASE.with_value("flows.0", two).to_dict()["flows"]
    assert found[0] == two
    assert [flow["name"] for flow in BASE.with_value("flows.steady", None).to_dict()["flows"]] == ["greedy"]
    assert BASE.with_value("host.queue_limit", None).to_dict().get("host", {}) == {}
    for key, reported in (
        (
            "flows.name",
            "flows.name: the list flows has no entry 'name'; .* such as flows.steady",
        ),
        ("flows.stedy.priority", "did you mean steady"),
        ("flows.²", "has no entry"),
        ("flows." + NINES, "has no entry"),
    ):
        for value in (4, None):
            with pytest.raises(UnknownNameError, match=reported):
                BASE.with_value(key, value)


def test_what_every_trial_says_is_reported(output: Said, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("optimise", "small.toml", "--vary", "simulation.name=a,b", "--trials", "3", "--out", "s")
    assert "flows is a table; name a column" in output.refused(*words, "--minimize", "count(flows)")
    Path("small.toml").write_text(SMALL.replace('queue = "200 frames"', 'total = "22 frames"'), "utf-8")
    assert main([*words[:-1], "t", "--minimize", "run.events"]) == 1
    reported = capsys.readouterr()
    assert "each of 3 trials failed: " in reported.err, reported.err
    assert "total_limit" in reported.err
    assert "failed" in reported.out


def test_who_waits_for_a_cluster_is_reported(output: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(engines, "PATIENCE_S", 0.2)
    place = "tcp://127.0.0.1:1"
    reported = output.refused(
        "sweep", "small.toml", "--vary", "simulation.seed=1,2", "--executor", f"dask:{place}"
    )
    first, second, *_ = reported.splitlines()
    assert first == f"connecting to the scheduler at {place}"
    assert second.startswith(f"penstock: no Dask scheduler responds at {place}")


def test_patience_is_short() -> None:
    assert engines.PATIENCE_S <= 5


def test_a_value_that_is_no_text_is_refused_in_python() -> None:
    with pytest.raises(ArgumentError, match="expected text"):
        Plan(BASE, {"topology.star.hosts": 3}, derive={"host.queue_limit": 3})  # type: ignore[dict-item]
