"""The command line: ``python -m penstock`` does what ``penstock`` does."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading


def main() -> int:
    """Runs the command of the process; Ctrl-C ends it without a traceback while it is being imported, too."""
    # NumPy would start threads, which spin for a tenth of a second; nothing here multiplies large matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from .cli import main as command

        code = command()
        end_at_once_from_now_on()
        _end(code)
        return code
    except KeyboardInterrupt as stopped:
        end_at_once_from_now_on()
        sys.stderr.write("penstock: stopped\n")
        return getattr(stopped, "exit_code", 130)


def end_at_once_from_now_on() -> None:
    """Lets the next signal end the process without a word: what is left to do is waiting for others."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)


def _end(code: int) -> None:
    """Ends the process without taking apart what it has loaded and measured, which takes some time.

    All that the end of an interpreter does for others is done: exit handlers, and what was printed goes out.
    """
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        return  # they may have something to finish
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    raise SystemExit(main())
