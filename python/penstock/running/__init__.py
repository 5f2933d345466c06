"""Checks and runs scenarios. No other package calls the engine."""

from .arguments import MAX_THREADS, precision_of
from .engine import (
    Guarantee,
    Progress,
    ProgressCallback,
    Runnable,
    Threads,
    check,
    check_source,
    engine_errors,
    guarantees,
    run,
    run_source,
    source_of,
)

__all__ = [
    "MAX_THREADS",
    "Guarantee",
    "Progress",
    "ProgressCallback",
    "Runnable",
    "Threads",
    "check",
    "check_source",
    "engine_errors",
    "guarantees",
    "precision_of",
    "run",
    "run_source",
    "source_of",
]
