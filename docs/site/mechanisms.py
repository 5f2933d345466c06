"""Writes a page for each mechanism: description, embedded small run, keys, source and checks.

The pages are written into ``docs/mechanisms`` when the site is built, from the engine's registry and the
scenarios of ``runs.toml``. With ``-D penstock_runs=0`` no scenario is run, and the pages show how to run it.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import penstock as ps
from penstock import _core, glossary

HERE = Path(__file__).parent
DOCS = HERE.parent
PAGES = DOCS / "mechanisms"


@dataclass(frozen=True)
class Run:
    """The small run of a mechanism."""

    text: str
    shows: str


@dataclass(frozen=True)
class Mechanism:
    """The subject of a page: a mechanism, or several that are described together."""

    names: tuple[str, ...]
    kind: str
    title: str
    summary: tuple[str, ...]
    source: str
    not_modelled: tuple[str, ...]
    parameters: tuple[tuple[str, str, str], ...]

    @property
    def page(self) -> str:
        """Name of the page."""
        return self.names[0]


def mechanisms() -> list[Mechanism]:
    """Returns all mechanisms, in the order of the engine's registry."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(_core.mechanisms()):
        alike.setdefault(one["title"], []).append(one)
    return [_mechanism(title, found) for title, found in alike.items()]


def _mechanism(title: str, alike: list[dict[str, Any]]) -> Mechanism:
    first = alike[0]
    parameters = {
        (str(p["name"]), str(p["default"] or ""), str(p["meaning"])): None
        for one in alike
        for p in one["parameters"]
    }
    return Mechanism(
        names=tuple(one["name"] for one in alike),
        kind=first["kind"],
        title=title,
        summary=tuple(glossary.without_links(line) for line in first["summary"]),
        source=glossary.without_links(first["source"]),
        not_modelled=tuple(glossary.without_links(what) for what in first.get("not_modelled", [])),
        parameters=tuple(parameters),
    )


def runs() -> dict[str, Run]:
    """Returns the small run of each mechanism, by page names."""
    read = tomllib.loads((HERE / "runs.toml").read_text("utf-8"))
    found = {}
    for names, run in read["run"].items():
        base = read["base"][run["base"]]["text"]
        put = {key: text.strip() for key, text in run.items() if key not in ("base", "shows")}
        lost = [key for key in put if f"\n#{key}\n" not in base]
        if lost:
            raise ValueError(f"runs.toml, {names}: the base {run['base']} has no place for {', '.join(lost)}")
        text = re.sub(r"^#(\w+)$", lambda mark: put.get(mark[1], ""), base, flags=re.MULTILINE)  # noqa: B023
        found[names] = Run(re.sub(r"\n{3,}", "\n\n", text).strip() + "\n", run["shows"])
    return found


def write(app: Sphinx) -> None:
    """Writes all pages, and the embedded reports beside them."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    small = runs()
    every = mechanisms()
    reports = Path(app.outdir) / "docs" / "mechanisms"
    for mechanism in every:
        run = small[", ".join(mechanism.names)]
        if app.config.penstock_runs:
            _play(mechanism.page, run, reports / f"{mechanism.page}-run.html")
        text = "\n".join(_page(mechanism, run, plays=app.config.penstock_runs))
        (PAGES / f"{mechanism.page}.md").write_text(text + "\n", "utf-8")
    (PAGES / "index.md").write_text("\n".join(_index(every)) + "\n", "utf-8")


def _play(name: str, run: Run, report: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        scenario = Path(directory) / f"{name}.toml"
        scenario.write_text(run.text, "utf-8")
        ps.run(scenario).save(Path(directory) / "result")
        report.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(directory) / "result" / "report.html", report)


def _page(mechanism: Mechanism, run: Run, *, plays: bool) -> Iterator[str]:
    names = ", ".join(f"`{name}`" for name in mechanism.names)
    yield from (f"# {names}", "", f"*{mechanism.kind}* — {mechanism.title}.", "")
    for line in mechanism.summary:
        yield from (line.replace("\\n", "\n"), "")
    yield from ("## See it run", "", run.shows, "")
    if plays:
        report = f"{mechanism.page}-run.html"
        yield "```{raw} html"
        title = f"A small run with {mechanism.page}"
        yield f'<iframe class="run" src="{report}" title="{title}" loading="lazy"></iframe>'
        yield f'<p><a href="{report}">The run on a page of its own</a></p>'
        yield from ("```", "")
    yield from ("```toml", run.text.rstrip(), "```", "")
    if mechanism.parameters:
        yield from ("## Keys", "", "| key | default | meaning |", "|---|---|---|")
        for name, default, meaning in mechanism.parameters:
            yield f"| `{name}` | {_cell(default)} | {_cell(meaning)} |"
        yield ""
    checks = list(_checks(mechanism))
    if checks:
        yield from ("## Checked in", "", *checks, "")
    yield from ("## Source", "", mechanism.source, "")
    if mechanism.not_modelled:
        yield from ("## Not modelled", "", *(f"- {what}" for what in mechanism.not_modelled), "")
    yield f"`penstock explain {mechanism.names[0]}` prints this page."


def _cell(text: str) -> str:
    return glossary.without_links(text).replace("|", "\\|").replace("\n", " ")


def _checks(mechanism: Mechanism) -> Iterator[str]:
    """Yields links to the validation pages that mention the mechanism."""
    speaks = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in mechanism.names), re.IGNORECASE)
    for page in sorted((DOCS / "validation").glob("*.md")):
        text = page.read_text("utf-8")
        if speaks.search(text.replace("_", " ")) or speaks.search(text):
            title = re.search(r"^# (.+)$", text, re.MULTILINE)
            yield f"- [{title[1] if title else page.stem}](../validation/{page.name})"


def _index(every: list[Mechanism]) -> Iterator[str]:
    yield from ("# Mechanisms", "")
    yield "Each page has a description, an embedded small run, the keys, the source, and the limits."
    kinds: dict[str, list[Mechanism]] = {}
    for mechanism in every:
        kinds.setdefault(mechanism.kind, []).append(mechanism)
    for kind, found in kinds.items():
        yield from ("", f"## {kind[0].upper()}{kind[1:]}", "")
        for one in found:
            yield f"- [{', '.join(f'`{name}`' for name in one.names)}]({one.page}.md): {one.title}"
    yield from ("", "```{toctree}", ":hidden:", "", *(one.page for one in every), "```")


def setup(app: Sphinx) -> dict[str, bool]:
    """Entry point of the Sphinx extension."""
    app.add_config_value("penstock_runs", default=True, rebuild="env", types=[bool])
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
