"""The page of scenario keys; text that several tables share appears once.

A table with the same text as another of the same name is not repeated: ``switch.scheduler.drr`` is
``host.scheduler.drr``. Keys shared by at least three tables below the same table are listed at that table.
A key with the same text as in a table further up refers to it. No key is treated by name, so the page
follows any change of the schema.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.glossary import Topic

SHARED_BY = 3
SHORT = 9
"""Texts of at most this many words are repeated rather than referred to."""
Rows = dict[str, str]


@dataclass
class Section:
    """A table of the file: its names, its description, and the meaning of each key."""

    name: str
    about: str
    rows: Rows
    names: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    shared: Rows = field(default_factory=dict)
    above: list[str] = field(default_factory=list)

    @property
    def parent(self) -> str:
        """The table that contains this one."""
        return self.name.rpartition(".")[0]

    @property
    def last(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    @property
    def anchor(self) -> str:
        """The anchor of its heading."""
        return "#" + re.sub(r"[^\w-]", "", self.name.lower())


def page(topics: Mapping[str, Topic]) -> Iterator[str]:
    """The sections of all tables of the file, as Markdown."""
    sections = _once(_sections(topics))
    for section in sections:
        _share(section, [other for other in sections if other.parent == section.name])
    homes = {name: section for section in sections for name in (section.name, *section.names)}
    first: dict[tuple[str, str], Section] = {}
    for section in sections:
        for key, text in (section.rows | section.shared).items():
            home = first.setdefault((key, text), section)
            if home is not section and len(text.split()) > SHORT and key in section.rows:
                section.rows[key] = f"As in [`{home.name}`]({home.anchor})."
        yield from _written(section, homes)
    if any(".NAME." in name for name in topics):
        yield from ("", "## Single hosts and switches", "")
        yield "`[hosts.NAME]` and `[switches.NAME]` have the keys of `[host]` and `[switch]`."


def _sections(topics: Mapping[str, Topic]) -> list[Section]:
    found = []
    for name, topic in topics.items():
        if ".NAME" in name or not topic.rows:
            continue
        rows = {key: _meaning(topics.get(f"{name}.{key}"), about) for key, about in topic.rows[1:]}
        found.append(Section(name, " ".join(line for line in topic.lines if line), rows))
    return found


def _meaning(topic: Topic | None, about: str) -> str:
    text = about if topic is None else " ".join(topic.lines)
    if not text.strip() and topic is not None and topic.rows:
        return "With the keys " + ", ".join(f"`{key}`" for key, _ in topic.rows[1:])
    return text


def _once(sections: list[Section]) -> list[Section]:
    """The distinct sections; names of duplicates are listed unless they follow from others."""
    homes = {section.name: _home(section, sections) for section in sections}
    for section in sections:
        home = homes[section.name]
        above = homes.get(section.parent)
        follows = f"{above.name}.{section.last}" if above else section.name
        if home is not section and (follows == section.name or follows not in homes):
            without = [f"`{key}`" for key in home.rows if key not in section.rows]
            home.also.append(f"`{section.name}`" + (f" (without {', '.join(without)})" if without else ""))
            home.names.append(section.name)
    return [section for section in sections if homes[section.name] is section]


def _home(section: Section, sections: list[Section]) -> Section:
    """The section that contains this one: the one with most keys, then the shortest name."""
    kin = [one for one in sections if one.rows.items() >= section.rows.items() and _kin(one, section)]
    return min(kin, key=lambda one: (-len(one.rows), one.name.count(".")))


def _kin(one: Section, other: Section) -> bool:
    """Returns true if two tables are the same in two places, or two names for the same table."""
    twins = one.parent == other.parent and one.about == other.about and one.rows == other.rows
    return one is other or one.last == other.last or twins


def _share(section: Section, below: list[Section]) -> None:
    """Moves keys that the tables below a section share to the section."""
    counts = Counter(row for one in below for row in one.rows.items())
    for (key, text), number in counts.most_common():
        if number >= SHARED_BY:
            section.shared.setdefault(key, text)
    for one in below:
        one.above = [key for key, text in one.rows.items() if section.shared.get(key) == text]
        own = {key: text for key, text in one.rows.items() if key not in one.above}
        one.rows = {
            key: _unlike(text, section.shared.get(key, ""), section.anchor) for key, text in own.items()
        }


def _unlike(text: str, shared: str, anchor: str) -> str:
    """A meaning; only the default if the shared meaning differs in nothing else."""
    same, _, default = text.rpartition(" Default: ")
    return f"As [above]({anchor}), default {default}" if same and shared.startswith(same) else text


def _written(section: Section, homes: Mapping[str, Section]) -> Iterator[str]:
    yield from ("", f"## `{section.name}`")
    about = section.about
    above = homes.get(section.parent)
    if above is not None and section.last in above.rows:
        # The row of the table above has the first sentence.
        about = about.removeprefix(_begin(above.rows[section.last])).strip()
    if about:
        yield from ("", about)
    if section.also:
        yield from ("", f"The same in {', '.join(section.also)}.")
    if section.rows:
        yield ""
        for key, text in section.rows.items():
            below = homes.get(f"{section.name}.{key}")
            head, said = (f"`{key}`", text) if below is None else (f"[`{key}`]({below.anchor})", _begin(text))
            yield f"- {head}: {_line(said)}"
    if above is not None and section.above:
        all_of_them = len(section.above) == len(above.shared)
        which = "the shared keys" if all_of_them else _names(section.above)
        yield from ("", f"And {which} of [`{above.name}`]({above.anchor}).")
    if section.shared:
        yield from ("", "Keys that several of these share:", "")
        for key, text in section.shared.items():
            yield f"- `{key}`: {_line(text)}"


def _begin(text: str) -> str:
    """The first sentence; the rest is in its own section."""
    return re.split(r"(?<=[^.]\.) (?=[A-Z\"`])", text, maxsplit=1)[0]


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _line(text: str) -> str:
    """The text of a list entry. The general note on units of quantities is omitted."""
    return text.replace("\n", " ").replace(" with unit", "")
