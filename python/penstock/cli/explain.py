"""``penstock explain``."""

from __future__ import annotations

from penstock import glossary
from penstock.errors import InputError
from penstock.glossary import Topic, cells

from . import EXIT_DONE
from .console import Table, console

FOUND_SHOWN = 40


def explain(name: str | None = None, /, *, search: str | None = None) -> int:
    """Explains a mechanism, a table, a column or a key of the scenario file.

    Parameters
    ----------
    name
        Name of the entry, such as "pfc", "ecmp", "flows", "latency_p99_ns", "topology.star.rate" or "xoff".
        Default: an index of all entries.
    search
        Lists the entries whose name or text contains this word, or all of these words.
    """
    if search is not None:
        if name is not None:
            raise InputError("NAME and --search: expected only one of them")
        _show_found(search)
    elif name is None:
        _show_index()
    else:
        for topic in glossary.explain(name).topics:
            _show(topic)
    return EXIT_DONE


def _show_index() -> None:
    shown = Table("", "kind", "names")
    for kind, known in glossary.index().items():
        shown.add_row(kind, ", ".join(known))
    out = console()
    out.print(shown)
    out.print()
    out.print("To explain an entry, key, parameter or column: penstock explain NAME")
    out.print("To find entries by their text: penstock explain --search WORD")


def _show_found(words: str) -> None:
    found = glossary.explain(search=words).topics
    shown = Table("", "name", "kind", "about")
    for topic in found[:FOUND_SHOWN]:
        shown.add_row(topic.name, topic.kind, topic.begin())
    console().print(shown)
    if len(found) > FOUND_SHOWN:
        console().print(f"{len(found) - FOUND_SHOWN} more; add a word to narrow the search")


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
    """Prints rows below a header."""
    shown = Table("", *rows[0])
    for row in rows[1:]:
        shown.add_row(*row)
    console().print(shown)
