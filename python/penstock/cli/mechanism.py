"""``penstock new --mechanism``: adds a mechanism to a checkout, from the examples of CONTRIBUTING.md."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError
from penstock.library import suggestion

from . import EXIT_DONE
from .console import console

EXAMPLES = Path("tests/house/mechanism")
GUIDE = Path("CONTRIBUTING.md")
STEPS = re.compile(r"^   ```rust\n(?P<text>.*?)^   ```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclass(frozen=True)
class Example:
    """Example of a kind of mechanism: its section, name, registry and the file of the registry.

    Attributes
    ----------
    section : str
        Heading in CONTRIBUTING.md.
    file : str
        Name of the example in `tests/house/mechanism`, without its extension.
    registry : str
        Macro that holds the list.
    home : str
        File that holds the list.
    more : tuple of str
        Additional lists. Their entries precede those of the registry and have the same number of lines each.
    """

    section: str
    file: str
    registry: str
    home: str
    more: tuple[str, ...] = ()

    @property
    def crate(self) -> str:
        """Crate that contains the mechanism."""
        return self.home.split("/")[1]

    def path(self, name: str = "") -> str:
        """Path of the mechanism's file: next to the list, or in the folder named after the list."""
        inner = self.home.endswith("/lib.rs")
        folder = self.home.removesuffix("/lib.rs") if inner else self.home.removesuffix(".rs")
        return f"{folder}/{name or self.file}.rs"

    def steps(self, guide: str) -> tuple[str, list[str]]:
        """Code of the example in the guide, if any, and the lines to add to the lists."""
        section = guide.partition(f"\n## {self.section}\n")[2].partition("\n## ")[0]
        *shown, lines = (textwrap.dedent(step["text"]) for step in STEPS.finditer(section))
        return "".join(shown), lines.splitlines()

    def with_entry(self, text: str, lines: list[str]) -> str:
        """Returns the text of `home` with the module added, and an entry at the end of each list."""
        entries = [line for line in lines if not line.startswith(("mod ", "use ", "pub use "))]
        module = "\n".join(line for line in lines if line not in entries)
        text = re.sub(r"^(pub )?mod ", rf"{module}\n\g<0>", text, count=1, flags=re.MULTILINE)
        lists = [*self.more, self.registry]
        size = len(entries) // len(lists)
        for number, registry in enumerate(lists):
            text = _added(text, registry, entries[number * size : (number + 1) * size])
        return text


def _added(text: str, registry: str, entry: list[str]) -> str:
    """Returns the text with these lines added at the end of the list."""
    head, name, listed = text.rpartition(f"\n{registry}! {{\n")
    end = re.search(r"^(    \}\n)?\}\n", listed, re.MULTILINE)
    if not name or end is None:
        raise InputError(f"{registry}! has no list; expected it as in {GUIDE}")
    added = "".join(f"    {line}\n" for line in entry)
    return head + name + listed[: end.start()] + added + listed[end.start() :]


KINDS = {
    "scheduler": Example("A scheduler", "turns", "schedulers", "crates/scheduling/src/lib.rs"),
    "queue-manager": Example("A queue manager", "nth", "queue_managers", "crates/queueing/src/lib.rs"),
    "flow-control": Example("A flow control", "stop_go", "flow_controls", "crates/flow_control/src/lib.rs"),
    "control": Example("A congestion control", "halving", "controllers", "crates/transport/src/lib.rs"),
    "rdma-control": Example(
        "A congestion control of RDMA", "brake", "rdma_controls", "crates/transport/src/rdma.rs"
    ),
    "application": Example(
        "An application", "ping", "applications", "crates/transport/src/lib.rs", ("endpoints",)
    ),
    "transport": Example("A transport", "stop_and_wait", "transports", "crates/transport/src/lib.rs"),
    "arrivals": Example("An arrival process", "pairs", "arrivals", "crates/workload/src/lib.rs"),
    "topology": Example("A topology", "mesh", "topologies", "crates/fabric/src/spec/topology.rs"),
    "sizes": Example("A distribution of sizes", "photos", "published", "crates/workload/src/published.rs"),
}
"""Kinds of mechanisms that consist of one file and entries in a list."""


def new_mechanism(kind: str, name: str, root: Path = Path()) -> int:
    """Copies the example of a kind under a new name, and registers it.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    name : str
        Name of the mechanism: lower-case letters, digits and _, such as "my_control".
    root : Path
        Root of the checkout.

    Raises
    ------
    InputError
        If the kind is unknown, the name is invalid or taken, or the directory is not a checkout. In these
        cases nothing is written.
    """
    if kind not in KINDS:
        raise InputError(f"--mechanism {kind}: unknown kind; {suggestion(kind, KINDS)}")
    if _NAME.fullmatch(name) is None:
        raise InputError(f"{name}: expected lower-case letters, digits and _, such as my_control")
    example = KINDS[kind]
    source, home, file = (
        root / EXAMPLES / f"{example.file}.rs",
        root / example.home,
        root / example.path(name),
    )
    if not (source.is_file() and home.is_file() and (root / GUIDE).is_file()):
        raise InputError(f"{root.absolute()} is not a checkout of Penstock: it has no {EXAMPLES}")
    if file.exists():
        raise InputError(f"{file}: exists; choose another name")
    lines = example.steps((root / GUIDE).read_text("utf-8"))[1]
    text = example.with_entry(home.read_text("utf-8"), [renamed(line, example.file, name) for line in lines])
    file.parent.mkdir(exist_ok=True)
    file.write_text(renamed(source.read_text("utf-8"), example.file, name), "utf-8")
    home.write_text(text, "utf-8")
    out = console()
    out.print(f"{file} written, with tests; registered in {home}")
    out.print(f"try it: cargo test -p {example.crate} {name}; make dev")
    out.print(
        f"Next steps: {GUIDE}, section {example.section!r}; keys in crates/scenario/tests/it/unused.toml; "
        "make docs"
    )
    return EXIT_DONE


def renamed(text: str, old: str, new: str) -> str:
    """Code with the name replaced in all its forms: `old_name`, `OldName`, `OLD_NAME`, "Old name"."""

    def title(name: str) -> str:
        return "".join(part.capitalize() for part in name.split("_"))

    for one, other in (
        (title(old), title(new)),
        (old.upper(), new.upper()),
        (old.replace("_", " ").capitalize(), new.replace("_", " ").capitalize()),
    ):
        text = re.sub(rf"\b{one}(?=[A-Z]|\b)", other, text)
    return re.sub(rf"(?<![A-Za-z0-9]){old}(?![a-z0-9])", new, text)
