"""The report: one HTML page a run, which needs nothing else, not even a network."""

from .page import SCHEMA, columns, document, fill, script_json, write_report

__all__ = ["SCHEMA", "columns", "document", "fill", "script_json", "write_report"]
