"""Checking and running scenarios: the one room that calls the engine."""

from .engine import (
    MAX_THREADS,
    Guarantee,
    Progress,
    ProgressCallback,
    Runnable,
    Threads,
    at_most,
    check,
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
    "at_most",
    "check",
    "guarantees",
    "run",
    "run_source",
    "source_of",
]
