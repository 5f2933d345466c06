"""``penstock check``, ``penstock new`` and ``penstock list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock import _core, library
from penstock.errors import InputError

from . import EXIT_DONE
from .console import console, print_json, say, table

STARTER = Path(library.__file__).with_name("starter.toml")


def check(scenario: str, /, *, effective: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Says whether a scenario can be run, without running it.

    Parameters
    ----------
    scenario
        A scenario file or the name of a scenario.
    effective
        Prints the effective scenario: every default written out.
    """
    source = library.read(scenario)
    text = _core.check(source.text, source.file)
    for warning in _core.warnings(source.text, source.file):
        say(warning)
    console().print(text if effective else f"{scenario}: ok", markup=False, soft_wrap=True)
    return EXIT_DONE


def new(file: Path = Path("scenario.toml"), /, *, like: str | None = None) -> int:
    """Writes a commented scenario to begin with.

    Parameters
    ----------
    file
        The file to write; one that exists is left alone.
    like
        The scenario to copy, by name or file. Default: a short one that explains itself.
    """
    text = STARTER.read_text("utf-8") if like is None else library.read(like).text
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise InputError(f"{file}: exists already and is left as it is; choose another name") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(f"{file}: there is no directory {file.parent}") from None
    console().print(f"{file} written; run it with: penstock run {file}", markup=False, soft_wrap=True)
    return EXIT_DONE


def list_(*, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Shows the scenarios and studies that come with Penstock.

    Parameters
    ----------
    json
        Prints one JSON object instead of tables.
    """
    scenarios, studies = library.scenarios(), library.studies()
    if json:
        print_json(
            {
                "schema": "penstock-list/1",
                "scenarios": [{"name": entry.name, "description": entry.description} for entry in scenarios],
                "studies": [{"name": entry.name, "title": entry.description} for entry in studies],
            }
        )
        return EXIT_DONE
    out = console()
    for title, entries in (
        ("Scenarios: penstock run NAME", scenarios),
        ("Studies: penstock reproduce NAME", studies),
    ):
        if not entries:
            continue
        shown = table(title, "name", "about")
        for entry in entries:
            shown.add_row(entry.name, entry.description)
        out.print(shown)
    return EXIT_DONE
