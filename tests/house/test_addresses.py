"""Penstock has no public home yet: no text sends users to an address that the project does not own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = {"target", "out", "build", "dist", "node_modules"}
LISTS = {"Cargo.lock", "package-lock.json"}
"""Made by package managers, from their registries."""
PICTURES = {".png", ".svg", ".html", ".woff2", ".so", ".pyc"}

CITED = {
    "json-schema.org": "the dialect of the schemas",
    "keepachangelog.com": "the form of CHANGELOG.md",
    "rustup.rs": "where Rust comes from",
    "semver.org": "what version numbers mean",
    "www.apache.org": "the text of the licence",
}
"""Hosts that may be named, because their owners publish what we cite or require."""

ADDRESS = re.compile(r"\b(?:https?|git|ssh)://(?P<host>[\w.-]*\w)", re.ASCII)
FORGE = re.compile(
    r"\b(?:github|gitlab|bitbucket|codeberg|sourceforge|readthedocs)\.[a-z]{2,}\b|\bgit@\w", re.IGNORECASE
)
KEYS = "repository|repository-code|repository-artifact|homepage|documentation|url|urls|bugs"
METADATA = re.compile(rf'^\s*"?({KEYS})"?\s*[:=]|\[project\.urls\]', re.IGNORECASE)
"""Keys under which package managers publish an address."""


def texts(root: Path) -> Iterator[tuple[Path, str]]:
    """Every text file that was written by people."""
    for place, folders, names in os.walk(root):
        wanted = [name for name in folders if not name.startswith(".") and name not in BUILT]
        folders[:] = sorted(wanted) + [name for name in folders if name == ".ci"]
        for name in sorted(names):
            path = Path(place, name)
            if name in LISTS or path.suffix in PICTURES:
                continue
            try:
                yield path.relative_to(root), path.read_text("utf-8")
            except UnicodeDecodeError:
                continue


def foreign(root: Path) -> list[str]:
    """Where an address stands that is not a cited source."""
    found = []
    for path, text in texts(root):
        if path == Path(__file__).relative_to(ROOT):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            hosts = [match["host"].lower() for match in ADDRESS.finditer(line)]
            if any(host not in CITED for host in hosts) or FORGE.search(line):
                found.append(f"{path}:{number}: {line.strip()}")
    return found


def test_no_address_that_no_one_here_owns() -> None:
    assert not foreign(ROOT)


def test_metadata_names_no_address() -> None:
    manifests = [ROOT / "pyproject.toml", ROOT / "CITATION.cff", ROOT / "viewer/package.json"]
    manifests += [ROOT / "Cargo.toml", *ROOT.glob("*/Cargo.toml"), *ROOT.glob("crates/*/Cargo.toml")]
    assert len(manifests) > 10
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in manifests
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if METADATA.match(line)
    ]
    assert not named


def test_the_readme_begins_in_the_checkout() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "In this directory:\n\n    make demo\n" in text
    assert not re.search(r"git clone|git\+|curl |wget |pip install penstock", text)


@pytest.mark.parametrize(
    "line",
    [
        "git clone https://github.com/somebody/something",
        "repository-code: https://penstock.example.org",
        "see gitlab.com/penstock",
        "git@forge:penstock.git",
        "https://rustup.rs.example.com/install",
    ],
)
def test_an_invented_address_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(line, "utf-8")
    assert foreign(tmp_path)


@pytest.mark.parametrize("host", CITED)
def test_every_cited_host_is_cited(host: str) -> None:
    assert any(f"//{host}" in text for path, text in texts(ROOT) if path.name != Path(__file__).name)
