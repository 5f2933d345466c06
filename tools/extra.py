"""Prints the packages of an optional extra of pyproject.toml, such as `dev`, one a line.

Installing them by name leaves the installed Penstock alone; `pip install .[dev]` would build it again.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
print("\n".join(project["optional-dependencies"][sys.argv[1]]))
