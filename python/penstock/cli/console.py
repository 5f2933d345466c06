"""Where text goes: answers to standard output, everything said beside them to standard error."""

from __future__ import annotations

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


def console() -> Console:
    """Standard output for tables and text."""
    from rich.console import Console

    width = max(shutil.get_terminal_size().columns, LEAST_WIDTH) if sys.stdout.isatty() else PIPED_WIDTH
    return Console(width=width, highlight=False, soft_wrap=False)


def print_json(document: object) -> None:
    """One JSON object and nothing else."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


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
