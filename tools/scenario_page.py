"""Writes the pages of scenario keys, one per table of `PAGES`; shared text appears once.

A table with the same text as another table of the same name is not repeated: ``switch.scheduler.drr`` is
``host.scheduler.drr``. Keys that at least three tables below one table share are listed at that table. A key
whose text equals that of a key further up refers to it. No key is treated by name, so the page follows any
change of the schema.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

from penstock.glossary import Topic

PAGES = ("host.scheduler", "flows.source", "flows.source.rdma", "flows.source.tcp", "flows.source.uet")
"""Tables with their own page, in addition to the top-level tables."""
FOLDED = 240
"""Text length from which everything except the first sentence and the default is folded."""

SHARED_BY = 3
SHORT = 9
"""Maximum number of words of a text that is repeated instead of referred to."""
Rows = dict[str, str]


@dataclass
class Section:
    """A table of the scenario file: its names, its description, and the meaning of each key."""

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
        """Last component of its name."""
        return self.name.rpartition(".")[2]

    @property
    def page(self) -> str:
        """The table whose page contains this section."""
        parts = self.name.split(".")
        above = (".".join(parts[:length]) for length in range(len(parts), 1, -1))
        return next((name for name in above if name in PAGES), parts[0])

    @property
    def target(self) -> str:
        """Page and anchor of its heading, for links from other sections."""
        return f"{file(self.page)}#{re.sub(r'[^a-z0-9_-]', '', self.name.lower())}"

    def link(self) -> str:
        """Its name, as a link."""
        return f"[`{self.name}`]({self.target})"


def pages(topics: Mapping[str, Topic]) -> dict[str, list[str]]:
    """Returns the pages as lines of Markdown, by table."""
    sections = _once(_sections(topics))
    for section in sections:
        _share(section, [other for other in sections if other.parent == section.name])
    homes = {name: section for section in sections for name in (section.name, *section.names)}
    first: dict[tuple[str, str], Section] = {}
    made: dict[str, list[str]] = {}
    for section in sections:
        for key, text in (section.rows | section.shared).items():
            home = first.setdefault((key, text), section)
            if home is not section and len(text.split()) > SHORT and key in section.rows:
                section.rows[key] = f"As in {home.link()}."
        made.setdefault(section.page, []).extend(_written(section, homes))
    return made


def index(made: Mapping[str, list[str]], topics: Mapping[str, Topic]) -> Iterator[str]:
    """Yields a line for each page: its table, and the first sentence of its description."""
    yield from ("", "| table | contents |", "|---|---|")
    for name in sorted(made, key=list(topics).index):
        yield f"| [`{name}`](scenario/{file(name)}) | {_begin(_about(topics[name]))} |"
    if any(".NAME." in name for name in topics):
        yield from (
            "",
            "`[hosts.NAME]` and `[switches.NAME]` have the keys of `[host]` and `[switch]`, for single",
        )
        yield "hosts and switches."


def file(name: str) -> str:
    """Returns the file name of a table's page."""
    return f"{name.replace('.', '-')}.md"


def _sections(topics: Mapping[str, Topic]) -> list[Section]:
    found = []
    for name, topic in topics.items():
        if ".NAME" in name or not topic.rows:
            continue
        rows = {key: _meaning(topics.get(f"{name}.{key}"), about) for key, about in topic.rows[1:]}
        found.append(Section(name, _about(topic), rows))
    return found


def _about(topic: Topic) -> str:
    return " ".join(line for line in topic.lines if line)


def _meaning(topic: Topic | None, about: str) -> str:
    text = about if topic is None else " ".join(topic.lines)
    if not text.strip() and topic is not None and topic.rows:
        return "With the keys " + ", ".join(f"`{key}`" for key, _ in topic.rows[1:])
    return text


def _once(sections: list[Section]) -> list[Section]:
    """Returns the distinct sections; names of duplicates are listed unless they follow from others."""
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
    """Returns the containing section: the one with the most keys, then the shortest name."""
    kin = [one for one in sections if one.rows.items() >= section.rows.items() and _kin(one, section)]
    return min(kin, key=lambda one: (-len(one.rows), one.name.count(".")))


def _kin(one: Section, other: Section) -> bool:
    """Returns true if two tables are the same table in two places, or under two names."""
    twins = one.parent == other.parent and one.about == other.about and one.rows == other.rows
    return one is other or one.last == other.last or twins


def _share(section: Section, below: list[Section]) -> None:
    """Moves keys that the tables below a section have in common to the section."""
    counts = Counter(row for one in below for row in one.rows.items())
    for (key, text), number in counts.most_common():
        if number >= SHARED_BY:
            section.shared.setdefault(key, text)
    for one in below:
        one.above = [key for key, text in one.rows.items() if section.shared.get(key) == text]
        own = {key: text for key, text in one.rows.items() if key not in one.above}
        one.rows = {
            key: _unlike(text, section.shared.get(key, ""), section.target) for key, text in own.items()
        }


def _unlike(text: str, shared: str, target: str) -> str:
    """Returns the meaning of a key, or only its default if nothing else differs from the shared meaning."""
    same, _, default = text.rpartition(" Default: ")
    return f"As [above]({target}), default {default}" if same and shared.startswith(same) else text


def _written(section: Section, homes: Mapping[str, Section]) -> Iterator[str]:
    yield from ("", f"{'#' if section.name == section.page else '##'} `{section.name}`")
    about = section.about
    above = homes.get(section.parent)
    if above is not None and above.page == section.page and section.last in above.rows:
        # The row of the table above has the first sentence.
        about = about.removeprefix(_begin(above.rows[section.last])).strip()
    if about:
        yield from ("", about)
    if section.also:
        yield from ("", f"Also in {', '.join(section.also)}.")
    for key, text in section.rows.items():
        below = homes.get(f"{section.name}.{key}")
        yield from _key(key, text) if below is None else _line(f"[`{key}`]({below.target})", _begin(text))
    if above is not None and section.above:
        all_of_them = len(section.above) == len(above.shared)
        which = "the shared keys" if all_of_them else _names(section.above)
        yield from ("", f"And {which} of {above.link()}.")
    if section.shared:
        yield from ("", "Keys that several of these share:")
        for key, text in section.shared.items():
            yield from _key(key, text)


def _key(key: str, text: str) -> Iterator[str]:
    """Yields the entry of a key; of a long text, only the first sentence and the default are unfolded."""
    begin = _begin(text)
    default = re.search(r"(Default: |Required\b).*$", text)
    last = _begin(default[0]) if default and default[0] not in begin else ""
    rest = text.removeprefix(begin).removesuffix(last).strip()
    if len(text) < FOLDED or len(rest) < FOLDED // 2:
        yield from _line(f"`{key}`", text)
        return
    shown = escape(f"{begin} {last}".strip(), quote=False)
    summary = re.sub(r"`([^`]+)`", r"<code>\1</code>", shown)
    yield from ("", f"<details><summary><code>{key}</code>: {summary}</summary>")
    yield from ("", _plain(rest), "", "</details>")


def _line(head: str, text: str) -> Iterator[str]:
    yield from ("", f"- {head}: {_plain(text)}")


def _begin(text: str) -> str:
    """Returns the first sentence of a text; the rest is in its own section."""
    return re.split(r"(?<=[^.]\.) (?=[A-Z\"`])", text, maxsplit=1)[0]


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _plain(text: str) -> str:
    """Returns the text of an entry, without the general note on units of quantities."""
    return text.replace("\n", " ").replace(" with unit", "")
