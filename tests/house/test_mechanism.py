"""The steps in CONTRIBUTING suffice: a copy of the tree with one more of each kind compiles and runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.cli.mechanism import KINDS, STEPS, Example
from penstock.studies.reproduce import Study, reproduce

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "tests/house/mechanism"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
OWN_VERSION = re.compile(r'(?<=\nversion = ")[\d.]+(?="\n(?!source))')
"""Of the workspace in its manifest, and of its packages in the lock file."""

ADDED = [*KINDS.values()]


COLUMN = "crates/fabric/src/tables/queues.rs"
STAGE = Example("A stage of a port", "shortening", "stages", "crates/fabric/src/run/steps/stages.rs")
STAGES = "crates/fabric/src/run/state/stages.rs"


def with_stage(module: str, listed: str) -> tuple[str, str]:
    """The files with the modules of stages and their list, with the sample stage behind the credits."""
    declared, *entry = STAGE.steps(CONTRIBUTING)[1]
    module, modules = re.subn(r"^mod ", f"{declared}\nmod ", module, count=1, flags=re.MULTILINE)
    lines = "".join(f"            {line}\n" for line in entry)
    listed, entries = re.subn(r"^( +CREDITS: .*;\n)", rf"\g<1>{lines}", listed, flags=re.MULTILINE)
    assert (declared, modules, entries) == (f"mod {STAGE.file};", 1, 1)
    return module, listed


def with_column(text: str) -> str:
    """The file of a table with the column of CONTRIBUTING: its declaration and its values."""
    section = CONTRIBUTING.partition("\n## A result column\n")[2].partition("\n## ")[0]
    assert Path(COLUMN).name in section
    declaration, values = (textwrap.dedent(step["text"]).strip() for step in STEPS.finditer(section))
    neighbour = re.compile(r'^( +)integer\("bytes", .*\),\n', re.MULTILINE)
    text, declared = neighbour.subn(lambda found: f"{found[0]}{found[1]}{declaration}\n", text)
    text, computed = re.subn(r'^( +)(?=\.integers\("bytes", )', rf"\1{values}\n\1", text, flags=re.MULTILINE)
    assert (declared, computed) == (1, 1)
    return text


@pytest.mark.parametrize("example", [*ADDED, STAGE], ids=lambda example: example.file)
def test_contributing_shows_the_example(example: Example) -> None:
    assert example.steps(CONTRIBUTING)[0] in (EXAMPLES / f"{example.file}.rs").read_text("utf-8")


def test_a_mechanism_is_a_file_and_its_lines_in_the_registry() -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
    # One place, kept: what has not changed since the last time is not compiled again.
    copy = target / "mechanism"
    changed: dict[str, str] = {}
    for one in ADDED:
        home = changed.get(one.home) or (ROOT / one.home).read_text("utf-8")
        changed[one.home] = one.with_entry(home, one.steps(CONTRIBUTING)[1])
        changed[one.path()] = (EXAMPLES / f"{one.file}.rs").read_text("utf-8")
    texts = [(ROOT / home).read_text("utf-8") for home in (STAGE.home, STAGES)]
    changed[STAGE.home], changed[STAGES] = with_stage(*texts)
    changed[STAGE.path()] = (EXAMPLES / f"{STAGE.file}.rs").read_text("utf-8")
    changed[COLUMN] = with_column((ROOT / COLUMN).read_text("utf-8"))
    for file in ("added.toml", "added_in_a_scenario.rs"):
        changed[f"crates/scenario/tests/{file}"] = (EXAMPLES / file).read_text("utf-8")
    _mirror(ROOT, copy, changed)
    schema = target / "mechanism.schema.json"
    _cargo(copy, target, schema)
    _reaches_the_builder(schema)


@pytest.mark.parametrize("example", ["foreign", "foreign_whole"])
def test_a_step_that_touches_another_node_does_not_compile(example: str) -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
    step = (EXAMPLES / f"{example}.rs").read_text("utf-8")
    steps = "crates/fabric/src/run/steps"
    modules = (ROOT / f"{steps}.rs").read_text("utf-8")
    assert f"pub(crate) mod {example};" not in modules
    changed = {f"{steps}/{example}.rs": step, f"{steps}.rs": f"{modules}pub(crate) mod {example};\n"}
    copy = target / "ownership"
    _mirror(ROOT, copy, changed)
    done = subprocess.run(
        ["cargo", "check", "--locked", "--quiet", "--package=fabric", "--message-format=json"],
        cwd=copy,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    found = set()
    for line in done.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        for span in message.get("spans", []):
            if message["level"] == "error" and span["is_primary"]:
                assert span["file_name"] == f"{steps}/{example}.rs", message["rendered"]
                found.add((span["line_start"], message["code"]["code"]))
    expected = {
        (number, code[1])
        for number, text in enumerate(step.splitlines(), 1)
        if (code := re.search(r"// (E\d{4})$", text))
    }
    assert len(expected) >= 2
    assert found == expected


def _reaches_the_builder(schema: Path) -> None:
    """The Python builder of the copy has the keys that the copy declares."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import builder
    finally:
        sys.path.pop(0)
    keys = builder.files(json.loads(schema.read_text("utf-8")))["keys.py"]
    for line in (
        "    turns: TurnsKeys\n",
        "    most: str | None\n",
        "    nth: NthKeys | None\n",
        "class MeshKeys(",
        "    stop_go: StopGoKeys\n",
    ):
        assert line in keys


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_writes_a_mechanism(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file has the new name in all its forms, and the list its lines; the old name is nowhere."""
    example = KINDS[kind]
    sources = ["CONTRIBUTING.md", example.home, f"tests/house/mechanism/{example.file}.rs"]
    for name in sources:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--mechanism", kind, "my_own"]) == 0
    made = (tmp_path / example.path("my_own")).read_text("utf-8")
    old = "".join(part.capitalize() for part in example.file.split("_"))
    assert "MyOwn" in made and not re.search(rf"\b{old}(?=[A-Z]|\b)", made)
    before, after = ((folder / example.home).read_text("utf-8") for folder in (ROOT, tmp_path))
    lines = [line for line in after.splitlines() if line not in before.splitlines()]
    assert "mod my_own;" in lines and any("MyOwn" in line for line in lines)
    capsys.readouterr()
    assert main(["new", "--mechanism", kind, "my_own"]) == 2
    assert "exists; choose another name" in capsys.readouterr().err
    assert main(["new", "--mechanism", kind, "My-Own"]) == 2
    assert main(["new", "--mechanism", f"{kind}s", "other"]) == 2
    assert f"did you mean {kind}" in capsys.readouterr().err


def test_a_study_is_a_folder(tmp_path: Path) -> None:
    study = Study.load(EXAMPLES / "example/loss")
    result = reproduce(study, tmp_path / "out", quick=True)
    assert result.passed
    assert (tmp_path / "out/outcomes.json").exists()


def _mirror(source: Path, copy: Path, changed: dict[str, str]) -> None:
    """The Rust of the tree with these files, with the times of what is as it was, and nothing else."""
    wanted = {Path("Cargo.toml"), Path("Cargo.lock"), Path("crates/scenario/src/scenario.schema.json")}
    for folder in ("crates", "benches", "fuzz"):
        wanted |= {
            path.relative_to(source)
            for pattern in ("*.rs", "*.toml")
            for path in (source / folder).rglob(pattern)
            if not {"target", "node_modules"} & set(path.parts[len(source.parts) :])
        }
    if copy.exists():
        for path in copy.rglob("*.rs"):
            if path.relative_to(copy) not in wanted and str(path.relative_to(copy)) not in changed:
                path.unlink()
    texts = {str(path): (source / path).read_text("utf-8") for path in wanted}
    for name in ("Cargo.toml", "Cargo.lock"):
        # Cargo knows what it compiles by version and place in the workspace; the copy is something else.
        texts[name], versions = OWN_VERSION.subn(r"\g<0>-copy", texts[name])
        assert versions
    for name, text in {**texts, **changed}.items():
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _cargo(copy: Path, target: Path, schema: Path) -> None:
    """Runs the tests of what was added, in one go: another choice of packages compiles all anew."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "SCHEMA": str(schema)}
    # What the tree depends on is compiled already; the rest only as well as it takes no time.
    crates = [path.parent.name for path in copy.glob("crates/*/Cargo.toml")]
    quick = [
        f"--config=profile.dev.package.{crate}.{setting}"
        for crate in crates
        if crate != "python"
        for setting in ("opt-level=0", "debug=false")
    ]
    # The package of Python is named for its features, which are those of the whole workspace.
    packages = [f"--package={one}" for one in sorted({one.crate for one in ADDED} | {"scenario", "penstock"})]
    tests = [f"{one.file}::" for one in ADDED] + re.findall(
        r"#\[test\]\nfn (\w+)", (EXAMPLES / "added_in_a_scenario.rs").read_text("utf-8")
    )
    command = ["cargo", "test", "--locked", *quick, *packages, "--features", "scenario/generate"]
    command += ["--lib", "--test", "added_in_a_scenario"]
    done = subprocess.run(
        [*command, "--", *tests], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for test in tests:
        assert re.search(rf"^test (\w+::)*{test}(\w+::)*\w* ?\.\.\. ok$", done.stdout, re.MULTILINE), (
            done.stdout
        )
