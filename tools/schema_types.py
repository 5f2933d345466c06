"""Generates Python types from the JSON Schema of scenarios."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]

CALLS = {"Simulation": "duration", "Flow": "name", "Transfers": "name", "Job": "name", "ProbeText": "what"}
"""Tables whose builder call takes one positional key."""
WIDTH = 98
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
ENDINGS = ("Settings", "Params", "Spec", "Keys", "Text")


@dataclass
class Choice:
    """Alternatives for a value: words, other plain types, and tables with one key."""

    words: dict[str, str] = field(default_factory=dict)
    plain: list[str] = field(default_factory=list)
    tables: dict[str, tuple[str, Schema]] = field(default_factory=dict)
    """Meaning and schema of each table, by key."""


class Types:
    """Names and source of the types of a schema; `module` writes them."""

    def __init__(self, schema: Schema) -> None:
        self.definitions: dict[str, Schema] = schema["definitions"]
        self.tables = tuple(schema["properties"])
        ends = [one for value in schema["properties"].values() for one in references(value)]
        # Keys of these tables are keyword arguments, so they must be valid Python identifiers.
        self._called = {self.short(name) + "Keys" for name in ends}
        self._seen: set[str] = set()
        self._classes: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        for name, definition in self.definitions.items():
            if "properties" in definition:
                self._table(self.short(name) + "Keys", definition, CALLS.get(name, ""))
            else:
                self.value({"$ref": f"#/definitions/{name}"}, name)

    def module(self, made_by: str) -> Iterator[str]:
        """Yields the source of the module with all types."""
        yield f'"""The keys of each table of a scenario, for the builder and for editors.\n\n{made_by}\n'
        yield "``penstock explain KEY`` says all of a key. A trailing underscore stands for a Python keyword:"
        yield '``from_`` is ``from``. ``None`` is the same as leaving a key out.\n"""\n'
        yield "from __future__ import annotations\n"
        yield "from collections.abc import Mapping, Sequence"
        yield "from typing import Literal, Required, TypedDict\n"
        yield f"TABLES = {self.tables!r}\n" + '"""The tables of a scenario, in the order of the reference."""'
        yield from self._classes.values()
        yield from self._aliases.values()

    def short(self, name: str) -> str:
        """Short name of a definition, unless another definition would have the same name."""
        bare = [bared(other) for other in self.definitions]
        return bared(name) if bare.count(bared(name)) == 1 else name

    def alternatives(self, value: Schema) -> Iterator[Schema]:
        """Schemas of the forms that a value may have."""
        target = reference(value)
        options = value.get("anyOf") or value.get("oneOf")
        if target:
            yield from self.alternatives(self.definitions[target])
        elif options:
            for option in options:
                yield from self.alternatives(option)
        else:
            yield value

    def table(self, name: str) -> str:
        """Name of the class for the tables of a choice."""
        return self.short(name).removesuffix("Table") + "Table"

    def choice(self, value: Schema) -> Choice:
        """The alternatives for a value."""
        found = Choice()
        self._gather(value, found)
        return found

    def value(self, value: Schema, name: str) -> str:
        """Returns the type of a value; classes of its tables are named after `name`."""
        target = reference(value)
        if target and "properties" in self.definitions[target]:
            return self.short(target) + "Keys"
        if target:
            name = self.short(target)
            if name not in self._seen:
                self._seen.add(name)
                made = self._union(self.choice(self.definitions[target]), name)
                if made != name:
                    about = begin(self.definitions[target]["description"])
                    self._aliases[name] = f"{name} = {made}\n{quoted(about)}"
            return name
        return self._union(self.choice(value), name)

    def _union(self, choice: Choice, name: str) -> str:
        words = ", ".join(f'"{word}"' for word in choice.words)
        kinds = [*([f"Literal[{words}]"] if words else []), *dict.fromkeys(choice.plain)]
        if choice.tables:
            kinds.append(self._one_of(choice, name.removesuffix("Table")))
        return " | ".join(kinds)

    def _one_of(self, choice: Choice, name: str) -> str:
        """Adds the class of a table that has exactly one of several keys."""
        rows = []
        for key, (about, value) in choice.tables.items():
            if "properties" in value and not reference(value):
                kind = self._table(f"{name}{camel(key)}Keys", {"description": about, **value})
            else:
                kind = self.value(value, name + camel(key))
            rows.append((key, begin(about), kind))
        self._classes[name + "Table"] = self._written(name + "Table", "Exactly one of these.", rows)
        return name + "Table"

    def _table(self, name: str, definition: Schema, without: str = "") -> str:
        """Adds the class of a table of keys."""
        if name in self._classes:
            raise ValueError(f"two tables of a scenario would be called {name}")
        required = definition.get("required", ())
        rows = []
        for key, value in definition["properties"].items():
            if key == without:
                continue
            kind = self.value(value, name.removesuffix("Keys") + camel(key))
            kind = f"Required[{kind}]" if key in required else f"{kind} | None"
            rows.append((key, begin(value.get("description", "")), kind))
        self._classes[name] = self._written(name, begin(definition.get("description", "")), rows)
        return name

    def _written(self, name: str, about: str, rows: list[tuple[str, str, str]]) -> str:
        """Returns the source of a class of keys."""
        if any(keyword.iskeyword(key) for key, _, _ in rows) and name not in self._called:
            inner = ", ".join(f'"{key}": "{kind}"' for key, _, kind in rows)
            return f'{name} = TypedDict("{name}", {{{inner}}}, total=False)\n{quoted(about)}'
        lines = [f"class {name}(TypedDict, total=False):", f"    {quoted(about)}"]
        for key, about, kind in rows:
            lines.append(f"    {key}{'_' * keyword.iskeyword(key)}: {kind}")
            lines += [f"    {quoted(about)}"] if about else []
        return "\n".join(lines)

    def _gather(self, value: Schema, found: Choice) -> None:
        options = value.get("anyOf") or value.get("oneOf")
        if target := reference(value):
            found.plain.append(self.value(value, target))
        elif options:
            for option in options:
                self._gather(option, found)
        elif "const" in value:
            found.words[value["const"]] = value.get("description", "")
        elif "enum" in value:
            found.words.update(dict.fromkeys(value["enum"], ""))
        elif len(value.get("properties", ())) == 1 and value.get("required"):
            ((key, inner),) = value["properties"].items()
            found.tables[key] = (value.get("description", ""), inner)
        else:
            found.plain += self._plain(value)

    def _plain(self, value: Schema) -> Iterator[str]:
        kinds = value.get("type", "object")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if kind == "array":
                items = value.get("items", {})
                inner = [self.value(one, "Entry") for one in (items if isinstance(items, list) else [items])]
                yield f"Sequence[{' | '.join(dict.fromkeys(inner))}]"
            elif kind == "object":
                entries = value.get("additionalProperties", {})
                yield f"Mapping[str, {self.value(entries, 'Entry')}]"
            elif kind != "null":
                yield PLAIN[kind]


def reference(value: Schema) -> str | None:
    """The definition that a value refers to, possibly with null as an alternative."""
    options = [one for one in value.get("anyOf", value.get("allOf", ())) if one.get("type") != "null"]
    if len(options) == 1:
        return reference(options[0])
    return value["$ref"].rpartition("/")[2] if "$ref" in value else None


def references(value: Schema) -> Iterator[str]:
    """Yields all definitions that a value refers to."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def bared(name: str) -> str:
    """The name of a definition without its descriptive part."""
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def camel(name: str) -> str:
    """Derives the name of a type from the name of a key."""
    return "".join(part.capitalize() for part in name.split("_"))


def begin(text: str) -> str:
    """Returns the beginning of a description, and the default."""
    first = re.split(r"(?<=[^.]\.) (?=[A-Z\"`])|; ", text, maxsplit=1)[0]
    first += "" if first.endswith(".") else "."
    default = re.search(r"Default: (?:[^.(]|\.(?=\w))*(?<=[\w\"`])", text)
    return first + (f" {default[0]}." if default and default[0] not in first else "")


def quoted(text: str) -> str:
    """A docstring indented for a class."""
    lines = textwrap.wrap(text, WIDTH)
    return '"""' + "\n    ".join(lines) + ('"""' if len(lines) < 2 else '\n    """')
