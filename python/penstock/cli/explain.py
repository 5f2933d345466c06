"""``penstock explain``."""

from __future__ import annotations

from penstock.errors import InputError
from penstock.library import suggestion

from . import EXIT_DONE
from .console import Table, console
from .glossary import Topic, cells, find, names


def explain(name: str, /) -> int:
    """Explains a mechanism, a table, a column or a key of the scenario file.

    Parameters
    ----------
    name
        Such as "pfc", "flows", "latency_p99_ns", "topology.star.rate" or "xoff".
    """
    topics = find(name) if name.strip() else []
    if not topics:
        raise InputError(f"no entry for {name!r}; {_near(name)}")
    for topic in topics:
        _show(topic)
    return EXIT_DONE


def _near(name: str) -> str:
    known = names()
    hint = suggestion(name.lower(), known)
    return (
        hint
        if hint.startswith("did")
        else "try a mechanism such as pfc, a table such as flows, or a key such as duration"
    )


def _show(topic: Topic) -> None:
    out = console()
    out.print(f"{topic.name}", style="bold", end="  ")
    out.print(f"({topic.kind})")
    for line in topic.lines:
        if rows := cells(line):
            _print_table(rows)
        else:
            out.print(line, wrap=True)
    if topic.rows:
        _print_table(topic.rows)
    out.print()


def _print_table(rows: list[list[str]]) -> None:
    """Rows below their header."""
    shown = Table("", *rows[0])
    for row in rows[1:]:
        shown.add_row(*row)
    console().print(shown)
