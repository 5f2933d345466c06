"""Generates the parts of the Python builder that are derived from the schema: keys, choices and values.

    python tools/builder.py            writes python/penstock/scenario/{keys,parts,traffic}.py
    python tools/builder.py --check    checks that they are up to date (exit code 1: stale)

They are derived from the JSON Schema, which is derived from the declarations of the mechanisms. A new key of
a mechanism therefore reaches the builder, editors and type checkers without an edit in Python.
"""

from __future__ import annotations

import json
import pprint
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock
from schema_types import Schema, Types, begin, quoted, references

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "python/penstock/scenario"
MADE_BY = "Made by `make docs` from the JSON Schema of scenarios; do not edit."
EXAMPLES = tomllib.loads((Path(__file__).parent / "builder_examples.toml").read_text("utf-8"))
"""Arguments of each function's example, and the key that takes its value."""
QUOTES = '"""'
CHOICES = {"Topology": "topology", "FlowControl": "flow_control"}
"""Definitions that a scenario has exactly once, with their keys."""


def main() -> int:
    """Writes or checks the files."""
    from penstock import _core

    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, text in files(json.loads(_core.json_schema())).items():
        path = FOLDER / name
        if not check:
            path.write_text(text, "utf-8")
        elif path.read_text("utf-8") != text:
            stale.append(name)
    if stale:
        print("stale, run `make docs`: " + ", ".join(stale))
    return 1 if stale else 0


def files(schema: dict[str, Any]) -> dict[str, str]:
    """Contents of every generated file of the builder, by name."""
    types = Types(schema)
    made = {"parts.py": _parts(types), "traffic.py": _traffic(types), "keys.py": types.module(MADE_BY)}
    return {name: _formatted("\n".join(lines)) for name, lines in made.items()}


def _formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--config", str(ROOT / "pyproject.toml"), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _parts(types: Types) -> Iterator[str]:
    """Yields the module of mutually exclusive choices, one method each."""
    yield f'"""The choices of a scenario that exclude each other.\n\n{MADE_BY}\n"""\n'
    yield "from __future__ import annotations\n"
    yield "from typing import TYPE_CHECKING, Unpack\n"
    yield "from . import keys as k"
    yield "from .values import Chooser, spelled\n"
    yield "if TYPE_CHECKING:\n    from .builder import Scenario\n"
    for name, key in CHOICES.items():
        definition = types.definitions[name]
        choice = types.choice(definition)
        yield f"class {name}(Chooser):"
        yield f'    """{begin(definition["description"])} A call replaces an earlier one."""\n'
        yield f'    _key = "{key}"\n'
        for word, about in choice.words.items():
            if word in choice.tables:  # without keys the result is the same
                continue
            yield f"    def {word}(self) -> Scenario:"
            yield f"        {quoted(begin(about))}"
            yield f'        return self._choose("{word}")\n'
        for variant, (about, value) in choice.tables.items():
            keys = types.value(value, variant)
            yield f"    @spelled(k.{keys})"
            yield f"    def {variant}(self, **keys: Unpack[k.{keys}]) -> Scenario:"
            yield f"        {quoted(begin(about))}"
            yield f'        return self._choose("{variant}", keys, k.{keys})\n'


def _traffic(types: Types) -> Iterator[str]:
    """Yields the module of functions for the values of a flow's keys."""
    functions = sorted(_values(types).items())
    yield f'"""Values of keys of flows and transfers: a function each gives its table.\n\n{MADE_BY}\n"""\n'
    yield "from __future__ import annotations\n"
    yield "from collections.abc import Sequence"
    yield "from typing import Any\n"
    yield "from . import keys as k"
    yield "from .values import table\n"
    yield f"__all__: list[str] = {[name for name, _ in functions]}\n"
    for name, forms in functions:
        yield from _function(types, name, forms)


Form = tuple[str, str, Schema]
"""The class of a choice, the description of one of its tables, and the schema of its contents."""


def _values(types: Types) -> dict[str, list[Form]]:
    """Alternatives for the tables of the keys of flows and transfers, by name."""
    found: dict[str, list[Form]] = {}
    todo, seen = ["Transfers", "Flow"], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += references(types.definitions[name])
        if "properties" in types.definitions[name]:
            continue
        for variant, (about, value) in types.choice(types.definitions[name]).tables.items():
            found.setdefault(variant, []).append((types.table(name), about, value))
    return found


def _function(types: Types, name: str, forms: list[Form]) -> Iterator[str]:
    """Yields a function for a value or keys; required keys and the first key may be positional."""
    values = [value for _, _, form in forms for value in types.alternatives(form)]
    tables = [value for value in values if "properties" in value]
    words = [value["const"] for value in values if "const" in value]
    plain = {kind: None for value in values if value not in tables for kind in types.choice(value).plain}
    required = (
        [key for key in tables[0].get("required", ()) if all(key in it.get("required", ()) for it in tables)]
        if tables
        else []
    )
    keys = {key: value for table in tables for key, value in table["properties"].items()}
    ordered = sorted(keys, key=lambda key: key not in required)
    needed = [key for key in ordered if key in required and not plain and not words]
    places = len(needed) or (0 if plain else 1)
    absent = {key: "" if key in needed else " | None = None" for key in ordered}
    parameters = [f"{key}: {_type(types, keys[key])}{absent[key]}" for key in ordered]
    if ordered[places:]:
        parameters.insert(places, "*")
    if plain:
        parameters = [f"value: {' | '.join(plain)}{' | None = None' if tables else ''}, /", *parameters]
    value = "value" if plain else f'"{words[0]}"' if words else "None"
    classes = {made for made, _, _ in forms}
    result = f"k.{classes.pop()}" if len(classes) == 1 else "Any"
    yield f"def {name}({', '.join(parameters)}) -> {result}:"
    about = quoted(" Or: ".join(begin(about) for about in {about: 0 for _, about, _ in forms}))
    yield f"    {about.removesuffix(QUOTES)}{_example(name)}"
    yield f'    made: {result} = table("{name}", {value}{"".join(f", {key}={key}" for key in ordered)})'
    yield "    return made\n"


def _example(name: str) -> str:
    """Returns the example of a function: a call, and the table that it returns."""
    if name not in EXAMPLES:
        return QUOTES
    call = f"ps.{name}({EXAMPLES[name]['call']})"
    returned = eval(call, {"ps": penstock})
    lines = [
        "",
        "",
        "Examples",
        "--------",
        ">>> import penstock as ps",
        f">>> {call}",
        *pprint.pformat(returned, width=99, sort_dicts=False).splitlines(),
        QUOTES,
    ]
    return "\n".join(f"    {line}" if line else "" for line in lines).removeprefix("    ")


def _type(types: Types, value: Schema) -> str:
    return re.sub(r"\b(?!Sequence|Mapping|Any)(?=[A-Z])", "k.", types.value(value, ""))


if __name__ == "__main__":
    sys.exit(main())
