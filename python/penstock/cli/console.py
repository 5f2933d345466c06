"""Where text goes: answers to standard output, everything said beside them to standard error."""

from __future__ import annotations

import codecs
import io
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPED_WIDTH = 160
"""Columns of a table when nobody looks at a terminal."""
LEAST_WIDTH = 110
"""A narrower terminal breaks the lines of a table; that is better than to cut names and numbers."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: as Ctrl-C, with an exit code of its own."""


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


def console() -> Console:
    """Standard output for tables and text."""
    from rich.console import Console

    width = max(shutil.get_terminal_size().columns, LEAST_WIDTH) if sys.stdout.isatty() else PIPED_WIDTH
    return Console(width=width, highlight=False, soft_wrap=False)


def print_json(document: object) -> None:
    """One JSON object and nothing else."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")  # names come through as escapes
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=ascii_only) + "\n")


def complain(message: str) -> None:
    """An error message, each line as it is."""
    sys.stderr.write(f"penstock: {message.rstrip()}\n")


def say(message: str) -> None:
    """A remark beside the answer."""
    sys.stderr.write(message + "\n")


def table(title: str, *columns: str, numeric: int | None = None, **options: Any) -> Table:
    """A table whose columns from the index `numeric` on are numbers and stand to the right."""
    from rich import box
    from rich.table import Table

    made = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        **options,
    )
    for index, column in enumerate(columns):
        right = numeric is not None and index >= numeric
        made.add_column(column, justify="right" if right else "left", no_wrap=right)
    return made
