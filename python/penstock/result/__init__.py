"""Results: the measurements of a run, on disk and in memory, and their summary in JSON."""

from .result import RESULT_FILES, Result

__all__ = ["RESULT_FILES", "Result"]
