"""Measures the structure of a folder of Rust sources: largest object, mutual recursion, file cycles.

    python tools/shape.py [CRATE_SRC FOLDER]      default: the steps of the engine

The largest object is the type with the most methods. A cycle of files is a set of files that all depend on
each other, directly or indirectly. Dependencies are imports (`use crate::...`), or calls between the methods
of the largest object and free functions, which do not always need an import. Recursion is counted between
those methods and functions. Sources are parsed as text in rustfmt's layout; test modules and comments are
ignored.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "crates" / "fabric" / "src"
Graph = dict[str, set[str]]

IMPL = re.compile(
    r"^impl(?:<[^{]*?>)? (?:[\w:<>' ,]+ for )?(\w+)[^{;]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
METHOD = re.compile(
    r"^    (?:#\[[^\n]*\n    )*(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?fn (\w+)", re.MULTILINE
)
FUNCTION = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:const )?fn (\w+)(.*?)^\}", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"\b(?:self|fabric|world|here)\s*\.(\w+)\(")
FUNCTION_CALL = re.compile(r"(?<![\w.:])(?:self::)?((?:\w+::)*)(\w+)\(")
USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?use ((?:crate|super|self)[^;]*);", re.MULTILINE)


@dataclass(frozen=True)
class Method:
    """A method of a type, or a free function.

    Attributes
    ----------
    file
        Path of the file, relative to the folder.
    calls
        Names of the methods that it calls on `self`, `fabric`, `world` or `here`.
    functions
        Free functions that it calls, as the module before the name, if any, and the name.
    """

    file: str
    calls: frozenset[str]
    functions: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, file: str, body: str, imported: Mapping[str, str]) -> Method:
        """Parses the calls in a body; `imported` has the module of each imported name."""
        functions = {
            (path.rstrip(":").rpartition("::")[2] or imported.get(name, ""), name)
            for path, name in FUNCTION_CALL.findall(body)
        }
        return cls(file, frozenset(CALL.findall(body)), frozenset(functions))


@dataclass(frozen=True)
class Shape:
    """Structure of a folder.

    Attributes
    ----------
    largest
        Name of the type with the most methods.
    types
        Methods of each type, by name.
    functions
        Free functions, by file and name.
    """

    largest: str
    types: Mapping[str, Mapping[str, Method]]
    functions: Mapping[str, Method]
    imports: Graph

    @property
    def methods(self) -> Mapping[str, Method]:
        """Methods of the largest type, by name."""
        return self.types.get(self.largest, {})

    def calls(self) -> Graph:
        """Returns calls between methods of the largest object and free functions, without self-calls."""
        by_name: defaultdict[str, list[str]] = defaultdict(list)
        for key in self.functions:
            by_name[key.rpartition("::")[2]].append(key)

        def called(key: str, method: Method) -> set[str]:
            found = {*method.calls} & self.methods.keys()
            for module, name in method.functions:
                for other in by_name[name]:
                    file = self.functions[other].file
                    if module == Path(file).stem or (not module and file == method.file):
                        found.add(other)
            return found - {key}

        return {key: called(key, method) for key, method in {**self.functions, **self.methods}.items()}

    def recursion(self) -> list[list[str]]:
        """Groups of mutually recursive methods, largest first."""
        return cycles(self.calls())

    def files_by_calls(self) -> Graph:
        """Returns the files with methods of the largest object, and the files that each calls into."""
        graph: defaultdict[str, set[str]] = defaultdict(set)
        units = {**self.functions, **self.methods}
        for name, called in self.calls().items():
            own = units[name].file
            graph[own] |= {units[other].file for other in called} - {own}
        return dict(graph)

    def cycles_by_calls(self) -> list[list[str]]:
        """Cycles of files by calls, largest first."""
        return cycles(self.files_by_calls())

    def cycles_by_imports(self) -> list[list[str]]:
        """Cycles of files by imports, largest first."""
        return cycles(self.imports)


def main(arguments: list[str]) -> int:
    """Prints the structure, one figure per line."""
    crate, folder = map(Path, arguments) if arguments else (SOURCES, SOURCES / "run")
    shape = measure(crate.resolve(), folder.resolve())
    files = {method.file for method in shape.methods.values()}
    print(f"{shape.largest}: {len(shape.methods)} methods in {len(files)} files")
    for title, groups in (
        ("mutually recursive methods", shape.recursion()),
        ("cycles of files by calls", shape.cycles_by_calls()),
        ("cycles of files by imports", shape.cycles_by_imports()),
    ):
        print(f"{title}: {' '.join(str(len(group)) for group in groups) or 'none'}")
        for group in groups:
            print(f"  {', '.join(group)}")
    return 0


def measure(crate: Path, folder: Path) -> Shape:
    """Parses the sources below `folder`, a module of the crate whose sources are in `crate`."""
    types: defaultdict[str, dict[str, Method]] = defaultdict(dict)
    functions: dict[str, Method] = {}
    for path in sorted(folder.rglob("*.rs")):
        code, file = source(path), path.relative_to(folder).as_posix()
        leaves = [leaf for tree in USE.findall(code) for leaf in expanded(re.sub(r"\s+", "", tree))]
        imported = {leaf.split("::")[-1]: leaf.split("::")[-2] for leaf in leaves if "::" in leaf}
        for block in IMPL.finditer(code):
            parts = METHOD.split(block[2])
            for name, body in zip(parts[1::2], parts[2::2], strict=True):
                types[block[1]][name] = Method.of(file, body, imported)
        for function in FUNCTION.finditer(code):
            functions[f"{file}::{function[1]}"] = Method.of(file, function[2], imported)
    largest = max(types, key=lambda name: len(types[name]), default="")
    return Shape(largest, types, functions, imports(crate, folder))


def source(path: Path) -> str:
    """Returns the code of a file without its test module and comment lines."""
    code = re.split(r"\n#\[cfg\((?:all\()?test", path.read_text("utf-8"))[0]
    return re.sub(r"^\s*//.*$", "", code, flags=re.MULTILINE)


def imports(crate: Path, folder: Path) -> Graph:
    """Returns the files of a folder, and those that each imports from, except ``tests.rs``."""
    files = {_module(path, crate): path for path in sorted(crate.rglob("*.rs")) if path.name != "tests.rs"}
    within = {
        module: path
        for module, path in files.items()
        if folder in path.parents or path == folder.with_suffix(".rs")
    }
    graph: Graph = {"/".join(module): set() for module in within}
    for module, path in within.items():
        for tree in USE.findall(source(path)):
            for leaf in expanded(re.sub(r"\s+", "", tree)):
                target = _absolute(leaf.split("::"), module)
                lengths = range(len(target), 0, -1)
                used = next((target[:length] for length in lengths if target[:length] in files), None)
                if used in within and used != module:
                    graph["/".join(module)].add("/".join(used or ()))
    return graph


def expanded(tree: str) -> list[str]:
    """Yields the paths of an import: ``a::{b,c::{d,e}}`` gives ``a::b``, ``a::c::d`` and ``a::c::e``."""
    at = tree.find("{")
    if at < 0:
        return [tree]
    depth, part, parts = 0, "", []
    for character in tree[at + 1 : -1]:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [path for part in [*parts, part] if part for path in expanded(tree[:at] + part)]


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Returns strongly connected components of several nodes, largest first (Tarjan, iterative)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_nodes: set[str] = set()
    found: list[list[str]] = []
    for root in sorted(graph):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        open_nodes.add(root)
        work = [(root, iter(sorted(graph[root])))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    open_nodes.add(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in open_nodes:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    group = [stack.pop()]
                    while group[-1] != node:
                        group.append(stack.pop())
                    open_nodes.difference_update(group)
                    if len(group) > 1:
                        found.append(sorted(group))
    return sorted(found, key=lambda group: (-len(group), group))


def _module(path: Path, crate: Path) -> tuple[str, ...]:
    parts = path.relative_to(crate).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def _absolute(parts: list[str], module: tuple[str, ...]) -> tuple[str, ...]:
    base = module
    if parts[0] == "crate":
        base, parts = (), parts[1:]
    elif parts[0] == "self":
        parts = parts[1:]
    while parts and parts[0] == "super":
        base, parts = base[:-1], parts[1:]
    return (*base, *parts)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
