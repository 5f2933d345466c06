"""Arrow arrays, scalars and groups, made without importing pandas.

pyarrow imports pandas, if it is installed, when it converts a Python or NumPy value: in ``pa.array``,
``pa.scalar``, ``pa.table``, ``to_numpy``, ``sort_by``, ``group_by``, ``parquet.read_table`` and functions of
``pyarrow.compute`` that are called with a plain value. The import takes a third of the time and memory of a
run with four hosts. The functions of this module build the same arrays from buffers, so the rest of the
package calls them instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

Column: TypeAlias = pa.Array | pa.ChunkedArray
Plain: TypeAlias = str | bool | int | float
_MAX_TEXT = 2**31 - 1
"""Bytes of UTF-8 that an array of strings can hold."""


def strings(values: Iterable[str | None]) -> pa.Array:
    """Creates an array of strings; ``None`` is null.

    Raises
    ------
    ValueError
        If the UTF-8 text exceeds 2 GiB in total.
    """
    import numpy as np

    given = list(values)
    encoded = [b"" if value is None else value.encode() for value in given]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)
    if offsets[-1] > _MAX_TEXT:
        raise ValueError(f"the strings have {offsets[-1]:,} bytes; expected at most {_MAX_TEXT:,}")
    known = np.fromiter((value is not None for value in given), bool, len(given))
    parts = [_validity(known), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(given), parts)


def array(values: Sequence[Any], kind: pa.DataType, *, null_nan: bool = False) -> pa.Array:
    """Creates an array of strings, booleans or numbers; `null_nan` as in `numbers`."""
    if pa.types.is_string(kind):
        return strings(values)
    return booleans(values) if pa.types.is_boolean(kind) else numbers(values, kind, null_nan=null_nan)


def booleans(values: NDArray[Any] | Sequence[bool]) -> pa.Array:
    """Creates an array of booleans."""
    import numpy as np

    bits = np.asarray(values, dtype=bool)
    return pa.Array.from_buffers(pa.bool_(), len(bits), [None, _bitmap(bits)])


def numbers(
    values: NDArray[Any] | Sequence[Any], kind: pa.DataType | None = None, *, null_nan: bool = False
) -> pa.Array:
    """Creates an array of numbers; shares the memory of `values` if possible.

    Parameters
    ----------
    values : numpy.ndarray or sequence
        Numbers; ``None`` in a sequence is null.
    kind : pyarrow.DataType, optional
        Integer or floating-point type. Default: the type of the NumPy array, or NumPy's choice for a
        sequence.
    null_nan : bool
        Converts NaN to null. Default false.

    Raises
    ------
    OverflowError
        If an integer does not fit the type.
    """
    import numpy as np

    known = None
    if not isinstance(values, np.ndarray) and any(value is None for value in values):
        known = np.fromiter((value is not None for value in values), bool, len(values))
        values = [0 if value is None else value for value in values]
    wanted = None if kind is None else np.dtype(kind.to_pandas_dtype())
    found = np.asarray(values) if isinstance(values, np.ndarray) else np.asarray(values, dtype=wanted)
    if wanted is not None and found.dtype != wanted:
        if wanted.kind in "iu" and (found.astype(wanted) != found).any():
            raise OverflowError(f"expected numbers of the type {kind}")
        found = found.astype(wanted)
    if null_nan:
        is_number = ~np.isnan(found)
        known = is_number if known is None else known & is_number
    if known is not None and known.all():
        known = None
    data = np.ascontiguousarray(found)
    return pa.Array.from_buffers(
        kind or pa.from_numpy_dtype(data.dtype), len(data), [_validity(known), pa.py_buffer(data)]
    )


def scalar(value: Plain) -> pa.Scalar:
    """Creates a scalar with the type that ``pa.scalar`` infers: string, bool, int64 or double.

    Raises
    ------
    OverflowError
        If an integer needs more than 64 bits.
    """
    if isinstance(value, str):
        return strings([value])[0]
    if isinstance(value, bool):
        return booleans([value])[0]
    if isinstance(value, int):
        return numbers([value], pa.int64())[0]
    return numbers([float(value)], pa.float64())[0]


def call(function: str, *arguments: Column | pa.Scalar | Plain) -> Any:
    """Calls a function of ``pyarrow.compute``, as ``call("equal", table["unit"], "B")``."""
    import pyarrow.compute as pc

    converted = [scalar(one) if isinstance(one, Plain) else one for one in arguments]
    return getattr(pc, function)(*converted)


def table(columns: Mapping[str, Column], schema: pa.Schema | None = None) -> pa.Table:
    """Creates a table from columns, with the types of a schema if given."""
    found = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    return found if schema is None else found.cast(schema)


def take(rows_of: Any, rows: NDArray[Any] | Sequence[int]) -> Any:
    """Returns these rows of a table, or elements of a column."""
    return rows_of.take(numbers(rows, pa.int64()))


def sort(rows_of: pa.Table, order: Sequence[tuple[str, str]]) -> pa.Table:
    """Sorts a table by pairs of a column and ``"ascending"`` or ``"descending"``."""
    import pyarrow.compute as pc

    return rows_of.take(pc.sort_indices(rows_of, sort_keys=list(order)))


def first_word(column: Column, separator: str) -> Column:
    """Text of each element before the first `separator`; all of it if there is none."""
    import pyarrow.compute as pc

    parts = pc.split_pattern(column, separator, max_splits=1)
    return call("list_element", parts, 0)


def codes(column: Column) -> tuple[NDArray[Any], pa.Array]:
    """Dictionary-encodes a column: index of each element's value, and values in order of first appearance.

    Nulls have the index -1.
    """
    import numpy as np

    whole = in_one(column)
    coded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    found = np.asarray(integers(coded.indices, -1))
    return found, coded.dictionary


def places(column: Column, among: Column) -> NDArray[Any]:
    """Index of each element among the values of another column, as int64; -1 if missing."""
    import pyarrow.compute as pc

    return integers(pc.index_in(column, value_set=in_one(among)), -1)


def integers(column: Column, null: int) -> NDArray[Any]:
    """Converts a column of integers to int64, replacing nulls by `null`."""
    import numpy as np

    filled = call("fill_null", column.cast(pa.int64()), null) if column.null_count else column
    chunks = [filled] if isinstance(filled, pa.Array) else filled.chunks
    pieces = [np.from_dlpack(chunk).astype(np.int64, copy=False) for chunk in chunks]
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.int64), *pieces])


def sums_by(rows_of: pa.Table, keys: Sequence[str], column: str) -> pa.Table:
    """Groups rows; returns the keys in order of first appearance with the sum of a column, and ``rows``.

    Sums are in double precision, which is exact for integers below 2**53. Nulls count as 0.
    """
    import numpy as np

    group = np.zeros(rows_of.num_rows, dtype=np.int64)
    for key in keys:
        number, values = codes(rows_of[key])
        group = np.unique(group * (len(values) + 1) + number + 1, return_inverse=True)[1]
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)
    known = call("fill_null", rows_of[column].cast(pa.float64()), 0.0)
    values = np.concatenate([np.empty(0), *map(np.from_dlpack, known.chunks)])
    sums = np.bincount(group, values, minlength=len(first))[order]
    counts = np.bincount(group, minlength=len(first))[order]
    own = take(rows_of.select(list(keys)), first[order])
    return own.append_column(f"{column}_sum", numbers(sums)).append_column("rows", numbers(counts))


def in_one(column: Column) -> pa.Array:
    """Combines the chunks of a column into one array."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else nothing(column.type)


def write_parquet(rows_of: pa.Table, path: Path) -> None:
    """Writes a table as a Parquet file with zstd; same bytes as ``parquet.write_table``.

    Importing ``pyarrow.parquet`` loads cloud storage and TLS clients (9 MB). Its internal writer is called
    directly; versions of pyarrow without it use the import.
    """
    options: dict[str, Any] = {"version": "2.6", "data_page_version": "1.0", "writer_engine_version": "V2"}
    options |= {"use_dictionary": True, "write_statistics": True, "use_compliant_nested_type": True}
    try:
        from pyarrow._parquet import ParquetWriter

        writer = ParquetWriter(str(path), rows_of.schema, compression="zstd", **options)
    except (ImportError, TypeError, ValueError):
        import pyarrow.parquet as pq

        pq.write_table(rows_of, path, compression="zstd")
        return
    try:
        writer.write_table(rows_of)
    finally:
        writer.close()


def nothing(kind: pa.DataType) -> pa.Array:
    """Empty array of this type."""
    return pa.nulls(0, kind)


def _validity(known: NDArray[Any] | None) -> pa.Buffer | None:
    return None if known is None or known.all() else _bitmap(known)


def _bitmap(bits: NDArray[Any]) -> pa.Buffer:
    import numpy as np

    return pa.py_buffer(np.packbits(bits, bitorder="little"))
