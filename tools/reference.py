"""Generates docs/reference and the man page from the installed Penstock.

    python tools/reference.py            writes the pages
    python tools/reference.py --check    checks that they are up to date (exit code 1: stale)

Keys are taken from the JSON Schema, mechanisms from the head comments of their source files, tables from
their declarations, and commands from the docstrings of their functions.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import scenario_page
from penstock import _core, cli, glossary

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
MAN_PAGE = ROOT / "packaging" / "data" / "share" / "man" / "man1" / "penstock.1"
MADE_BY = "<!-- Made by `make docs`; do not edit. -->"


def main() -> int:
    """Writes or checks every page."""
    check = sys.argv[1:] == ["--check"]
    stale = []
    for path, text in pages().items():
        if check:
            if not path.exists() or path.read_text("utf-8") != text:
                stale.append(path.name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    if stale:
        print("stale, run `make docs`: " + ", ".join(stale))
    return 1 if stale else 0


def pages() -> dict[Path, str]:
    """Returns the text of every page, by file."""
    makers: dict[str, Callable[[], Iterator[str]]] = {
        "scenario.md": scenario,
        "mechanisms.md": mechanisms,
        "results.md": results,
        "command-line.md": command_line,
        "terms.md": terms,
    }
    made = {name: list(make()) for name, make in makers.items()}
    made |= {
        f"scenario/{scenario_page.file(name)}": lines[1:]
        for name, lines in scenario_page.pages(_keys()).items()
    }
    return {
        **{REFERENCE / name: _page(lines) for name, lines in made.items()},
        MAN_PAGE: man_page(),
    }


def _page(lines: list[str]) -> str:
    """Joins the lines of a page, without blank lines between list items."""
    text = "\n".join([MADE_BY, "", *lines]).rstrip() + "\n"
    return re.sub(r"^(- .*)\n\n(?=- )", r"\1\n", text, flags=re.MULTILINE)


def _keys() -> dict[str, glossary.Topic]:
    return {topic.name: topic for topic in glossary.topics() if topic.kind == "scenario key"}


def scenario() -> Iterator[str]:
    """Yields the tables of a scenario file, each with a link to the page of its keys."""
    yield "# Scenario files"
    yield ""
    yield (
        "Scenario files are TOML. Times, rates, sizes and lengths are text with a unit, like "
        '"10 us". Unknown keys and numbers without their unit are errors. '
        "`penstock explain KEY` prints the entry of a key, `penstock check FILE --effective` the scenario "
        "with all defaults filled in."
    )
    yield from scenario_page.index(scenario_page.pages(_keys()), _keys())


def mechanisms() -> Iterator[str]:
    """Yields every mechanism with its description, source, and limits of the model."""
    yield "# Mechanisms"
    yield ""
    yield "Each mechanism, its source, and the limits of its model. `penstock explain NAME` adds its keys."
    pages: dict[str, list[dict[str, Any]]] = {}
    for mechanism in json.loads(_core.mechanisms()):
        pages.setdefault(mechanism["title"], []).append(mechanism)
    for title, alike in pages.items():
        first = alike[0]
        names = ", ".join(f"`{one['name']}`" for one in alike)
        yield from ("", f"## {names} ({first['kind']})", "", f"{title}.")
        yield from ("", "<details><summary>Source and limits of the model</summary>")
        yield from ("", f"Source: {glossary.without_links(first['source'])}")
        for what in first["not_modelled"]:
            yield from ("", f"Not modelled: {glossary.without_links(what)}")
        yield from ("", "</details>")


def results() -> Iterator[str]:
    """Yields every result table with its columns."""
    yield "# Result tables"
    yield ""
    yield (
        "One Parquet file a table in the directory of a result, one Arrow table each in Python "
        '(`result.table("flows")`). The last word of a name is its unit, `bps` bits a second.'
    )
    homes: dict[tuple[str, str], str] = {}
    for topic in glossary.topics():
        if topic.kind == "table":
            yield from ("", f"## `{topic.name}`", "")
            yield from _sentences(topic.lines)
            yield from ("", f"<details><summary>Columns: {len(topic.rows) - 1}</summary>", "")
            again: dict[str, list[str]] = {}
            for column, _, meaning in topic.rows[1:]:
                home = homes.setdefault((column, meaning), topic.name)
                if home == topic.name:
                    yield f"- `{column}`: {meaning}"
                else:
                    again.setdefault(home, []).append(f"`{column}`")
            for home, columns in again.items():
                yield f"- as in [`{home}`](#{home}): {', '.join(columns)}"
            yield from ("", "</details>")


def terms() -> Iterator[str]:
    """Yields glossary terms other than keys, mechanisms, tables and columns, with all their names."""
    yield "# Terms"
    yield ""
    yield (
        "Terms of the field, with the keys, tables and mechanisms that they stand for. "
        "`penstock explain TERM` prints an entry, and those of the names below it."
    )
    for topic in glossary.topics():
        if topic.kind == "concept":
            names = [name.replace("_", " ") for name in (topic.name, *topic.also)]
            yield from ("", f"## {', '.join(names)}")
            for line in topic.lines:
                yield from ("", line)


def command_line() -> Iterator[str]:
    """Yields every command with its arguments and options."""
    yield "# Command line"
    yield ""
    yield from _paragraphs(inspect.getdoc(cli) or "")
    for name, about, arguments in _commands():
        yield ""
        yield f"## `penstock {name}`"
        yield ""
        yield about
        if arguments:
            yield ""
            yield "| argument | meaning |"
            yield "|---|---|"
            for shown, meaning in arguments:
                yield f"| `{shown}` | {_cell(meaning)} |"


def man_page() -> str:
    """Returns the man page, for ``man penstock``."""
    from docutils.core import publish_string

    about = "simulates lossless data-center fabrics"
    lines = ["penstock", "========", "", "-" * len(about), about, "-" * len(about), "", ":Manual section: 1"]
    lines += ["", "SYNOPSIS", "--------", "", "``penstock`` *COMMAND* ..."]
    lines += ["", "DESCRIPTION", "-----------", ""]
    lines += _paragraphs(inspect.getdoc(cli) or "")
    lines += ["", "COMMANDS", "--------"]
    for name, reported, arguments in _commands():
        lines += ["", f"penstock {name}", "~" * (len(name) + 9), "", reported]
        for shown, meaning in arguments:
            lines += ["", f"``{shown}``", f"    {meaning.replace('*', chr(92) + '*')}"]
    page: bytes = publish_string("\n".join(lines), writer="manpage", settings_overrides={"datestamp": None})
    return page.decode()


def _commands() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yields name, purpose and arguments of each command."""
    for name, home, about in cli.COMMANDS:
        module, _, function = home.partition(":")
        command = getattr(importlib.import_module(f"penstock.cli.{module}"), function)
        yield name, about, list(_arguments(command))


def _arguments(command: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """Yields each argument as typed on the command line, with its meaning."""
    meanings = _parameters_section(inspect.getdoc(command) or "")
    types = get_type_hints(command)
    for parameter in inspect.signature(command).parameters.values():
        if dataclasses.is_dataclass(types[parameter.name]):  # a group of options
            documented = [one for one in types[parameter.name].__mro__ if dataclasses.is_dataclass(one)]
            of_group: dict[str, str] = {}
            for one in reversed(documented):
                of_group |= _parameters_section(inspect.getdoc(one) or "")
            for field in dataclasses.fields(types[parameter.name]):
                word = _word(field.name)
                shown = f"--{word}" if field.default is False else f"--{word} {word.upper()}"
                yield shown, of_group[field.name]
            continue
        word = _word(parameter.name)
        if parameter.kind is parameter.KEYWORD_ONLY:
            shown = f"--{word}"
            if parameter.default is True:
                shown = f"--no-{word}"
            elif "bool" not in str(parameter.annotation):
                shown += f" {word.upper()}"
        elif parameter.kind is parameter.VAR_POSITIONAL:
            shown = f"[{word.upper()} ...]"
        else:
            shown = word.upper() if parameter.default is parameter.empty else f"[{word.upper()}]"
        yield shown, meanings[parameter.name]


def _word(name: str) -> str:
    """Returns a parameter as typed on the command line."""
    return name.rstrip("_").replace("_", "-")


def _parameters_section(doc: str) -> dict[str, str]:
    """Yields name and text of each entry in the section "Parameters"."""
    entries: dict[str, list[str]] = {}
    section = doc.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    name = ""
    for line in section.splitlines():
        if line.startswith(" "):
            entries[name].append(line.strip())
        else:
            name = line.partition(":")[0].strip()
            entries[name] = []
    return {name: " ".join(lines) for name, lines in entries.items()}


def _paragraphs(doc: str) -> Iterator[str]:
    yield from doc.splitlines()[2:]


def _sentences(lines: list[str]) -> Iterator[str]:
    yield " ".join(line for line in lines if line)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    raise SystemExit(main())
