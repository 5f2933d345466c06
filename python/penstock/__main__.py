"""Entry point of ``python -m penstock``; same as the command ``penstock``."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading


def main() -> int:
    """Runs the command line. Ctrl-C during imports also ends it without a traceback."""
    # NumPy would start threads that busy-wait for a tenth of a second; no large matrices are multiplied here.
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
    """Makes the next signal end the process silently: only waiting for other processes remains."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)


def _end(code: int) -> None:
    """Ends the process without finalizing the interpreter, which takes some time.

    Runs exit handlers and flushes the output.
    """
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        return  # other threads may have work to finish
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    raise SystemExit(main())
