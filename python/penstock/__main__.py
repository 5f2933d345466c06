"""The command line: ``python -m penstock`` does what ``penstock`` does."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command of the process; Ctrl-C ends it without a traceback while it is being imported, too."""
    try:
        from .cli import main as command

        return command()
    except KeyboardInterrupt:
        sys.stderr.write("penstock: stopped\n")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
