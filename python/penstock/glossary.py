"""Definitions of names: mechanisms, keys of the scenario file, tables and columns of results.

Mechanisms and keys come from the engine's registry and JSON Schema, tables and columns from their
declarations. This module contains only the descriptions of the output of `penstock headroom`. Terms of the
field that are not names in Penstock are in `concepts.toml`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from penstock import _core
from penstock.errors import InputError
from penstock.library import suggestion, text_of, toml

_HEADROOM = {
    "total_bit_times": "Maximum amount of data that arrives after XOFF, in bit times of the link: the sum "
    "of the terms above (IEEE 802.1Qbb Annex O).",
    "total_bytes": "total_bit_times in bytes: headroom of a queue that counts bytes as they arrive.",
    "headroom_bytes": "total_bytes plus the rest of the frame that crosses XOFF: headroom above XOFF of a "
    "queue that counts whole frames; the minimum of the scenario key `headroom`.",
    "total_frames": "total_bit_times as a number of maximum frames with line overhead.",
    "total_time": "total_bit_times as a time.",
    "response_quanta": "Time from the end of a pause frame to its effect, in quanta of 512 bit times.",
    "pause_quanta_at_least": "Shortest pause that can be refreshed before it expires: response, a maximum "
    "frame, and other pause frames ahead. For the condition see `penstock explain renewal`.",
    "sublayers": "Sublayers of an interface with their maximum delays in IEEE 802.3, transmit and "
    "receive together. A `number` has another published source, or is from memory and not verified.",
    "xon_at_least_bytes": "Minimum XON at which a queue does not become empty while its senders resume: "
    "rate times total_time (Hagen 2012, section 7.2).",
    "cisco_rule_bytes": "For comparison: headroom by Cisco's white paper on PFC: maximum frames "
    "of both ends (9216 B and 2240 B), round trip of the cable, transceivers and response. Of the "
    "options only rate and length are used.",
    "sonic_model_bytes": "For comparison: headroom by SONiC's dynamic buffer model, for frames "
    "of 64 B in one cell each (256 B, or --cell), rounded up to KiB. Of the other options only rate "
    "and length are used.",
    "cell_occupancy": "Bytes of memory per byte of data, in cells of --cell, if all frames have 64 B.",
    "headroom_memory_bytes": "headroom_bytes times cell_occupancy: memory in cells of --cell.",
    "headroom_needed": "In the table watermarks: headroom above XOFF that a counter needs to avoid loss, "
    "for the maximum frames and the cable of its link. `penstock headroom` shows the terms.",
}
"""Fields in the output of `penstock headroom`, with their names in results."""


_NEAR_SHOWN = 6
_ABOUT_LETTERS = 100


@dataclass(frozen=True)
class Topic:
    """An explanation.

    Attributes
    ----------
    name : str
        Full name, such as ``"flows.latency_p99_ns"``.
    kind : str
        ``"mechanism: ..."``, ``"concept"``, ``"scenario key"``, ``"table"`` or ``"column"``.
    lines : list of str
        Paragraphs.
    rows : list of list of str
        Rows of a table, starting with the header; may be empty.
    also : list of str
        Other names of the entry.
    """

    name: str
    kind: str
    lines: list[str]
    rows: list[list[str]] = field(default_factory=list)
    also: list[str] = field(default_factory=list)

    def answers(self, name: str) -> bool:
        """True if `name` is the full name of the entry, or its last part."""
        full, folded = _folded(self.name), _folded(name)
        return full == folded or full.endswith("." + folded) or folded in self.also

    def begin(self) -> str:
        """First sentence, or as much of it as fits on a line."""
        first = " ".join((self.lines or [""])[0].split())
        sentence = first.partition(". ")[0].rstrip(".")
        if len(sentence) <= _ABOUT_LETTERS:
            return sentence
        return sentence[:_ABOUT_LETTERS].rpartition(" ")[0] + " …"


@dataclass(frozen=True, repr=False)
class Explanation:
    """Entries found by `penstock.explain`; shown as text in a terminal and as HTML in a notebook.

    Attributes
    ----------
    topics : tuple of Topic
        All entries with the name, or with the words.
    """

    topics: tuple[Topic, ...]

    def __repr__(self) -> str:
        return "\n\n".join(
            "\n".join(
                [f"{topic.name}  ({topic.kind})", *topic.lines, *(": ".join(row) for row in topic.rows[1:])]
            )
            for topic in self.topics
        )

    def _repr_html_(self) -> str:
        return "".join(map(_html, self.topics))


def _html(topic: Topic) -> str:
    head, *rows = topic.rows or [[]]
    table = "".join(
        "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in row) + "</tr>"
        for cell, group in (("th", [head] if head else []), ("td", rows))
        for row in group
    )
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in topic.lines)
    return f"<h4>{escape(topic.name)} <small>({escape(topic.kind)})</small></h4>{paragraphs}" + (
        f"<table>{table}</table>" if table else ""
    )


def explain(name: str | None = None, *, search: str | None = None) -> Explanation:
    """Explains a mechanism, a concept, a table, a column or a key, as ``penstock explain`` does.

    Parameters
    ----------
    name : str, optional
        Name such as ``"pfc"``, ``"ecmp"``, ``"flows.latency_p99_ns"`` or ``"xoff"``.
    search : str, optional
        Finds the entries that contain this word, or all of these words, in their name or text. Expected:
        either `name` or `search`.

    Raises
    ------
    InputError
        If there is no such entry. The message contains similar names.

    Examples
    --------
    >>> import penstock as ps
    >>> print(str(ps.explain("xoff"))[:60])
    flow_control.pause.xoff, flow_control.pfc.xoff, flow_control
    """
    if (name is None) == (search is None):
        raise InputError("expected a name, or search=WORDS")
    if name is not None:
        if found := find(text_of("name", name)) if name.strip() else []:
            return Explanation(tuple(found))
        raise InputError(f"no entry for {name!r}; {_near(name)}")
    words = text_of("search", search)
    if found := find_words(words):
        return Explanation(tuple(found))
    raise InputError(f"no entry mentions {words!r}; {_near(words)}")


def _near(name: str) -> str:
    """Names with similar spelling, and entries that mention the word."""
    hint = suggestion(name.lower(), names())
    near = [hint] if hint.startswith("did") else []
    if mention := [topic.name for topic in find_words(name)]:
        more = " and others (penstock explain --search)" if len(mention) > _NEAR_SHOWN else ""
        near.append(f"mentioned in {', '.join(mention[:_NEAR_SHOWN])}{more}")
    return "; ".join(near) or "for a list of names: penstock explain"


def find(name: str) -> list[Topic]:
    """Returns all entries for `name`; an exact match hides entries that only end with it.

    Entries with identical text, such as a key for one switch and for all, are merged. If the word is not a
    name but a value of a column, such as a cause of loss, the column is returned.
    """
    answers = [topic for topic in topics() if topic.answers(name)]
    exact = [topic for topic in answers if _folded(topic.name) == _folded(name)]
    alike: dict[tuple[str, ...], list[Topic]] = {}
    for topic in exact or answers or _with_value(name):
        alike.setdefault(tuple(topic.lines) or (topic.kind,), []).append(topic)
    return [_merged(same) for same in alike.values()]


def _merged(same: list[Topic]) -> Topic:
    """Merges entries with identical text, under the shortest names."""
    if len(same) == 1:
        return same[0]
    every = [topic.name for topic in same if topic.kind == "scenario key"] or [topic.name for topic in same]
    plain = [name for name in every if _plain(name) == name or _plain(name) not in every]
    short = [name for name in plain if not any(name.endswith(f".{other}") for other in plain)]
    lines = list(same[0].lines)
    if rest := [name for name in every if name not in short]:
        more = "one more place" if len(rest) == 1 else f"{len(rest)} more places"
        lines.append(f"Also in {more}, such as {rest[0]}.")
    kinds = ", ".join(dict.fromkeys(topic.kind for topic in same))
    return Topic(", ".join(dict.fromkeys(short)), kinds, lines, max((topic.rows for topic in same), key=len))


def _plain(name: str) -> str:
    """Key for all stations instead of one, and of a scheduler without a shaper."""
    everywhere = name.replace("hosts.NAME", "host").replace("switches.NAME", "switch")
    return everywhere.replace("scheduler.shaper.scheduler", "scheduler")


def _with_value(name: str) -> list[Topic]:
    """Columns whose description lists this word as a value."""
    word = re.compile(rf"(?<![\w.]){re.escape(_folded(name))}(?=[:,]| \()")
    return [topic for topic in topics() if topic.kind == "column" and word.search(topic.lines[0])]


def find_words(words: str) -> list[Topic]:
    """Entries whose name or text contains all of these words; matches in names come first.

    Parameters
    ----------
    words : str
        Parts of words, in any order; case-insensitive, and ``-`` equals ``_``.
    """
    wanted = [_folded(word) for word in words.split()]
    ranked: dict[int, list[Topic]] = {rank: [] for rank in range(-1, 4)}
    for topic in topics() if wanted else ():
        if all(word in _folded(" ".join([topic.name, *topic.also, *topic.lines])) for word in wanted):
            own = [_folded(name) for name in (topic.name, *topic.also)]
            if _folded(words) in own:
                ranked[-1].append(topic)
                continue
            named = any(all(word in name for word in wanted) for name in own)
            is_key = topic.kind in ("scenario key", "column") or topic.kind.startswith("parameter")
            ranked[2 * (not named) + is_key].append(topic)
    alike: dict[tuple[str, ...], Topic] = {}
    for topic in (one for rank in sorted(ranked) for one in ranked[rank]):
        alike.setdefault((topic.name.rpartition(".")[2], *topic.lines), topic)
    return list(alike.values())


def index() -> dict[str, list[str]]:
    """Names of entries by kind: mechanisms, concepts, tables of the scenario file and of results."""
    found: dict[str, list[str]] = {}
    for topic in topics():
        if topic.kind == "scenario key":
            found.setdefault("keys of a scenario", []).extend([topic.name] * ("." not in topic.name))
        elif topic.kind == "value":
            found.setdefault("values of penstock headroom", []).append(topic.name)
        elif topic.kind in ("concept", "table") or topic.kind.startswith("mechanism: "):
            kind = {"concept": "concepts", "table": "tables of a result"}.get(topic.kind)
            found.setdefault(kind or topic.kind.removeprefix("mechanism: "), []).append(topic.name)
    return {kind: list(dict.fromkeys(names)) for kind, names in found.items()}


def names() -> list[str]:
    """All names that can be explained: full names and their last parts."""
    full = [name for topic in topics() for name in (topic.name, *topic.also)]
    return sorted({*full, *(name.rpartition(".")[2] for name in full)})


@functools.cache
def topics() -> tuple[Topic, ...]:
    """All entries."""
    schema = json.loads(_core.json_schema())
    return (*_mechanisms(), *_concepts(), *_tables(), *_headroom(), *_keys(schema, schema, "", ()))


def _mechanisms() -> Iterator[Topic]:
    for mechanism in json.loads(_core.mechanisms()):
        paragraphs = [mechanism["title"], *mechanism["summary"], f"Source: {mechanism['source']}"]
        paragraphs += [f"Not modelled: {what}" for what in mechanism.get("not_modelled", [])]
        lines = [without_links(line) for line in paragraphs]
        header = ["parameter", "default", "meaning"]
        parameters = [
            [_text(p["name"]), _text(p["default"]), _text(p["meaning"])] for p in mechanism["parameters"]
        ]
        yield Topic(
            mechanism["name"],
            f"mechanism: {mechanism['kind']}",
            lines,
            [header, *parameters] if parameters else [],
        )
        for parameter in mechanism["parameters"]:
            meaning, default = _text(parameter["meaning"]), _text(parameter["default"])
            lines = [meaning] if not default or "Default" in meaning else [meaning, f"Default: {default}"]
            kind = f"parameter of {mechanism['name']}"
            yield Topic(f"{mechanism['name']}.{parameter['name']}", kind, lines)


def _concepts() -> Iterator[Topic]:
    for name, entry in toml(Path(__file__).with_name("concepts.toml").read_text("utf-8")).items():
        see = "See " + ", ".join(f"`penstock explain {other}`" for other in entry["see"]) + "."
        yield Topic(name, "concept", [*entry["about"], see], also=list(entry.get("also", ())))


def without_links(text: str) -> str:
    """Replaces links of Rust documentation by their text, or by the last part of the item's path."""
    text = re.sub(r"\[`(?:\w+::)*([^`]+)`\](?!\()", r"`\1`", text)
    return re.sub(r"\[([^][]+)\]\(\w+(?:::\w+)+\)", r"\1", text)


def cells(line: str) -> list[list[str]]:
    """Rows of a paragraph that is a table, header first; empty for other paragraphs."""
    rows = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in line.splitlines()]
    is_table = line.startswith("|") and len(rows) > 1 and all(set(cell) <= set("-: ") for cell in rows[1])
    return [rows[0], *rows[2:]] if is_table else []


def _headroom() -> Iterator[Topic]:
    for name, meaning in _HEADROOM.items():
        yield Topic(name, "value", [meaning])


def _tables() -> Iterator[Topic]:
    """Tables and columns, as declared by the engine."""
    for table in json.loads(_core.tables()):
        rows = [["column", "unit", "meaning"]]
        rows += [[column["name"], _text(column["unit"]), column["about"]] for column in table["columns"]]
        yield Topic(table["name"], "table", [table["about"]], rows)
        for column in table["columns"]:
            unit = f"Unit: {column['unit']}" if column["unit"] else "No unit."
            yield Topic(f"{table['name']}.{column['name']}", "column", [column["about"], unit])


def _keys(
    schema: Mapping[str, Any], root: Mapping[str, Any], path: str, seen: tuple[str, ...]
) -> Iterator[Topic]:
    """Walks the JSON Schema; `seen` contains the enclosing definitions, which ends recursion."""
    reference = schema.get("$ref")
    if reference in seen:
        return
    if reference is not None:
        yield from _keys(_resolved(reference, root), root, path, (*seen, reference))
    for alternative in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _keys(alternative, root, path, seen)
    if isinstance(schema.get("items"), Mapping):
        yield from _keys(schema["items"], root, path, seen)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _keys(schema["additionalProperties"], root, f"{path}.NAME", seen)
    for name, value in schema.get("properties", {}).items():
        full = f"{path}.{name}".lstrip(".")
        inner = list(_keys(value, root, full, seen))
        # An object with a single key is a variant of a choice, so the key is not required.
        required = name in schema.get("required", ()) and len(schema["properties"]) > 1
        lines = list(_about(value, root, required))
        yield Topic(full, "scenario key", lines, _children(full, inner))
        yield from inner


def _about(value: Mapping[str, Any], root: Mapping[str, Any], required: bool) -> Iterator[str]:
    target = {**_resolved(value["$ref"], root), **value} if "$ref" in value else dict(value)
    for alternative in (*value.get("anyOf", ()), *value.get("allOf", ())):
        if "description" not in target and "$ref" in alternative:
            target["description"] = _resolved(alternative["$ref"], root).get("description", "")
    if target.get("description"):
        yield str(target["description"])
    if "enum" in target:
        yield "Accepted: " + ", ".join(json.dumps(choice) for choice in target["enum"] if choice is not None)
    paragraphs = str(target.get("description", ""))
    if target.get("default") not in (None, {}) and "Default" not in paragraphs:
        yield f"Default: {json.dumps(target['default'], ensure_ascii=False)}"
    if required and "Required" not in paragraphs:
        yield "Required."


def _children(path: str, inner: list[Topic]) -> list[list[str]]:
    """Keys directly below a table, with their descriptions."""
    depth = path.count(".") + 1
    below = [topic for topic in inner if topic.name.count(".") == depth and ".NAME" not in topic.name]
    rows = {topic.name.rpartition(".")[2]: " ".join(topic.lines) for topic in below}
    return [["key", "meaning"], *map(list, rows.items())] if rows else []


def _resolved(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    resolved: Mapping[str, Any] = found
    return resolved


def _folded(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def _text(value: object) -> str:
    return "" if value is None else str(value)
