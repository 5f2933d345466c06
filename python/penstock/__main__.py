"""The command line: ``python -m penstock`` does what ``penstock`` does."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Runs the command of the process; Ctrl-C ends it without a traceback while it is being imported, too."""
    # NumPy would start threads, which spin for a tenth of a second; nothing here multiplies large matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from .cli import main as command

        code = command()
        # What is left is not searched for cycles, which takes 0.1 s where Matplotlib has been imported.
        gc.freeze()
        return code
    except KeyboardInterrupt:
        sys.stderr.write("penstock: stopped\n")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
