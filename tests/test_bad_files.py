"""Files that a scenario names, wrong in two hundred ways: each answer names the file, and its line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from penstock.cli import main

HEAD = """
[simulation]
duration = "20 us"
[topology.star]
hosts = 4
rate = "10 Gb/s"
phy = "none"
"""


class Kind(NamedTuple):
    """A kind of file: the scenario that names it, its header, and rows that are right."""

    scenario: str
    header: str
    rows: tuple[str, ...]
    numbers: tuple[int, ...]
    """The columns that hold numbers."""

    @property
    def text(self) -> str:
        """A file that is right."""
        return "\n".join((self.header, *self.rows, ""))


FLOW = HEAD + '[[flows]]\nname = "f"\nfrom = "h1"\nto = "h0"\nsource = { constant = { rate = "1 Gb/s" } }\n'
KINDS = {
    "arrivals": Kind(
        HEAD + '[[transfers]]\nname = "t"\narrivals = { file = "it.csv" }\n',
        "time_us,from,to,bytes,priority",
        ("0,h0,h1,3000,3", "1.25,h2,h1,200,3", "1.5,h1,h0,50000,0"),
        (0, 3, 4),
    ),
    "frames": Kind(
        FLOW + 'frame = { empirical = "it.csv" }\n', "bytes,weight", ("64,1", "594,2.5", "1518,4"), (0, 1)
    ),
    "sizes": Kind(
        HEAD + '[[transfers]]\nname = "t"\nfrom = "h1"\nto = "h0"\narrivals = { poisson = { load = 0.1 } }\n'
        'sizes = { points = "it.csv" }\n',
        "bytes,cdf",
        ("1000,0", "5000,0.5", "20000,1"),
        (0, 1),
    ),
}
NO_NUMBERS = (
    "",
    "x",
    "-1",
    "nan",
    "inf",
    "1e400",
    "9" * 40,
    "0x10",
    "1 000",
    "1_000",
    "½",
    "1.2.3",
    "1e",
    "٣",
    "--1",
    "\0",
)


QUOTED = "quotes"
HUGE = "column 1 is '99999999'"
ACCEPTED = {("arrivals", QUOTED), ("frames", HUGE)}
"""Limits of file kinds: quoted cells, and weights of any size."""


def _wrong(kind: Kind) -> Iterator[tuple[str, bytes]]:
    """Texts that are wrong, by name."""
    header, rows = kind.header, list(kind.rows)

    def text(*lines: str) -> bytes:
        return "\n".join((*lines, "")).encode()

    yield "empty", b""
    yield "blank", b"\n\n  \n"
    yield "header alone", text(header)
    yield "no header", text(*rows)
    yield "other header", text(header.replace("bytes", "octets"), *rows)
    yield "header in capitals", text(header.upper(), *rows)
    yield "column missing", text(*(line.partition(",")[2] for line in (header, *rows)))
    yield "column twice", text(*(line.partition(",")[0] + "," + line for line in (header, *rows)))
    yield "semicolons", text(header, *rows).replace(b",", b";")
    yield "tabs", text(header, *rows).replace(b",", b"\t")
    yield QUOTED, text(header, *('"' + row.replace(",", '","') + '"' for row in rows))
    yield "quote open", text(header, '"' + rows[0], *rows[1:])
    yield "UTF-16", text(header, *rows).decode().encode("utf-16")
    yield "Latin-1", text(header, *rows, "ü,1,1,1,1").decode().encode("latin-1")
    yield "zip", b"PK\x03\x04" + bytes(range(256))
    yield "NUL", text(header, *rows) + b"\0\0\0\n"
    yield "HTML", b"<!doctype html><html><body>404</body></html>\n"
    yield "long line", text(header, "9" * 100_000)
    yield "cut", text(header, *rows)[: -len(rows[-1].rpartition(",")[2]) - 2]
    for at in range(len(rows)):
        before, row, after = rows[:at], rows[at], rows[at + 1 :]
        yield f"too few in row {at}", text(header, *before, row.rpartition(",")[0], *after)
        yield f"too many in row {at}", text(header, *before, row + ",1", *after)
        yield f"comma behind row {at}", text(header, *before, row + ",", *after)
    for column in kind.numbers:
        for value in NO_NUMBERS:
            cells = rows[1].split(",")
            cells[column] = value
            yield f"column {column} is {value[:8]!r}", text(header, rows[0], ",".join(cells), *rows[2:])


def _cases() -> Iterator[tuple[str, str, bytes]]:
    for name, kind in KINDS.items():
        for what, data in _wrong(kind):
            yield name, what, data
        first, second, *rest = kind.rows
        if name != "frames":
            yield name, "backwards", "\n".join((kind.header, second, first, *rest, "")).encode()
    arrivals = KINDS["arrivals"]
    for row in (
        "0,h0,h0,1,0",
        "0,h9,h0,1,0",
        "0,h0,sw,1,0",
        "0,h0,h1,1,8",
        "0,h0,h1,0,0",
        "0,,h1,1,0",
        "0,h*,h1,1,0",
    ):
        yield "arrivals", row, f"{arrivals.header}\n{row}\n".encode()
    for row in ("0,1", "9300,1", "64,0", "64.5,1", "64,-1"):
        yield "frames", row, f"bytes,weight\n{row}\n".encode()
    for row in ("1000,0.5", "1000,1.5", "0,1", "1000,0\n1000,0.5\n900,1", "1000,0\n2000,0.9"):
        yield "sizes", row, f"bytes,cdf\n{row}\n".encode()


CASES = [case for case in _cases() if case[:2] not in ACCEPTED]


def _check(kind: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    Path("it.toml").write_text(KINDS[kind].scenario, "utf-8")
    capsys.readouterr()
    code = main(["check", "it.toml"])
    return code, capsys.readouterr().err


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_are_two_hundred() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_texts_are_reported(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for _, what, data in (case for case in CASES if case[0] == kind):
        Path("it.csv").write_bytes(data)
        code, output = _check(kind, capsys)
        reported = (
            code == 2 and output.startswith("error: ") and "help: " in output and "Traceback" not in output
        )
        if not (reported and "it.csv" in output):
            wrong.append((what, code, output))
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_is_named(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [KINDS[kind].header, *KINDS[kind].rows]
    for number in range(2, len(lines) + 1):
        text = "\n".join((*lines[: number - 1], "x" + lines[number - 1], *lines[number:], ""))
        Path("it.csv").write_text(text, "utf-8")
        assert re.search(rf"it\.csv:{number}(:|\b)", _check(kind, capsys)[1])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_text_is_reported(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> str:
        code, output = _check(kind, capsys)
        assert code == 2
        return output

    assert 'cannot read "it.csv"' in refused()
    Path("it.csv").mkdir()
    assert 'cannot read "it.csv"' in refused()
    Path("it.csv").rmdir()
    os.mkfifo("it.csv")
    assert 'cannot read "it.csv"' in refused()
    Path("it.csv").unlink()
    Path("it.csv").symlink_to("it.csv")
    assert 'cannot read "it.csv"' in refused()
    Path("it.csv").unlink()
    Path("it.csv").symlink_to("/dev/zero")
    assert 'cannot read "it.csv"' in refused()


@pytest.mark.parametrize("kind", KINDS)
def test_spreadsheets_are_read(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A byte-order mark, line ends of Windows, spaces, no last line end, empty lines."""
    text = KINDS[kind].text
    for same in (
        text,
        "\ufeff" + text,
        text.replace("\n", "\r\n"),
        text.rstrip(),
        text + "\n\n",
        text.replace(",", " , "),
    ):
        Path("it.csv").write_bytes(same.encode())
        assert _check(kind, capsys) == (0, ""), repr(same)
