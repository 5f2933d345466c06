"""Laws of docs/architecture.md that a machine can check. Each test names the law."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LONGEST_FILE_LINES = 500
"""Without its tests; longer files want splitting along their own seams."""

ROW = re.compile(r"^\| `(?P<crate>\w+)` \|[^|]*\| (?P<uses>[^|]*) \|$", re.MULTILINE)
MECHANISM_CRATES = ("scheduling", "flow_control", "queueing", "workload", "transport")
SHARED = {"crates/scheduling/src/bound.rs"}
"""Has a source and omissions, and is no mechanism: what schedulers promise."""
REGISTRY = re.compile(
    r'"(\w+)"\s*,\s*include_str!\("(\w+\.rs)"\)|[A-Z]\w*(?:\(\w+\))? = "(\w+)"|^ +(\w+): \w+\(\w+\),$',
    re.MULTILINE,
)


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


def manifests(root: Path) -> dict[str, dict[str, object]]:
    """Manifest of every crate by the name of its folder."""
    found = {
        path.parent.name: tomllib.loads(path.read_text("utf-8")) for path in root.glob("crates/*/Cargo.toml")
    }
    assert found
    return found


def without_tests(text: str) -> list[str]:
    """The lines of a Rust file before its module of tests."""
    return text.partition("\n#[cfg(test)]\nmod ")[0].splitlines()


def rust_sources(root: Path) -> Iterator[Path]:
    yield from sorted(
        [
            *root.glob("crates/*/src/**/*.rs"),
            *root.glob("benches/src/**/*.rs"),
            *root.glob("fuzz/src/**/*.rs"),
        ]
    )


def test_arrows_between_crates_are_those_of_the_table(root: Path) -> None:
    """Rooms: arrows point downward, and docs/architecture.md draws every one of them."""
    text = (root / "docs/architecture.md").read_text("utf-8")
    drawn = {row["crate"]: set(re.findall(r"`(\w+)`", row["uses"])) for row in ROW.finditer(text)}
    crates = manifests(root)
    used = {}
    for name, manifest in crates.items():
        needs = set()
        for section in ("dependencies", "dev-dependencies", "build-dependencies"):
            needs |= set(manifest.get(section, {}))  # type: ignore[call-overload]
        used[name] = needs & set(crates)
    assert drawn == used
    order = list(drawn)
    upward = [
        f"{name} -> {use}" for name in order for use in drawn[name] if order.index(use) >= order.index(name)
    ]
    assert not upward, "the table goes from the bottom to the top"


def test_no_arrow_is_declared_and_not_used(root: Path) -> None:
    """An arrow in a manifest that no file follows makes the table say more than the code."""
    crates = manifests(root)
    idle = []
    for name, manifest in crates.items():
        text = "\n".join(path.read_text("utf-8") for path in (root / "crates" / name).rglob("*.rs"))
        needs = set(manifest.get("dependencies", {})) & set(crates)  # type: ignore[call-overload]
        idle += [f"{name} -> {need}" for need in sorted(needs) if not re.search(rf"\b{need}::", text)]
    assert not idle


def test_no_hash_maps(root: Path) -> None:
    """Law 5: nothing may depend on the order of a hash map. Clippy denies them, for good."""
    found = [
        f"{path.relative_to(root)}:{number}"
        for path in rust_sources(root)
        for number, line in enumerate(without_tests(path.read_text("utf-8")), 1)
        if re.search(r"\bHash(Map|Set)\b", line.partition("//")[0]) or "disallowed_types" in line
    ]
    assert not found


def test_clippy_denies_hash_maps(root: Path) -> None:
    """The check above reads text; this is the one that reads types."""
    denied = {
        entry["path"]
        for entry in tomllib.loads((root / "clippy.toml").read_text("utf-8"))["disallowed-types"]
    }
    assert denied >= {"std::collections::HashMap", "std::collections::HashSet"}
    lints = tomllib.loads((root / "Cargo.toml").read_text("utf-8"))["workspace"]["lints"]["clippy"]
    assert lints["disallowed_types"] == "deny"
    lax = [name for name, manifest in manifests(root).items() if manifest.get("lints") != {"workspace": True}]
    assert not lax


def test_files_are_short(root: Path) -> None:
    """Section 4: a file past about 500 lines without its tests wants splitting along its own seams."""
    sources = [*rust_sources(root), *root.glob("python/penstock/**/*.py"), *root.glob("tools/*.py")]
    sources += [*root.glob("viewer/src/**/*.ts"), *root.glob("viewer/src/**/*.svelte")]
    sources = [path for path in sources if "Made by `make docs`" not in path.read_text("utf-8")]
    lengths = {path: len(without_tests(path.read_text("utf-8"))) for path in sources}
    long = {
        str(path.relative_to(root)): lines for path, lines in lengths.items() if lines > LONGEST_FILE_LINES
    }
    assert not long


INNER = re.compile(
    r'include_str!\("\w+/(\w+\.rs)"\)|, "(\w+)"(?:, FeedbackKind::\w+)?;$|'
    r'^ +"(\w+)": \w+\(\w+\), (?:true|false)',
    re.MULTILINE,
)
"""Entries of a registry beside a folder of its own."""


def registered(library: Path) -> set[Path]:
    """The files that the registry in a crate's lib.rs, or one beside a folder of its own, makes pages of."""
    found = REGISTRY.findall(library.read_text("utf-8"))
    files = {library.with_name(file or f"{name or entry}.rs") for _, file, name, entry in found}
    for inner in (path for path in library.parent.glob("*.rs") if path.with_suffix("").is_dir()):
        entries = INNER.findall(inner.read_text("utf-8"))
        files |= {inner.with_suffix("") / (file or f"{name or other}.rs") for file, name, other in entries}
    return files


def libraries(root: Path) -> list[Path]:
    found = [root / "crates" / crate / "src/lib.rs" for crate in MECHANISM_CRATES]
    return [library for library in found if library.exists()]


def labels(path: Path) -> set[str]:
    """Which of the paragraphs that every mechanism has begin in the comment of a file."""
    text = path.read_text("utf-8")
    return {label for label in ("Source:", "Not modelled:") if f"\n//! {label}" in text}


def test_every_mechanism_names_its_source_and_what_it_leaves_out(root: Path) -> None:
    """Laws 2 and 9: the comment of the file says whence it comes and what it does not model."""
    files = {path for library in libraries(root) for path in registered(library)}
    assert len(files) >= 6
    lacking = {
        str(path.relative_to(root)): missing
        for path in sorted(files)
        if (missing := {"Source:", "Not modelled:"} - labels(path))
    }
    assert not lacking


def test_every_mechanism_is_registered(root: Path) -> None:
    """Law 2: the registry line makes name, documentation and `penstock explain`.

    A file that says both is a mechanism; what mechanisms share says one of them at most.
    """
    left_out = [
        str(path.relative_to(root))
        for library in libraries(root)
        for path in sorted(
            {*library.parent.glob("*.rs"), *library.parent.glob("*/*.rs")} - registered(library)
        )
        if labels(path) == {"Source:", "Not modelled:"}
    ]
    assert not set(left_out) - SHARED


def test_comments_say_what_a_thing_is(root: Path) -> None:
    """A doc comment that begins with "The same" makes its reader look for what it is the same as."""
    sources = [*root.glob("crates/*/**/*.rs"), *root.glob("python/penstock/**/*.py")]
    assert sources
    for source in sources:
        lines = source.read_text("utf-8").splitlines()
        for before, line in zip(["", *lines], lines, strict=False):
            expected = line.lstrip()
            opens = expected.startswith("/// The same") and not before.lstrip().startswith("///")
            assert not (opens or expected.startswith('"""The same')), (
                f"{source.relative_to(root)}: {expected}"
            )


def test_libraries_do_not_print(root: Path) -> None:
    """Law 1: mechanisms do no I/O. Clippy denies print, and no file may allow it again."""
    allowed = [
        str(path.relative_to(root))
        for path in root.glob("crates/*/src/**/*.rs")
        if re.search(r"allow\(clippy::(print_stdout|print_stderr|disallowed)", path.read_text("utf-8"))
    ]
    assert not allowed


def test_functions_are_short_and_take_few_arguments(root: Path) -> None:
    """Clippy counts arguments and lines, and no file may allow more. (`test_modules.py` checks Python.)"""
    settings = tomllib.loads((root / "clippy.toml").read_text("utf-8"))
    assert settings["too-many-lines-threshold"] <= 60
    assert settings.get("too-many-arguments-threshold", 7) <= 7
    sources = [path for folder in ("crates", "benches", "fuzz") for path in root.glob(f"{folder}/**/*.rs")]
    allowed = [
        path for path in sources if re.search(r"(allow|expect)\(clippy::too_many", path.read_text("utf-8"))
    ]
    assert not allowed
    crates = root.glob("crates/*/src/lib.rs")
    assert not [path for path in crates if "warn(clippy::too_many_lines)" not in path.read_text("utf-8")]


def test_unsafe_is_denied(root: Path) -> None:
    """Nothing here needs it: what was measured gained 2 to 10 % at most."""
    lints = tomllib.loads((root / "Cargo.toml").read_text("utf-8"))["workspace"]["lints"]["rust"]
    assert lints["unsafe_code"] in {"deny", "forbid"}


def test_only_across_reads_the_far_end_of_a_link(root: Path) -> None:
    """A node affects only itself: the port number inside a ``PeerIx`` is private to ``run/across``."""
    run = root / "crates/fabric/src/run"
    assert "pub(crate) struct PeerIx(pub(super) PortIx);" in (run / "across/peer.rs").read_text("utf-8")
    for path in run.rglob("*.rs"):
        text = path.read_text("utf-8")
        assert path.parent.name == "across" or "PeerIx(" not in text, path


def test_sources_that_the_page_names_exist(root: Path) -> None:
    """A path in full, and in a table of the path of a frame or of a key the function in that file."""
    pages = [root / "docs/architecture.md", root / "docs/internals.md"]
    page = "\n".join(one.read_text("utf-8") for one in pages)
    named = set(re.findall(r"`(crates/[\w/]+\.rs)`", page))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (root / path).exists()] == []
    rows = re.findall(r"^\| .* \| `(\S+\.rs)` \| `(\w+)` \|$", page, re.MULTILINE)
    assert len(rows) > 10
    for file, name in rows:
        path = root / file if "/" in file else root / "crates/fabric/src/run/steps" / file
        assert re.search(rf"\b{name}\b", path.read_text("utf-8")), (file, name)


def test_watermarks_are_stored_once(root: Path) -> None:
    """A port has its watermarks at its ingress counter or at its queues, and nowhere else."""
    stored = [
        path.name
        for path in (root / "crates/fabric/src/run").rglob("*.rs")
        if re.search(r"^use flow_control::pfc::.*\bLevels\b", text := path.read_text("utf-8"), re.MULTILINE)
        and re.search(r"^ +(pub )?\w+: (Vec<)?Levels>?,$", text, re.MULTILINE)
    ]
    assert sorted(stored) == ["ingress.rs", "pause_sender.rs"]


def test_the_overview_is_two_pages(root: Path) -> None:
    """The first pages for a newcomer are short; details are in docs/internals.md."""
    assert len((root / "docs/architecture.md").read_text("utf-8").split()) < 1600
