"""Report: one self-contained HTML page per run, without network access."""

from .page import SCHEMA, columns, document, fill, script_json, write_report

__all__ = ["SCHEMA", "columns", "document", "fill", "script_json", "write_report"]
