"""What CONTRIBUTING says is enough: a copy of the tree with one more of each kind compiles and runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.studies.reproduce import Study, reproduce

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "tests/house/mechanism"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
OWN_VERSION = re.compile(r'(?<=\nversion = ")[\d.]+(?="\n(?!source))')
"""Of the workspace in its manifest, and of its packages in the lock file."""
STEPS = re.compile(r"^   ```rust\n(?P<text>.*?)^   ```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One more of a kind: its section, its name, the list that it is added to, and the file of that."""

    section: str
    file: str
    registry: str
    home: str
    more: tuple[str, ...] = ()
    """Further lists, whose entries stand above that of the registry, as many lines each."""

    @property
    def crate(self) -> str:
        """The crate that it is added to."""
        return self.home.split("/")[1]

    @property
    def path(self) -> str:
        """Its file, beside the list or in the folder of the list's name."""
        folder = (
            self.home.removesuffix("/lib.rs")
            if self.home.endswith("/lib.rs")
            else self.home.removesuffix(".rs")
        )
        return f"{folder}/{self.file}.rs"

    def steps(self) -> tuple[str, list[str]]:
        """What the section shows of the file, if it does, and the lines that it says to add to the list."""
        section = CONTRIBUTING.partition(f"\n## {self.section}\n")[2].partition("\n## ")[0]
        *shown, lines = (textwrap.dedent(step["text"]) for step in STEPS.finditer(section))
        return "".join(shown), lines.splitlines()

    def with_entry(self, text: str) -> str:
        """The text of `home` with the module, and an entry at the end of each list."""
        lines = self.steps()[1]
        assert lines[0] == f"mod {self.file};"
        entries = [line for line in lines if not line.startswith(("mod ", "use ", "pub use "))]
        module = "\n".join(line for line in lines if line not in entries)
        text = re.sub(r"^(pub )?mod ", rf"{module}\n\g<0>", text, count=1, flags=re.MULTILINE)
        lists = [*self.more, self.registry]
        size = len(entries) // len(lists)
        for number, registry in enumerate(lists):
            text = _added(text, registry, entries[number * size : (number + 1) * size])
        return text


def _added(text: str, registry: str, entry: list[str]) -> str:
    """The text with these lines at the end of the list."""
    head, name, listed = text.rpartition(f"\n{registry}! {{\n")
    assert name, f"{registry}! is elsewhere"
    end = re.search(r"^(    \}\n)?\}\n", listed, re.MULTILINE)
    assert end
    added = "".join(f"    {line}\n" for line in entry)
    return head + name + listed[: end.start()] + added + listed[end.start() :]


ADDED = [
    Example("A scheduler", "turns", "schedulers", "crates/scheduling/src/lib.rs"),
    Example("A queue manager", "nth", "queue_managers", "crates/queueing/src/lib.rs"),
    Example("A flow control", "stop_go", "flow_controls", "crates/flow_control/src/lib.rs"),
    Example("A congestion control", "halving", "controllers", "crates/transport/src/lib.rs"),
    Example("A congestion control of RDMA", "brake", "rdma_controls", "crates/transport/src/rdma.rs"),
    Example("An application", "ping", "applications", "crates/transport/src/lib.rs", ("endpoints",)),
    Example("A transport", "stop_and_wait", "transports", "crates/transport/src/lib.rs"),
    Example("An arrival process", "pairs", "arrivals", "crates/workload/src/lib.rs"),
    Example("A topology", "mesh", "topologies", "crates/fabric/src/spec/topology.rs"),
    Example("A distribution of sizes", "photos", "published", "crates/workload/src/published.rs"),
]


COLUMN = "crates/fabric/src/tables/queues.rs"
STAGE = Example("A stage of a port", "trimming", "stages", "crates/fabric/src/run/steps/stages.rs")
STAGES = "crates/fabric/src/run/state/stages.rs"


def with_stage(module: str, listed: str) -> tuple[str, str]:
    """The files with the modules of stages and their list, with the sample stage behind the credits."""
    declared, *entry = STAGE.steps()[1]
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
    assert example.steps()[0] in (EXAMPLES / f"{example.file}.rs").read_text("utf-8")


def test_a_mechanism_is_a_file_and_its_lines_in_the_registry() -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
    # One place, kept: what has not changed since the last time is not compiled again.
    copy = target / "mechanism"
    changed: dict[str, str] = {}
    for one in ADDED:
        home = changed.get(one.home) or (ROOT / one.home).read_text("utf-8")
        changed[one.home] = one.with_entry(home)
        changed[one.path] = (EXAMPLES / f"{one.file}.rs").read_text("utf-8")
    texts = [(ROOT / home).read_text("utf-8") for home in (STAGE.home, STAGES)]
    changed[STAGE.home], changed[STAGES] = with_stage(*texts)
    changed[STAGE.path] = (EXAMPLES / f"{STAGE.file}.rs").read_text("utf-8")
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
        ["cargo", "check", "--offline", "--quiet", "--package=fabric", "--message-format=json"],
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
    """What the copy declares is what its Python builder says."""
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
    command = ["cargo", "test", "--offline", *quick, *packages, "--features", "scenario/generate"]
    command += ["--lib", "--test", "added_in_a_scenario"]
    done = subprocess.run(
        [*command, "--", *tests], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for test in tests:
        assert re.search(rf"^test (\w+::)*{test}(\w+::)*\w* ?\.\.\. ok$", done.stdout, re.MULTILINE), (
            done.stdout
        )
