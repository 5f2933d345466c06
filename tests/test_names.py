"""Names of others: shown as they are, taken for nothing else, and never obeyed by a terminal."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.cli import COMMANDS, main
from penstock.cli.console import Mark, Table, console, print_json, progress_bar, write_data
from penstock.result import Result
from penstock.units import short_names, visible

TRICKS = [
    "victim[h16]",
    "[red]a[/red]",
    "[/]",
    "02:ab:00",
    ":smile:",
    "[link=file:///etc]x[/link]",
    "a\\[b",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "a\rb",
    "a\nb",
    "a\tb",
    "\x7f",
    "\u202eright to left",
    "zero\u200bwidth",
    "\u2028line",
    "$x$",
    "_led",
    "{}",
    "%s",
    "😀",
    "中文",
    "e\u0301",
]
KINDS = sorted({unicodedata.category(chr(one)) for one in range(0x110000)} - {"Cs"})
"""Of all characters; halves of pairs are none that a table could hold."""
SLOW = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def one_of_each_kind() -> st.SearchStrategy[str]:
    """Names with characters of every kind."""
    letters = st.one_of([st.characters(categories=[kind]) for kind in KINDS])
    return st.text(letters, min_size=1, max_size=12)


def obeyed(text: str) -> set[str]:
    """Characters of a text that a terminal would obey or hide."""
    return {one for one in text if not one.isprintable()} - {"\n"}


def output(*words: str) -> tuple[int, str]:
    """The code of a command, and all that it printed."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = main(list(words))
    return code, text.getvalue()


@given(st.text(max_size=30))
def test_what_is_visible_is_left_alone(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    assert visible(text, keep="\n") == "\n".join(map(visible, text.split("\n")))
    assert text.isprintable() == (shown == text)


@pytest.fixture(scope="module")
def measured() -> Result:
    scenario = ps.Scenario(duration="60 us").topology.star(hosts=3, rate="10 Gb/s", length="1 m", phy="none")
    scenario = scenario.flow_control.pfc(accounting="ingress", xoff="4 frames", xon="2 frames")
    scenario = scenario.flow("NAME", from_="h0", to="h2", source="greedy")
    scenario = scenario.flow("other", from_="h1", to="h2", source="greedy")
    return scenario.probes(bin="1 us").run()


def renamed(result: Result, name: str) -> Result:
    """The result with another name, and another one of a flow."""

    def table(one: str) -> pa.Table:
        found = result.table(one)
        for number, field in enumerate(found.schema):
            if pa.types.is_string(field.type):
                texts = [text and text.replace("NAME", name) for text in found.column(number).to_pylist()]
                found = found.set_column(number, field, pa.array(texts, pa.string()))
        return found

    return Result(
        run={**result.run, "name": name},
        scenario_toml=result.scenario_toml,
        topology=result.topology,
        description=result.description,
        tables={one: (lambda one=one: table(one)) for one in result.table_names},  # type: ignore[misc]
    )


numbers = itertools.count()


@SLOW
@given(name=one_of_each_kind())
def test_names_of_a_result_come_through(name: str, measured: Result, tmp_path: Path) -> None:
    come_through(name, measured, tmp_path)


@pytest.mark.parametrize("name", TRICKS)
def test_tricks_of_a_result_come_through(name: str, measured: Result, tmp_path: Path) -> None:
    come_through(name, measured, tmp_path)


def come_through(name: str, measured: Result, tmp_path: Path) -> None:
    place = str(renamed(measured, name).save(tmp_path / str(next(numbers)), report=False))
    plain = str(measured.save(tmp_path / "plain", report=False))
    for words in (
        ("fair", place),
        ("steady", place),
        ("why", name, place),
        ("compare", place, plain),
        ("compare", plain, place),
    ):
        if name in words and name.startswith("-"):
            continue  # an option
        code, text = output(*words)
        assert code == 0, text
        assert not obeyed(text), words
        assert visible(name) in text, words
    for command in ("fair", "steady"):
        code, text = output(command, place, "--json")
        assert code == 0 and not obeyed(text)
        found = json.loads(text)
        assert any(name in row.values() for row in found.get("flows", found.get("series")))
    code, text = output("tables", place, "flows")
    assert code == 0 and name.replace('"', '""') in text, "data are as they are"


@SLOW
@given(
    name=st.text(
        st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\"'\\"), min_size=1, max_size=12
    )
)
@example(name=":smile:")
@example(name="[red]a[/red]")
@example(name="\u202ex")
def test_names_of_a_scenario_come_through(name: str, tmp_path: Path) -> None:
    scenario = ps.Scenario(duration="20 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m", phy="none")
    file = tmp_path / f"{next(numbers)}.toml"
    file.write_text(
        scenario.flow("NAME", from_="h0", to="h1", source="greedy").to_toml().replace("NAME", name), "utf-8"
    )
    code, text = output("run", str(file), "--out", str(tmp_path / "out"), "--no-report")
    assert not obeyed(text)
    if code == 0:
        assert visible(name) in text
    else:
        assert "is not a name" in text


@SLOW
@given(text=one_of_each_kind())
@example(text="\x1b[2Jx")
@example(text="[bold]x[/bold]")
@pytest.mark.parametrize("command", [name for name, _, _ in COMMANDS])
def test_words_that_no_command_knows_come_through(
    command: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors for missing files name the file."""
    if "\0" in text or text.startswith("-") or "/" in text or command in ("new",):
        return
    monkeypatch.chdir(tmp_path)
    words = command.split()
    extra = ["--out", "x.pcapng"] if command == "capture" else []
    extra += ["--format", "dcb"] if command == "export" else []
    code, printed = output(*words, text, *extra)
    assert code == 2 or command == "explain", printed
    assert not obeyed(printed)


def test_files_with_such_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "[bold]\u202e:smile:.toml"
    assert output("new", name)[0] == 0
    code, text = output("check", name)
    assert code == 0 and not obeyed(text) and visible(name) in text
    for words in (("run", name, "--out", name[:-5]), ("fair", name[:-5]), ("compare", name[:-5], name[:-5])):
        code, text = output(*words)
        assert code == 0 and not obeyed(text)
    code, text = output("sweep", name, "--vary", "simulation.seed=1..2", "--out", f"{name}-sweep")
    assert code == 0 and not obeyed(text) and visible(name) in text


def test_frames_of_others(tmp_path: Path) -> None:
    """The addresses and comments of a capture."""
    from penstock import _core

    frame = bytes.fromhex("02ab0000000102ab0000000288b5") + bytes(46)
    rows: list[dict[str, object]] = [
        {
            "port": 0,
            "time_ns": 1,
            "direction": "in",
            "comment": "[red]\x1b[31m\n:smile:",
            "frame": frame,
        }
    ]
    file = tmp_path / "x.pcapng"
    _core.write_capture(str(file), [("[link]\x1b]0;x\x07", None)], rows)
    code, text = output("decode", str(file))
    assert code == 0 and not obeyed(text)
    squeezed = "".join(text.split())
    for part in ("02:ab:00:00:00:01", "[red]\\x1b[31m\\n:smile:", "[link]\\x1b]0;x\\x07"):
        assert part in squeezed
    code, text = output("decode", str(file), "--json")
    assert not obeyed(text)
    assert json.loads(text)["frames"][0]["comment"] == rows[0]["comment"]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(act: Callable[[], object]) -> str:
    text = Terminal()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        act()
    return text.getvalue()


@given(text=one_of_each_kind())
@example(text="\x1b[31m")
def test_a_terminal_gets_no_data_that_it_would_obey(text: str) -> None:
    assert not obeyed(on_terminal(lambda: write_data(text))) - {"\t"}
    plain = io.StringIO()
    with contextlib.redirect_stdout(plain):
        write_data(text)
    assert plain.getvalue() == text, "a file gets it as it is"


@given(text=one_of_each_kind())
@example(text="[red]\x1b[31m:smile:")
def test_the_bar_takes_names_literally(text: str) -> None:
    def act() -> None:
        with progress_bar("starting") as bar:
            bar.update(1, 2, "first", "last")
            bar.say(f"warning: {text}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "100")
        printed = on_terminal(act)
    assert f"warning: {visible(text.partition(chr(10))[0])}" in printed


@given(text=one_of_each_kind())
@example(text="\x7f\x9b")
def test_json_holds_what_it_was_given(text: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_json({text: text})
    assert not obeyed(printed.getvalue())
    assert json.loads(printed.getvalue()) == {text: text}


@given(text=one_of_each_kind())
@example(text="[red]")
def test_cells_hold_what_they_were_given(text: str) -> None:
    shown = Table(text, text, text, numeric=1)
    shown.add_row(text, Mark(text, "green"))
    shown.add_row((text, "second line"), "x")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        console().print(shown, text)
    kept = printed.getvalue()
    assert not obeyed(kept)
    assert kept.count(visible(text).strip()) >= 4 if visible(text).strip() else True


def test_keys_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    keys = ["host.buffer.queue", "switch.buffer.queue", "flow_control.pfc.xoff", "queue"]
    assert short_names(keys) == {
        "host.buffer.queue": "host.buffer.queue",
        "switch.buffer.queue": "switch.buffer.queue",
        "flow_control.pfc.xoff": "xoff",
        "queue": "queue",
    }
