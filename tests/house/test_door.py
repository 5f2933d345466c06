"""One door to the terminal: what is printed comes from files of others, and goes through `cli/console.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python/penstock"
DOOR = PACKAGE / "cli/console.py"
OUTPUTS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def past_the_door(source: str) -> Iterator[str]:
    """Lines of a module that may print by themselves."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            if any(name.partition(".")[0] in ("rich", "curses") for name in names):
                yield f"{node.lineno}: imports {', '.join(filter(None, names))}"
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            logs = called.startswith("logging.") or ".getLogger(" in called
            if logs and called.rpartition(".")[2] not in ("getLogger", "setLevel", "disable"):
                yield f"{node.lineno}: calls {called}"
            if called == "print" or called in ("warnings.warn", "os.write", "traceback.print_exc"):
                yield f"{node.lineno}: calls {called}"
            written = any(
                called == f"sys.{stream}.{how}" for stream in OUTPUTS for how in ("write", "writelines")
            )
            if written and not all(isinstance(argument, ast.Constant) for argument in node.args):
                yield f"{node.lineno}: calls {called} with a text that may be of others"
            if any(ast.unparse(one) in {f"sys.{stream}" for stream in OUTPUTS} for one in node.args):
                yield f"{node.lineno}: hands an output on"


def test_no_module_prints_past_the_door() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path != DOOR
        for line in past_the_door(path.read_text("utf-8"))
    }
    assert not found, "what is printed goes through cli/console.py"


@pytest.mark.parametrize(
    "line",
    [
        "print(name)",
        "sys.stdout.write(name)",
        "sys.stderr.write(f'{name}')",
        "from rich.console import Console",
        "import rich",
        "def f():\n    from rich import print",
        "warnings.warn(name)",
        "logging.error(name)",
        "logging.getLogger('x').warning(name)",
        "print_it(sys.stdout, name)",
    ],
)
def test_each_way_past_the_door_is_found(line: str) -> None:
    assert list(past_the_door(line))


def test_no_text_passes_the_door_as_it_is() -> None:
    """Within the door, what goes to a stream is made visible first, or is a constant, or JSON."""
    tree = ast.parse(DOOR.read_text("utf-8"))
    writes = [
        ast.unparse(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".write")
    ]
    assert len(writes) >= 4
    assert all("visible(" in text or "_escaped" in text for text in writes), writes
    texts = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [text for text in texts if text.startswith("Text(")]
    assert made == ["Text(visible(text, keep), style=style)"]
    consoles = [text for text in texts if text.startswith("Console(")]
    assert consoles == ["Console(highlight=False, markup=False, emoji=False, **options)"]
