"""Prints the packages in pyproject.toml, one per line.

    python tools/extra.py dev        packages of an optional extra, such as `dev`
    python tools/extra.py --run      runtime dependencies
    python tools/extra.py --build    build dependencies

Installing these packages by name leaves the installed Penstock alone; `pip install .[dev]` would rebuild it.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

manifest = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
match sys.argv[1]:
    case "--run":
        packages = manifest["project"]["dependencies"]
    case "--build":
        packages = manifest["build-system"]["requires"]
    case extra:
        packages = manifest["project"]["optional-dependencies"][extra]
print("\n".join(packages))
