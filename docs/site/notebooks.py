"""Writes a page for each notebook, with its outputs; solutions are folded.

The pages are written into ``docs/classes`` when the site is built, from ``docs/notebooks``.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).parent.parent
NOTEBOOKS = DOCS / "notebooks"
PAGES = DOCS / "classes"
SOLUTION = "solution"
"""Tag of the notebook cells that are folded."""

INDEX = """# Notebooks

Each notebook runs from top to bottom in Jupyter (`pip install "penstock[notebook]"`). Questions have a folded
solution.

```{toctree}
:maxdepth: 1

%s
```
"""


def write(_app: Sphinx) -> None:
    """Rewrites all pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    names = [path.stem for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
    for name in names:
        document = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))
        (PAGES / f"{name}.md").write_text("\n\n".join(page(document, PAGES / name)) + "\n", "utf-8")
    (PAGES / "index.md").write_text(INDEX % "\n".join(names), "utf-8")


def page(document: dict[str, Any], pictures: Path) -> Iterator[str]:
    """Yields the parts of a page; images of outputs are written to `pictures`."""
    folded = False
    for number, cell in enumerate(document["cells"]):
        is_solution = SOLUTION in cell.get("metadata", {}).get("tags", ())
        if is_solution and not folded:
            yield "::::{admonition} Solution\n:class: dropdown"
        if folded and not is_solution:
            yield "::::"
        folded = is_solution
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield text.removeprefix("**Solution.** ") if is_solution else text
            continue
        yield f"```python\n{text}\n```"
        for place, output in enumerate(cell.get("outputs", ())):
            yield from _output(output, pictures / f"{number}-{place}.png")
    if folded:
        yield "::::"


def _output(output: dict[str, Any], picture: Path) -> Iterator[str]:
    data = output.get("data", {})
    if "image/png" in data:
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(base64.b64decode("".join(data["image/png"])))
        yield f"![Output of the cell above]({picture.parent.name}/{picture.name})"
    elif "text/html" in data:
        yield f'```{{raw}} html\n<div class="table-wrapper">{"".join(data["text/html"])}</div>\n```'
    elif text := "".join(data.get("text/plain", output.get("text", ""))):
        yield f"```text\n{text.rstrip()}\n```"


def setup(app: Sphinx) -> dict[str, bool]:
    """Entry point of the Sphinx extension."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
