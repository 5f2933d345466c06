"""Labels of the values of varied keys in tables, pictures and pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def labels(values: Iterable[Any]) -> dict[Any, str]:
    """Returns a short label for each value of one key, as written in the tables of a sweep.

    If values are tables, labels contain only the differences: ``{"rdma": {"control": "timely"}}`` next to
    ``{"rdma": {"control": {"dcqcn": {}}}}`` is ``timely``.

    Parameters
    ----------
    values : iterable
        Values of a key, possibly repeated.

    Returns
    -------
    dict
        Label by value; labels are unique.
    """
    texts = list(dict.fromkeys(values))
    found = [_read(text) for text in texts]
    entries = [_entry(one) for one in (_different(found) if len(found) > 1 else found)]
    return dict(zip(texts, entries if len({*entries}) == len(entries) else map(str, texts), strict=True))


def labels_of(rows: Sequence[Mapping[str, Any]], keys: Iterable[str]) -> dict[str, dict[Any, str]]:
    """Returns the labels of the values of each key in the rows of a table."""
    return {key: labels(row[key] for row in rows) for key in keys}


def written(value: Any) -> str:
    """Formats a value of a key as text for tables."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _read(text: Any) -> Any:
    """Parses a value written in a table."""
    if isinstance(text, str) and text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _different(values: Sequence[Any]) -> Sequence[Any]:
    """Removes entries that all tables have, and names that contain all remaining differences."""
    if not all(isinstance(value, dict) and value for value in values):
        return values
    first = values[0]
    shared = [key for key in first if all(key in one and one[key] == first[key] for one in values)]
    rest = [{key: entry for key, entry in one.items() if key not in shared} for one in values]
    if not all(rest):
        return values
    names = {key for one in rest for key in one}
    if len(names) > 1:
        return rest
    (name,) = names
    inner = [one[name] for one in rest]
    return rest if {} in inner else _different(inner)


def _entry(value: Any) -> str:
    """Formats a value without braces and quotes."""
    if isinstance(value, list):
        parts = [_entry(one) for one in value]
        return "; ".join(parts) if any(isinstance(one, dict) for one in value) else f"[{', '.join(parts)}]"
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(
        f"{key}{':' if isinstance(one, dict) and one else ''} {_entry(one)}".strip()
        for key, one in value.items()
    )
