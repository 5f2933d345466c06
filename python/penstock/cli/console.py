"""Where text goes: answers to standard output, everything said beside them to standard error.

Nothing else in the package writes to a terminal. Names come from files of others, so that whatever goes
through here is taken literally: no markup, no codes of emoji, and nothing that a terminal would obey.
"""

from __future__ import annotations

import codecs
import contextlib
import datetime as dt
import io
import json
import math
import re
import shutil
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from penstock.errors import shortened
from penstock.units import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table as Drawn
    from rich.text import Text

    from penstock.analysis.verdict import Verdict

PIPED_WIDTH = 160
"""Columns of a table when nobody looks at a terminal."""
LEAST_WIDTH = 110
"""A narrower terminal breaks the lines of a table; that is better than to cut names and numbers."""


_PATIENCE_S = 0.5
"""Time that a terminal shows nothing of work that is under way."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: as Ctrl-C, with an exit code of its own."""

    exit_code = 143


PLAIN = str.maketrans(
    {
        "µ": "u",
        "±": "+-",
        "−": "-",
        "\u2013": "-",
        "×": "x",
        "…": "...",
        "≤": "<=",
        "≥": ">=",
        "·": "*",
        "²": "^2",
    }
    | {"³": "^3", "→": "->", "α": "alpha", "γ": "gamma", "ν": "nu", "ρ": "rho", "σ": "sigma", "§": "section "}
)
"""What stands for letters that an output cannot write."""


def write_plainly(*, ascii_only: bool = False) -> None:
    """Lets the outputs write other letters for those that they do not have, in place of an error.

    With `ascii_only` they have no others than those of ASCII.
    """

    def plain(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        text = error.object[error.start : error.end].translate(PLAIN)
        return "".join(one if one.isascii() else "?" for one in text), error.end

    codecs.register_error("penstock", plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="ascii" if ascii_only else None, errors="penstock")


class Mark(NamedTuple):
    """A cell in a colour."""

    text: str
    style: str


Cell = str | Mark | Sequence[str]
"""One line, or several."""


class Table:
    """A table whose columns from the index `numeric` on are numbers and stand to the right.

    Parameters
    ----------
    title : str
        Above it; empty: none.
    columns : str
        Their heads.
    numeric : int, optional
        The first column of numbers. Default: there is none.
    lines, heads : bool, optional
        Whether lines part the rows (default false), and whether the heads are shown (default true).
    spare : sequence of str, optional
        Columns that a narrow terminal leaves out, in this order, until the others fit. Default: none.
    """

    def __init__(
        self,
        title: str,
        *columns: str,
        numeric: int | None = None,
        lines: bool = False,
        heads: bool = True,
        spare: Sequence[str] = (),
    ) -> None:
        self.title = _text(title, "bold") if title else None  # Rich would break it at the width of the rows
        self._columns = columns
        self._rows: list[list[Text]] = []
        self._spare = spare
        self._options = (numeric, lines, heads)

    def add_row(self, *cells: Cell) -> None:
        """Adds a row; a line end within a line is shown as such."""
        self._rows.append([_cell(cell) for cell in cells])

    def drawn(self, without: Collection[int] = ()) -> Drawn:
        """The table as Rich has it, without the columns of these places."""
        from rich import box
        from rich.table import Table as Drawn

        numeric, lines, heads = self._options
        plain: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "show_edge": False}
        made = Drawn(**plain, show_lines=lines, show_header=heads)
        shown = [place for place in range(len(self._columns)) if place not in without]
        for place in shown:
            right = numeric is not None and place >= numeric
            head = _text(self._columns[place])
            made.add_column(head, justify="right" if right else "left", no_wrap=right)
        for row in self._rows:
            made.add_row(*(row[place] for place in shown if place < len(row)))
        return made

    def fitted(self, console: Console, width: int) -> tuple[Drawn, list[str]]:
        """The table without as many spare columns as do not fit a width, and their heads."""
        from rich.measure import Measurement

        spare = [self._columns.index(head) for head in self._spare if head in self._columns]
        options = console.options.update(width=1_000)
        for count in range(len(spare) + 1):
            made = self.drawn(spare[:count])
            if Measurement.get(console, options, made).maximum <= width:
                break
        return made, [self._columns[place] for place in spare[:count]]


class Screen:
    """Standard output for tables and text."""

    def __init__(self) -> None:
        self._columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
        self._console = _console(width=max(self._columns, LEAST_WIDTH))

    def print(self, *lines: str | Table, style: str = "", end: str = "\n", wrap: bool = False) -> None:
        """Prints lines and tables; a line end within a line is shown as such.

        Parameters
        ----------
        lines : str or Table
            Each on a line of its own; an empty line if there are none.
        style : str, optional
            As Rich names styles. Default: none.
        end : str, optional
            What comes behind each line.
        wrap : bool, optional
            Whether long lines are broken between words: sentences are, what is copied is not. Default false.
        """
        for line in lines or ("",):
            if isinstance(line, Table):
                if line.title is not None:
                    self._console.print(line.title)
                drawn, left = line.fitted(self._console, self._columns)
                self._console.print(drawn)
                if left:
                    self._console.print(f"not shown in {self._columns} columns: {', '.join(left)}")
            else:
                self._console.print(_text(line, style), end=end, soft_wrap=not wrap)


_STYLES = {"good": "bold green", "warn": "bold yellow", "bad": "bold red"}


def show_verdict(out: Screen, judged: Verdict, name: str = "verdict ") -> None:
    """The verdict on a run in its colour, behind a name."""
    out.print(f"{name} {judged}", style=_STYLES[judged.tone])


def console() -> Screen:
    """Standard output for tables and text."""
    return Screen()


@runtime_checkable
class Lines(Protocol):
    """Rows of which each is a line of JSON, such as `penstock.result.rows.Rows`."""

    def json_lines(self, *, ascii_only: bool) -> Iterator[str]:
        """Each row as JSON."""


def print_json(document: object, *, indent: int | None = 2) -> None:
    """One JSON object and nothing else; without `indent` on one line, and at once.

    Numbers that are not finite are null: JSON has none.
    Values of a dictionary that are `Lines` or iterators become arrays with a row a line, of which only some
    thousands are in memory.
    """
    if isinstance(document, dict) and any(isinstance(value, Lines | Iterator) for value in document.values()):
        for part in _in_rows(document):
            sys.stdout.write(_escaped_json(part))
        return
    sys.stdout.write(_escaped_json(_json(document, indent)) + "\n")
    if indent is None:
        sys.stdout.flush()


def _json(value: object, indent: int | None = None) -> str:
    return _encoder(indent).encode(value)


class _Encoder(json.JSONEncoder):
    """Writes what JSON has; a date of TOML as text."""

    def default(self, o: object) -> object:
        return o.isoformat() if isinstance(o, dt.date | dt.time) else super().default(o)

    def encode(self, o: object) -> str:
        try:
            return super().encode(o)
        except ValueError:  # a number that is not finite; there are few
            return super().encode(_finite(o))


def _finite(value: object) -> object:
    """A value with null for each number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _encoder(indent: int | None = None) -> _Encoder:
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")  # names come through as escapes
    return _Encoder(indent=indent, allow_nan=False, ensure_ascii=ascii_only)


def _in_rows(document: dict[str, object]) -> Iterator[str]:
    """The text of an object, some of its rows at a time: indented text is written much more slowly."""
    between, ascii_only = "{\n  ", _encoder().ensure_ascii
    for key, value in document.items():
        yield f"{between}{_json(key)}: "
        between = ",\n  "
        if isinstance(value, Lines | Iterator):
            before = "["
            lines = value.json_lines(ascii_only=ascii_only) if isinstance(value, Lines) else map(_json, value)
            while some := list(islice(lines, _LINES_AT_A_TIME)):
                yield f"{before}\n    " + ",\n    ".join(some)
                before = ","
            yield "[]" if before == "[" else "\n  ]"
        else:
            yield _json(value, 2).replace("\n", "\n  ")
    yield "\n}\n"


def print_rows(
    columns: Mapping[str, int], rows: Iterable[Iterable[str]], last: Callable[[], str] | None = None
) -> None:
    """A table whose rows are printed as they come: of columns with fixed widths, and without frames.

    Parameters
    ----------
    columns : mapping
        Heads and widths; the last column may have any width.
    rows : iterable
        The cells of each row. A cell that is wider than its column moves those behind it.
    last : callable, optional
        The line below the table, called when all rows are printed.
    """
    widths = [max(width, len(head)) for head, width in columns.items()]
    write = sys.stdout.write

    template = "  ".join(f"%-{width}s" for width in widths)

    def line(cells: Iterable[str]) -> str:
        row = tuple(cells)
        text = template % row
        # One look at all of a row is ten times as fast as one at each of its cells.
        return (text if text.isprintable() else template % tuple(map(visible, row))).rstrip()

    begun = False
    for cells in rows:
        if not begun:
            write(f"{line(columns)}\n")
            begun = True
        write(f"{line(cells)}\n")
    if last is not None:
        write(f"{last()}\n")


def write_data(text: str) -> None:
    """What other programs read: files and pipes get it as it is, a terminal as people may read it."""
    sys.stdout.write(visible(text, keep="\n\t") if sys.stdout.isatty() else text)


def print_now(line: str) -> None:
    """A line of an answer that goes on, at once: somebody may be waiting for it."""
    sys.stdout.write(visible(line) + "\n")
    sys.stdout.flush()


def complain(message: str) -> None:
    """An error message, each line as it is but for the middle of words that nobody reads."""
    say(f"penstock: {shortened(message.rstrip())}")


def say(message: str) -> None:
    """A remark beside the answer."""
    sys.stderr.write(visible(message, keep="\n") + "\n")


def say_warnings(warnings: Sequence[str]) -> None:
    """Warnings, the first of each kind in full and the number of others like it.

    Two are of a kind if they differ in names and numbers alone.
    """
    kinds: dict[str, list[str]] = {}
    for warning in warnings:
        text = warning.rstrip()
        whole = text if text.startswith("warning:") else f"warning: {text}"
        kinds.setdefault(_VARYING.sub("#", whole.split("\n", 1)[0]), []).append(whole)
    for first, *others in kinds.values():
        say(first)
        if others:
            places = [place[1] for other in others if (place := _PLACE.search(other))]
            more = f" and {len(others) - PLACES_SHOWN} others" if len(others) > PLACES_SHOWN else ""
            where = f", at {', '.join(places[:PLACES_SHOWN])}{more}" if places else ""
            least = "at least " if len(warnings) >= MOST_WARNINGS else ""
            say(f"   = {least}{len(others)} more like it{where}")


def has_terminal() -> bool:
    """Whether somebody sees what is said beside the answer."""
    return sys.stderr.isatty()


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A block that may take long: after half a second a terminal shows what it does, and for how long."""
    if not has_terminal():
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    bar = Progress(*columns, console=_console(stderr=True), transient=True)
    bar.add_task(visible(what), total=None)
    late = threading.Timer(_PATIENCE_S, bar.start)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
        bar.stop()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is printed within the block is no part of the answer, and goes beside it."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


class Bar:
    """A bar at the foot of the terminal.

    Parameters
    ----------
    bar, task
        Those of Rich.
    """

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task

    def update(self, completed: float, total: float | None, first: str, last: str) -> None:
        """How far it is, with the words before and behind the bar; without a total the bar only moves."""
        told: dict[str, Any] = {"first": visible(first), "last": visible(last)}
        self._bar.update(self._task, completed=completed, total=total, **told)

    def say(self, message: str) -> None:
        """A remark above the bar."""
        self._bar.console.print(_text(message, keep="\n"), soft_wrap=True)


@contextlib.contextmanager
def progress_bar(first: str = "") -> Iterator[Bar]:
    """A bar on standard error, which goes when the block ends."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[first]}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[last]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        yield Bar(bar, bar.add_task("", total=None, first=visible(first), last=""))


def _console(**options: Any) -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, **options)


def _text(text: str, style: str = "", keep: str = "") -> Text:
    """A text that Rich takes literally."""
    from rich.text import Text

    return Text(visible(text, keep), style=style)


def _cell(cell: Cell) -> Text:
    if isinstance(cell, Mark):
        return _text(cell.text, cell.style, keep="\n")
    lines = [cell] if isinstance(cell, str) else cell
    return _text("\n".join(visible(line) for line in lines), keep="\n")


_VARYING = re.compile(r'"[^"]*"|\d[\d.,]*')
_PLACE = re.compile(r"^ *--> (.+)$", re.MULTILINE)
MOST_WARNINGS = 100
"""The checker looks for no more in a scenario."""
PLACES_SHOWN = 3
"""Of warnings of one kind, after the first."""

_LINES_AT_A_TIME = 4_096

_UNSEEN = re.compile(r"[^\n -~]")
"""What may stand for itself in JSON and is not shown by every terminal."""


def _escaped_json(text: str) -> str:
    """JSON with escapes in place of characters that have no picture."""
    if text.isascii() and "\x7f" not in text:  # JSON escapes all others that ASCII has
        return text
    return _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    """An escape of JSON, if the character has no picture."""
    one = match[0]
    return one if one.isprintable() else json.dumps(one)[1:-1] if one != "\x7f" else "\\u007f"
