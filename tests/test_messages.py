"""Messages: what is wrong in the words of who asked for it, and no longer than anybody reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import penstock as ps
from conftest import SMALL, Command
from penstock import glossary
from penstock.cli import main
from penstock.errors import LONGEST_WORD, ArgumentError, InputError, UnknownNameError, shortened
from penstock.laboratory.quantity import Quantity, number


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("simulation=1", "expected a table with keys"),
        ("foo=1..2", "unknown table `foo`: expected one of simulation, probes"),
        ("flows=1,2", "flows is not a list of tables"),
        ("flow_control.pfc.xof=1 B,2 B", "unknown key `xof`"),
        ("simulation.duration=0 s,1 ms", "duration is 0"),
    ],
)
def test_a_sweep_tells_of_its_keys_and_of_no_line(
    penstock: Command, small: Path, vary: str, message: str
) -> None:
    """The scenario of a point is in no file: a line of it would be nobody's."""
    done = penstock("sweep", small, "--vary", vary)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert f"with {vary.partition('=')[0]} = " in done.stderr
    assert "-->" not in done.stderr
    assert "small.toml:" not in done.stderr


def test_what_is_wrong_with_the_file_itself_has_its_place(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(SMALL.replace('"10 Gb/s"', '"10 Gb"'), "utf-8")
    done = penstock("sweep", "wrong.toml", "--vary", "simulation.duration=1 ms, 2 ms")
    assert done.returncode == 2
    assert "wrong.toml:8:8" in done.stderr
    assert 'rate = "10 Gb"' in done.stderr


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("m=max()", "max() does not accept nothing; expected max(first, others)"),
        ("m=sum(1, 2)", "sum() does not accept 2 values; expected sum(column)"),
        (
            "m=quantile(flows.latency_p99_ns)",
            "quantile() does not accept one value; expected quantile(column, share)",
        ),
        ('m=abs("text")', 'the text "text" is not a number'),
    ],
)
def test_a_function_of_a_measure_says_what_it_takes(
    penstock: Command, small: Path, measure: str, message: str
) -> None:
    done = penstock("sweep", small, "--vary", "simulation.seed=1..2", "--measure", measure)
    assert done.returncode == 2, done.stdout
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("value", ["nan:1:3", "1:inf:3", "1e999:2e999:3"])
def test_a_range_has_finite_ends(penstock: Command, small: Path, value: str) -> None:
    done = penstock("sweep", small, "--vary", f"flows.steady.priority={value}")
    assert done.returncode == 2
    assert f"flows.steady.priority: {value}: " in done.stderr
    assert "is not a finite number" in done.stderr
    assert "Fraction" not in done.stderr
    for infinite in (float("nan"), float("inf")):
        with pytest.raises(ArgumentError, match="not a finite number"):
            number(infinite)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1_000 B", 1000),
        ("1__0 ms", None),
        ("_1 B", None),
        ("1_ B", None),
        ("1_.5 ms", None),
        ("1.5_0 ms", 15e8),
    ],
)
def test_quantities_group_digits_as_scenarios_do(text: str, amount: float | None) -> None:
    found = Quantity.read(text)
    assert (None if found is None else float(found.amount)) == amount


def test_a_directory_is_no_capture(penstock: Command, tmp_path: Path) -> None:
    done = penstock("decode", tmp_path)
    assert done.returncode == 2
    assert "is a directory; expected a capture" in done.stderr
    assert "no such file" in penstock("decode", tmp_path / "nowhere").stderr


def test_names_of_any_length_make_short_messages(penstock: Command, tmp_path: Path) -> None:
    name = "n" * 1_000_000
    for error in (ArgumentError(f"no key {name}, nor x"), InputError(name), UnknownNameError(name)):
        assert len(str(error)) < 2 * LONGEST_WORD
        assert re.search(r"n\[999,\d{3} letters\]n", str(error))
    assert str(ArgumentError(f"no key {name}, nor x")).endswith("n, nor x")
    assert shortened("a " * 1000) == "a " * 1000
    with pytest.raises(ps.PenstockError) as wrong:
        ps.Scenario(duration="1 ms").topology.star(hosts=2, rate="10 Gb/s", phy="none").flow(
            "f", from_=name, to="h1", source="greedy"
        ).run()
    assert len(str(wrong.value)) < 3_000
    long = "n" * 100_000
    for words in (
        ("explain", long),
        ("list", long),
        (long,),
        ("run", "first-light", f"--{long}"),
        ("run", "first-light", "--seed", long),
        ("conform", long),
        ("completion", long),
    ):
        done = penstock(*words)
        assert done.returncode == 2
        assert len(done.stderr) < 3_000, words[0]


def test_a_name_that_begins_like_an_option_is_named_behind_two_dashes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = ps.Scenario("1 us").topology.star(hosts=2, rate="10 Gb/s", phy="none")
    scenario.flow("-x", from_="h0", to="h1", source="greedy").run().save("r")
    assert main(["why", "-x", "r"]) == 2
    assert "Put a name that begins with - after --: penstock why -- -x" in capsys.readouterr().err
    assert main(["why", "--", "-x", "r"]) == 0
    assert main(["why", "x", "--jsn"]) == 2
    assert "goes behind" not in capsys.readouterr().err


def test_what_explain_prints_is_made_for_readers(penstock: Command) -> None:
    """Tables are tables, and names are no links of Rust's documentation."""
    for name in ("headroom", "phy", "pfc", "tpfc"):
        output = penstock("explain", name).stdout
        assert "|---" not in output
        assert "[`" not in output
        assert "crate::" not in output
    assert "source of delay" in penstock("explain", "headroom").stdout
    pfc = " ".join(penstock("explain", "pfc").stdout.split())
    assert "Not modelled: dynamic thresholds" not in pfc
    assert "the threshold replaces both watermarks" in pfc
    for topic in glossary.topics():
        assert not any("[`" in line for line in topic.lines), topic.name


def test_pages_have_no_links_of_rust() -> None:
    text = "a [`wire::Mac`], the [path states](crate::MrcPathsKeys), [`Y`](crate::Z), [page](docs/x.md)"
    assert glossary.without_links(text) == "a `Mac`, the path states, `Y`, [page](docs/x.md)"
