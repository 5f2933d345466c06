"""What CONTRIBUTING says of a new scheduler is enough: a copy of the tree with one more compiles and runs."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests/house/mechanism"
REGISTRY = ROOT / "crates/scheduling/src/lib.rs"
OWN_VERSION = re.compile(r'(?<=\nversion = ")[\d.]+(?="\n(?!source))')
"""Of the workspace in its manifest, and of its packages in the lock file."""
STEPS = re.compile(r"^   ```rust\n(?P<text>.*?)^   ```$", re.MULTILINE | re.DOTALL)


def steps() -> tuple[str, list[str]]:
    """The parameters that CONTRIBUTING shows, and the lines that it says to add to the registry."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## A scheduler\n")[2]
    parameters, lines = (textwrap.dedent(step["text"]) for step in list(STEPS.finditer(section))[:2])
    return parameters, lines.splitlines()


def test_contributing_shows_the_example() -> None:
    parameters, _ = steps()
    assert parameters in (EXAMPLE / "turns.rs").read_text("utf-8")


def test_a_scheduler_is_a_file_and_its_lines_in_the_registry() -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
    # One place, kept: what has not changed since the last time is not compiled again.
    copy = target / "mechanism"
    _mirror(ROOT, copy)
    _write(copy / "crates/scheduling/src/turns.rs", (EXAMPLE / "turns.rs").read_text("utf-8"))
    registry = _with_lines(REGISTRY.read_text("utf-8"), steps()[1])
    _write(copy / "crates/scheduling/src/lib.rs", registry)
    for file in ("turns.toml", "turns_in_a_scenario.rs"):
        _write(copy / "crates/scenario/tests" / file, (EXAMPLE / file).read_text("utf-8"))
    _cargo(copy, target, "test", "-p", "scheduling", "--lib", "turns")
    _cargo(copy, target, "test", "-p", "scenario", "--test", "turns_in_a_scenario")


def _mirror(source: Path, copy: Path) -> None:
    """The Rust of the tree, with the times of its files, and nothing that the tree does not have."""
    wanted = {Path("Cargo.toml"), Path("Cargo.lock")}
    for folder in ("crates", "benches"):
        wanted |= {
            path.relative_to(source)
            for pattern in ("*.rs", "*.toml")
            for path in (source / folder).rglob(pattern)
            if not {"target", "node_modules"} & set(path.parts[len(source.parts) :])
        }
    if copy.exists():
        for path in copy.rglob("*.rs"):
            if path.relative_to(copy) not in wanted and "turns" not in path.name:
                path.unlink()
    for path in wanted - {REGISTRY.relative_to(ROOT)}:
        there, text = copy / path, (source / path).read_text("utf-8")
        if len(path.parts) == 1:
            # Cargo knows what it compiles by version and place in the workspace; the copy is something else.
            text, versions = OWN_VERSION.subn(r"\g<0>-copy", text)
            assert versions
        there.parent.mkdir(parents=True, exist_ok=True)
        _write(there, text)


def _with_lines(text: str, lines: list[str]) -> str:
    """The registry with a module, and an entry at the end of its list."""
    module, *entry = lines
    assert module.startswith("mod ") and "mod vc_table;\n" in text
    text = text.replace("mod vc_table;\n", f"{module}\nmod vc_table;\n")
    head, brace, tail = text.rpartition("    }\n}\n\nimpl SchedulerSpec {")
    assert brace, "the list of schedulers ends elsewhere"
    return head + "".join(f"        {line}\n" for line in entry) + brace + tail


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def _cargo(copy: Path, target: Path, *arguments: str) -> None:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    # What the tree depends on is compiled already; the rest only as well as it takes no time.
    crates = [path.parent.name for path in copy.glob("crates/*/Cargo.toml")]
    quick = [
        f"--config=profile.dev.package.{crate}.{setting}"
        for crate in crates
        if crate != "python"
        for setting in ("opt-level=0", "debug=false")
    ]
    command = ["cargo", *arguments, "--quiet", "--offline", *quick]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 passed" not in done.stdout.partition("test result")[2].splitlines()[0], done.stdout
