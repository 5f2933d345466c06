"""Draws the imports between rooms (top-level packages or crates) in Python and Rust, and fails on a cycle.

    python tools/modules.py                 lists the rooms and the rooms that each uses
    python tools/modules.py --draw FILE     writes the drawing as well (SVG, PNG or PDF)

A room of Python is a package or a module directly below `python/penstock`. All imports count, including those
inside functions and those for type checkers only. A room of Rust is a crate, and its edges are the
dependencies in its `Cargo.toml`. Within the two largest crates, a room is a top-level module. The exit code
is 1 if there is a cycle, or if the package has more than ten top-level modules.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_AT_THE_TOP = 11
LARGE_CRATES = ("fabric", "scenario")
Graph = dict[str, set[str]]


def main() -> int:
    """Lists, draws and checks the imports."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draw", type=Path, metavar="FILE")
    options = parser.parse_args()
    package = ROOT / "python" / "penstock"
    graphs = {"Python": rooms(imports(package)), "Rust": crates(ROOT)}
    graphs |= {f"within {name}": inside(ROOT / "crates" / name) for name in LARGE_CRATES}
    found = problems(package, graphs)
    for title, graph in graphs.items():
        print(title)
        for room in ordered(graph):
            print(f"  {room:<12} {' '.join(sorted(graph[room])) or '-'}")
    if options.draw is not None:
        draw({title: graph for title, graph in graphs.items() if circle(graph) is None}, options.draw)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


def problems(package: Path, graphs: Mapping[str, Graph]) -> list[str]:
    """Returns the problems, one line each."""
    found = [
        f"{title}: a cycle: {' -> '.join(way)}"
        for title, graph in graphs.items()
        if (way := circle(graph)) is not None
    ]
    top = sorted(path.name for path in package.glob("*.py*") if path.suffix in {".py", ".pyi"})
    if len(top) > MOST_AT_THE_TOP:
        found.append(
            f"{len(top)} modules at the top of the package, at most {MOST_AT_THE_TOP}: {', '.join(top)}"
        )
    return found


def imports(package: Path) -> Graph:
    """Returns every module of the package with the modules of the package that it imports."""
    files = {_name(path, package): path for path in sorted(package.rglob("*.py"))}
    names = {*files, *(_name(path, package) for path in package.rglob("*.pyi"))}
    return {name: set(_imported(name, path, names)) for name, path in files.items()}


def rooms(modules: Mapping[str, Iterable[str]]) -> Graph:
    """Returns the edges between rooms, grouping modules by the second part of their names."""
    graph: Graph = {}
    for module, used in modules.items():
        own = _room(module)
        graph.setdefault(own, set()).update(room for room in map(_room, used) if room != own)
    for used in list(graph.values()):
        for room in used:
            graph.setdefault(room, set())
    return graph


def crates(root: Path) -> Graph:
    """Returns the crates of the workspace with the crates that each depends on."""
    manifests = {
        path.parent.name: tomllib.loads(path.read_text("utf-8")) for path in root.glob("crates/*/Cargo.toml")
    }
    return {
        name: {other for other in manifest.get("dependencies", {}) if other in manifests}
        for name, manifest in manifests.items()
    }


def inside(crate: Path) -> Graph:
    """Returns the top modules of a crate with the top modules that each refers to, without tests."""
    tops = {path.stem for path in crate.glob("src/*.rs")} - {"lib"}
    graph: Graph = {name: set() for name in tops}
    for path in crate.glob("src/**/*.rs"):
        own = path.relative_to(crate / "src").parts[0].removesuffix(".rs")
        if own in tops:
            code = path.read_text("utf-8").partition("#[cfg(test)]")[0]
            code = "\n".join(line for line in code.split("\n") if not line.lstrip().startswith("//"))
            graph[own] |= ({*re.findall(r"\bcrate::(\w+)", code)} & tops) - {own}
            for group in re.findall(r"\bcrate::\{([^}]*)\}", code):
                graph[own] |= ({*re.findall(r"\w+", group)} & tops) - {own}
    return graph


def circle(graph: Graph) -> list[str] | None:
    """Returns a cycle, from a room back to itself, or ``None``."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


def ordered(graph: Graph) -> list[str]:
    """Returns the rooms from bottom to top, or by name if there is a cycle."""
    return sorted(graph) if circle(graph) else sorted(graph, key=lambda room: (level(graph)[room], room))


def level(graph: Graph) -> dict[str, int]:
    """Length of the longest path below each room."""
    levels: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        levels[room] = 1 + max((levels[used] for used in graph[room]), default=-1)
    return levels


def draw(graphs: Mapping[str, Graph], file: Path) -> None:
    """Draws one panel per graph: every edge points down, and transitive edges are left out."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5 * max(len(graphs), 1), 8), layout="constrained")
    for axes, (title, graph) in zip(
        figure.subplots(1, len(graphs), squeeze=False)[0], graphs.items(), strict=True
    ):
        levels = level(graph)
        places: dict[str, tuple[float, float]] = {}
        for height in sorted(set(levels.values())):
            row = sorted(room for room in graph if levels[room] == height)
            places |= {
                room: (index - (len(row) - 1) / 2 + 0.2 * (height % 2), height)
                for index, room in enumerate(row)
            }
        for room, used in _direct(graph).items():
            for other in used:
                arrow = {"arrowstyle": "-|>", "color": "#8a8f98", "shrinkA": 12, "shrinkB": 12}
                axes.annotate("", places[other], places[room], arrowprops=arrow)
        for room, place in places.items():
            box = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "#333333"}
            axes.annotate(room, place, ha="center", va="center", fontsize=9, bbox=box)
        reach = max((abs(x) for x, _ in places.values()), default=0) + 0.7
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-0.6, max(levels.values(), default=0) + 0.6)
        axes.set_title(title)
        axes.set_axis_off()
    file.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "penstock"}):
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def _direct(graph: Graph) -> Graph:
    """Returns the edges that are not implied by a longer path (the transitive reduction)."""
    below: Graph = {}
    for room in TopologicalSorter(graph).static_order():
        below[room] = graph[room].union(*(below[used] for used in graph[room]))
    return {
        room: {one for one in used if not any(one in below[o] for o in used)} for room, used in graph.items()
    }


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _imported(module: str, path: Path, names: set[str]) -> Iterator[str]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            home = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{home}.{alias.name}"
                if full in names:
                    yield full
                elif home in names:
                    yield home


if __name__ == "__main__":
    raise SystemExit(main())
