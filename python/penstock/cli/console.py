"""Output: answers go to standard output, all other messages to standard error.

No other module of the package writes to a terminal. Text can contain names from untrusted files, so it is
printed literally: no markup, no emoji codes, and no control sequences that a terminal would execute.
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
"""Columns of a table if the output is not a terminal."""
LEAST_WIDTH = 110
"""Minimum width of a table, in columns. A narrower terminal wraps its lines, which is better than truncated
names and numbers."""


_PATIENCE_S = 0.5
"""Seconds of work after which a terminal shows a progress message."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM: handled like Ctrl-C, with its own exit code."""

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
"""Replacements for characters that the output's encoding lacks."""


def write_plainly(*, ascii_only: bool = False) -> None:
    """Makes standard output and error replace characters that they cannot encode, instead of raising.

    With `ascii_only` they write only ASCII.
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
    """A cell in a color."""

    text: str
    style: str


Cell = str | Mark | Sequence[str]
"""One line of text, or several."""


class Table:
    """A table. Columns from the index `numeric` on hold numbers and are right-aligned.

    Parameters
    ----------
    title : str
        Title above the table; empty for none.
    columns : str
        Column headings.
    numeric : int, optional
        Index of the first column of numbers. Default: no such column.
    lines, heads : bool, optional
        Draws lines between the rows (default false); shows the headings (default true).
    spare : sequence of str, optional
        Columns that are dropped on a narrow terminal, in this order, until the others fit. Default: none.
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
        self.title = _text(title, "bold") if title else None  # Rich would wrap it at the width of the rows
        self._columns = columns
        self._rows: list[list[Text]] = []
        self._spare = spare
        self._options = (numeric, lines, heads)

    def add_row(self, *cells: Cell) -> None:
        """Adds a row. A newline within a line is escaped."""
        self._rows.append([_cell(cell) for cell in cells])

    def drawn(self, without: Collection[int] = ()) -> Drawn:
        """The Rich table, without the columns at these indexes."""
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
        """Drops spare columns that do not fit; returns the table and the headings that were dropped."""
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
        """Prints lines and tables. A newline within a line is escaped.

        Parameters
        ----------
        lines : str or Table
            Printed one per line; without any, an empty line.
        style : str, optional
            Name of a Rich style. Default: none.
        end : str, optional
            Text after each line.
        wrap : bool, optional
            Wraps long lines between words. Use it for sentences, not for text that is copied. Default: false.
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
    """Prints the verdict on a run in its color, after a label."""
    out.print(f"{name} {judged}", style=_STYLES[judged.tone])


def console() -> Screen:
    """Standard output for tables and text."""
    return Screen()


@runtime_checkable
class Lines(Protocol):
    """Rows that can be written as JSON, such as `penstock.result.rows.Rows`."""

    def json_blocks(self, *, ascii_only: bool, between: str) -> Iterator[str]:
        """Yields JSON text of several rows at a time, with `between` between rows."""


def print_json(document: object, *, indent: int | None = 2) -> None:
    """Prints one JSON object and nothing else; without `indent` on one line, and flushed.

    Numbers that are not finite are written as null, since JSON has no infinity. Values of a dictionary
    that are `Lines` or iterators become arrays with one row per line; only a few thousand rows are in
    memory at once.
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
    """Encodes JSON types; dates of TOML become text."""

    def default(self, o: object) -> object:
        return o.isoformat() if isinstance(o, dt.date | dt.time) else super().default(o)

    def encode(self, o: object) -> str:
        try:
            return super().encode(o)
        except ValueError:  # a number that is not finite; rare
            return super().encode(_finite(o))


def _finite(value: object) -> object:
    """Returns the value with null in place of each number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _encoder(indent: int | None = None) -> _Encoder:
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")  # other characters are escaped
    return _Encoder(indent=indent, allow_nan=False, ensure_ascii=ascii_only)


def _in_rows(document: dict[str, object]) -> Iterator[str]:
    """Yields the text of an object in blocks of rows. Indenting each row would be much slower."""
    between, ascii_only = "{\n  ", _encoder().ensure_ascii
    for key, value in document.items():
        yield f"{between}{_json(key)}: "
        between = ",\n  "
        if isinstance(value, Lines | Iterator):
            before = "["
            for some in _blocks(value, ",\n    ", ascii_only=ascii_only):
                yield f"{before}\n    {some}"
                before = ","
            yield "[]" if before == "[" else "\n  ]"
        else:
            yield _json(value, 2).replace("\n", "\n  ")
    yield "\n}\n"


def _blocks(rows: Lines | Iterator[object], between: str, *, ascii_only: bool) -> Iterator[str]:
    """Yields JSON text in blocks of a few thousand rows."""
    if isinstance(rows, Lines):
        yield from rows.json_blocks(ascii_only=ascii_only, between=between)
        return
    lines = map(_json, rows)
    while some := list(islice(lines, _LINES_AT_A_TIME)):
        yield between.join(some)


def print_rows(
    columns: Mapping[str, int], rows: Iterable[Iterable[str]], last: Callable[[], str] | None = None
) -> None:
    """Prints rows as they arrive, in columns of fixed width and without borders.

    Parameters
    ----------
    columns : mapping
        Headings and widths; the last column may have any width.
    rows : iterable
        The cells of each row. A cell wider than its column shifts the cells after it.
    last : callable, optional
        Returns the line below the table; called after all rows are printed.
    """
    widths = [max(width, len(head)) for head, width in columns.items()]
    write = sys.stdout.write

    template = "  ".join(f"%-{width}s" for width in widths)

    def line(cells: Iterable[str]) -> str:
        row = tuple(cells)
        text = template % row
        # One check of the whole row is ten times as fast as one check per cell.
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
    """Writes data for other programs: unchanged to files and pipes, escaped to a terminal."""
    sys.stdout.write(visible(text, keep="\n\t") if sys.stdout.isatty() else text)


def print_now(line: str) -> None:
    """Prints a line of a continuing answer and flushes it: another program may be waiting for it."""
    sys.stdout.write(visible(line) + "\n")
    sys.stdout.flush()


def complain(message: str) -> None:
    """Prints an error message. Line breaks are kept; very long words are shortened in the middle."""
    say(f"penstock: {shortened(message.rstrip())}")


def say(message: str) -> None:
    """Prints a message to standard error."""
    sys.stderr.write(visible(message, keep="\n") + "\n")


def say_warnings(warnings: Sequence[str]) -> None:
    """Prints warnings: the first of each kind in full, and the number of others like it.

    Two warnings are of one kind if they differ only in names and numbers.
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
    """Returns true if standard error is a terminal."""
    return sys.stderr.isatty()


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Context for long work: after half a second a terminal shows `what` and the elapsed time."""
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
    """Redirects output that is printed within the block to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


class Bar:
    """A progress bar at the foot of the terminal.

    Parameters
    ----------
    bar, task
        Rich's progress display and task.
    """

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task

    def update(self, completed: float, total: float | None, first: str, last: str) -> None:
        """Updates the progress and the text before and after the bar. Without a total the bar only pulses."""
        record: dict[str, Any] = {"first": visible(first), "last": visible(last)}
        self._bar.update(self._task, completed=completed, total=total, **record)

    def say(self, message: str) -> None:
        """Prints a message above the bar."""
        self._bar.console.print(_text(message, keep="\n"), soft_wrap=True)


@contextlib.contextmanager
def progress_bar(first: str = "") -> Iterator[Bar]:
    """Context with a progress bar on standard error; the bar is removed at the end."""
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
    """Text without Rich markup."""
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
"""Maximum number of warnings per scenario; the checker stops there."""
PLACES_SHOWN = 3
"""Places listed for warnings of one kind, besides the first warning."""

_LINES_AT_A_TIME = 4_096

_UNSEEN = re.compile(r"[^\n -~]")
"""Characters that JSON may contain unescaped and that some terminals cannot display."""


def _escaped_json(text: str) -> str:
    """Escapes characters without a glyph in JSON text."""
    if text.isascii() and "\x7f" not in text:  # JSON escapes all other ASCII characters
        return text
    return _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    """The JSON escape of a character, if it has no glyph."""
    one = match[0]
    return one if one.isprintable() else json.dumps(one)[1:-1] if one != "\x7f" else "\\u007f"


def say_rest(out: Screen, total: int, shown: int, what: str) -> None:
    """Prints how many rows of a table were left out."""
    if total > shown:
        out.print(f"{total - shown} more {what} in the result")
